// Sectors that the reference sealed, sealed again from their data: everything must be the same.

#include <gtest/gtest.h>

#include "filecoin/seal_sector.h"
#include "format/c1.h"
#include "format/seal_golden_support.h"

namespace cuzk::format {
namespace {

using filecoin::SealedSector;
using filecoin::testing::node_from_hex;
using filecoin::testing::testdata_json;
using testing::golden_json;
using testing::sha256_hex;
using testing::xorshift_piece;

class GoldenSector : public ::testing::TestWithParam<const char*> {
 protected:
  Result<SealedSector> seal() {
    filecoin::SealRequest request;
    request.proof = *filecoin::seal_proof(inputs_["registered_seal_proof"].get<std::string>());
    request.porep_id = node_from_hex(inputs_["porep_id"]);
    request.identity = {node_from_hex(inputs_["prover_id"]), inputs_["sector_id"],
                        node_from_hex(inputs_["ticket"])};
    return SealedSector::seal(
        tasks_, MemoryBudget::process(), request,
        xorshift_piece(files_["stream"], files_["offset"], files_["piece_bytes"]));
  }

  const nlohmann::json inputs_ = testdata_json("c1/" + std::string(GetParam()) + ".inputs.json");
  const nlohmann::json files_ = golden_json("sectors.json")["sectors"][GetParam()];
  Tasks tasks_;
};

TEST_P(GoldenSector, IsSealedToTheSameCommitments) {
  const auto sector = seal();
  ASSERT_TRUE(sector) << sector.error().message;
  EXPECT_EQ(sector->comm_d(), node_from_hex(inputs_["comm_d"]));
  EXPECT_EQ(sector->replica_id(), node_from_hex(inputs_["replica_id"]));
  EXPECT_EQ(sector->comm_c(), node_from_hex(inputs_["comm_c"]));
  EXPECT_EQ(sector->comm_r_last(), node_from_hex(inputs_["comm_r_last"]));
  EXPECT_EQ(sector->comm_r(), node_from_hex(inputs_["comm_r"]));
}

TEST_P(GoldenSector, HasTheSameReplicaLabelsAndTrees) {
  const auto sector = seal();
  ASSERT_TRUE(sector) << sector.error().message;
  EXPECT_EQ(sha256_hex(sector->replica().level(0)), files_["sealed.dat"]);
  if (!files_.contains("layer-1")) return;  // only the 2 KiB sectors came with their cache
  EXPECT_EQ(sha256_hex(sector->data().level(0)), files_["staged.dat"]);
  EXPECT_EQ(sha256_hex(sector->labels().layer(1)), files_["layer-1"]);
  EXPECT_EQ(sha256_hex(sector->labels().layer(2)), files_["layer-2"]);
  EXPECT_EQ(sha256_hex(sector->columns().nodes()), files_["tree-c"]);
  EXPECT_EQ(sha256_hex(sector->data().nodes()), files_["tree-d"]);
}

TEST_P(GoldenSector, OpensToTheSameBytes) {
  const auto sector = seal();
  ASSERT_TRUE(sector) << sector.error().message;
  const auto c1 = sector->open(node_from_hex(inputs_["seed"]));
  ASSERT_TRUE(c1) << c1.error().message;
  EXPECT_EQ(sha256_hex(write_c1_json(*c1)), files_["c1_output.json"]);
  EXPECT_EQ(sha256_hex(write_vanilla_bincode(*c1)), files_["c1_vanilla_proofs.bincode"]);
}

INSTANTIATE_TEST_SUITE_P(Seal, GoldenSector,
                         ::testing::Values("porep_2kib_v1", "porep_2kib_v1_1",
                                           "porep_2kib_v1_1_synth", "porep_2kib_v1_2_ni",
                                           "c1_16kib_v1_1", "c1_32kib_v1_1"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace cuzk::format
