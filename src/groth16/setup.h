#pragma once
// A proving key from known secrets: for tests and development only. Whoever ran it, or reads its
// seed, can forge proofs for the key.
//
// Form:    as bellman's generator makes it: the same key for the same secrets, point by point.
// Memory:  the key; 6 elements for each variable and 2 for each row while it is made; the tables of
//          the bases.
// Spans:   qap, fixed_base_tables, h_query, l_query, a_query, b_g1_query, b_g2_query.
// Errors:  kInvalidArgument when a secret cannot be used (zero, or tau in the domain) or an
//          auxiliary occurs in no row (such a circuit has no key); kOutOfBudget; kCancelled.
// Threads: uses context.tasks.
// Source:  Groth 2016, section 3.2.

#include "groth16/context.h"
#include "groth16/keys.h"
#include "groth16/toxic_waste.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/density.h"

namespace cuzk::groth16 {

// density: compute_density(r1cs).
template <class Curve>
Result<ProvingKey<Curve>> insecure_dev_setup(const Context& context,
                                             const CompactR1cs<typename Curve::Fr>& r1cs,
                                             const Density& density,
                                             const ToxicWaste<Curve>& waste);

}  // namespace cuzk::groth16
