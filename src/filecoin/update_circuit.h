#pragma once
// The sector-update circuit ("SnapDeals"): the new replica is the old one plus the new data times
// factors that both commitments fix, shown at one partition's challenges and tied to comm_r_old,
// comm_d_new and comm_r_new.
//
// Shape:   public inputs are those of update_statement.h, in that order.
// Threads: compile on one thread; the witness on `tasks`, a challenge a task.
// Source:  rust-fil-proofs 87348a74, storage-proofs-update/src/{circuit,gadgets}.rs.

#include <span>

#include "base/error.h"
#include "base/tasks.h"
#include "field/bls12_381.h"
#include "filecoin/circuit_spec.h"
#include "filecoin/update_shapes.h"
#include "filecoin/update_vanilla.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk::filecoin {

// The rows of the circuit for a shape: the same for every sector and partition.
//
// Cost:   see README.md (32 GiB: 81 million rows in some tens of megabytes, in about a second).
// Errors: kInvalidArgument for a shape that no circuit is defined for.
Result<CompactR1cs<bls12_381::Fr>> compile_update(const UpdateShape& shape);
CircuitSpec update_circuit_spec(const UpdateShape& shape);

// The assignment for one partition.
//
// `public_inputs` are the statement's (update_public_inputs), without the constant one; which nodes
// are challenged follows from them. Errors: kMismatch when the proof is not of this shape, or opens
// another node than the statement says (named by challenge and tree); kCorruptInput for a node
// above the modulus; kCancelled. Whether the proof hashes to the commitments is not looked at here:
// see update_vanilla_check.h and check_satisfied.
Result<CompactWitness<bls12_381::Fr>> synthesize_update_witness(
    Tasks& tasks, const UpdateShape& shape, const UpdatePartitionProof& proof,
    std::span<const bls12_381::Fr> public_inputs);

}  // namespace cuzk::filecoin
