#pragma once
// The quadratic arithmetic program of a circuit, at a point: what the setup multiplies its bases
// by.
//
// Variable v has the polynomials A_v, B_v, C_v, each the interpolation of a column of a matrix over
// the domain (the appended input rows included); here all of them are evaluated at tau.
//
// Form:    Montgomery; inputs first, then auxiliaries.
// Cost:    one product for each row and for each coefficient other than 1 and -1; 4 domain-sized or
//          variable-sized vectors of elements.
// Threads: uses `tasks`.
// Source:  Gennaro, Gentry, Parno, Raykova 2013; the appended rows are bellman's.

#include "base/memory.h"
#include "base/tasks.h"
#include "r1cs/compact_r1cs.h"

namespace cuzk::groth16 {

template <class Fr>
struct QapValues {
  Buffer<Fr> a;  // num_inputs + num_aux each
  Buffer<Fr> b;
  Buffer<Fr> c;
};

// L_i(tau) = omega^i (tau^m - 1) / (m (tau - omega^i)) for i < count, m = 2^domain_log2.
// `generator` as in ntt/ntt.h: whose roots of unity the domain has.
//
// Errors: kInvalidArgument when tau lies in the domain; kOutOfBudget; kCancelled.
template <class Fr>
Result<Buffer<Fr>> lagrange_at(Tasks& tasks, MemoryBudget& memory, unsigned domain_log2,
                               std::size_t count, const Fr& tau,
                               std::uint64_t generator = Fr::Params::kGenerator);

template <class Fr>
Result<QapValues<Fr>> evaluate_qap(Tasks& tasks, MemoryBudget& memory, const CompactR1cs<Fr>& r1cs,
                                   const Fr& tau, std::uint64_t generator = Fr::Params::kGenerator);

}  // namespace cuzk::groth16
