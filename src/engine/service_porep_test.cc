// A real 2 KiB sector through the whole service: bytes of C1 in, a proof that the statement of that
// C1 verifies with out. The development key is made once for a build tree.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mapped_file.h"
#include "engine/porep.h"
#include "engine/service.h"

namespace cuzk::engine {
namespace {

using Clock = std::chrono::steady_clock;

TEST(ServicePorep, RealSectorIsProvedAndAWrongClaimIsRefused) {
  const auto c1 = read_file(CUZK_TESTDATA_DIR "/filecoin/c1/porep_2kib_v1_1.c1.json", 1 << 20);
  ASSERT_TRUE(c1) << c1.error().message;
  ServiceOptions options;
  options.parameter_directory = CUZK_DEV_PARAMS_DIR;
  options.circuit_directory.clear();
  options.keys = {KeyPolicy::kAllowInsecureDev, true};
  options.memory_bytes = std::size_t{2} << 30;
  auto service = Service::start(options);
  ASSERT_TRUE(service) << service.error().message;

  ProofRequest request;
  request.request_id = "real";
  request.payloads.push_back(*c1);
  ASSERT_TRUE((*service)->submit(request));
  // A replica of another provider.
  request.request_id = "claimed by another";
  request.miner = 424242;
  request.sector = 1;
  ASSERT_TRUE((*service)->submit(request));
  const auto real = (*service)->await("real", Clock::now() + std::chrono::minutes(15));
  ASSERT_TRUE(real && *real);
  ASSERT_EQ((*real)->status, AnswerStatus::kCompleted) << (*real)->error->message;
  EXPECT_TRUE((*real)->insecure_dev);
  const auto other =
      (*service)->await("claimed by another", Clock::now() + std::chrono::minutes(1));
  ASSERT_TRUE(other && *other);
  ASSERT_EQ((*other)->status, AnswerStatus::kFailed);
  EXPECT_EQ((*other)->error->code, ErrorCode::kMismatch) << (*other)->error->message;

  // The plan was an upper bound of what the buffers took.
  const ServiceStatus status = (*service)->status();
  EXPECT_LE(status.memory.peak_reserved_bytes, status.memory.limit_bytes);
  ASSERT_EQ(status.circuits.size(), 1u);
  EXPECT_EQ(status.circuits[0].circuit_id, "porep-2k");
  EXPECT_EQ(status.circuits[0].tier, Tier::kHot);

  Tasks tasks;
  Timeline timeline;
  MemoryBudget memory(std::size_t{1} << 30);
  const Context context{tasks, memory, timeline};
  const auto parsed = parse_porep(context, ByteSpan(*c1), "C1", {});
  ASSERT_TRUE(parsed);
  const auto statement = porep_statement(parsed->statement);
  ASSERT_TRUE(statement);
  const ParameterStore store(CUZK_DEV_PARAMS_DIR);
  const auto files = store.find(statement->circuit, KeyPolicy::kAllowInsecureDev);
  ASSERT_TRUE(files);
  const auto vk = store.load_verifying_key(*files, KeyPolicy::kAllowInsecureDev);
  ASSERT_TRUE(vk);
  const Status verified = verify_statement(context, *vk, *statement, (*real)->proof);
  EXPECT_TRUE(verified) << verified.error().message;

  const auto evicted = (*service)->evict("porep-2k");
  ASSERT_TRUE(evicted);
  EXPECT_TRUE(evicted->was_loaded);
  EXPECT_GT(evicted->freed_bytes, std::size_t{10} << 20);
  EXPECT_EQ((*service)->status().memory.reserved_bytes, 0u);
  const auto loaded = (*service)->preload("porep-2k");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE(loaded->already_loaded);
  EXPECT_TRUE((*service)->preload("porep-2k")->already_loaded);
}

}  // namespace
}  // namespace cuzk::engine
