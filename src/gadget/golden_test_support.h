#pragma once
// Reads the reference's digests and vectors for tests of circuits.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/mapped_file.h"
#include "base/tasks.h"
#include "r1cs/density.h"
#include "r1cs/digest.h"
#include "r1cs/eval.h"

namespace cuzk::golden {

inline nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot open " + path.string());
  return nlohmann::json::parse(in);
}

inline std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path) {
  return read_file(path, std::size_t{1} << 28).value();
}

// Compares the digests of runs of rows with a reference's list and names the first run that
// differs.
template <class Fr>
void expect_segments(const CompactR1cs<Fr>& r1cs, const std::filesystem::path& tsv,
                     std::size_t rows_per_segment) {
  const auto ours = r1cs_segment_digests(r1cs, rows_per_segment);
  std::ifstream in(tsv);
  ASSERT_TRUE(in) << tsv;
  std::size_t i = 0, first_row = 0;
  for (std::string hex; in >> first_row >> hex; ++i) {
    ASSERT_EQ(first_row, i * rows_per_segment);
    ASSERT_LT(i, ours.size()) << "the reference has more rows";
    ASSERT_EQ(to_hex(ours[i]), hex) << "rows from " << first_row << " differ ("
                                    << row_path(r1cs, static_cast<std::uint32_t>(first_row)) << ")";
  }
  EXPECT_EQ(i, ours.size());
}

// Everything that a <name>.circuit.json says about the matrices.
template <class Fr>
void expect_circuit(const CompactR1cs<Fr>& r1cs, const nlohmann::json& expected) {
  EXPECT_EQ(r1cs.num_inputs, expected.at("num_inputs_including_one"));
  EXPECT_EQ(r1cs.num_aux, expected.at("num_aux"));
  EXPECT_EQ(r1cs.num_rows, expected.at("num_constraints"));
  EXPECT_EQ(r1cs.num_rows_with_inputs(), expected.at("num_constraints_with_input_rows"));
  EXPECT_EQ(std::uint64_t{1} << r1cs.domain_log2(), expected.at("domain_size"));
  const TermCounts terms = count_terms(r1cs);
  EXPECT_EQ(terms.a, expected.at("nnz_a"));
  EXPECT_EQ(terms.b, expected.at("nnz_b"));
  EXPECT_EQ(terms.c, expected.at("nnz_c"));
  const Density density = compute_density(r1cs);
  EXPECT_EQ(density.a_aux.count, expected.at("density_a_aux"));
  EXPECT_EQ(density.b_input.count, expected.at("density_b_input"));
  EXPECT_EQ(density.b_aux.count, expected.at("density_b_aux"));
  if (expected.contains("density_bitmap_blake2b256")) {
    const auto& digests = expected.at("density_bitmap_blake2b256");
    EXPECT_EQ(to_hex(density.a_aux.digest()), digests.at("a_aux"));
    EXPECT_EQ(to_hex(density.b_input.digest()), digests.at("b_input"));
    EXPECT_EQ(to_hex(density.b_aux.digest()), digests.at("b_aux"));
  }
  EXPECT_EQ(to_hex(r1cs_digest(r1cs)), expected.at("r1cs_blake2b256"));
}

// Everything that it says about the assignment.
template <class Fr>
void expect_witness(Tasks& tasks, const CompactR1cs<Fr>& r1cs, const CompactWitness<Fr>& witness,
                    const nlohmann::json& expected) {
  EXPECT_EQ(to_hex(witness_digest(witness)), expected.at("witness_blake2b256"));
  const Status satisfied = check_satisfied(tasks, r1cs, witness);
  EXPECT_TRUE(satisfied) << satisfied.error().message;
  std::vector<Fr> values(r1cs.num_rows_with_inputs());
  const std::pair<Matrix, const char*> matrices[] = {{Matrix::kA, "a_eval_blake2b256"},
                                                     {Matrix::kB, "b_eval_blake2b256"},
                                                     {Matrix::kC, "c_eval_blake2b256"}};
  for (const auto& [matrix, key] : matrices) {
    const Status done = evaluate_matrix<Fr>(tasks, r1cs, witness, matrix, values);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(to_hex(evaluation_digest<Fr>(values)), expected.at(key)) << key;
  }
}

}  // namespace cuzk::golden
