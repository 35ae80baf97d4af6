#pragma once
// Vanilla proofs of spacetime, decoded: what opens one sector's challenges.
//
// Form: nodes are 32 bytes, little-endian canonical elements of BLS12-381's scalar field.

#include <cstdint>
#include <vector>

#include "filecoin/post_shapes.h"
#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

// FallbackPoStSectorProof of rust-fil-proofs.
struct PostSectorProof {
  std::uint64_t sector = 0;
  Node comm_r{};
  std::vector<MerkleProof> inclusion;  // one for each challenge, under comm_r_last
  Node comm_c{};
  Node comm_r_last{};
};

// Whether everything is there in the numbers that the shape says (challenges, steps and siblings of
// each path), each place in a path exists, and each element of the field is canonical. It says
// nothing about hashes: see post_vanilla_check.h.
// Errors: kMismatch or kCorruptInput, "sector 7: inclusion_proofs[3]: ...".
Status check_post_shape(const PostSectorProof& proof, const PostShape& shape);
// The same without naming the sector.
Status check_post_parts(const PostSectorProof& proof, const PostShape& shape);

}  // namespace cuzk::filecoin
