#pragma once
// Whether a compact circuit from an untrusted source may be walked without looking again.
//
// Cost:    one pass over the terms of each block.
// Threads: pure function.

#include "base/error.h"
#include "r1cs/compact_r1cs.h"

namespace cuzk {

// Every index lies inside what it indexes, in every segment; rows are complete and in order; the
// dictionary's elements are reduced and begin with 1 and -1. The order of terms within a row is not
// looked at.
// Errors: kCorruptInput names the block or segment.
template <class Fr>
Status validate_r1cs(const CompactR1cs<Fr>& r1cs);

}  // namespace cuzk
