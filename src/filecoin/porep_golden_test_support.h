#pragma once
// Compares a compiled PoRep shape with the reference's blank circuit.

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <string>

#include "filecoin/porep_circuit.h"
#include "filecoin/sparse_sector.h"
#include "filecoin/statement.h"
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

// The witness of the last partition of a sector whose proofs are valid must satisfy the rows.
inline void expect_sparse_sector_satisfies(Tasks& tasks, const std::string& size) {
  const auto c1 = make_sparse_sector(*seal_proof("StackedDrg" + size + "V1_1"), 7);
  ASSERT_TRUE(c1) << c1.error().message;
  const auto inputs = porep_public_inputs(PorepStatement::of(*c1), c1->proof.partitions - 1);
  ASSERT_TRUE(inputs) << inputs.error().message;
  const auto witness =
      synthesize_porep_witness(tasks, c1->proof.shape, c1->partitions.back(), *inputs);
  ASSERT_TRUE(witness) << witness.error().message;
  const auto r1cs = compiled(size);
  EXPECT_GE(r1cs.num_full_aux, witness->full_values().size());
  std::printf("%s: witness of %zu bytes, %zu full scalars\n", size.c_str(), witness->bytes(),
              witness->full_values().size());
  const Status satisfied = check_satisfied(tasks, r1cs, *witness);
  EXPECT_TRUE(satisfied) << satisfied.error().message;
}

}  // namespace cuzk::filecoin::testing
