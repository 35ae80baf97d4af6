#pragma once
// Vanilla proofs: what commit phase 1 hands to the prover, decoded.
//
// Form: nodes are 32 bytes, little-endian canonical elements of BLS12-381's scalar field.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "filecoin/shapes.h"

namespace cuzk::filecoin {

using Node = std::array<std::uint8_t, 32>;

// One step from a node to its parent: the other children in order, and the node's place among them.
struct MerkleStep {
  std::vector<Node> siblings;  // arity - 1
  std::uint64_t index = 0;
};

// Which tree a proof says it is from: a plain one, one of trees, or one of trees of trees.
enum class MerkleKind : std::uint8_t { kSingle, kSub, kTop };
inline constexpr std::string_view kMerkleKindNames[] = {"Single", "Sub", "Top"};

// From a leaf to the root; base steps first, then sub, then top.
struct MerkleProof {
  MerkleKind kind = MerkleKind::kSingle;
  Node root{};
  Node leaf{};
  std::vector<MerkleStep> path;
  std::uint32_t base_steps = 0;  // of path; sub_steps follow, then the top ones
  std::uint32_t sub_steps = 0;

  // The leaf's index: the steps' indices as digits, the first step lowest.
  std::uint64_t leaf_index() const;
};

// The labels of one node over all layers, and its place in the column tree.
struct ColumnProof {
  std::uint32_t index = 0;
  std::vector<Node> rows;  // layer 1 first
  MerkleProof inclusion;
};

struct LabelingProof {
  std::vector<Node> parents;  // 37
  std::uint32_t layer = 0;    // from 1
  std::uint64_t node = 0;
};

struct PorepChallengeProof {
  MerkleProof comm_d_proof;
  MerkleProof comm_r_last_proof;
  ColumnProof c_x;
  std::vector<ColumnProof> drg_parents;  // 6
  std::vector<ColumnProof> exp_parents;  // 8
  std::vector<LabelingProof> labeling;   // one for each layer
  LabelingProof encoding;
};

// Output of commit phase 1 for one sector.
struct PorepC1 {
  SealProof proof;
  std::vector<std::vector<PorepChallengeProof>> partitions;
  Node comm_r{};
  Node comm_d{};
  Node replica_id{};
  Node seed{};
  Node ticket{};
};

// Whether everything is there in the numbers that c1.proof says (partitions, challenges, layers,
// parents, steps and siblings of each path), each place in a path exists, and each element of the
// field is canonical. It says nothing about hashes: see vanilla_check.h.
// Errors: kMismatch or kCorruptInput, naming the item by its path in the C1 JSON.
Status check_shape(const PorepC1& c1);

// "vanilla_proofs[3][17]": how errors name a challenge.
std::string challenge_path(std::size_t partition, std::size_t challenge);

}  // namespace cuzk::filecoin
