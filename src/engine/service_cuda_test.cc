// The service with a card: jobs of many circuits mixed, the card's key from its file, a card that
// is fenced in the middle of the work, and a real sector.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "engine/circom.h"
#include "engine/devices.h"
#include "engine/service_test_support.h"
#include "format/circom_test_files.h"

namespace cuzk::engine {
namespace {

using namespace testing;
using Clock = std::chrono::steady_clock;

std::shared_ptr<CudaDevice> open_card(std::size_t vram_bytes, int ordinal = 0) {
  Tasks tasks;
  Timeline timeline;
  auto card = CudaDevice::open(
      {tasks, MemoryBudget::process(), timeline}, ordinal,
      {.vram_budget = vram_bytes, .workers = 2, .critical_reserve = vram_bytes / 8});
  EXPECT_TRUE(card) << card.error().message;
  return card ? std::move(*card) : nullptr;
}

class ServiceCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
    card_ = open_card(std::size_t{2} << 30);
    ASSERT_TRUE(card_);
  }
  ServiceOptions options() {
    ServiceOptions out = mimc_options(folder_.path(), nullptr);
    out.parameter_directory = folder_.path();
    out.circuit_directory.clear();
    out.memory_bytes = std::size_t{2} << 30;
    out.threads = 0;
    out.synthesis_workers = 2;
    out.devices.push_back(card_device(card_));
    DeviceOptions cpu;
    cpu.fallback = true;
    out.devices.push_back(std::move(cpu));
    out.on_partition_timing = [this](const groth16::PartitionTiming& t) {
      const std::lock_guard lock(mutex_);
      timings_.push_back(t);
    };
    return out;
  }
  // For real sectors, with another card of so many bytes.
  ServiceOptions sector_options(std::size_t vram_bytes, std::size_t memory_bytes) {
    card_ = nullptr;
    card_ = open_card(vram_bytes);
    if (!card_) std::abort();
    ServiceOptions out = options();
    out.parse = nullptr;
    out.parameter_directory = CUZK_DEV_PARAMS_DIR;
    out.memory_bytes = memory_bytes;
    return out;
  }
  static ProofRequest sector_request(const std::string& id) {
    const auto c1 = read_file(CUZK_TESTDATA_DIR "/filecoin/c1/porep_2kib_v1_1.c1.json", 1 << 20);
    EXPECT_TRUE(c1) << c1.error().message;
    ProofRequest out;
    out.request_id = id;
    if (c1) out.payloads.push_back(*c1);
    return out;
  }
  Answer await(Service& service, const std::string& id) {
    const auto answer = service.await(id, Clock::now() + std::chrono::minutes(2));
    EXPECT_TRUE(answer && *answer) << id;
    return answer && *answer ? **answer : Answer{};
  }

  TemporaryFolder folder_;
  std::shared_ptr<CudaDevice> card_;
  std::mutex mutex_;
  std::vector<groth16::PartitionTiming> timings_;
};

TEST_F(ServiceCuda, MixedJobsAreProvedOnTheCard) {
  const auto service = Service::start(options());
  ASSERT_TRUE(service) << service.error().message;
  std::map<std::string, MimcOrder> orders;
  for (std::uint32_t i = 0; i < 24; ++i) {
    const std::string id = fmt::format("job {}", i);
    orders[id] = {.rounds = 50 + 40 * (i % 4), .partitions = 1 + i % 3, .seed = i + 1};
    ASSERT_TRUE((*service)->submit(mimc_request(id, orders[id])));
  }
  std::size_t partitions = 0;
  for (const auto& [id, order] : orders) {
    SCOPED_TRACE(id);
    expect_verifies(await(**service, id), order, folder_.path());
    partitions += order.partitions;
  }
  const ServiceStatus status = (*service)->status();
  ASSERT_EQ(status.devices.size(), 2u);
  EXPECT_EQ(status.devices[0].name, "cuda:0");
  EXPECT_EQ(status.devices[0].proofs, partitions);
  EXPECT_GT(status.devices[0].busy_us, 0);
  EXPECT_EQ(status.devices[0].busy, 0u);
  EXPECT_FALSE(status.devices[0].model.empty());
  EXPECT_EQ(status.devices[0].keys.size(), 4u);
  EXPECT_EQ(status.devices[1].proofs, 0u);
  EXPECT_EQ(timings_.size(), partitions);
  for (const auto& t : timings_) EXPECT_TRUE(orders.contains(t.job)) << t.line();
  // The queries are on the card alone.
  EXPECT_LT(status.memory.reserved_bytes - card_->pinned_bytes(), std::size_t{16} << 20);
}

