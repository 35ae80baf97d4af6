#pragma once
// Trees of made-up sectors: some leaves are known, everything beside their paths is random.
//
// Threads: immutable once built.

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "filecoin/merkle_path.h"
#include "filecoin/seal_trees.h"

namespace cuzk::filecoin {

// What nobody computes: a function of the sector's seed and a place, so that two paths that pass
// the same place agree on it.
class Filler {
 public:
  explicit Filler(std::uint64_t seed) : seed_(seed) {}
  // Below the modulus.
  Node at(std::string_view what, std::uint32_t level, std::uint64_t index) const;

 private:
  std::uint64_t seed_;
};

// A Poseidon tree of which some leaves are known; every subtree without them is a random root.
// `name` must outlive it.
class SparseTree {
 public:
  SparseTree(PathShape shape, std::string_view name, const Filler& filler,
             std::map<std::uint64_t, Node> leaves);

  const Node& root() const { return levels_.back().at(0); }
  MerkleProof prove(std::uint64_t leaf) const;

 private:
  Node at(std::uint32_t level, std::uint64_t index) const;

  PathShape shape_;
  std::string_view name_;
  Filler filler_;
  std::vector<std::map<std::uint64_t, Node>> levels_;
};

}  // namespace cuzk::filecoin
