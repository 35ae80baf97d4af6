#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

namespace cuzk::scheduler {
namespace {

// Walks jobs through the stages with nothing else going on.
class SchedulerTest : public testing::Test {
 protected:
  void make(Limits limits, std::vector<DeviceSpec> devices = {{}}) {
    if (!limits.parse_bytes) limits.parse_bytes = 1000;
    device_count = devices.size();
    scheduler.emplace(limits, std::move(devices));
  }
  CircuitCost cost(std::size_t resident, std::size_t witness, std::size_t prove) const {
    return {resident, witness, witness, std::vector<ProveCost>(device_count, {prove, 0, 0})};
  }
  void submit(JobId id, Priority priority, const std::string& client = "c",
              std::int64_t deadline = kNoDeadline) {
    ASSERT_EQ(scheduler->submit(id, {client, priority, deadline, 1}).refusal, Refusal::kNone);
  }
  void submit_parsed(JobId id, Priority priority, const std::string& circuit,
                     std::uint32_t partitions = 1, const std::string& client = "c",
                     std::int64_t deadline = kNoDeadline) {
    submit(id, priority, client, deadline);
    ASSERT_EQ(scheduler->next_parse(), id);
    scheduler->parsed(id, circuit, partitions);
  }
  void load(const CircuitCost& c) {
    auto task = scheduler->next_load();
    ASSERT_TRUE(task && task->action == LoadAction::kMeasure);
    scheduler->measured(task->circuit, c);
    task = scheduler->next_load();
    ASSERT_TRUE(task && task->action == LoadAction::kLoad);
    scheduler->loaded(task->circuit);
  }
  Task synthesize() {
    const auto task = scheduler->next_synthesis();
    EXPECT_TRUE(task);
    if (!task) return {};
    scheduler->synthesized(*task, true);
    return *task;
  }
  Task prove_and_finish(Outcome outcome, DeviceId device = 0) {
    const auto task = scheduler->next_prove(device);
    EXPECT_TRUE(task);
    if (!task) return {};
    scheduler->started(*task);
    const auto finish = scheduler->next_finish();
    EXPECT_EQ(finish, task);
    scheduler->finished(*task, outcome);
    scheduler->check();
    return *task;
  }

  std::optional<Scheduler> scheduler;
  std::size_t device_count = 1;
};

TEST_F(SchedulerTest, CriticalGoesNextAtEveryStage) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.parse_ahead = 10;
  limits.synthesis_ahead = 10;
  make(limits);
  // Three normal jobs wait at each of: finish, prove, synthesis, parse.
  for (JobId id = 1; id <= 9; ++id) submit_parsed(id, Priority::kNormal, "a");
  load(cost(100, 10, 10));
  for (int i = 0; i < 6; ++i) synthesize();
  for (int i = 0; i < 3; ++i) scheduler->started(*scheduler->next_prove(0));
  for (JobId id = 10; id <= 12; ++id) submit(id, Priority::kNormal);
  submit(99, Priority::kCritical);
  ASSERT_EQ(scheduler->next_parse(), 99u);
  scheduler->parsed(99, "a", 1);
  auto task = scheduler->next_synthesis();
  ASSERT_EQ(task->job, 99u);
  scheduler->synthesized(*task, true);
  task = scheduler->next_prove(0);
  ASSERT_EQ(task->job, 99u);
  scheduler->started(*task);
  ASSERT_EQ(scheduler->next_finish()->job, 99u);
}

TEST_F(SchedulerTest, CriticalGoesNextAtParametersAndMemory) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.parse_ahead = 10;
  make(limits);
  submit_parsed(1, Priority::kNormal, "large", 3);
  submit_parsed(2, Priority::kNormal, "other");
  load(cost(500, 100, 300));
  const Task first = synthesize();
  // "other" would be measured next, and 100 bytes are left; the critical job needs 600.
  submit_parsed(3, Priority::kCritical, "small");
  auto task = scheduler->next_load();
  ASSERT_EQ(task->action, LoadAction::kMeasure);
  EXPECT_EQ(scheduler->circuit(task->circuit).name, "small");
  scheduler->measured(task->circuit, cost(500, 50, 50));
  // It waits for memory; nobody else may take what comes free.
  auto next = scheduler->next_load();
  EXPECT_TRUE(!next || next->action != LoadAction::kLoad);
  EXPECT_FALSE(scheduler->next_synthesis());
  EXPECT_EQ(scheduler->waits_for(3), WaitReason::kMemory);
  ASSERT_EQ(scheduler->next_prove(0), first);
  scheduler->started(first);
  ASSERT_TRUE(scheduler->next_finish());
  scheduler->finished(first, Outcome::kVerified);
  // The large circuit is idle now: it leaves for the critical one, though job 1 has work left.
  do {
    next = scheduler->next_load();
    ASSERT_TRUE(next);
    if (next->action == LoadAction::kMeasure) scheduler->measured(next->circuit, cost(1, 1, 1));
  } while (next->action == LoadAction::kMeasure);
  ASSERT_EQ(next->action, LoadAction::kEvict);
  EXPECT_EQ(scheduler->circuit(next->circuit).name, "large");
  scheduler->evicted(next->circuit);
  next = scheduler->next_load();
  ASSERT_EQ(next->action, LoadAction::kLoad);
  EXPECT_EQ(scheduler->circuit(next->circuit).name, "small");
  scheduler->loaded(next->circuit);
  ASSERT_EQ(scheduler->next_synthesis()->job, 3u);
}

