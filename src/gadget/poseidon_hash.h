#pragma once
// The Poseidon hash on values (not as a circuit).
//
// Threads: pure functions.
// Cost:    arity 2 / 8 / 11: about 700 / 2,000 / 2,900 field multiplications.

#include <span>

#include "gadget/poseidon_params.h"

namespace cuzk::gadget {

// Hash of params.arity elements; another number of them breaks an invariant.
bls12_381::Fr poseidon_hash(const PoseidonParams& params, std::span<const bls12_381::Fr> inputs);

// The same by the paper's definition, round by round with the dense matrix: the slow twin that the
// fast form is tested against.
bls12_381::Fr poseidon_hash_reference(const PoseidonParams& params,
                                      std::span<const bls12_381::Fr> inputs);

}  // namespace cuzk::gadget
