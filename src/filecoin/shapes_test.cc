#include "filecoin/shapes.h"

#include <gtest/gtest.h>

#include <set>

#include "filecoin/test_support.h"

namespace cuzk::filecoin {
namespace {

using testing::testdata_json;

TEST(Shapes, ParameterNamesEqualThePublishedOnes) {
  const auto published = testdata_json("params/parameters-v28.json");
  int count = 0;
  for (const auto& entry : testdata_json("params/circuit_identifiers.json")) {
    if (entry["kind"] != "porep") continue;
    const PorepShape shape = *porep_shape(entry["sector_size"].get<std::uint64_t>());
    EXPECT_EQ(shape.parameter_identifier(), entry["identifier"].get<std::string>());
    EXPECT_EQ(shape.parameter_stem(), entry["name"].get<std::string>());
    EXPECT_EQ(shape.num_public_inputs(), entry["num_public_inputs"].get<std::uint32_t>());
    EXPECT_TRUE(published.contains(shape.parameter_stem() + ".params")) << shape.parameter_stem();
    EXPECT_EQ(published[shape.parameter_stem() + ".vk"]["sector_size"].get<std::uint64_t>(),
              shape.sector_bytes);
    ++count;
  }
  EXPECT_EQ(count, 5);
}

TEST(Shapes, GoldenSectorsHaveTheShapesTheyWereMadeWith) {
  for (const char* name : {"porep_2kib_v1_1", "c1_16kib_v1_1", "c1_32kib_v1_1"}) {
    const auto golden = testdata_json(std::string("c1/") + name + ".inputs.json");
    const PorepShape shape = *porep_shape(golden["sector_size"].get<std::uint64_t>());
    EXPECT_EQ(shape.parameter_identifier(), golden["parameter_set_identifier"].get<std::string>());
    EXPECT_EQ(shape.parameter_stem(), "v28-" + golden["cache_id"].get<std::string>());
  }
}

TEST(Shapes, PathsReachFromTheLeavesToOneRoot) {
  for (const std::uint64_t bytes : sector_sizes()) {
    const PorepShape shape = *porep_shape(bytes);
    std::uint64_t leaves = 1;
    for (const std::uint32_t arity : shape.path_arities()) leaves *= arity;
    EXPECT_EQ(leaves, shape.nodes()) << sector_size_name(bytes);
  }
}

TEST(Shapes, SizesAreSpelledBothWays) {
  for (const std::uint64_t bytes : sector_sizes()) {
    EXPECT_EQ(*parse_sector_size(sector_size_name(bytes)), bytes);
    EXPECT_EQ(*parse_sector_size(std::to_string(bytes)), bytes);
  }
  EXPECT_EQ(*parse_sector_size("32gib"), std::uint64_t{32} << 30);
  for (const char* bad : {"", "3GiB", "32", "32GB", "2KiB ", "-2048", "34359738368x"}) {
    const auto size = parse_sector_size(bad);
    ASSERT_FALSE(size) << bad;
    EXPECT_NE(size.error().message.find("64GiB"), std::string::npos) << size.error().message;
  }
  EXPECT_FALSE(porep_shape(0));
  EXPECT_FALSE(porep_shape(2049));
}

TEST(SealProofs, NumbersFollowTheAbi) {
  const struct {
    std::uint32_t number;
    const char* name;
    std::uint32_t partitions;
    std::uint32_t challenges;
  } kKnown[] = {
      {0, "StackedDrg2KiBV1", 1, 2},
      {3, "StackedDrg32GiBV1", 10, 18},
      {5, "StackedDrg2KiBV1_1", 1, 2},
      {8, "StackedDrg32GiBV1_1", 10, 18},
      {9, "StackedDrg64GiBV1_1", 10, 18},
      {10, "StackedDrg2KiBV1_1_Feat_SyntheticPoRep", 1, 2},
      {13, "StackedDrg32GiBV1_1_Feat_SyntheticPoRep", 10, 18},
      {15, "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep", 13, 2},
      {17, "StackedDrg512MiBV1_2_Feat_NonInteractivePoRep", 13, 2},
      {18, "StackedDrg32GiBV1_2_Feat_NonInteractivePoRep", 126, 18},
  };
  for (const auto& known : kKnown) {
    const SealProof proof = *seal_proof(known.number);
    EXPECT_EQ(proof.name, known.name);
    EXPECT_EQ(proof.partitions, known.partitions);
    EXPECT_EQ(proof.shape.challenges_per_partition, known.challenges);
    EXPECT_EQ(seal_proof(proof.name)->number, known.number);
    EXPECT_EQ(proof.porep_id()[0], known.number);
  }
  EXPECT_FALSE(seal_proof(20));
  EXPECT_FALSE(seal_proof("StackedDrg32GiBV1_2"));
  EXPECT_FALSE(seal_proof(""));
}

TEST(SealProofs, EverySizeHasEveryVersionUnderItsOwnName) {
  std::set<std::string> names;
  std::set<std::uint32_t> numbers;
  for (const SealProof& proof : all_seal_proofs()) {
    names.insert(proof.name);
    numbers.insert(proof.number);
    EXPECT_EQ(seal_proof(proof.name)->sector_bytes, proof.sector_bytes);
    EXPECT_EQ(proof.size_tag(), "StackedDrg" + sector_size_name(proof.sector_bytes) + "V1");
  }
  EXPECT_EQ(names.size(), 40u);
  EXPECT_EQ(numbers.size(), 20u);
}

}  // namespace
}  // namespace cuzk::filecoin
