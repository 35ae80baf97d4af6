#pragma once
// Compares a compiled PoRep shape with the reference's blank circuit.

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <string>

#include "filecoin/porep_circuit.h"
#include "gadget/golden_test_support.h"

namespace cuzk::filecoin::testing {

inline CompactR1cs<bls12_381::Fr> compiled(const std::string& size) {
  auto r1cs = compile_porep(*porep_shape(*parse_sector_size(size)));
  EXPECT_TRUE(r1cs) << r1cs.error().message;
  return std::move(*r1cs);
}

inline void expect_reference_rows(const std::string& size) {
  const std::filesystem::path folder =
      std::filesystem::path(CUZK_TESTDATA_DIR) / "golden/porep_blank";
  std::string name = "porep_" + size;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto start = std::chrono::steady_clock::now();
  const auto r1cs = compiled(size);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%s: %u rows, %zu bytes, %zu coefficients, compiled in %.2f s\n", size.c_str(),
              r1cs.num_rows, r1cs.bytes(), r1cs.dictionary.size(), seconds.count());
  golden::expect_segments(r1cs, folder / (name + ".r1cs_segments.tsv"), 65536);
  golden::expect_circuit(r1cs, golden::read_json(folder / (name + ".circuit.json")));
}

}  // namespace cuzk::filecoin::testing
