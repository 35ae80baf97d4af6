#include "filecoin/sparse_sector.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/random.h"
#include "filecoin/graph.h"
#include "filecoin/hash.h"
#include "filecoin/statement.h"

namespace cuzk::filecoin {
namespace {

using NodeHash = Node (*)(std::span<const Node> children);

Node hash_data(std::span<const Node> children) { return tree_d_node(children[0], children[1]); }

Node hash_poseidon(std::span<const Node> children) {
  std::vector<Fr> elements;
  for (const Node& child : children) elements.push_back(*node_to_fr(child));
  return fr_to_node(poseidon_node(elements));
}

// A Merkle tree whose leaves are all alike but a few.
class SparseTree {
 public:
  SparseTree(std::vector<std::uint32_t> arities, NodeHash hash, const Node& common,
             std::map<std::uint64_t, Node> others)
      : arities_(std::move(arities)) {
    levels_.push_back({common, std::move(others)});
    for (const std::uint32_t arity : arities_) {
      const Level& below = levels_.back();
      Level level{hash(std::vector<Node>(arity, below.common)), {}};
      for (const auto& [index, node] : below.others) {
        const std::uint64_t parent = index / arity;
        if (level.others.contains(parent)) continue;
        std::vector<Node> children;
        for (std::uint32_t i = 0; i < arity; ++i) children.push_back(below.at(parent * arity + i));
        level.others.emplace(parent, hash(children));
      }
      levels_.push_back(std::move(level));
    }
  }

  Node root() const { return levels_.back().at(0); }
  MerkleProof prove(std::uint64_t leaf, const TreeShape& shape) const {
    MerkleProof proof;
    proof.kind = shape.top ? MerkleKind::kTop : shape.sub ? MerkleKind::kSub : MerkleKind::kSingle;
    proof.sub_steps = shape.sub ? 1 : 0;
    proof.base_steps =
        static_cast<std::uint32_t>(arities_.size()) - proof.sub_steps - (shape.top ? 1 : 0);
    proof.root = root();
    proof.leaf = levels_[0].at(leaf);
    std::uint64_t index = leaf;
    for (std::size_t i = 0; i < arities_.size(); ++i) {
      MerkleStep step;
      step.index = index % arities_[i];
      const std::uint64_t first = index - step.index;
      for (std::uint32_t c = 0; c < arities_[i]; ++c) {
        if (c != step.index) step.siblings.push_back(levels_[i].at(first + c));
      }
      proof.path.push_back(std::move(step));
      index /= arities_[i];
    }
    return proof;
  }

 private:
  struct Level {
    Node common{};
    std::map<std::uint64_t, Node> others;
    const Node& at(std::uint64_t i) const {
      const auto it = others.find(i);
      return it == others.end() ? common : it->second;
    }
  };
  std::vector<std::uint32_t> arities_;
  std::vector<Level> levels_;
};

// What an unchallenged node's column is, and what follows for a challenged one.
struct Columns {
  std::vector<Node> common;  // one for each layer
  std::map<std::uint32_t, std::vector<Node>> challenged;

  const std::vector<Node>& at(std::uint32_t node) const {
    const auto it = challenged.find(node);
    return it == challenged.end() ? common : it->second;
  }
};

// The 37 labels that `node`'s label at `layer` depends on, when its parents have common columns.
std::vector<Node> label_parents(const Columns& columns, std::uint32_t layer) {
  std::vector<Node> own(kDrgParents, columns.common[layer - 1]);
  if (layer > 1) own.insert(own.end(), kExpanderParents, columns.common[layer - 2]);
  std::vector<Node> all;
  for (std::size_t i = 0; i < kLabelParents; ++i) all.push_back(own[i % own.size()]);
  return all;
}

Node hash_column(const std::vector<Node>& rows) { return hash_poseidon(rows); }

struct Trees {
  SparseTree data, columns, replica;
};

class SectorMaker {
 public:
  SectorMaker(const SealProof& proof, std::uint64_t seed)
      : shape_(proof.shape), graph_(shape_.nodes(), proof.porep_id(), proof.api) {
    SeededRandom rng(seed);
    const auto random_node = [&] { return fr_to_node(Fr::random(rng)); };
    c1_.proof = proof;
    c1_.replica_id = random_node();
    c1_.replica_id[31] &= 0x3f;
    rng.fill(c1_.seed);
    rng.fill(c1_.ticket);
    data_leaf_ = random_node();
    replica_leaf_ = random_node();
    for (std::uint32_t i = 0; i < shape_.layers; ++i) columns_.common.push_back(random_node());
  }

