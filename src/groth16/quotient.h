#pragma once
// From an assignment to the quotient: the rows' values, whether they fit, and h.
//
// Threads: uses context.tasks.

#include <span>

#include "groth16/context.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk::groth16 {

// The N - 1 coefficients of h = (A B - C) / (x^N - 1), canonical, natural order.
template <class Fr>
struct Quotient {
  std::span<const typename Fr::Scalar> coefficients;  // inside `storage`
  Buffer<Fr> storage;
};

// Evaluates A, B and C (span matvec), sees that every row holds, and transforms (span ntt).
//
// Memory:  three vectors of N elements and the domain's twiddles; one vector is left in the result.
// Errors:  kMismatch when the witness has not the circuit's numbers of variables; kUnsatisfied
// names
//          the first row that fails; kOutOfBudget; kCancelled.
template <class Fr>
Result<Quotient<Fr>> compute_quotient(const Context& context, const CompactR1cs<Fr>& r1cs,
                                      const CompactWitness<Fr>& witness);

}  // namespace cuzk::groth16
