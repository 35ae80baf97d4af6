#pragma once
// Merkle paths of sectors as values: what they must look like, and whether they lead to their root.
//
// Errors:  kMismatch or kCorruptInput, naming the item inside the proof, e.g. "hashes of step 3".
// Threads: pure functions.

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "filecoin/hash.h"
#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

// What a path through one tree must look like.
struct PathShape {
  MerkleKind kind = MerkleKind::kSingle;
  std::vector<std::uint32_t> arities;  // of each step, the leaf's first
  std::uint32_t base_steps = 0;
  std::uint32_t sub_steps = 0;
};
// Tree D: binary, over the data.
PathShape data_path_shape(std::uint64_t nodes);
// Trees C and R: Poseidon.
PathShape poseidon_path_shape(std::uint64_t nodes, const TreeShape& tree);

// Kind, steps, siblings, places and canonical elements; no hash is computed.
Status check_path_shape(const MerkleProof& proof, const PathShape& shape);

Status check_element(const Node& node, std::string_view what);
Status check_count(std::size_t found, std::size_t expected, std::string_view what);

// Where a path must begin.
struct PathLeaf {
  std::uint64_t index = 0;
  const Node& value;
};
// The path leads from this leaf at this index to this root. It has passed check_path_shape.
Status check_data_path(const MerkleProof& proof, const PathLeaf& leaf, const Node& root);
Status check_poseidon_path(const MerkleProof& proof, const PathLeaf& leaf, const Node& root);

// Nodes as elements; they have been found canonical.
Fr element_of(const Node& node);
std::vector<Fr> elements_of(std::span<const Node> nodes);

}  // namespace cuzk::filecoin
