// Sectors that the reference sealed, sealed again from their data: everything must be the same.

#include <gtest/gtest.h>

#include "filecoin/seal_post.h"
#include "filecoin/seal_sector.h"
#include "filecoin/seal_update.h"
#include "format/c1.h"
#include "format/post_vanilla.h"
#include "format/seal_golden_support.h"
#include "format/update_vanilla.h"

namespace cuzk::format {
namespace {

using filecoin::SealedSector;
using filecoin::testing::node_from_hex;
using filecoin::testing::testdata_json;
using testing::golden_json;
using testing::sha256_hex;
using testing::xorshift_node;
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

std::vector<std::uint8_t> golden_bytes(const std::string& name) {
  const std::string text = filecoin::testing::read_text(CUZK_TESTDATA_DIR "/" + name);
  return {text.begin(), text.end()};
}

// Sectors of provider 1000 by V1_1, as the reference's proofs of spacetime and updates have them.
filecoin::SealRequest small_sector(const std::string& size, std::uint64_t number,
                                   const filecoin::Node& ticket, const filecoin::Node& porep_id) {
  return {*filecoin::seal_proof("StackedDrg" + size + "V1_1"),
          porep_id,
          {filecoin::prover_id_of_actor(1000), number, ticket}};
}

struct PostVector {
  const char* folder;
  const char* proof;
  const char* size;
  std::uint32_t stream;  // of a sector: this plus its number
  const char* porep_id;
};

class GoldenPost : public ::testing::TestWithParam<PostVector> {};

TEST_P(GoldenPost, IsOpenedToTheSameBytes) {
  const PostVector& v = GetParam();
  const std::string folder = std::string("golden/post/") + v.folder + "/";
  const auto inputs = nlohmann::json::parse(
      filecoin::testing::read_text(CUZK_TESTDATA_DIR "/" + folder + "inputs.json"));
  Tasks tasks;
  std::vector<SealedSector> sealed;
  std::vector<filecoin::PostReplica> replicas;
  std::vector<filecoin::PostSector> sectors;
  const std::size_t piece_bytes = filecoin::piece_capacity(inputs["sector_size"]);
  for (const auto& sector : inputs["sectors"]) {
    const std::uint64_t number = sector["sector_id"];
    const auto stream = v.stream + static_cast<std::uint32_t>(number);
    const auto request =
        small_sector(v.size, number, xorshift_node(stream, piece_bytes), node_from_hex(v.porep_id));
    auto one = SealedSector::seal(tasks, MemoryBudget::process(), request,
                                  xorshift_piece(stream, 0, piece_bytes));
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(one->comm_d(), node_from_hex(sector["comm_d"]));
    EXPECT_EQ(one->comm_r(), node_from_hex(sector["comm_r"]));
    sealed.push_back(std::move(*one));
    sectors.push_back({number, sealed.back().comm_r()});
  }
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    replicas.push_back({sectors[i].number, sealed[i].comm_c(), &sealed[i].replica()});
  }
  const auto statement = filecoin::PostStatement::make(
      *filecoin::post_proof(v.proof), node_from_hex(inputs["randomness"]), sectors);
  ASSERT_TRUE(statement) << statement.error().message;
  const auto proofs = filecoin::open_post(tasks, *statement, replicas);
  ASSERT_TRUE(proofs) << proofs.error().message;
  ASSERT_EQ(proofs->size(), sectors.size());
  for (const auto& proof : *proofs) {
    EXPECT_TRUE(
        write_post_sector_proof(proof) ==
        golden_bytes(folder + "vanilla_sector" + std::to_string(proof.sector) + ".bincode"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Seal, GoldenPost,
    ::testing::Values(
        PostVector{"winning_post_2kib", "StackedDrgWinning2KiBV1", "2KiB", 128,
                   "0500000000000000000000000000000000000000000000000000000000000000"},
        PostVector{"window_post_2kib_v1_2_1sector", "StackedDrgWindow2KiBV1_2", "2KiB", 128,
                   "0500000000000000000000000000000000000000000000000000000000000000"},
        PostVector{"window_post_2kib_v1_2_2sectors", "StackedDrgWindow2KiBV1_2", "2KiB", 128,
                   "0500000000000000000000000000000000000000000000000000000000000000"},
        PostVector{"window_post_16kib_3sectors", "StackedDrgWindow16KiBV1_2", "16KiB", 144,
                   "1000000000000000000000000000000000000000000000000000000000000000"},
        PostVector{"window_post_32kib_3sectors", "StackedDrgWindow32KiBV1_2", "32KiB", 160,
                   "2000000000000000000000000000000000000000000000000000000000000000"},
        PostVector{"winning_post_32kib", "StackedDrgWinning32KiBV1", "32KiB", 160,
                   "2000000000000000000000000000000000000000000000000000000000000000"}),
    [](const auto& test) { return std::string(test.param.folder); });

struct UpdateVector {
  const char* name;
  const char* size;
  std::uint32_t stream;
  const char* porep_id;
};

class GoldenUpdate : public ::testing::TestWithParam<UpdateVector> {};

TEST_P(GoldenUpdate, IsEncodedAndOpenedToTheSameBytes) {
  const UpdateVector& v = GetParam();
  const auto inputs = testdata_json(std::string("update/") + v.name + ".inputs.json");
  Tasks tasks;
  const auto request = small_sector(v.size, inputs["sector_id"], node_from_hex(inputs["ticket"]),
                                    node_from_hex(v.porep_id));
  const auto key = SealedSector::seal(tasks, MemoryBudget::process(), request, {});
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->comm_d(), node_from_hex(inputs["comm_d_old"]));
  EXPECT_EQ(key->comm_r(), node_from_hex(inputs["comm_r_old"]));
  const auto proof = filecoin::update_proof("StackedDrg" + std::string(v.size) + "V1");
  ASSERT_TRUE(proof) << proof.error().message;
  const auto updated = filecoin::UpdatedSector::encode(
      tasks, MemoryBudget::process(),
      {*proof, proof->shape.default_h(), key->comm_c(), &key->replica()},
      xorshift_piece(v.stream, 128, filecoin::piece_capacity(proof->shape.sector_bytes)));
  ASSERT_TRUE(updated) << updated.error().message;
  const filecoin::UpdateStatement& statement = updated->statement();
  EXPECT_EQ(statement.comm_r_old, node_from_hex(inputs["comm_r_old"]));
  EXPECT_EQ(statement.comm_d_new, node_from_hex(inputs["comm_d_new"]));
  EXPECT_EQ(statement.comm_r_new, node_from_hex(inputs["comm_r_new"]));
  const auto proofs = updated->open(tasks);
  ASSERT_TRUE(proofs) << proofs.error().message;
  ASSERT_EQ(proofs->size(), inputs["partitions"]);
  for (std::size_t p = 0; p < proofs->size(); ++p) {
    EXPECT_TRUE(write_update_partition((*proofs)[p]) ==
                golden_bytes("filecoin/update/" + std::string(v.name) + ".p" + std::to_string(p) +
                             ".bincode"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Seal, GoldenUpdate,
    ::testing::Values(
        UpdateVector{"update_2kib", "2KiB", 48,
                     "0500000000000000000000000000000000000000000000000000000000000000"},
        UpdateVector{"update_16kib", "16KiB", 32,
                     "1000000000000000000000000000000000000000000000000000000000000000"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace cuzk::format
