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

// Sum of coefficient * value over the terms of one row.
template <class Fr>
Fr evaluate_row(const CompactR1cs<Fr>& r1cs, const CompactWitness<Fr>& witness,
                std::span<const Term> terms, const Segment& segment) {
  constexpr std::uint32_t kOne = 0, kMinusOne = 1;  // dictionary entries
  Fr sum;
  for (const Term& term : terms) {
    const ColumnRef column = r1cs.resolve(term.column, segment);
    const std::uint32_t i = column.index();
    const bool is_aux = column.kind() == ColumnRef::kAux;
    if (is_aux && !witness.is_full(i)) {
      if (witness.is_one(i)) sum += r1cs.dictionary[term.coefficient];
      continue;
    }
    const Fr& value = is_aux ? witness.full_values()[witness.full_index(i)] : witness.inputs[i];
    if (term.coefficient == kOne) {
      sum += value;
    } else if (term.coefficient == kMinusOne) {
      sum -= value;
    } else {
      sum += r1cs.dictionary[term.coefficient] * value;
    }
  }
  return sum;
}

}  // namespace cuzk
