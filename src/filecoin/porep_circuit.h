#pragma once
// The PoRep circuit: one partition's challenges, each a data leaf, its parents' columns, its labels
// and its encoding, tied to comm_d and comm_r.
//
// Shape:   public inputs are those of statement.h, in that order.
// Threads: compile on one thread; the witness on `tasks`, a challenge a task.
// Source:  rust-fil-proofs 87348a74, storage-proofs-porep/src/stacked/circuit/{proof,params,
//          create_label,column_proof,hash}.rs.

#include <span>
#include <string_view>

#include "base/error.h"
#include "base/tasks.h"
#include "field/bls12_381.h"
#include "filecoin/circuit_spec.h"
#include "filecoin/shapes.h"
#include "filecoin/vanilla.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk::filecoin {

// The rows of the circuit for a shape: the same for every sector and partition.
//
// Cost:   32 GiB: see README.md of r1cs (seconds, and some 0.5 GB for the compiled rows).
// Errors: kInvalidArgument for a shape that no circuit is defined for.
Result<CompactR1cs<bls12_381::Fr>> compile_porep(const PorepShape& shape);
CircuitSpec porep_circuit_spec(const PorepShape& shape);

// The assignment for one partition.
//
// `public_inputs` are the statement's (porep_public_inputs), without the constant one: replica id,
// comm_d, comm_r and the challenged nodes are taken from them; every input that the circuit
// computes from the paths is compared with them. Errors: kMismatch when the proofs are not of this
// shape, or open another node than the statement
//         says (named by challenge and input); kCorruptInput for a node above the modulus;
//         kCancelled. Whether the proofs hash to the commitments is not looked at here: see
//         vanilla_check.h and check_satisfied.
Result<CompactWitness<bls12_381::Fr>> synthesize_porep_witness(
    Tasks& tasks, const PorepShape& shape, std::span<const PorepChallengeProof> challenges,
    std::span<const bls12_381::Fr> public_inputs);

}  // namespace cuzk::filecoin
