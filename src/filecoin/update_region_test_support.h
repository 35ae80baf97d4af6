#pragma once
// Valid vanilla proofs of updates of any size, without the sector: old replica, new data and new
// replica are constant over each of the 2^h parts that share a factor rho, so that a tree has few
// different nodes at every height.

#include <algorithm>
#include <functional>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "filecoin/merkle_path.h"
#include "filecoin/update_challenges.h"
#include "filecoin/update_statement.h"
#include "filecoin/update_vanilla.h"

namespace cuzk::filecoin::testing {

class RegionTree {
 public:
  using Hash = std::function<Node(std::span<const Node>)>;

  // leaves: the value of each region, all of one size, regions a power of two.
  RegionTree(std::uint64_t nodes, PathShape shape, std::vector<Node> leaves, const Hash& hash)
      : shape_(std::move(shape)) {
    levels_.push_back({nodes, std::move(leaves)});
    for (const std::uint32_t arity : shape_.arities) {
      const std::uint64_t count = levels_.back().count / arity;
      const std::uint64_t kept = std::min<std::uint64_t>(count, levels_[0].values.size());
      Level next{count, {}};
      for (std::uint64_t i = 0; i < kept; ++i) {
        std::vector<Node> children;
        for (std::uint32_t c = 0; c < arity; ++c) {
          children.push_back(levels_.back().at(i * (count / kept) * arity + c));
        }
        next.values.push_back(hash(children));
      }
      levels_.push_back(std::move(next));
    }
    CUZK_CHECK(levels_.back().count == 1);
  }

  const Node& at(std::size_t height, std::uint64_t index) const {
    return levels_[height].at(index);
  }
  const Node& root() const { return levels_.back().values[0]; }

  MerkleProof open(std::uint64_t index) const {
    MerkleProof proof;
    proof.kind = shape_.kind;
    proof.base_steps = shape_.base_steps;
    proof.sub_steps = shape_.sub_steps;
    proof.leaf = at(0, index);
    proof.root = root();
    for (std::size_t height = 0; height < shape_.arities.size(); ++height) {
      const std::uint64_t arity = shape_.arities[height];
      MerkleStep& step = proof.path.emplace_back();
      step.index = index % arity;
      for (std::uint64_t c = 0; c < arity; ++c) {
        if (c != step.index) step.siblings.push_back(at(height, index - step.index + c));
      }
      index /= arity;
    }
    return proof;
  }

 private:
  struct Level {
    std::uint64_t count;
    std::vector<Node> values;
    const Node& at(std::uint64_t index) const { return values[index / (count / values.size())]; }
  };
  PathShape shape_;
  std::vector<Level> levels_;
};

struct RegionUpdate {
  UpdateStatement statement;
  std::vector<UpdatePartitionProof> proofs;

  RegionUpdate(const UpdateShape& shape, std::uint32_t h, std::uint64_t seed) {
    SeededRandom random(seed);
    const std::uint64_t regions = std::uint64_t{1} << h;
    const auto replica_tree = [&](std::vector<Node> leaves) {
      return RegionTree(shape.nodes(), poseidon_path_shape(shape.nodes(), shape.tree),
                        std::move(leaves), [](std::span<const Node> children) {
                          return fr_to_node(poseidon_node(elements_of(children)));
                        });
    };
    const auto some = [&] {
      std::vector<Node> out;
      for (std::uint64_t r = 0; r < regions; ++r) out.push_back(fr_to_node(Fr::random(random)));
      return out;
    };
    const std::vector<Node> old_leaves = some(), data = some();
    const RegionTree old_tree = replica_tree(old_leaves);
    const RegionTree data_tree(
        shape.nodes(), data_path_shape(shape.nodes()), data,
        [](std::span<const Node> children) { return tree_d_node(children[0], children[1]); });
    const Fr comm_c = Fr::random(random);
    statement.proof = update_proof_of(shape);
    statement.h = h;
    statement.comm_d_new = data_tree.root();
    statement.comm_r_old = fr_to_node(comm_r_of(comm_c, element_of(old_tree.root())));
    const Fr phi = update_phi(element_of(statement.comm_d_new), element_of(statement.comm_r_old));
    std::vector<Node> new_leaves;
    for (std::uint64_t r = 0; r < regions; ++r) {
      new_leaves.push_back(
          fr_to_node(element_of(old_leaves[r]) + element_of(data[r]) * update_rho(phi, r)));
    }
    const RegionTree new_tree = replica_tree(new_leaves);
    statement.comm_r_new = fr_to_node(comm_r_of(comm_c, element_of(new_tree.root())));

    for (std::uint32_t k = 0; k < shape.partitions; ++k) {
      UpdatePartitionProof& proof = proofs.emplace_back();
      proof.comm_c = fr_to_node(comm_c);
      for (std::uint32_t i = 0; i < shape.apex_leafs; ++i) {
        proof.apex_leafs.push_back(
            data_tree.at(shape.steps_below_apex(), std::uint64_t{k} * shape.apex_leafs + i));
      }
      const std::vector<std::uint32_t> challenges = update_challenges(statement, k).value();
      for (const std::uint32_t node : challenges) {
        proof.challenges.push_back(
            {old_tree.open(node), data_tree.open(node), new_tree.open(node)});
      }
    }
  }
};

}  // namespace cuzk::filecoin::testing
