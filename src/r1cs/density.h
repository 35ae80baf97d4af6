#pragma once
// Which variables occur in A and in B: what selects the bases of the Groth16 queries.
//
// A variable counts when some row has a term for it; the appended input rows are not counted here
// (they make every input dense in A, so that query has all inputs).
//
// Form:    bit i % 64 of word i / 64 stands for variable i; bits past the end are clear.
// Cost:    one pass over the terms of each block, not of each segment.
// Threads: pure function.
// Source:  bellperson 0.27.0, src/lc.rs (DensityTracker).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"
#include "r1cs/compact_r1cs.h"

namespace cuzk {

struct VariableSet {
  std::size_t size = 0;   // variables there are
  std::size_t count = 0;  // variables in the set
  std::vector<std::uint64_t> words;

  bool contains(std::size_t i) const { return words[i / 64] >> (i % 64) & 1; }
  // BLAKE2b-256 of the first ceil(size / 8) bytes.
  Digest32 digest() const;
};

struct Density {
  VariableSet a_aux;
  VariableSet b_input;
  VariableSet b_aux;
};

template <class Fr>
Density compute_density(const CompactR1cs<Fr>& r1cs);

}  // namespace cuzk
