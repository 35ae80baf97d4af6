#include "filecoin/sparse_sector.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/hash.h"
#include "filecoin/graph.h"
#include "filecoin/hash.h"
#include "filecoin/seal_opening.h"
#include "filecoin/seal_trees.h"
#include "filecoin/sparse_tree.h"

namespace cuzk::filecoin {
namespace {

// The tree over the data, which must be complete before anybody knows what will be opened: the
// replica id hangs on its root, and the challenges on that. So the data are one piece repeated.
class DataTree {
 public:
  DataTree(std::uint64_t nodes, const Filler& filler) : shape_(data_path_shape(nodes)) {
    std::vector<Node> level(std::min<std::uint64_t>(nodes, kPieceNodes));
    for (std::size_t i = 0; i < level.size(); ++i) level[i] = filler.at("data", 0, i);
    for (std::size_t l = 0; l < shape_.arities.size(); ++l) {
      std::vector<Node> above(std::max<std::size_t>(1, level.size() / 2));
      for (std::size_t i = 0; i < above.size(); ++i) {
        above[i] = tree_d_node(level[2 * i % level.size()], level[(2 * i + 1) % level.size()]);
      }
      levels_.push_back(std::exchange(level, std::move(above)));
    }
    levels_.push_back(std::move(level));
  }

  const Node& at(std::uint32_t level, std::uint64_t index) const {
    return levels_[level][index % levels_[level].size()];
  }
  const Node& root() const { return levels_.back()[0]; }
  MerkleProof prove(std::uint64_t leaf) const {
    return prove_path(shape_, leaf, [&](auto level, auto index) { return at(level, index); });
  }

 private:
  static constexpr std::uint64_t kPieceNodes = 1024;
  PathShape shape_;
  std::vector<std::vector<Node>> levels_;  // the distinct nodes of each
};

class SectorMaker {
 public:
  SectorMaker(const SealProof& proof, std::uint64_t seed)
      : shape_(proof.shape),
        graph_(shape_.nodes(), proof.porep_id(), proof.api),
        filler_(seed),
        data_(shape_.nodes(), filler_) {
    c1_.proof = proof;
    c1_.seed = filler_.at("seed", 0, 0);
    c1_.ticket = filler_.at("ticket", 0, 0);
    c1_.comm_d = data_.root();
    c1_.replica_id = replica_id_of({prover_id_of_actor(kMadeUpActor), kMadeUpSector, c1_.ticket},
                                   c1_.comm_d, proof.porep_id());
  }

  Result<PorepC1> make() {
    CUZK_TRY_VOID(choose_nodes());
    label_nodes();
    const SparseTree columns = column_tree();
    const SparseTree replica = replica_tree();
    c1_.comm_r = fr_to_node(comm_r_of(element_of(columns.root()), element_of(replica.root())));
    for (std::uint32_t p = 0; p < c1_.proof.partitions; ++p) {
      CUZK_TRY(const auto nodes, porep_challenges(PorepStatement::of(c1_), p));
      auto& partition = c1_.partitions.emplace_back();
      for (const std::uint32_t node : nodes) {
        partition.push_back(
            open_node(Openings{*this, columns, replica}, graph_, shape_.layers, node));
      }
    }
    return std::move(c1_);
  }

 private:
  Status choose_nodes() {
    if (c1_.proof.feature != PorepFeature::kNone) {
      return fail(ErrorCode::kInvalidArgument,
                  "the challenges of {} follow from comm_r: its sector cannot be made up, it must "
                  "be sealed",
                  c1_.proof.name);
    }
    for (std::uint32_t p = 0; p < c1_.proof.partitions; ++p) {
      CUZK_TRY(const auto nodes, porep_challenges(PorepStatement::of(c1_), p));
      challenged_.insert(nodes.begin(), nodes.end());
    }
    return {};
  }

  // Random labels for the parents, then the challenged nodes' own. A label needs its layer's
  // earlier nodes and any of the layer below, so this order serves challenged parents too.
  void label_nodes() {
    const auto open = [&](std::uint32_t node) {
      std::vector<Node>& rows = rows_[node];
      for (std::uint32_t i = 0; rows.size() < shape_.layers; ++i) {
        rows.push_back(filler_.at("label", i, node));
      }
    };
    for (const std::uint32_t node : challenged_) {
      open(node);
      for (const std::uint32_t parent : graph_.drg_parents(node)) open(parent);
      for (const std::uint32_t parent : graph_.expander_parents(node)) open(parent);
    }
    for (std::uint32_t layer = 1; layer <= shape_.layers; ++layer) {
      for (const std::uint32_t node : challenged_) {
        const NodeParents parents = {graph_.drg_parents(node), graph_.expander_parents(node)};
        rows_.at(node)[layer - 1] = create_label(
            c1_.replica_id, layer, node,
            gather_label_parents(
                parents, layer, [&](auto l, auto n) -> const Node& { return rows_.at(n)[l - 1]; }));
      }
    }
  }

  SparseTree column_tree() const {
    std::map<std::uint64_t, Node> leaves;
    for (const auto& [node, rows] : rows_) {
      leaves.emplace(node, fr_to_node(column_hash(elements_of(rows))));
    }
    return {poseidon_path_shape(shape_.nodes(), shape_.tree), "column tree", filler_,
            std::move(leaves)};
  }

  SparseTree replica_tree() const {
    std::map<std::uint64_t, Node> leaves;
    for (const std::uint32_t node : challenged_) {
      const Fr key = element_of(rows_.at(node).back());
      leaves.emplace(node, fr_to_node(key + element_of(data_.at(0, node))));
    }
    return {poseidon_path_shape(shape_.nodes(), shape_.tree), "replica tree", filler_,
            std::move(leaves)};
  }

  struct Openings {
    const SectorMaker& maker;
    const SparseTree& columns;
    const SparseTree& replica;

    const Node& label(std::uint32_t layer, std::uint32_t node) const {
      return maker.rows_.at(node)[layer - 1];
    }
    const std::vector<Node>& rows(std::uint32_t node) const { return maker.rows_.at(node); }
    MerkleProof data_path(std::uint32_t node) const { return maker.data_.prove(node); }
    MerkleProof column_path(std::uint32_t node) const { return columns.prove(node); }
    MerkleProof replica_path(std::uint32_t node) const { return replica.prove(node); }
  };

  PorepShape shape_;
  SectorGraph graph_;
  Filler filler_;
  DataTree data_;
  PorepC1 c1_;
  std::set<std::uint32_t> challenged_;
  std::map<std::uint32_t, std::vector<Node>> rows_;  // of every opened node, layer 1 first
};

}  // namespace

Result<PorepC1> make_sparse_sector(const SealProof& proof, std::uint64_t seed) {
  return SectorMaker(proof, seed).make();
}

}  // namespace cuzk::filecoin
