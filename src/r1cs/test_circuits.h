#pragma once
// Small random circuits for the tests here: one with blocks, segments and ports, and its flat twin.

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.h"
#include "field/bls12_381.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk::test_circuits {

using bls12_381::Fr;

inline std::uint32_t below(RandomSource& rng, std::uint32_t n) {
  return static_cast<std::uint32_t>(rng.next_u64() % n);
}

inline void add_random_rows(RowBlock& block, std::span<const ColumnRef> columns,
                            std::uint32_t num_coefficients, RandomSource& rng) {
  for (RowMatrix& m : block.matrices) {
    for (std::uint32_t row = 0; row < block.num_rows; ++row) {
      std::set<std::uint32_t> chosen;
      for (std::uint32_t n = below(rng, 5); n > 0; --n) {
        chosen.insert(below(rng, static_cast<std::uint32_t>(columns.size())));
      }
      for (const std::uint32_t c : chosen) {
        m.terms.push_back({columns[c], below(rng, num_coefficients)});
      }
      m.row_end.push_back(static_cast<std::uint32_t>(m.terms.size()));
    }
  }
}

// Block 0 once, then block 1 five times, each with ports to two variables of block 0.
inline CompactR1cs<Fr> repeated(std::uint64_t seed) {
  SeededRandom rng(seed);
  CompactR1cs<Fr> r;
  r.name = "test";
  r.dictionary = {Fr::one(), -Fr::one(), Fr::random(rng), Fr::random(rng)};
  const auto num_coefficients = static_cast<std::uint32_t>(r.dictionary.size());
  RowBlock head{.path = "head", .num_rows = 7, .num_aux = 70, .num_inputs = 2};
  RowBlock body{.path = "body", .num_rows = 9, .num_aux = 67, .num_inputs = 1, .num_ports = 2};
  std::vector<ColumnRef> columns = {ColumnRef::make(ColumnRef::kInput, 0)};
  for (std::uint32_t i = 0; i < 2; ++i) {
    columns.push_back(ColumnRef::make(ColumnRef::kLocalInput, i));
  }
  for (std::uint32_t i = 0; i < 70; i += 3) {
    columns.push_back(ColumnRef::make(ColumnRef::kLocalAux, i));
  }
  add_random_rows(head, columns, num_coefficients, rng);
  columns = {ColumnRef::make(ColumnRef::kInput, 1), ColumnRef::make(ColumnRef::kLocalInput, 0),
             ColumnRef::make(ColumnRef::kAux, 3), ColumnRef::make(ColumnRef::kPort, 0),
             ColumnRef::make(ColumnRef::kPort, 1)};
  for (std::uint32_t i = 0; i < 67; i += 2) {
    columns.push_back(ColumnRef::make(ColumnRef::kLocalAux, i));
  }
  add_random_rows(body, columns, num_coefficients, rng);
  r.blocks = {head, body};
  r.segments.push_back({0, 0, 0, 1, 0});
  r.num_inputs = 3;
  r.num_aux = 70;
  r.num_rows = 7;
  for (std::uint32_t i = 0; i < 5; ++i) {
    r.segments.push_back({1, r.num_rows, r.num_aux, r.num_inputs, 2 * i});
    r.ports.push_back(ColumnRef::make(ColumnRef::kAux, 10 + i));
    r.ports.push_back(ColumnRef::make(ColumnRef::kAux, 20 + 7 * i));
    r.paths.push_back({r.num_rows, 9, r.num_aux, 67, 1, "body " + std::to_string(i)});
    r.num_rows += 9;
    r.num_aux += 67;
    r.num_inputs += 1;
  }
  return r;
}

// The same rows as one block of absolute references.
inline CompactR1cs<Fr> flattened(const CompactR1cs<Fr>& from) {
  CompactR1cs<Fr> r = from;
  RowBlock all{.path = "", .num_rows = from.num_rows, .num_aux = 0, .num_inputs = 0};
  for (const Segment& segment : from.segments) {
    const RowBlock& block = from.blocks[segment.block];
    for (std::size_t m = 0; m < 3; ++m) {
      for (std::size_t row = 0; row < block.num_rows; ++row) {
        for (const Term& t : block.matrices[m].row(row)) {
          all.matrices[m].terms.push_back({from.resolve(t.column, segment), t.coefficient});
        }
        all.matrices[m].row_end.push_back(static_cast<std::uint32_t>(all.matrices[m].terms.size()));
      }
    }
  }
  r.blocks = {all};
  r.segments = {{0, 0, 0, 0, 0}};
  r.ports.clear();
  return r;
}

// Zeros, ones and full scalars in about equal numbers.
inline CompactWitness<Fr> random_witness(const CompactR1cs<Fr>& r1cs, std::uint64_t seed) {
  SeededRandom rng(seed);
  CompactWitness<Fr> w;
  w.inputs.push_back(Fr::one());
  while (w.inputs.size() < r1cs.num_inputs) w.inputs.push_back(Fr::random(rng));
  for (std::uint32_t i = 0; i < r1cs.num_aux; ++i) {
    const std::uint32_t kind = below(rng, 3);
    w.push(kind == 2 ? Fr::random(rng) : Fr::from_u64(kind));
  }
  w.finish();
  return w;
}

}  // namespace cuzk::test_circuits