TEST_F(SchedulerTest, ReserveIsForCriticalWorkOnly) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.critical_reserve_bytes = 300;
  limits.synthesis_ahead = 10;
  limits.parse_ahead = 10;
  make(limits);
  submit_parsed(1, Priority::kNormal, "a", 8);
  load(cost(200, 100, 200));
  int admitted = 0;
  while (scheduler->next_synthesis()) ++admitted;
  EXPECT_EQ(admitted, 3);  // 200 + 3 * 100 + 200 == 700
  submit_parsed(2, Priority::kCritical, "a");
  const auto task = scheduler->next_synthesis();
  ASSERT_TRUE(task);
  EXPECT_EQ(task->job, 2u);
}

// A card whose two places and whose memory are taken has one more place, and a reserve.
TEST_F(SchedulerTest, CriticalWorkHasAPlaceOfItsOwnOnADevice) {
  Limits limits;
  limits.memory_bytes = 10000;
  limits.synthesis_ahead = 10;
  limits.parse_ahead = 10;
  DeviceSpec card;
  card.memory_bytes = 100;
  card.at_once = 2;
  card.critical_bytes = 50;
  card.critical_at_once = 1;
  make(limits, {card});
  submit_parsed(1, Priority::kNormal, "a", 5);
  CircuitCost on_card = cost(200, 100, 200);
  on_card.prove[0].device_bytes = 50;
  load(on_card);
  for (int i = 0; i < 5; ++i) synthesize();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(scheduler->next_prove(0));
  EXPECT_FALSE(scheduler->next_prove(0));
  submit_parsed(2, Priority::kCritical, "a", 2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(synthesize().job, 2u);
  const auto critical = scheduler->next_prove(0);
  ASSERT_TRUE(critical);
  EXPECT_EQ(critical->job, 2u);
  EXPECT_TRUE(critical->critical);
  // The second one waits, and so do the others until two have ended.
  EXPECT_FALSE(scheduler->next_prove(0));
  scheduler->started(*critical);
  scheduler->finished(*scheduler->next_finish(), Outcome::kVerified);
  const auto second = scheduler->next_prove(0);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->job, 2u);
  scheduler->check();
}

TEST_F(SchedulerTest, TooSmallABudgetIsRefusedWithTheSizeNeeded) {
  Limits limits;
  limits.memory_bytes = 699;
  limits.critical_reserve_bytes = 100;
  make(limits);
  submit_parsed(1, Priority::kNormal, "a");
  auto task = scheduler->next_load();
  scheduler->measured(task->circuit, cost(300, 100, 200));
  EXPECT_FALSE(scheduler->next_load());
  const auto ended = scheduler->take_ended();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].reason, EndReason::kDoesNotFit);
  EXPECT_EQ(ended[0].needed_bytes, 700u);
  EXPECT_EQ(ended[0].limit_bytes, 699u);
}

TEST_F(SchedulerTest, EarliestDeadlineFirstWithinAClass) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.parse_ahead = 10;
  make(limits);
  submit_parsed(1, Priority::kHigh, "a");
  submit_parsed(2, Priority::kHigh, "a", 1, "c", 500);
  submit_parsed(3, Priority::kHigh, "a", 1, "c", 400);
  submit_parsed(4, Priority::kNormal, "a", 1, "c", 1);
  load(cost(100, 10, 10));
  std::vector<JobId> order;
  for (int i = 0; i < 4; ++i) {
    synthesize();
    order.push_back(prove_and_finish(Outcome::kVerified).job);
  }
  EXPECT_EQ(order, (std::vector<JobId>{3, 2, 1, 4}));
}

