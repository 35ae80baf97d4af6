#pragma once
// Walking the rows of a compact circuit, and the value of one row.
//
// Threads: pure functions over immutable data.

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/check.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk {

// Calls fn(row, block, row_in_block, segment) for every row of [begin, end), in order. Rows are the
// circuit's own: end <= r1cs.num_rows.
template <class Fr, class F>
void for_each_row(const CompactR1cs<Fr>& r1cs, std::size_t begin, std::size_t end, F&& fn) {
  CUZK_CHECK(end <= r1cs.num_rows);
  auto segment =
      std::upper_bound(r1cs.segments.begin(), r1cs.segments.end(), begin,
                       [](std::size_t row, const Segment& s) { return row < s.row_base; });
  if (segment != r1cs.segments.begin()) --segment;
  for (std::size_t row = begin; row < end; ++segment) {
    const RowBlock& block = r1cs.blocks[segment->block];
    const std::size_t stop = std::min<std::size_t>(end, segment->row_base + block.num_rows);
    for (; row < stop; ++row) fn(row, block, row - segment->row_base, *segment);
  }
}

namespace rows_internal {

// A sum of field elements that is reduced once, at the end. Each limb has a column of its own, so
// that no carry passes between them: fewer than 2^64 elements fit.
template <class Fr>
class WideSum {
 public:
  // Adds the element, or nothing: `mask` is all ones or zero.
  void add_masked(const Fr& v, std::uint64_t mask) {
    for (std::size_t i = 0; i < Fr::kLimbs; ++i) columns_[i] += v.limbs[i] & mask;
  }
  void add(const Fr& v) { add_masked(v, ~std::uint64_t{0}); }
  Fr reduce() const {
    Limbs<Fr::kLimbs> low;
    u128 carry = 0;
    for (std::size_t i = 0; i < Fr::kLimbs; ++i) {
      carry += static_cast<std::uint64_t>(columns_[i]);
      low[i] = static_cast<std::uint64_t>(carry);
      carry = (carry >> 64) + static_cast<std::uint64_t>(columns_[i] >> 64);
    }
    while (compare(low, Fr::kModulus) >= 0) sub_in_place(low, Fr::kModulus);
    if (carry == 0) return Fr{low};
    // What is above the limbs stands for carry * 2^(64 limbs), which is how the Montgomery form
    // writes `carry`.
    return Fr{low} + Fr::from_u64(static_cast<std::uint64_t>(carry));
  }

 private:
  u128 columns_[Fr::kLimbs] = {};
};

// The same with a reduction after each element: better for a few.
template <class Fr>
class ShortSum {
 public:
  void add_masked(const Fr& v, std::uint64_t mask) {
    Fr masked;
    for (std::size_t i = 0; i < Fr::kLimbs; ++i) masked.limbs[i] = v.limbs[i] & mask;
    sum_ += masked;
  }
  void add(const Fr& v) { sum_ += v; }
  Fr reduce() const { return sum_; }

 private:
  Fr sum_;
};

// Most values are bits and as good as random, so they select by a mask: a branch on one would be
// mispredicted every other time.
template <class Sum, class Fr>
Fr sum_terms(const CompactR1cs<Fr>& r1cs, const CompactWitness<Fr>& witness,
             std::span<const Term> terms, const Segment& segment) {
  constexpr std::uint32_t kOne = 0, kMinusOne = 1;  // dictionary entries
  Sum sum;
  for (const Term& term : terms) {
    const ColumnRef column = r1cs.resolve(term.column, segment);
    const std::uint32_t i = column.index();
    const bool is_aux = column.kind() == ColumnRef::kAux;
    if (is_aux && !witness.is_full(i)) {
      sum.add_masked(r1cs.dictionary[term.coefficient], ~std::uint64_t{witness.is_one(i)} + 1);
      continue;
    }
    const Fr& value = is_aux ? witness.full_values()[witness.full_index(i)] : witness.inputs[i];
    if (term.coefficient == kOne) {
      sum.add(value);
    } else if (term.coefficient == kMinusOne) {
      sum.add(-value);
    } else {
      sum.add(r1cs.dictionary[term.coefficient] * value);
    }
  }
  return sum.reduce();
}

}  // namespace rows_internal

// Sum of coefficient * value over the terms of one row.
template <class Fr>
Fr evaluate_row(const CompactR1cs<Fr>& r1cs, const CompactWitness<Fr>& witness,
                std::span<const Term> terms, const Segment& segment) {
  using namespace rows_internal;
  if (terms.size() <= 4) return sum_terms<ShortSum<Fr>>(r1cs, witness, terms, segment);
  return sum_terms<WideSum<Fr>>(r1cs, witness, terms, segment);
}

}  // namespace cuzk
