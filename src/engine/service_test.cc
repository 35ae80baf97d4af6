// The service as its callers see it, with proofs of milliseconds: thousands of stages in seconds.

#include "engine/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/service_test_support.h"
#include "engine/telemetry.h"

namespace cuzk::engine {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class ServiceTest : public ServiceFixture {
 protected:
  ServiceOptions options() { return mimc_options(folder.path(), &hooks); }
  using ServiceFixture::submit;
  Submitted submit(const std::string& id, const MimcOrder& order,
                   std::optional<Priority> priority = {}) {
    ProofRequest request = mimc_request(id, order);
    request.priority = priority;
    return submit(std::move(request));
  }
  std::string error_of(const std::string& id) {
    const Answer a = await(id);
    EXPECT_EQ(a.status, AnswerStatus::kFailed);
    EXPECT_TRUE(a.proof.empty());
    return a.error ? a.error->message : "";
  }

  // Makes the key in a large budget, then asks a budget of 1 MiB what it would need: whole MiB.
  std::size_t needed_for(std::uint32_t rounds) {
    start(options());
    submit("key", {rounds, 1, 1});
    EXPECT_EQ(await("key").status, AnswerStatus::kCompleted);
    ServiceOptions o = options();
    o.critical_reserve_percent = 0;
    o.memory_bytes = std::size_t{1} << 20;
    start(o);
    submit("too large", {rounds, 1, 1});
    const std::string refusal = error_of("too large");
    EXPECT_EQ(await("too large").error->code, ErrorCode::kOutOfBudget);
    std::size_t mib = 0;
    const std::string form = fmt::format("MiMC {} needs %zu MiB of memory", rounds);
    EXPECT_EQ(std::sscanf(refusal.c_str(), form.c_str(), &mib), 1) << refusal;
    EXPECT_GT(mib, 0u);
    expect_at_rest();
    return mib;
  }
};

TEST_F(ServiceTest, ProvesManyJobsAtOnceAndCountsEveryOne) {
  ServiceOptions o = options();
  o.synthesis_workers = 2;
  o.parse_workers = 2;
  start(o);
  constexpr int kThreads = 4, kJobs = 25;
  std::vector<std::thread> clients;
  for (int t = 0; t < kThreads; ++t) {
    clients.emplace_back([&, t] {
      for (int i = 0; i < kJobs; ++i) {
        MimcOrder order{4u + static_cast<std::uint32_t>(i % 3),
                        1u + static_cast<std::uint32_t>(i % 4),
                        static_cast<std::uint64_t>(t * 1000 + i)};
        const std::string id = fmt::format("job {} of [{}]", i, t);
        submit(id, order);
        if (i % 5 == 0) expect_verifies(await(id), order, parameters());
      }
    });
  }
  for (auto& c : clients) c.join();
  expect_at_rest();
  const ServiceMetrics m = service->metrics();
  const KindMetrics& k = m.kinds.at(ProofKind::kPorep);
  EXPECT_EQ(k.accepted, 100u);
  EXPECT_EQ(k.completed, 100u);
  EXPECT_EQ(k.phases.at("total").count, 100u);
  std::uint64_t partitions = 0;
  for (int i = 0; i < kJobs; ++i) partitions += kThreads * (1 + i % 4);
  EXPECT_EQ(k.partitions, partitions);
  EXPECT_EQ(m.status.devices.at(0).proofs, partitions);
  EXPECT_EQ(m.key_loads, 3u);
}

TEST_F(ServiceTest, ErrorsNameTheirPartitionAndHarmNobodyElse) {
  start(options());
  submit("spoiled", {4, 2, 1, true});
  submit("unreadable", {4, 1, 2, false, true});
  submit("good", {4, 2, 3});
  EXPECT_THAT(error_of("spoiled"), HasSubstr("partition 0 of 2"));
  EXPECT_EQ(await("spoiled").error->code, ErrorCode::kUnsatisfied);
  EXPECT_EQ(error_of("unreadable"), "this order is bad");
  expect_verifies(await("good"), {4, 2, 3}, parameters());
  const auto unknown = service->await("nobody", Clock::now());
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(unknown.error().message, "job not found: nobody");
  expect_at_rest();
}

// Every worker is held; then a queue of NORMAL work; then one CRITICAL job.
TEST_F(ServiceTest, CriticalStartsNextAtEveryStage) {
  DeviceScript script;
  Gate gate;
  script.gate = &gate;
  ServiceOptions o = options();
  o.devices = {scripted_device("card", script)};
  o.synthesis_lookahead = 3;
  start(o);
  const auto events = service->subscribe(100000);
  for (std::uint64_t i = 0; i < 12; ++i) submit(fmt::format("normal {}", i), {4, 1, i});
  gate.wait_for(1);  // one is at the device, others wait synthesized, others in the queue
  submit("critical", {4, 1, 1000}, Priority::kCritical);
  // It passes parse and synthesis while the device is held.
  for (;;) {
    const auto job = service->job("critical");
    ASSERT_TRUE(job);
    if (!job->partitions.empty() && job->partitions[0].state == PartitionState::kSynthesized) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  gate.open();
  for (int i = 0; i < 12; ++i) await(fmt::format("normal {}", i));
  await("critical");
  // Of the starts at the device, the critical one is the second.
  std::vector<std::string> proving;
  for (const Event& e : events->next(Clock::now(), {})) {
    if (e.type == EventType::kPartition && e.state == "proving") proving.push_back(e.job_id);
  }
  ASSERT_EQ(proving.size(), 13u);
  EXPECT_EQ(proving[1], "critical");
  EXPECT_EQ(events->lost(), 0u);
  expect_at_rest();
}

// When each job began the stage that the span names, by job. What a stage measured inside, which
// may have the same name, is told before it.
std::map<std::string, std::int64_t> begins(const Service& service, const std::string& name) {
  std::map<std::string, std::int64_t> out;
  for (const SpanEvent& s : service.spans().spans) {
    if (s.name == name) out.insert_or_assign(s.job_id, s.start_us);
  }
  return out;
}

// At the stages where one worker is kept free for it, a CRITICAL job does not even wait for work at
// hand: it is answered while every other worker of the stage is held and NORMAL jobs wait there.
TEST_F(ServiceTest, CriticalPassesAStageWhoseWorkersAreAllHeld) {
  for (const std::string stage : {"parse", "measure", "synthesis", "finish"}) {
    SCOPED_TRACE(stage);
    Gate gate;
    DeviceScript script;
    ServiceOptions o = options();
    o.devices = {scripted_device("card", script)};
    // So that more than one waits at each stage.
    o.synthesis_lookahead = 6;
    if (stage != "parse") o.parse_workers = 6;
    if (stage == "finish") script.finish_gate = &gate, script.held_finishes = 1;
    std::atomic<bool> is_held{stage == "parse"};
    o.parse = [&](const Context&, const ProofRequest& r) -> Result<Job> {
      const bool normal = r.request_id != "critical";
      if (normal && is_held.exchange(false)) gate.pass();
      CUZK_TRY(Job job, parse_mimc(&hooks, r));
      if (!normal) return job;
      if (stage == "measure") {
        job.circuit.compile = [&gate, inner = job.circuit.compile] {
          gate.pass();
          return inner();
        };
      } else if (stage == "synthesis") {
        job.synthesize = [&gate, inner = job.synthesize](Tasks& tasks, std::size_t p) {
          gate.pass();
          return inner(tasks, p);
        };
      }
      return job;
    };
    start(o);
    // Each has a circuit of its own where circuits are what is waited for.
    const auto rounds = [&](std::uint64_t i) {
      return stage == "measure" ? 20 + static_cast<std::uint32_t>(i) : 4u;
    };
    for (std::uint64_t i = 0; i < 6; ++i) submit(fmt::format("normal {}", i), {rounds(i), 1, i});
    gate.wait_for(1);
    submit("critical", {9, 1, 1000}, Priority::kCritical);
    const auto while_held = service->await("critical", Clock::now() + kLong);
    gate.open();
    ASSERT_TRUE(while_held && *while_held);
    expect_verifies(**while_held, {9, 1, 1000}, parameters());
    for (std::uint64_t i = 0; i < 6; ++i) await(fmt::format("normal {}", i));
    expect_at_rest();
    // Of all the others only the one that was held had begun before.
    auto begun = begins(*service, stage);
    const std::string own = stage == "measure" ? "MiMC 9" : "critical";
    ASSERT_TRUE(begun.contains(own));
    EXPECT_EQ(begun.size(), 7u);
    EXPECT_EQ(std::count_if(begun.begin(), begun.end(),
                            [&](const auto& b) { return b.second < begun[own]; }),
              1);
    service.reset();  // before what it refers to
  }
}

// A second proof would exceed the budget, though a worker is free: who is proved next when the
// first ends?
TEST_F(ServiceTest, CriticalIsNextWhereRoomForAProofIsWaitedFor) {
  DeviceScript script;
  Gate gate;
  script.gate = &gate;
  ServiceOptions o = options();
  o.devices = {scripted_device("card", script)};
  o.devices[0].workers = 2;
  o.devices[0].cost = [](const CompiledCircuit&) {
    return scheduler::ProveCost{std::size_t{300} << 20, 0, 0};
  };
  o.parse_workers = 6;
  o.synthesis_lookahead = 6;
  start(o);
  for (std::uint64_t i = 0; i < 6; ++i) submit(fmt::format("normal {}", i), {4, 1, i});
  gate.wait_for(1);
  submit("critical", {4, 1, 1000}, Priority::kCritical);
  for (;;) {
    const auto job = service->job("critical");
    ASSERT_TRUE(job);
    if (!job->partitions.empty() && job->partitions[0].state == PartitionState::kSynthesized) {
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(service->job("critical")->state, JobState::kRunning);
  gate.open();
  for (std::uint64_t i = 0; i < 6; ++i) await(fmt::format("normal {}", i));
  expect_verifies(await("critical"), {4, 1, 1000}, parameters());
  expect_at_rest();
  EXPECT_EQ(script.most_running, 1);
  auto begun = begins(*service, "prove");
  ASSERT_EQ(begun.size(), 7u);
  EXPECT_EQ(std::count_if(begun.begin(), begun.end(),
                          [&](const auto& b) { return b.second < begun["critical"]; }),
            1);
  service.reset();
}

TEST_F(ServiceTest, AFullQueueOfOthersKeepsNoCriticalJobOut) {
  ServiceOptions o = options();
  o.max_queued_jobs = 3;
  o.max_jobs_per_client = 3;
  start(o);
  for (std::uint64_t i = 0; i < 3; ++i) submit(std::to_string(i), {4, 1, i, false, false, 1});
  hooks.synthesis.wait_for(1);
  ASSERT_FALSE(service->submit(mimc_request("one more", {4, 1, 3})));
  submit("critical", {4, 1, 1000}, Priority::kCritical);
  const Answer answer = await("critical");
  hooks.synthesis.open();
  expect_verifies(answer, {4, 1, 1000}, parameters());
  expect_at_rest();
}

// What a stage measured inside is told when the stage has ended: after spans that ended later.
TEST(Telemetry, ASpanThatIsToldLateIsNotMissed) {
  Telemetry telemetry(3);
  telemetry.add({"cpu 0", "prove", "a", 1, 0, 100, 900});
  const SpanList first = telemetry.spans(0);
  ASSERT_EQ(first.spans.size(), 1u);
  telemetry.add({"cpu 0", "h_msm", "a", 1, 0, 200, 300});
  const SpanList second = telemetry.spans(first.last);
  ASSERT_EQ(second.spans.size(), 1u);
  EXPECT_EQ(second.spans[0].name, "h_msm");
  EXPECT_EQ(telemetry.spans(second.last).spans.size(), 0u);
  EXPECT_EQ(telemetry.spans(second.last).last, second.last);
  EXPECT_EQ(telemetry.spans(std::numeric_limits<std::uint64_t>::max()).last, second.last);
  // The oldest are forgotten; what is left is told in order.
  for (std::int64_t i = 0; i < 3; ++i) telemetry.add({"l", "n", "b", 2, 0, i, i + 1});
  const SpanList third = telemetry.spans(first.last);
  ASSERT_EQ(third.spans.size(), 3u);
  EXPECT_EQ(third.spans[0].sequence, second.last + 1);
  EXPECT_EQ(third.last, second.last + 3);
}

TEST_F(ServiceTest, SynthesisOfTheNextRunsUnderTheProofOfTheLast) {
  DeviceScript script;
  Gate gate;
  script.gate = &gate;
  ServiceOptions o = options();
  o.devices = {scripted_device("card", script)};
  start(o);
  submit("a", {4, 2, 1});
  submit("b", {4, 1, 2});
  gate.wait_for(1);
  for (;;) {  // while "a" holds the device, its other partition is synthesized
    const auto job = service->job("a");
    ASSERT_TRUE(job && job->partitions.size() == 2);
    if (job->partitions[1].state == PartitionState::kSynthesized) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  gate.open();
  await("a");
  await("b");
  expect_at_rest();
}

TEST_F(ServiceTest, AJobIsKnownAtEveryMomentOfItsEnd) {
  ServiceOptions o = options();
  o.journal = folder.path() / "journal.db";  // its disk makes the end last
  start(o);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> last{0};
  std::atomic<int> unknown{0}, looks{0};
  std::thread reader([&] {
    while (!over) {
      const std::uint64_t i = last;
      if (i == 0) continue;
      unknown += !service->job(fmt::format("job {}", i)).has_value();
      ++looks;
    }
  });
  for (std::uint64_t i = 1; i <= 40; ++i) {
    submit(fmt::format("job {}", i), {4, 1, i});
    last = i;
    await(fmt::format("job {}", i));
    const auto job = service->job(fmt::format("job {}", i));
    ASSERT_TRUE(job);
    EXPECT_EQ(job->state, JobState::kCompleted);  // and not what it was before
  }
  over = true;
  reader.join();
  EXPECT_EQ(unknown, 0) << "of " << looks;
  expect_at_rest();
}

TEST_F(ServiceTest, WaitingForACircuitIsNotWaitingForMemory) {
  static constexpr std::int64_t kSlow = 300;
  ServiceOptions o = options();
  o.parse = [this](const Context&, const ProofRequest& r) -> Result<Job> {
    CUZK_TRY(Job job, parse_mimc(&hooks, r));
    job.circuit.compile = [inner = job.circuit.compile] {
      std::this_thread::sleep_for(std::chrono::milliseconds(kSlow));
      return inner();
    };
    return job;
  };
  start(o);
  submit("a", {4, 2, 1});
  const Answer a = await("a");
  ASSERT_EQ(a.status, AnswerStatus::kCompleted);
  EXPECT_GE(a.timings.key_load_ms, kSlow);
  EXPECT_GE(a.timings.queue_wait_ms, kSlow);
  // The second partition waits for the first one's synthesis; nobody waits for memory.
  EXPECT_LT(a.timings.memory_wait_ms, kSlow);
  submit("b", {4, 2, 2});
  EXPECT_EQ(await("b").timings.key_load_ms, 0);
}

TEST_F(ServiceTest, CancelIsRealAtEveryPlace) {
  start(options());
  submit("held", {4, 3, 1, false, false, 1});
  hooks.synthesis.wait_for(1);
  submit("queued", {4, 1, 2});
  submit("also queued", {4, 1, 3});
  EXPECT_EQ(service->cancel("queued"), true);
  EXPECT_EQ(await("queued").status, AnswerStatus::kCancelled);
  EXPECT_EQ(service->cancel("queued"), false);
  EXPECT_EQ(service->cancel("held"), true);
  EXPECT_EQ(*service->await("held", Clock::now()), std::nullopt);  // until it reaches a boundary
  hooks.synthesis.open();
  EXPECT_EQ(await("held").status, AnswerStatus::kCancelled);
  expect_verifies(await("also queued"), {4, 1, 3}, parameters());
  EXPECT_EQ(service->cancel("also queued"), false);
  const auto unknown = service->cancel("nobody");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
  expect_at_rest();
  EXPECT_EQ(service->status().cancelled, 2u);
}

TEST_F(ServiceTest, SmallestBudgetRefusesWithTheSizeAndThatSizeIsEnough) {
  const std::size_t needed_mib = needed_for(700);
  ServiceOptions o = options();
  o.critical_reserve_percent = 0;

  int previous_running = 0;
  for (const unsigned percent : {100u, 150u, 400u}) {
    DeviceScript script;
    ServiceOptions larger = o;
    larger.devices = {scripted_device("card", script)};
    larger.devices[0].workers = 2;
    larger.synthesis_workers = 2;
    larger.memory_bytes = ((needed_mib + 1) << 20) * percent / 100 * 8 / 7;
    start(larger);
    for (std::uint64_t i = 0; i < 6; ++i) {
      submit(fmt::format("{} {}", percent, i), {700, 2, i});
    }
    std::int64_t waited = 0;
    for (std::uint64_t i = 0; i < 6; ++i) {
      const Answer a = await(fmt::format("{} {}", percent, i));
      expect_verifies(a, {700, 2, i}, parameters());
      waited += a.timings.memory_wait_ms;
    }
    expect_at_rest();
    // The smallest forces them one after the other.
    if (percent == 100) {
      EXPECT_EQ(script.most_running, 1);
      EXPECT_GT(waited, 0);
    }
    EXPECT_GE(script.most_running, previous_running);
    previous_running = script.most_running;
  }
}

TEST_F(ServiceTest, WrongProofNeverLeavesAndIsMadeAgainOnTheSameDevice) {
  DeviceScript script;
  script.wrong = 1;
  ServiceOptions o = options();
  o.devices = {scripted_device("card", script)};
  start(o);
  submit("a", {4, 1, 1});
  expect_verifies(await("a"), {4, 1, 1}, parameters());
  const ServiceMetrics m = service->metrics();
  EXPECT_EQ(m.status.devices[0].invalid_proofs, 1u);
  EXPECT_EQ(m.retried_partitions, 1u);
  EXPECT_FALSE(m.status.devices[0].quarantined);
  expect_at_rest();
}

TEST_F(ServiceTest, DeviceThatProvesWronglyIsQuarantinedAndItsWorkDoneElsewhere) {
  DeviceScript bad, good, cpu;
  bad.wrong = -1;
  ServiceOptions o = options();
  o.devices = {scripted_device("bad", bad), scripted_device("good", good),
               scripted_device("cpu", cpu)};
  o.devices[2].fallback = true;
  start(o);
  for (std::uint64_t i = 0; i < 20; ++i) submit(fmt::format("job {}", i), {4, 2, i});
  for (std::uint64_t i = 0; i < 20; ++i) {
    expect_verifies(await(fmt::format("job {}", i)), {4, 2, i}, parameters());
  }
  const ServiceStatus s = service->status();
  EXPECT_TRUE(s.devices[0].quarantined);
  EXPECT_EQ(s.devices[0].proofs, 0u);
  EXPECT_GE(s.devices[0].invalid_proofs, 3u);
  EXPECT_EQ(s.devices[1].proofs, 40u);
  EXPECT_EQ(cpu.starts, 0);
  ASSERT_EQ(s.problems.size(), 1u);
  EXPECT_EQ(s.problems[0].subject, "bad");
  EXPECT_TRUE(service->ready());
  expect_at_rest();
}

TEST_F(ServiceTest, WithNoDeviceLeftTheJobFailsAndSaysWhy) {
  DeviceScript script;
  script.wrong = -1;
  ServiceOptions o = options();
  o.devices = {scripted_device("card", script)};
  start(o);
  submit("a", {4, 1, 1});
  EXPECT_THAT(error_of("a"), HasSubstr("partition 0 of 1 on card: the finished proof failed its "
                                       "self-check"));
  EXPECT_EQ(await("a").error->code, ErrorCode::kInternal);
  submit("b", {4, 1, 2});
  submit("c", {4, 1, 3});
  error_of("b");
  EXPECT_THAT(error_of("c"), HasSubstr("no device is left"));
  EXPECT_FALSE(service->ready());
  expect_at_rest();
}

TEST_F(ServiceTest, LostDeviceIsFencedAtOnceAndTheFallbackTakesOver) {
  DeviceScript card, cpu;
  card.lost = -1;
  ServiceOptions o = options();
  o.devices = {scripted_device("card", card), scripted_device("cpu", cpu)};
  o.devices[1].fallback = true;
  start(o);
  for (std::uint64_t i = 0; i < 5; ++i) submit(fmt::format("job {}", i), {4, 1, i});
  for (std::uint64_t i = 0; i < 5; ++i) {
    expect_verifies(await(fmt::format("job {}", i)), {4, 1, i}, parameters());
  }
  EXPECT_EQ(card.starts, 1);
  EXPECT_EQ(service->status().devices[0].faults, 1u);
  expect_at_rest();
}

TEST_F(ServiceTest, ShortMemoryAtTheDeviceIsTriedAgainAlone) {
  DeviceScript script;
  script.short_of_memory = 1;
  ServiceOptions o = options();
  o.devices = {scripted_device("card", script)};
  start(o);
  submit("a", {4, 1, 1});
  expect_verifies(await("a"), {4, 1, 1}, parameters());
  script.short_of_memory = 2;
  submit("b", {4, 1, 2});
  EXPECT_THAT(error_of("b"), HasSubstr("no other proof beside it"));
  expect_at_rest();
}

TEST_F(ServiceTest, SameRequestAttachesAndAFinishedOneIsAnsweredAgain) {
  start(options());
  const MimcOrder order{4, 1, 1, false, false, 1};
  const Submitted first = submit("id", order);
  hooks.synthesis.wait_for(1);
  const Submitted second = submit("id", order);
  EXPECT_EQ(second.run, first.run);
  EXPECT_TRUE(second.attached);
  hooks.synthesis.open();
  const Answer answer = await("id");
  const Submitted third = submit("id", order);
  EXPECT_TRUE(third.already_done);
  EXPECT_EQ(await("id").proof, answer.proof);
  EXPECT_EQ(hooks.synthesized.size(), 1u);
  const ServiceMetrics m = service->metrics();
  EXPECT_EQ(m.attached, 1u);
  EXPECT_EQ(m.answered_again, 1u);
  EXPECT_EQ(m.status.accepted, 1u);
}

TEST_F(ServiceTest, FailedRequestRunsAgain) {
  start(options());
  const MimcOrder order{4, 1, 1, true};
  const Submitted first = submit("id", order);
  error_of("id");
  const Submitted second = submit("id", order);
  EXPECT_NE(second.run, first.run);
  EXPECT_FALSE(second.attached || second.already_done);
  error_of("id");
}

TEST_F(ServiceTest, SameIdWithOtherContentIsANewRunAndOldWaitersGetTheOldAnswer) {
  start(options());
  const Submitted first = submit("id", {4, 1, 1, false, false, 1});
  hooks.synthesis.wait_for(1);
  std::optional<Answer> old_answer;
  std::thread waiter([&] {
    auto a = service->await_run("id", first.run, Clock::now() + kLong);
    if (a) old_answer = *a;
  });
  // Until it waits: only then has the first run a reader.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Submitted second = submit("id", {4, 1, 2});
  EXPECT_NE(second.run, first.run);
  hooks.synthesis.open();
  expect_verifies(await("id"), {4, 1, 2}, parameters());
  waiter.join();
  ASSERT_TRUE(old_answer);
  expect_verifies(*old_answer, {4, 1, 1}, parameters());
  expect_at_rest();
}

TEST_F(ServiceTest, SupersededRunThatNobodyWaitsForIsCancelled) {
  start(options());
  const Submitted first = submit("id", {4, 5, 1, false, false, 1});
  hooks.synthesis.wait_for(1);
  submit("id", {4, 1, 2});
  hooks.synthesis.open();
  expect_verifies(await("id"), {4, 1, 2}, parameters());
  const auto old_answer = service->await_run("id", first.run, Clock::now() + kLong);
  ASSERT_TRUE(old_answer && *old_answer);
  EXPECT_EQ((*old_answer)->status, AnswerStatus::kCancelled);
  expect_at_rest();
}

TEST_F(ServiceTest, WatchCallsBackOnceAndNeverAfterItIsDropped) {
  start(options());
  const Submitted held = submit("held", {4, 1, 1, false, false, 1});
  std::atomic<int> kept{0}, dropped{0}, late{0};
  auto keep = service->watch("held", held.run, [&](const Answer& a) {
    EXPECT_EQ(a.status, AnswerStatus::kCompleted);
    // Calling back in is allowed.
    EXPECT_TRUE(service->submit(mimc_request("from a callback", {4, 1, 9})));
    ++kept;
  });
  ASSERT_TRUE(keep);
  auto drop = service->watch("held", held.run, [&](const Answer&) { ++dropped; });
  ASSERT_TRUE(drop);
  drop->reset();
  hooks.synthesis.open();
  while (kept == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  await("from a callback");
  auto after = service->watch("held", held.run, [&](const Answer&) { ++late; });
  ASSERT_TRUE(after);
  EXPECT_EQ(kept, 1);
  EXPECT_EQ(dropped, 0);
  EXPECT_EQ(late, 1);
  EXPECT_FALSE(service->watch("nobody", 1, [](const Answer&) {}));
}

TEST_F(ServiceTest, QueueIsBoundedAndDrainingRefuses) {
  ServiceOptions o = options();
  o.max_queued_jobs = 3;
  start(o);
  for (std::uint64_t i = 0; i < 3; ++i) submit(std::to_string(i), {4, 1, i, false, false, 1});
  auto refused = service->submit(mimc_request("3", {4, 1, 3}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfBudget);
  EXPECT_THAT(refused.error().message, HasSubstr("the queue is full: 3"));
  EXPECT_EQ(service->metrics().refused, 1u);
  EXPECT_FALSE(service->drain(Clock::now() + std::chrono::milliseconds(10)));
  refused = service->submit(mimc_request("4", {4, 1, 4}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCancelled);
  EXPECT_FALSE(service->ready());
  hooks.synthesis.open();
  expect_at_rest();
  EXPECT_TRUE(service->ready());
}

TEST_F(ServiceTest, ResultsHaveABoundAndATimeToLive) {
  ServiceOptions o = options();
  o.max_results = 3;
  start(o);
  for (std::uint64_t i = 0; i < 5; ++i) {
    submit(std::to_string(i), {4, 1, i});
    await(std::to_string(i));
  }
  EXPECT_FALSE(service->await("0", Clock::now()));
  EXPECT_FALSE(service->await("1", Clock::now()));
  EXPECT_TRUE(service->await("2", Clock::now()));
  EXPECT_TRUE(service->await("4", Clock::now()));
  o.result_ttl_ms = 1;
  start(o);
  submit("a", {4, 1, 1});
  service->drain(Clock::now() + kLong);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(service->await("a", Clock::now()));
}

TEST_F(ServiceTest, LeastRecentlyUsedKeysLeaveUnderPressureAndNoFileDoes) {
  std::size_t mib = 0;
  for (const std::uint32_t rounds : {1500u, 1501u, 1502u}) mib = needed_for(rounds);
  ServiceOptions o = options();
  o.critical_reserve_percent = 0;
  // Room for the work and one of the keys, of some 2 MiB each.
  o.memory_bytes = ((mib + 1) << 20) * 8 / 7;
  start(o);
  for (int turn = 0; turn < 2; ++turn) {
    for (const std::uint32_t rounds : {1500u, 1501u, 1502u}) {
      const std::string id = fmt::format("{} {}", rounds, turn);
      submit(id, {rounds, 1, 1});
      expect_verifies(await(id), {rounds, 1, 1}, parameters());
    }
  }
  EXPECT_GT(service->metrics().key_evictions, 0u);
  expect_at_rest();
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(parameters())) {
    EXPECT_GT(entry.file_size(), 0u);
    files += entry.path().extension() == ".params";
  }
  EXPECT_EQ(files, 3u);
}

TEST_F(ServiceTest, EventsTellAJobsLifeInOrder) {
  start(options());
  const auto events = service->subscribe();
  submit("a", {4, 1, 1});
  await("a");
  std::vector<std::string> told;
  std::uint64_t last = 0;
  while (told.empty() || told.back() != "finished completed") {
    const auto got = events->next(Clock::now() + kLong);
    ASSERT_FALSE(got.empty());
    for (const Event& e : got) {
      EXPECT_GT(e.sequence, last);
      last = e.sequence;
      if (e.job_id == "a") {
        told.push_back(fmt::format("{} {}", event_type_name(e.type), e.state));
      }
    }
  }
  EXPECT_THAT(
      told, ::testing::ElementsAre("accepted normal", "parsed ", "partition synthesizing",
                                   "partition synthesized", "partition proving",
                                   "partition finishing", "partition done", "finished completed"));
  std::set<std::string> lanes;
  for (const SpanEvent& s : service->spans().spans) {
    EXPECT_LE(s.start_us, s.end_us);
    lanes.insert(s.lane);
  }
  for (const char* lane : {"parse 0", "synthesis 0", "cpu 0", "finish 0", "waits for memory"}) {
    // A worker of the reserve may have been the quicker one.
    EXPECT_TRUE(lanes.contains(lane) || lanes.size() >= 5) << lane;
  }
  EXPECT_THAT(service->trace_json(), HasSubstr("\"h_msm\""));
}

TEST_F(ServiceTest, OptionsThatMakeNoSenseAreRefused) {
  ServiceOptions o = options();
  o.synthesis_workers = 0;
  EXPECT_EQ(Service::start(o).error().code, ErrorCode::kInvalidArgument);
  o = options();
  o.devices.resize(2);
  EXPECT_THAT(Service::start(o).error().message, HasSubstr("two devices are called cpu"));
  o = options();
  o.preload = {"porep-33g"};
  EXPECT_THAT(Service::start(o).error().message, HasSubstr("unknown circuit ID: porep-33g"));
}

TEST_F(ServiceTest, StoppingAnswersEveryWaiter) {
  start(options());
  submit("held", {4, 1, 1, false, false, 1});
  hooks.synthesis.wait_for(1);
  for (std::uint64_t i = 0; i < 5; ++i) submit(std::to_string(i), {4, 1, i});
  std::thread waiter([&] { EXPECT_EQ(await("4").status, AnswerStatus::kCancelled); });
  std::thread stopper([&] { service->stop_now(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  hooks.synthesis.open();
  stopper.join();
  waiter.join();
  EXPECT_FALSE(service->submit(mimc_request("late", {4, 1, 1})));
}

}  // namespace
}  // namespace cuzk::engine