TEST_F(SchedulerTest, ClientsTakeTurnsWhateverTheyQueue) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.parse_ahead = 100;
  make(limits);
  for (JobId id = 1; id <= 10; ++id) submit_parsed(id, Priority::kNormal, "a", 2, "many");
  for (JobId id = 11; id <= 13; ++id) submit_parsed(id, Priority::kNormal, "a", 2, "few");
  load(cost(100, 10, 10));
  std::vector<JobId> order;
  for (int i = 0; i < 16; ++i) {
    synthesize();
    order.push_back(prove_and_finish(Outcome::kVerified).job);
  }
  // Jobs are ended once begun; the clients alternate.
  EXPECT_EQ(order, (std::vector<JobId>{1, 1, 11, 11, 2, 2, 12, 12, 3, 3, 13, 13, 4, 4, 5, 5}));
}

TEST_F(SchedulerTest, AClientsFirstJobDoesNotWaitForWhatOthersHaveParsed) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.parse_ahead = 2;
  make(limits);
  submit_parsed(1, Priority::kNormal, "a", 2, "many");
  submit_parsed(2, Priority::kNormal, "a", 2, "many");
  for (JobId id = 3; id <= 5; ++id) submit(id, Priority::kNormal, "many");
  EXPECT_FALSE(scheduler->next_parse());
  load(cost(100, 10, 10));
  std::vector<JobId> order = {synthesize().job};
  prove_and_finish(Outcome::kVerified);
  EXPECT_EQ(scheduler->next_parse(), 3u);
  scheduler->parsed(3, "a", 2);
  EXPECT_FALSE(scheduler->next_parse());
  submit(6, Priority::kLow, "other");
  EXPECT_FALSE(scheduler->next_parse());  // of a lower class than what waits
  submit(7, Priority::kNormal, "few");
  ASSERT_EQ(scheduler->next_parse(), 7u);
  submit(8, Priority::kNormal, "few");
  EXPECT_FALSE(scheduler->next_parse());
  scheduler->parsed(7, "a", 1);
  for (int i = 0; i < 3; ++i) {
    order.push_back(synthesize().job);
    prove_and_finish(Outcome::kVerified);
  }
  EXPECT_EQ(order, (std::vector<JobId>{1, 1, 7, 2}));
}

TEST_F(SchedulerTest, WrongProofIsTriedOnTheSameDeviceThenAnotherThenTheFallback) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.quarantine_after = 100;
  make(limits, {{}, {}, {true, 0}});
  submit_parsed(1, Priority::kNormal, "a");
  load(cost(100, 10, 10));
  synthesize();
  EXPECT_FALSE(scheduler->next_prove(2));
  prove_and_finish(Outcome::kInvalidProof, 1);
  EXPECT_FALSE(scheduler->next_prove(0));
  prove_and_finish(Outcome::kInvalidProof, 1);
  EXPECT_FALSE(scheduler->next_prove(1));
  EXPECT_FALSE(scheduler->next_prove(2));
  prove_and_finish(Outcome::kInvalidProof, 0);
  EXPECT_FALSE(scheduler->next_prove(0));
  prove_and_finish(Outcome::kVerified, 2);
  const auto ended = scheduler->take_ended();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].reason, EndReason::kDone);
}

TEST_F(SchedulerTest, DeviceIsQuarantinedAfterItsLimitAndAtOnceAfterAFault) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.quarantine_after = 2;
  make(limits, {{}, {}});
  submit_parsed(1, Priority::kNormal, "a");
  load(cost(100, 10, 10));
  synthesize();
  prove_and_finish(Outcome::kInvalidProof, 0);
  EXPECT_FALSE(scheduler->device(0).quarantined);
  prove_and_finish(Outcome::kInvalidProof, 0);
  EXPECT_TRUE(scheduler->device(0).quarantined);
  prove_and_finish(Outcome::kDeviceFault, 1);
  EXPECT_TRUE(scheduler->device(1).quarantined);
  // The witness that waited is dropped by a finisher; then the job has ended.
  const auto drop = scheduler->next_finish();
  ASSERT_TRUE(drop);
  scheduler->finished(*drop, Outcome::kJobError);
  const auto ended = scheduler->take_ended();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].reason, EndReason::kNoDevice);
}

TEST_F(SchedulerTest, ShortOfMemoryIsTriedAgainAlone) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.synthesis_ahead = 4;
  make(limits, {{}, {}});
  submit_parsed(1, Priority::kNormal, "a", 2);
  load(cost(100, 10, 10));
  synthesize();
  synthesize();
  const auto first = scheduler->next_prove(0);
  const auto second = scheduler->next_prove(1);
  scheduler->start_failed(*second, Outcome::kNoMemory);
  EXPECT_FALSE(scheduler->next_prove(1));
  scheduler->started(*first);
  scheduler->finished(*scheduler->next_finish(), Outcome::kVerified);
  const auto again = scheduler->next_prove(1);
  ASSERT_TRUE(again);
  scheduler->start_failed(*again, Outcome::kNoMemory);
  scheduler->finished(*scheduler->next_finish(), Outcome::kJobError);
  EXPECT_EQ(scheduler->take_ended()[0].reason, EndReason::kFailed);
}

