#pragma once
// Vanilla proofs of a sector update, decoded: what one partition of its circuit is proved from.
//
// Form: nodes are 32 bytes, little-endian canonical elements of BLS12-381's scalar field.

#include <span>
#include <string>
#include <vector>

#include "filecoin/update_shapes.h"
#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

// One challenged node in three trees.
struct UpdateChallengeProof {
  MerkleProof proof_r_old;  // tree R of the replica before the update
  MerkleProof proof_d_new;  // tree D of the new data: a Single proof of binary steps
  MerkleProof proof_r_new;  // tree R of the replica after it
};

struct UpdatePartitionProof {
  Node comm_c{};                 // of the sector key; updates leave it as it is
  std::vector<Node> apex_leafs;  // the partition's nodes of tree D at the apex leafs' height
  std::vector<UpdateChallengeProof> challenges;
};

// Whether everything is there in the numbers that the shape says (partitions, challenges, apex
// leafs, steps and siblings of each path), each place in a path exists, and each element of the
// field is canonical. It says nothing about hashes: see update_vanilla_check.h.
// Errors: kMismatch or kCorruptInput, naming partition, challenge and item, e.g.
//         "partition 3: challenge_proofs[17]: proof_d_new: steps of the path: expected 30, found
//         29".
Status check_update_shape(const UpdateShape& shape, std::span<const UpdatePartitionProof> proofs);
// The same of one partition, which errors do not name.
Status check_update_partition_shape(const UpdateShape& shape, const UpdatePartitionProof& proof);

// "challenge_proofs[17]: proof_r_old": how errors name an item.
std::string update_item_path(std::size_t challenge, std::string_view proof);

}  // namespace cuzk::filecoin
