#pragma once
// The circuit of proofs of spacetime: for each place, comm_r = H(comm_c, comm_r_last), and leaves
// that lie under comm_r_last at the challenged places.
//
// Shape:   public inputs are those of post_statement.h, in that order.
// Threads: compile on one thread; the witness on `tasks`, a place a task.
// Source:  rust-fil-proofs 87348a74, storage-proofs-post/src/fallback/{circuit,compound}.rs.

#include <span>

#include "base/error.h"
#include "base/tasks.h"
#include "field/bls12_381.h"
#include "filecoin/circuit_spec.h"
#include "filecoin/post_shapes.h"
#include "filecoin/post_vanilla.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk::filecoin {

// The rows of the circuit for a shape: the same for every partition. One place is recorded and
// placed as often as there are places.
//
// Cost:   WindowPoSt 32 GiB, 125 million rows: a fraction of a second, some tens of MB.
// Errors: kInvalidArgument for a shape that no circuit is defined for.
Result<CompactR1cs<bls12_381::Fr>> compile_post(const PostShape& shape);
CircuitSpec post_circuit_spec(const PostShape& shape);

// The assignment for one partition: its sectors in order, each once. Places beyond the last sector
// repeat it (WindowPoSt); a WinningPoSt spreads its one sector's challenges over the places.
//
// `public_inputs` are the statement's (post_public_inputs), without the constant one. comm_r is
// taken from them; the challenges that the circuit computes from the paths are compared with them.
// Errors: kMismatch when the proofs are not of this shape or number, or open another leaf than the
//         statement says (named by sector and challenge); kCorruptInput for a node above the
//         modulus; kCancelled. Whether the proofs hash to comm_r is not looked at here: see
//         post_vanilla_check.h and check_satisfied.
Result<CompactWitness<bls12_381::Fr>> synthesize_post_witness(
    Tasks& tasks, const PostShape& shape, std::span<const PostSectorProof> sectors,
    std::span<const bls12_381::Fr> public_inputs);

}  // namespace cuzk::filecoin
