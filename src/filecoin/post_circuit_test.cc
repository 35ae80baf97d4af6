// The rows of the PoSt circuit against the reference, for every size but the two that need minutes
// (post_production_test). Witnesses: format/post_vanilla_test, where vanilla proofs can be read.

#include <gtest/gtest.h>

#include "filecoin/post_golden_test_support.h"

namespace cuzk::filecoin {
namespace {

using testing::expect_reference_post_rows;
using testing::post_shape_of;

TEST(PostCircuit, WinningRowsAreTheReferences) {
  const std::pair<const char*, const char*> cases[] = {
      {"2KiB", "post/winning_post_2kib/post_p0.circuit.json"},
      {"32KiB", "post/winning_post_32kib/post_p0.circuit.json"},
      {"8MiB", "post_blank/winning_post_8mib.circuit.json"},
      {"32GiB", "post_blank/winning_post_32gib.circuit.json"},
      {"64GiB", "post_blank/winning_post_64gib.circuit.json"}};
  for (const auto& [size, file] : cases) {
    expect_reference_post_rows(post_shape_of(PostKind::kWinning, size), file);
  }
}

TEST(PostCircuit, WindowRowsAreTheReferences) {
  const std::pair<const char*, const char*> cases[] = {
      {"2KiB", "post/window_post_2kib_v1_2_1sector/post_p0.circuit.json"},
      {"2KiB", "post/window_post_2kib_v1_2_2sectors/post_p0.circuit.json"},
      {"16KiB", "post/window_post_16kib_3sectors/post_p1.circuit.json"},
      {"32KiB", "post/window_post_32kib_3sectors/post_p0.circuit.json"},
      {"8MiB", "post_blank/window_post_8mib.circuit.json"},
      {"512MiB", "post_blank/window_post_512mib.circuit.json"}};
  for (const auto& [size, file] : cases) {
    expect_reference_post_rows(post_shape_of(PostKind::kWindow, size), file);
  }
}

// The 125 million rows are not walked here: only that one place is kept for all 2,349.
TEST(PostCircuit, WindowOf32GiBIsCompiledFromOnePlace) {
  const auto r1cs = compile_post(post_shape_of(PostKind::kWindow, "32GiB"));
  ASSERT_TRUE(r1cs) << r1cs.error().message;
  EXPECT_EQ(r1cs->num_rows, 125'279'217u);
  EXPECT_EQ(r1cs->num_inputs, 25'840u);
  EXPECT_EQ(r1cs->segments.size(), 2349u);
  EXPECT_EQ(r1cs->blocks.size(), 1u);
  EXPECT_LT(r1cs->bytes(), std::size_t{64} << 20);
}

TEST(PostCircuit, RowsPerPlaceFollowTheFormula) {
  for (const char* size : {"4KiB", "16MiB", "512MiB", "1GiB"}) {
    for (const PostKind kind : {PostKind::kWinning, PostKind::kWindow}) {
      const PostShape shape = post_shape_of(kind, size);
      const auto r1cs = compile_post(shape);
      ASSERT_TRUE(r1cs) << r1cs.error().message;
      std::uint32_t path = 2;
      for (const std::uint32_t arity : shape.path_arities()) {
        path += arity == 2 ? 314 : arity == 4 ? 387 : 530;
      }
      EXPECT_EQ(r1cs->num_rows, shape.circuit_sectors * (shape.circuit_challenges * path + 313));
      EXPECT_EQ(r1cs->num_inputs, 1 + shape.num_public_inputs());
    }
  }
}

TEST(PostCircuit, ShapesWithoutACircuitAreRefused) {
  const auto code_of = [](auto&& change) {
    PostShape shape = post_shape_of(PostKind::kWindow, "2KiB");
    change(shape);
    const auto r1cs = compile_post(shape);
    return r1cs ? ErrorCode::kInternal : r1cs.error().code;
  };
  using enum ErrorCode;
  EXPECT_EQ(code_of([](PostShape& s) { s.circuit_sectors = 0; }), kInvalidArgument);
  EXPECT_EQ(code_of([](PostShape& s) { s.circuit_challenges = 0; }), kInvalidArgument);
  EXPECT_EQ(code_of([](PostShape& s) { s.sector_bytes = 96; }), kInvalidArgument);
}

}  // namespace
}  // namespace cuzk::filecoin