  Result<PorepC1> make() {
    CUZK_TRY_VOID(choose());
    const Trees trees = plant();
    c1_.comm_d = trees.data.root();
    comm_c_ = trees.columns.root();
    c1_.comm_r = fr_to_node(comm_r_of(*node_to_fr(comm_c_), *node_to_fr(trees.replica.root())));
    for (const auto& nodes : challenges_) {
      auto& partition = c1_.partitions.emplace_back();
      for (const std::uint32_t node : nodes) partition.push_back(prove(trees, node));
    }
    return std::move(c1_);
  }

 private:
  // Fixes the challenges and labels the challenged nodes.
  Status choose() {
    if (c1_.proof.feature != PorepFeature::kNone) {
      return fail(ErrorCode::kInvalidArgument, "sparse sector: the challenges of {} need comm_r",
                  c1_.proof.name);
    }
    const PorepStatement statement = PorepStatement::of(c1_);
    for (std::uint32_t p = 0; p < c1_.proof.partitions; ++p) {
      CUZK_TRY(auto nodes, porep_challenges(statement, p));
      challenges_.push_back(std::move(nodes));
    }
    for (const auto& nodes : challenges_) {
      for (const std::uint32_t node : nodes) columns_.challenged[node] = labels(node);
    }
    for (const auto& [node, rows] : columns_.challenged) {
      const auto is_challenged = [&](std::uint32_t n) { return columns_.challenged.contains(n); };
      const auto drg = graph_.drg_parents(node);
      const auto expander = graph_.expander_parents(node);
      if (std::any_of(drg.begin(), drg.end(), is_challenged) ||
          std::any_of(expander.begin(), expander.end(), is_challenged)) {
        return fail(ErrorCode::kInvalidArgument,
                    "sparse sector: a parent of node {} is challenged too", node);
      }
    }
    return {};
  }

  std::vector<Node> labels(std::uint32_t node) const {
    std::vector<Node> rows;
    for (std::uint32_t layer = 1; layer <= shape_.layers; ++layer) {
      rows.push_back(create_label(c1_.replica_id, layer, node, label_parents(columns_, layer)));
    }
    return rows;
  }

  Trees plant() const {
    std::map<std::uint64_t, Node> column_leaves, replica_leaves;
    for (const auto& [node, rows] : columns_.challenged) {
      column_leaves[node] = hash_column(rows);
      replica_leaves[node] = fr_to_node(*node_to_fr(rows.back()) + *node_to_fr(data_leaf_));
    }
    const std::vector<std::uint32_t> binary(
        static_cast<std::size_t>(std::countr_zero(shape_.nodes())), 2);
    return {
        SparseTree(binary, hash_data, data_leaf_, {}),
        SparseTree(shape_.path_arities(), hash_poseidon, hash_column(columns_.common),
                   std::move(column_leaves)),
        SparseTree(shape_.path_arities(), hash_poseidon, replica_leaf_, std::move(replica_leaves))};
  }

  ColumnProof column(const Trees& trees, std::uint32_t node) const {
    return {node, columns_.at(node), trees.columns.prove(node, shape_.tree)};
  }

  PorepChallengeProof prove(const Trees& trees, std::uint32_t node) const {
    PorepChallengeProof proof;
    proof.comm_d_proof = trees.data.prove(node, {2, 0, 0});
    proof.comm_r_last_proof = trees.replica.prove(node, shape_.tree);
    proof.c_x = column(trees, node);
    for (const std::uint32_t parent : graph_.drg_parents(node)) {
      proof.drg_parents.push_back(column(trees, parent));
    }
    for (const std::uint32_t parent : graph_.expander_parents(node)) {
      proof.exp_parents.push_back(column(trees, parent));
    }
    for (std::uint32_t layer = 1; layer <= shape_.layers; ++layer) {
      proof.labeling.push_back({label_parents(columns_, layer), layer, node});
    }
    proof.encoding = proof.labeling.back();
    return proof;
  }

  PorepShape shape_;
  SectorGraph graph_;
  PorepC1 c1_;
  Node comm_c_{}, data_leaf_{}, replica_leaf_{};
  Columns columns_;
  std::vector<std::vector<std::uint32_t>> challenges_;
};

}  // namespace

Result<PorepC1> make_sparse_sector(const SealProof& proof, std::uint64_t seed) {
  return SectorMaker(proof, seed).make();
}

}  // namespace cuzk::filecoin
