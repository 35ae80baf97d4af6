#pragma once
// Merkle trees of a sealed sector, whole and in memory, and the paths that are proved through them.
//
// Form:    a Node is 32 bytes, little-endian; levels lie one after the other, leaves first: the
//          order of tree files on disk.
// Errors:  kOutOfBudget names the tree and the bytes wanted; kCancelled on stop.
// Threads: building uses `tasks`; a tree never changes afterwards.
// Source:  rust-fil-proofs 87348a74, storage-proofs-core/src/merkle.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/memory.h"
#include "base/tasks.h"
#include "filecoin/merkle_path.h"

namespace cuzk::filecoin {

// The path of a leaf. `at(level, index)` is a node of the tree, level 0 that of the leaves. To the
// hash, the steps through the sub and top tree are steps like any.
template <class At>
MerkleProof prove_path(const PathShape& shape, std::uint64_t leaf, At&& at) {
  MerkleProof proof;
  const auto steps = static_cast<std::uint32_t>(shape.arities.size());
  proof.kind = shape.kind;
  proof.base_steps = shape.base_steps;
  proof.sub_steps = shape.sub_steps;
  proof.root = at(steps, 0);
  proof.leaf = at(0, leaf);
  std::uint64_t index = leaf;
  for (std::uint32_t level = 0; level < steps; ++level) {
    const std::uint32_t arity = shape.arities[level];
    MerkleStep step;
    step.index = index % arity;
    for (std::uint32_t i = 0; i < arity; ++i) {
      if (i != step.index) step.siblings.push_back(at(level, index - step.index + i));
    }
    proof.path.push_back(std::move(step));
    index /= arity;
  }
  return proof;
}

enum class TreeHash { kSha256, kPoseidon };

class SealTree {
 public:
  // Computes the leaves from number `first` on. Called from several threads, for ranges that do not
  // overlap.
  using FillLeaves = std::function<void(std::uint64_t first, std::span<Node> leaves)>;

  static Result<SealTree> build(Tasks& tasks, MemoryBudget& memory, std::string_view owner,
                                const PathShape& shape, TreeHash hash, const FillLeaves& fill);

  std::uint32_t levels() const { return static_cast<std::uint32_t>(shape_.arities.size()) + 1; }
  // From the leaves (0) to the root.
  std::span<const Node> level(std::uint32_t number) const;
  const Node& leaf(std::uint64_t index) const { return level(0)[index]; }
  const Node& root() const { return nodes_[nodes_.size() - 1]; }
  // All levels, as they lie in a tree file.
  std::span<const Node> nodes() const { return nodes_.span(); }
  MerkleProof prove(std::uint64_t leaf) const;

 private:
  SealTree() = default;
  std::span<Node> mutable_level(std::uint32_t number);
  void hash_level(Tasks& tasks, std::uint32_t number, TreeHash hash);

  PathShape shape_;
  std::vector<std::uint64_t> level_begin_;  // one more than levels
  Buffer<Node> nodes_;
};

}  // namespace cuzk::filecoin
