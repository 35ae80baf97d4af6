#pragma once
// What a sector-update proof claims, and the public inputs of its circuit that follow from it.
//
// Threads: pure functions.
// Source:  rust-fil-proofs 87348a74, storage-proofs-update/src/circuit.rs.

#include <vector>

#include "base/error.h"
#include "filecoin/hash.h"
#include "filecoin/update_shapes.h"
#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

struct UpdateStatement {
  UpdateProof proof;
  Node comm_r_old{};
  Node comm_r_new{};
  Node comm_d_new{};
  std::uint32_t h = 0;  // proof.shape.default_h() on every public network
};

// The nodes that a partition opens.
// Errors: kInvalidArgument when there is no such partition, kCorruptInput for a comm_r_new that is
// not below the modulus.
Result<std::vector<std::uint32_t>> update_challenges(const UpdateStatement& statement,
                                                     std::uint32_t partition);

// The inputs of one partition in the circuit's order, without the constant one: partition and the
// bit of h's place above it, comm_r_old, comm_d_new, comm_r_new.
// Errors: kInvalidArgument for a partition or an h that is not there, kCorruptInput for a
// commitment that is not below the modulus.
Result<std::vector<Fr>> update_public_inputs(const UpdateStatement& statement,
                                             std::uint32_t partition);

}  // namespace cuzk::filecoin