TEST_F(SchedulerTest, LeastRecentlyUsedCircuitLeavesAndPinnedOnesStay) {
  Limits limits;
  limits.memory_bytes = 500;
  make(limits);
  const CircuitId pinned = scheduler->want("pinned", true);
  load(cost(100, 10, 10));
  JobId id = 1;
  for (const char* name : {"a", "b", "c"}) {
    submit_parsed(id++, Priority::kNormal, name);
    load(cost(100, 10, 10));
    synthesize();
    prove_and_finish(Outcome::kVerified);
  }
  submit_parsed(id, Priority::kNormal, "d");
  scheduler->measured(scheduler->next_load()->circuit, cost(100, 10, 10));
  const auto task = scheduler->next_load();
  ASSERT_EQ(task->action, LoadAction::kEvict);
  EXPECT_EQ(scheduler->circuit(task->circuit).name, "a");
  EXPECT_EQ(scheduler->circuit(pinned).residency, Residency::kHot);
}

TEST_F(SchedulerTest, WorkOnTheLoadedCircuitGoesOnOnlySoLongBesideAnother) {
  Limits limits;
  limits.memory_bytes = 400;
  limits.batch_limit = 3;
  limits.parse_ahead = 100;
  make(limits);
  submit_parsed(1, Priority::kNormal, "a", 2);
  load(cost(200, 10, 10));
  submit_parsed(2, Priority::kNormal, "b");
  for (JobId id = 3; id <= 9; ++id) submit_parsed(id, Priority::kNormal, "a");
  auto hold = scheduler->next_synthesis();  // keeps "a" in use
  scheduler->synthesized(*hold, true);
  scheduler->measured(scheduler->next_load()->circuit, cost(200, 10, 10));
  std::vector<JobId> order;
  for (;;) {
    const auto task = scheduler->next_synthesis();
    if (!task) break;
    scheduler->synthesized(*task, true);
    order.push_back(task->job);
    prove_and_finish(Outcome::kVerified);
  }
  // Job 1 ends what it began; then three pass job 2, then nobody.
  EXPECT_EQ(order, (std::vector<JobId>{1, 3, 4, 5}));
}

TEST_F(SchedulerTest, QueuesAreBoundedAndCancelGivesEverythingBack) {
  Limits limits;
  limits.memory_bytes = 1000;
  limits.queued_jobs = 3;
  limits.jobs_per_client = 2;
  make(limits);
  submit(1, Priority::kNormal, "x");
  submit(2, Priority::kNormal, "x");
  EXPECT_EQ(scheduler->submit(3, {"x", Priority::kNormal, kNoDeadline, 1}).refusal,
            Refusal::kClientFull);
  submit(3, Priority::kNormal, "y");
  EXPECT_EQ(scheduler->submit(4, {"z", Priority::kNormal, kNoDeadline, 1}).refusal,
            Refusal::kQueueFull);
  // Neither limit keeps a critical job out; they have as much room of their own.
  submit(5, Priority::kCritical, "x");
  submit(6, Priority::kCritical, "x");
  EXPECT_EQ(scheduler->submit(7, {"x", Priority::kCritical, kNoDeadline, 1}).refusal,
            Refusal::kClientFull);
  submit(7, Priority::kCritical, "y");
  EXPECT_EQ(scheduler->submit(8, {"z", Priority::kCritical, kNoDeadline, 1}).refusal,
            Refusal::kQueueFull);
  scheduler->check();
  for (const JobId id : {5, 6, 7}) EXPECT_TRUE(scheduler->cancel(id));
  EXPECT_EQ(scheduler->take_ended().size(), 3u);
  EXPECT_EQ(scheduler->next_parse(), 1u);
  EXPECT_TRUE(scheduler->cancel(1));
  EXPECT_TRUE(scheduler->cancel(2));
  EXPECT_EQ(scheduler->take_ended().size(), 1u);  // job 1 is at its parser
  scheduler->parsed(1, "a", 5);
  EXPECT_EQ(scheduler->take_ended().size(), 1u);
  EXPECT_FALSE(scheduler->cancel(1));
  EXPECT_TRUE(scheduler->cancel(3));
  EXPECT_EQ(scheduler->parse_leased_bytes(), 0u);
  EXPECT_EQ(scheduler->counts().ended, 6u);
  scheduler->check();
}

}  // namespace
}  // namespace cuzk::scheduler
