// Registered proofs of spacetime, challenges and public inputs against the reference's, mainnet's
// and the parameters' published names.

#include "filecoin/post_statement.h"

#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "filecoin/post_challenges.h"
#include "filecoin/statement.h"
#include "filecoin/test_support.h"

namespace cuzk::filecoin {
namespace {

using testing::node_from_hex;
using testing::testdata_json;

nlohmann::json golden(const std::string& name) {
  return nlohmann::json::parse(testing::read_text(CUZK_TESTDATA_DIR "/golden/post/" + name));
}

TEST(PostProof, NumbersAndNamesAreTheGoAbis) {
  EXPECT_EQ(post_proof(3u)->name, "StackedDrgWinning32GiBV1");
  EXPECT_EQ(post_proof(8u)->name, "StackedDrgWindow32GiBV1");
  EXPECT_EQ(post_proof(14u)->name, "StackedDrgWindow64GiBV1_1");
  EXPECT_EQ(post_proof(8u)->indexing, PostIndexing::kAcrossSectors);
  EXPECT_EQ(post_proof(13u)->indexing, PostIndexing::kWithinSector);
  EXPECT_EQ(post_proof("StackedDrgWindow32GiBV1_2")->number, 13u);
  EXPECT_EQ(post_proof("StackedDrgWindow32GiBV1_1")->number, 13u);
  EXPECT_EQ(post_proof("13")->name, "StackedDrgWindow32GiBV1_1");
  for (std::uint32_t n = 0; n < 15; ++n) EXPECT_EQ(post_proof(post_proof(n)->name)->number, n);
  for (const char* bad : {"15", "StackedDrg32GiBV1", "StackedDrgWinning32GiBV1_1", "",
                          "StackedDrgWindow3KiBV1", "-1", "99999999999"}) {
    ASSERT_FALSE(post_proof(bad)) << bad;
    EXPECT_EQ(post_proof(bad).error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(PostProof, ParameterNamesAreThePublishedOnes) {
  std::set<std::string> published;
  const auto list = testdata_json("params/parameters-v28.json");
  for (const auto& [name, entry] : list.items()) {
    if (name.find("proof-of-spacetime") != std::string::npos) published.insert(name);
  }
  EXPECT_EQ(published.size(), 20u);
  for (std::uint32_t n = 0; n < 15; ++n) {
    EXPECT_TRUE(published.contains(post_proof(n)->shape.parameter_stem() + ".params")) << n;
  }
}

TEST(PostProof, EverySizeHasBothKinds) {
  EXPECT_EQ(all_post_proofs().size(), 3 * sector_sizes().size());
  EXPECT_FALSE(window_post_shape(3072));
  const PostShape shape = *window_post_shape(std::uint64_t{64} << 30);
  EXPECT_EQ(shape.circuit_sectors, 2300u);
  EXPECT_EQ(shape.num_public_inputs(), 25'300u);
  const PostShape winning = *winning_post_shape(2048);
  EXPECT_EQ(winning.challenges_per_sector(), 66u);
  EXPECT_EQ(winning.sectors_per_partition(), 1u);
  EXPECT_EQ(winning.num_public_inputs(), 132u);
}

TEST(PostChallenges, AreTheReferences) {
  const auto vectors = testdata_json("graph/challenges.json");
  const Node randomness = node_from_hex(vectors.at("post_randomness"));
  for (const auto& v : vectors.at("post")) {
    const PostProof proof = *post_proof(v.at("proof").get<std::string>());
    SCOPED_TRACE(proof.name);
    std::vector<PostSector> sectors;
    for (const auto& s : v.at("sectors")) sectors.push_back({s.at("sector_id"), {}});
    const auto statement = PostStatement::make(proof, randomness, sectors);
    ASSERT_TRUE(statement) << statement.error().message;
    for (std::size_t i = 0; i < sectors.size(); ++i) {
      EXPECT_EQ(statement->challenges(i),
                v.at("sectors")[i].at("challenges").get<std::vector<std::uint64_t>>());
    }
  }
}

TEST(PostChallenges, WinningSectorIsTheReferences) {
  const auto vectors = testdata_json("graph/challenges.json");
  const Node randomness = node_from_hex(vectors.at("post_randomness"));
  const Node prover = node_from_hex(vectors.at("post_prover_id"));
  EXPECT_EQ(prover, prover_id_of_actor(1000));
  for (const auto& v : vectors.at("winning_sector_challenge")) {
    EXPECT_EQ(winning_sector_index(prover, randomness, v.at("sector_set_len")), v.at("result")[0]);
  }
}

TEST(PostStatement, PublicInputsAreTheReferences) {
  for (const char* name : {"winning_post_2kib", "winning_post_32kib",
                           "window_post_2kib_v1_2_1sector", "window_post_2kib_v1_2_2sectors",
                           "window_post_16kib_3sectors", "window_post_32kib_3sectors"}) {
    SCOPED_TRACE(name);
    const auto v = golden(std::string(name) + "/inputs.json");
    const bool winning = std::string(name).starts_with("winning");
    PostProof proof =
        *post_proof(fmt::format("StackedDrg{}{}{}", winning ? "Winning" : "Window",
                                sector_size_name(v.at("sector_size")), winning ? "V1" : "V1_1"));
    std::vector<PostSector> sectors;
    for (const auto& s : v.at("sectors")) {
      sectors.push_back({s.at("sector_id"), node_from_hex(s.at("comm_r"))});
    }
    const auto statement =
        PostStatement::make(proof, node_from_hex(v.at("randomness")), std::move(sectors));
    ASSERT_TRUE(statement) << statement.error().message;
    const auto& expected = v.at("public_inputs_le_hex");
    ASSERT_EQ(statement->partitions(), expected.size());
    for (std::uint32_t p = 0; p < expected.size(); ++p) {
      std::vector<std::string> found;
      const auto inputs = post_public_inputs(*statement, p);
      ASSERT_TRUE(inputs) << inputs.error().message;
      for (const Fr& x : *inputs) {
        found.push_back(to_hex(fr_to_node(x)));
      }
      EXPECT_EQ(found, expected[p].get<std::vector<std::string>>());
    }
  }
}

// SHA-256 of all inputs, big-endian.
std::string inputs_digest(const PostStatement& statement, std::uint32_t partition) {
  const auto inputs = post_public_inputs(statement, partition);
  EXPECT_TRUE(inputs) << inputs.error().message;
  Sha256 hash;
  for (const Fr& x : *inputs) {
    Node node = fr_to_node(x);
    std::reverse(node.begin(), node.end());
    hash.update(node);
  }
  return to_hex(hash.finish());
}

TEST(PostStatement, ARealPartitionOfOneSectorIsPaddedAsTheReferencePads) {
  const auto v = testdata_json("post/window_post_32gib.json");
  for (const char* name : {"StackedDrgWindow32GiBV1", "StackedDrgWindow32GiBV1_2"}) {
    const auto statement =
        PostStatement::make(*post_proof(name), node_from_hex(v.at("randomness")),
                            {{v.at("sector_id"), node_from_hex(v.at("comm_r"))}});
    ASSERT_TRUE(statement) << statement.error().message;
    EXPECT_EQ(inputs_digest(*statement, 0), v.at("inputs_sha256"));
  }
}

TEST(PostStatement, InputsOfMainnetMessagesAreReproduced) {
  const std::string path =
      CUZK_SHARED_DIR "/inputs/filecoin/mainnet/window_post_verified_onchain.json";
  if (!std::ifstream(path)) {
    GTEST_SKIP() << path << " is not here: the inputs of 16 mainnet messages were not derived";
  }
  const auto messages = nlohmann::json::parse(testing::read_text(path));
  for (const auto& v : messages) {
    SCOPED_TRACE(v.at("vector"));
    std::vector<PostSector> sectors;
    for (const auto& s : v.at("proved_sectors")) {
      sectors.push_back({s.at("number"), node_from_hex(s.at("comm_r"))});
    }
    std::reverse(sectors.begin(), sectors.end());  // the statement puts them in order
    const auto number = v.at("proofs")[0].at("post_proof").get<std::uint32_t>();
    // The raw randomness of half of them is above the modulus.
    const auto statement = PostStatement::make(
        *post_proof(number), node_from_hex(v.at("post_randomness_raw")), std::move(sectors));
    ASSERT_TRUE(statement) << statement.error().message;
    EXPECT_EQ(to_hex(statement->randomness()), v.at("post_randomness_fr"));
    ASSERT_EQ(statement->partitions(), v.at("inputs_sha256").size());
    EXPECT_EQ(inputs_digest(*statement, 0), v.at("inputs_sha256")[0]);
  }
}

TEST(PostStatement, SectorsAreOrderedAndEachCountsOnce) {
  const auto make = [](const char* proof, std::vector<PostSector> sectors) {
    return PostStatement::make(*post_proof(proof), {}, std::move(sectors));
  };
  const Node one = {1}, two = {2};
  const auto statement =
      make("StackedDrgWindow2KiBV1_1", {{9, one}, {4, two}, {9, one}, {4, two}, {7, one}});
  ASSERT_TRUE(statement);
  ASSERT_EQ(statement->sectors().size(), 3u);
  EXPECT_EQ(statement->sectors()[0].number, 4u);
  EXPECT_EQ(statement->sectors()[2].number, 9u);
  EXPECT_EQ(statement->partitions(), 2u);
  EXPECT_EQ(statement->sectors_of(1).size(), 1u);
  EXPECT_FALSE(post_public_inputs(*statement, 2));

  const auto refused = [&](const char* proof, std::vector<PostSector> sectors, const char* word) {
    const auto result = make(proof, std::move(sectors));
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find(word), std::string::npos) << result.error().message;
  };
  refused("StackedDrgWindow2KiBV1_1", {}, "no sectors");
  refused("StackedDrgWindow2KiBV1_1", {{9, one}, {9, two}}, "sector 9 stands twice");
  refused("StackedDrgWinning2KiBV1", {{9, one}, {8, one}}, "about one");
  Node large;
  large.fill(0xff);
  refused("StackedDrgWindow2KiBV1", {{5, large}}, "sector 5: comm_r");
}

TEST(PostStatement, LaterPartitionsOfTheOlderIndexingContinueTheCount) {
  const PostProof proof = *post_proof("StackedDrgWindow2KiBV1");
  const auto whole = PostStatement::make(proof, {}, {{1, {}}, {2, {}}, {3, {}}});
  const auto second = PostStatement::make(proof, {}, {{3, {}}}, 1);
  EXPECT_EQ(*post_public_inputs(*whole, 1), *post_public_inputs(*second, 0));
  EXPECT_NE(whole->challenges(2), PostStatement::make(proof, {}, {{3, {}}})->challenges(0));
}

}  // namespace
}  // namespace cuzk::filecoin
