#pragma once
// Compares a compiled update shape with the reference's blank circuit.

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <string>

#include "filecoin/update_circuit.h"
#include "filecoin/update_region_test_support.h"
#include "filecoin/update_vanilla_check.h"
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

// An update that was never made holds, and the witness of its last partition satisfies the rows.
inline void expect_region_update_satisfies(Tasks& tasks, const std::string& size, std::uint32_t h) {
  const UpdateShape shape = update_shape_named(size);
  const RegionUpdate update(shape, h, 7);
  ASSERT_TRUE(check_update_shape(shape, update.proofs));
  const Status holds = check_update_vanilla(tasks, update.proofs, update.statement);
  ASSERT_TRUE(holds) << holds.error().message;
  const auto inputs = update_public_inputs(update.statement, shape.partitions - 1);
  ASSERT_TRUE(inputs) << inputs.error().message;
  const auto start = std::chrono::steady_clock::now();
  const auto witness = synthesize_update_witness(tasks, shape, update.proofs.back(), *inputs);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(witness) << witness.error().message;
  std::printf("%s, h %u: witness of %zu bytes, %zu full scalars, made in %.2f s\n", size.c_str(), h,
              witness->bytes(), witness->full_values().size(), seconds.count());
  const auto r1cs = compiled_update(size);
  EXPECT_GE(r1cs.num_full_aux, witness->full_values().size());
  const Status satisfied = check_satisfied(tasks, r1cs, *witness);
  EXPECT_TRUE(satisfied) << satisfied.error().message;
}

}  // namespace cuzk::filecoin::testing
