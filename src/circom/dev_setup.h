#pragma once
// A .zkey's key from known secrets: for tests, benches and development only. Whoever ran it can
// forge proofs for the key; it carries no contribution, so that every reader refuses it unless told
// otherwise.
//
// Form:    as `snarkjs groth16 setup` makes it for the same secrets (gamma is always one): all
//          wires' points in order, the identity for a wire that a matrix has not.
// Memory:  the key; three elements for each wire, two for each point of the domain; the tables of
//          the bases.
// Spans:   qap, fixed_base_tables, and one for each section.
// Errors:  kInvalidArgument when tau lies in the domain; kOutOfBudget; kCancelled.
// Threads: uses context.tasks.

#include "circom/program.h"
#include "groth16/context.h"
#include "groth16/keys.h"
#include "groth16/toxic_waste.h"

namespace cuzk::circom {

template <class Curve>
struct DevKey {
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;
  VerifyingKey<Curve> vk;
  unsigned domain_log2 = 0;
  Buffer<Affine<G1>> a;     // by wire
  Buffer<Affine<G1>> b_g1;  // by wire
  Buffer<Affine<G2>> b_g2;  // by wire
  Buffer<Affine<G1>> c;     // by private wire
  Buffer<Affine<G1>> h;     // by point of the domain
};

// waste.gamma is not looked at.
template <class Curve>
Result<DevKey<Curve>> insecure_dev_setup(const groth16::Context& context,
                                         const Program<typename Curve::Fr>& program,
                                         const groth16::ToxicWaste<Curve>& waste);

}  // namespace cuzk::circom
