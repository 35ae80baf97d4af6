#pragma once
// Compares a compiled PoSt shape with the reference's blank circuit.

#include <chrono>
#include <cstdio>
#include <string>

#include "filecoin/post_circuit.h"
#include "gadget/golden_test_support.h"

namespace cuzk::filecoin::testing {

inline PostShape post_shape_of(PostKind kind, const std::string& size) {
  const std::uint64_t bytes = *parse_sector_size(size);
  return kind == PostKind::kWinning ? *winning_post_shape(bytes) : *window_post_shape(bytes);
}

// `file`: below testdata/golden.
inline void expect_reference_post_rows(const PostShape& shape, const std::string& file) {
  SCOPED_TRACE(file);
  const auto start = std::chrono::steady_clock::now();
  const auto r1cs = compile_post(shape);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(r1cs) << r1cs.error().message;
  std::printf("%s: %u rows, %zu bytes, compiled in %.2f s\n", r1cs->name.c_str(), r1cs->num_rows,
              r1cs->bytes(), seconds.count());
  const auto expected =
      golden::read_json(std::filesystem::path(CUZK_TESTDATA_DIR) / "golden" / file);
  if (expected.contains("parameter_set_identifier")) {
    EXPECT_EQ(shape.parameter_identifier(), expected.at("parameter_set_identifier"));
  }
  golden::expect_circuit(*r1cs, expected);
}

}  // namespace cuzk::filecoin::testing
