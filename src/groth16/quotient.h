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

// The values of A B - C on the odd points of the domain of twice the size, canonical, natural
// order: what a CosetProvingKey's h query is summed with.
template <class Fr>
struct CosetValues {
  std::span<const typename Fr::Scalar> values;  // inside `storage`
  Buffer<Fr> storage;
};

// Evaluates A and B (span matvec), takes their products for C, and transforms (span ntt). Whether
// the witness satisfies the circuit cannot be seen here: without C only the finished proof tells.
//
// Memory and errors as above, but for kUnsatisfied; kInvalidArgument when the domain is smaller
// than the rows or the field has no domain of twice its size.
template <class Fr>
Result<CosetValues<Fr>> compute_coset_values(const Context& context, const CompactR1cs<Fr>& r1cs,
                                             const CompactWitness<Fr>& witness,
                                             unsigned domain_log2);

}  // namespace cuzk::groth16