TEST_F(ServiceCuda, CircomJobsMixWithTheOthers) {
  const auto service = Service::start(options());
  ASSERT_TRUE(service) << service.error().message;
  const auto vectors = circom_test::made_vectors(circom_test::testdata());
  ASSERT_GE(vectors.size(), 10u);
  std::size_t partitions = 0;
  for (const auto& v : vectors) {
    CircomCircuitOptions circuit;
    circuit.id = v.folder.parent_path().filename().string() + "-" + v.folder.filename().string();
    circuit.zkey = v.zkey;
    const auto registered = (*service)->register_circom(circuit);
    ASSERT_TRUE(registered) << registered.error().message;
    ProofRequest request;
    request.request_id = v.name;
    request.kind = ProofKind::kCircom;
    request.circuit = circuit.id;
    request.payloads.push_back(circom_test::read_bytes(v.wtns));
    ASSERT_TRUE((*service)->submit(request));
    const MimcOrder order{.rounds = 70, .partitions = 2, .seed = ++partitions};
    ASSERT_TRUE((*service)->submit(mimc_request("beside " + v.name, order)));
  }
  Tasks tasks(1);
  for (const auto& v : vectors) {
    SCOPED_TRACE(v.name);
    const Answer answer = await(**service, v.name);
    ASSERT_EQ(answer.status, AnswerStatus::kCompleted)
        << (answer.error ? answer.error->message : "cancelled");
    const std::string proof(answer.proof.begin(), answer.proof.end());
    const Status holds =
        verify_circom(tasks, {circom_test::input(circom_test::read_text(v.vk), "vk.json"),
                              circom_test::input(answer.public_json, "public.json"),
                              circom_test::input(proof, "proof.json")});
    EXPECT_TRUE(holds) << holds.error().message;
    EXPECT_EQ(await(**service, "beside " + v.name).status, AnswerStatus::kCompleted);
  }
  // A witness that is wrong is not held against the card.
  auto wrong = circom_test::read_bytes(vectors[0].wtns);
  wrong[wrong.size() - 32] ^= 1;
  ProofRequest request;
  request.request_id = "wrong";
  request.kind = ProofKind::kCircom;
  request.circuit = vectors[0].folder.parent_path().filename().string() + "-" +
                    vectors[0].folder.filename().string();
  request.payloads.push_back(std::move(wrong));
  ASSERT_TRUE((*service)->submit(request));
  const Answer refused = await(**service, "wrong");
  ASSERT_EQ(refused.status, AnswerStatus::kFailed);
  EXPECT_EQ(refused.error->code, ErrorCode::kUnsatisfied) << refused.error->message;
  const ServiceStatus status = (*service)->status();
  EXPECT_EQ(status.devices[0].proofs, 3 * vectors.size());
  EXPECT_EQ(status.devices[0].invalid_proofs, 0u);
  EXPECT_EQ(status.devices[1].proofs, 0u);
}

TEST_F(ServiceCuda, TwoCardsShareTheWorkAndOneTakesOverFromTheOther) {
  if (gpu::list_devices().size() < 2) GTEST_SKIP() << "one CUDA device: nothing was run";
  const auto second = open_card(std::size_t{2} << 30, 1);
  ASSERT_TRUE(second);
  ServiceOptions o = options();
  o.devices.pop_back();
  o.devices.push_back(card_device(second));
  const auto service = Service::start(o);
  ASSERT_TRUE(service) << service.error().message;
  const MimcOrder order{.rounds = 200, .partitions = 64, .seed = 1};
  ASSERT_TRUE((*service)->submit(mimc_request("both", order)));
  expect_verifies(await(**service, "both"), order, folder_.path());
  const auto before = (*service)->status().devices;
  EXPECT_GT(before[0].proofs, 0u);
  EXPECT_GT(before[1].proofs, 0u);
  EXPECT_EQ(before[0].proofs + before[1].proofs, 64u);
  std::printf("cards: %zu and %zu partitions\n", static_cast<std::size_t>(before[0].proofs),
              static_cast<std::size_t>(before[1].proofs));
  card_->card().fence("a test says so");
  const MimcOrder then{.rounds = 200, .partitions = 16, .seed = 2};
  ASSERT_TRUE((*service)->submit(mimc_request("one", then)));
  expect_verifies(await(**service, "one"), then, folder_.path());
  const auto after = (*service)->status().devices;
  EXPECT_TRUE(after[0].quarantined);
  EXPECT_EQ(after[0].proofs, before[0].proofs);
  EXPECT_EQ(after[1].proofs, before[1].proofs + 16);
}

