#pragma once
// Compares a compiled update shape with the reference's blank circuit.

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <string>

#include "filecoin/update_circuit.h"
#include "gadget/golden_test_support.h"

namespace cuzk::filecoin::testing {

inline UpdateShape update_shape_named(const std::string& size) {
  return *update_shape(*parse_sector_size(size));
}

inline CompactR1cs<bls12_381::Fr> compiled_update(const std::string& size) {
  const auto start = std::chrono::steady_clock::now();
  auto r1cs = compile_update(update_shape_named(size));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(r1cs) << r1cs.error().message;
  std::printf("%s: %u rows, %zu bytes, %zu coefficients, compiled in %.2f s\n", size.c_str(),
              r1cs->num_rows, r1cs->bytes(), r1cs->dictionary.size(), seconds.count());
  return std::move(*r1cs);
}

inline void expect_reference_update_rows(const std::string& size) {
  const std::filesystem::path folder =
      std::filesystem::path(CUZK_TESTDATA_DIR) / "golden/update_blank";
  std::string name = "update_" + size;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto r1cs = compiled_update(size);
  golden::expect_segments(r1cs, folder / (name + ".r1cs_segments.tsv"), 65536);
  golden::expect_circuit(r1cs, golden::read_json(folder / (name + ".circuit.json")));
}

}  // namespace cuzk::filecoin::testing
