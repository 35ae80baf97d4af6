// The sector-update circuit against the reference: rows of every small shape. (Witnesses of whole
// sectors are compared in format/update_golden_test.cc, where vanilla proofs are read.)

#include "filecoin/update_circuit.h"

#include <gtest/gtest.h>

#include "filecoin/update_golden_test_support.h"

namespace cuzk::filecoin {
namespace {

using testing::compiled_update;
using testing::update_shape_named;

const std::filesystem::path kGolden = std::filesystem::path(CUZK_TESTDATA_DIR) / "golden";

TEST(UpdateCircuit, RowsOf2KiBAreTheReferences) {
  const auto r1cs = compiled_update("2KiB");
  golden::expect_segments(r1cs, kGolden / "update/update_2kib.r1cs_segments.tsv", 1024);
  golden::expect_circuit(r1cs, golden::read_json(kGolden / "update/update_2kib.p0.circuit.json"));
}

TEST(UpdateCircuit, RowsOfOtherShapesAreTheReferences) {
  for (const char* size : {"16KiB", "32KiB", "8MiB"}) {
    SCOPED_TRACE(size);
    testing::expect_reference_update_rows(size);
  }
}

// The rows of each part, as the structure of its gadgets gives them.
std::uint64_t expected_rows(const UpdateShape& s) {
  constexpr std::uint64_t kHash2 = 311, kShaNode = 45379, kBitsOfDigest = 256;
  const std::uint64_t p = s.partition_bits(), a = s.apex_leafs;
  std::uint64_t replica_path = 1;
  for (const std::uint32_t arity : s.path_arities()) {
    replica_path += arity == 8 ? 505 + 22 : arity == 4 ? 377 + 8 : kHash2 + 2;
  }
  const std::uint64_t per_digest = 254 / (s.node_bits() - p);
  const std::uint64_t digests = (s.challenges + per_digest - 1) / per_digest;
  const std::uint64_t head = 4 + (p + 6) + 1 + 1 + kHash2 + 2 * (kHash2 + 1);
  const std::uint64_t apex = (a - 1) * kShaNode + p * (kShaNode + 2) + 1;
  const std::uint64_t challenge =
      13 + kHash2 + 2 + 2 * replica_path + (a - 1) + s.steps_below_apex() * (kShaNode + 2) + 1;
  return head + apex + digests * (1 + kHash2 + kBitsOfDigest) + s.challenges * challenge;
}

TEST(UpdateCircuit, RowsOfEveryShapeAreCounted) {
  for (const std::uint64_t bytes : update_sector_sizes()) {
    const std::string size = sector_size_name(bytes);
    SCOPED_TRACE(size);
    const auto r1cs = compiled_update(size);
    EXPECT_EQ(r1cs.num_rows, expected_rows(update_shape_named(size)));
    EXPECT_EQ(r1cs.num_inputs, 1 + UpdateShape::kPublicInputs);
    EXPECT_LT(r1cs.bytes(), std::size_t{100} << 20);
  }
  EXPECT_EQ(expected_rows(update_shape_named("2KiB")), 1705039u);
  EXPECT_EQ(expected_rows(update_shape_named("32GiB")), 81049499u);
}

TEST(UpdateCircuit, UpdatesOfRegionsSatisfyTheirCircuit) {
  Tasks tasks(2);
  for (const char* size : {"4KiB", "32KiB"})
    testing::expect_region_update_satisfies(tasks, size, 1);
  for (const std::uint32_t h : {7u, 10u, 12u}) {
    testing::expect_region_update_satisfies(tasks, "8MiB", h);
  }
}

// A statement that names another h than the encoding used is not what the proofs show.
TEST(UpdateCircuit, AnotherHIsUnsatisfied) {
  Tasks tasks(2);
  const UpdateShape shape = update_shape_named("8MiB");
  testing::RegionUpdate update(shape, 9, 3);
  update.statement.h = 10;
  const Status holds = check_update_vanilla(tasks, update.proofs, update.statement);
  ASSERT_FALSE(holds);
  EXPECT_NE(holds.error().message.find("proof_r_new: leaf"), std::string::npos)
      << holds.error().message;
  const auto inputs = update_public_inputs(update.statement, 2).value();
  const auto witness = synthesize_update_witness(tasks, shape, update.proofs[2], inputs);
  ASSERT_TRUE(witness) << witness.error().message;
  const Status satisfied = check_satisfied(tasks, compiled_update("8MiB"), *witness);
  ASSERT_FALSE(satisfied);
  EXPECT_NE(satisfied.error().message.find("challenge 0 > new replica inclusion"),
            std::string::npos)
      << satisfied.error().message;
}

TEST(UpdateCircuit, ShapesWithoutACircuitAreRefused) {
  const auto code_of = [](auto&& change) {
    UpdateShape shape = update_shape_named("2KiB");
    change(shape);
    const auto r1cs = compile_update(shape);
    return r1cs ? ErrorCode::kInternal : r1cs.error().code;
  };
  using enum ErrorCode;
  EXPECT_EQ(code_of([](UpdateShape& s) { s.sector_bytes = 96; }), kInvalidArgument);
  EXPECT_EQ(code_of([](UpdateShape& s) { s.partitions = 3; }), kInvalidArgument);
  EXPECT_EQ(code_of([](UpdateShape& s) { s.partitions = 0; }), kInvalidArgument);
  EXPECT_EQ(code_of([](UpdateShape& s) { s.apex_leafs = 64; }), kInvalidArgument);
  EXPECT_EQ(code_of([](UpdateShape& s) { s.challenges = 0; }), kInvalidArgument);
  EXPECT_EQ(code_of([](UpdateShape& s) { s.h_values[5] = 7; }), kInvalidArgument);
  EXPECT_EQ(code_of([](UpdateShape& s) { s.tree.sub = 2; }), kInvalidArgument);
}

TEST(UpdateCircuit, ItsSpecNamesRowsAndParameters) {
  const CircuitSpec small = update_circuit_spec(update_shape_named("2KiB"));
  EXPECT_TRUE(small.development_size);
  EXPECT_NE(small.identifier.find("sector_nodes: 64"), std::string::npos);
  const CircuitSpec large = update_circuit_spec(update_shape_named("32GiB"));
  EXPECT_FALSE(large.development_size);
  EXPECT_NE(large.identifier, small.identifier);
  EXPECT_EQ(large.stem,
            "v28-empty-sector-update-merkletree-poseidon_hasher-8-8-0-"
            "3b7f44a9362e3985369454947bc94022e118211e49fd672d52bec1cbfd599d18");
}

}  // namespace
}  // namespace cuzk::filecoin