TEST_F(ServiceCuda, AFencedCardLeavesItsWorkToTheCpu) {
  const auto service = Service::start(options());
  ASSERT_TRUE(service) << service.error().message;
  const MimcOrder first{.rounds = 60, .partitions = 2, .seed = 5};
  ASSERT_TRUE((*service)->submit(mimc_request("before", first)));
  expect_verifies(await(**service, "before"), first, folder_.path());
  card_->card().fence("a test says so");
  const MimcOrder then{.rounds = 60, .partitions = 3, .seed = 6};
  ASSERT_TRUE((*service)->submit(mimc_request("after", then)));
  expect_verifies(await(**service, "after"), then, folder_.path());
  const ServiceStatus status = (*service)->status();
  EXPECT_TRUE(status.devices[0].quarantined);
  EXPECT_NE(status.devices[0].problem.find("a test says so"), std::string::npos);
  EXPECT_EQ(status.devices[0].proofs, 2u);
  EXPECT_EQ(status.devices[1].proofs, 3u);
  EXPECT_TRUE(status.ready);
}

TEST_F(ServiceCuda, ACancelledJobGivesTheCardBack) {
  const auto service = Service::start(options());
  ASSERT_TRUE(service) << service.error().message;
  for (int i = 0; i < 20; ++i) {
    const std::string id = fmt::format("c{}", i);
    ASSERT_TRUE((*service)->submit(mimc_request(
        id, {.rounds = 400, .partitions = 8, .seed = 100u + static_cast<unsigned>(i)})));
    if (i % 2) {
      ASSERT_TRUE((*service)->cancel(id));
    }
  }
  for (int i = 0; i < 20; ++i) {
    const Answer answer = await(**service, fmt::format("c{}", i));
    EXPECT_EQ(answer.status, i % 2 ? AnswerStatus::kCancelled : AnswerStatus::kCompleted) << i;
  }
  EXPECT_EQ((*service)->status().devices[0].busy, 0u);
  EXPECT_EQ(card_->card().gate().tenants(), 0u);
}

TEST_F(ServiceCuda, ARealSectorIsProvedWithItsKeyOnTheCard) {
  const ServiceOptions o = sector_options(std::size_t{6} << 30, std::size_t{4} << 30);
  const auto service = Service::start(o);
  ASSERT_TRUE(service) << service.error().message;
  for (int i = 0; i < 4; ++i) {
    ProofRequest request = sector_request(fmt::format("sector {}", i));
    request.priority = i == 3 ? Priority::kCritical : Priority::kNormal;
    ASSERT_TRUE((*service)->submit(request));
  }
  for (int i = 0; i < 4; ++i) {
    const Answer answer = await(**service, fmt::format("sector {}", i));
    EXPECT_EQ(answer.status, AnswerStatus::kCompleted)
        << (answer.error ? answer.error->message : "cancelled");
    EXPECT_EQ(answer.proof.size(), 192u);
  }
  const ServiceStatus status = (*service)->status();
  EXPECT_EQ(status.devices[0].proofs, 4u);
  ASSERT_EQ(status.devices[0].keys.size(), 1u);
  EXPECT_FALSE(status.devices[0].keys[0].is_streamed);
  EXPECT_GT(status.devices[0].keys[0].bytes, std::size_t{1} << 30);
  EXPECT_LT(status.memory.reserved_bytes - card_->pinned_bytes(), std::size_t{200} << 20);
  for (const auto& t : timings_) std::printf("%s\n", t.line().c_str());
  EXPECT_TRUE((*service)->evict("porep-2k")->was_loaded);
  EXPECT_TRUE((*service)->status().devices[0].keys.empty());
}

// A streamed key on a card holds the circuit and the key of the service, in memory that the
// service's budget counts. A card that outlived its service, as the daemon's does, gave them back
// to a budget that was gone.
TEST_F(ServiceCuda, AStreamedKeyLeavesTheCardWithItsService) {
  const ServiceOptions o = sector_options(std::size_t{1200} << 20, std::size_t{6} << 30);
  {
    const auto service = Service::start(o);
    ASSERT_TRUE(service) << service.error().message;
    ASSERT_TRUE((*service)->submit(sector_request("sector")));
    const Answer answer = await(**service, "sector");
    EXPECT_EQ(answer.status, AnswerStatus::kCompleted)
        << (answer.error ? answer.error->message : "cancelled");
    const ServiceStatus status = (*service)->status();
    ASSERT_EQ(status.devices[0].keys.size(), 1u);
    EXPECT_TRUE(status.devices[0].keys[0].is_streamed);
    EXPECT_EQ(status.devices[0].proofs, 1u);
  }
  EXPECT_TRUE(card_->status().keys.empty());
  EXPECT_EQ(card_->card().arena().free_bytes(), card_->arena_bytes());
}

}  // namespace
}  // namespace cuzk::engine
