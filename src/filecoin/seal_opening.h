#pragma once
// What a PoRep shows of one challenged node, from anything that knows labels and paths.

#include "filecoin/seal_labels.h"
#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

// Source offers label(layer, node), rows(node), and data_path(node), column_path(node) and
// replica_path(node), the Merkle proofs of the node in the three trees. `node` is not 0.
template <class Source>
PorepChallengeProof open_node(const Source& source, const SectorGraph& graph, std::uint32_t layers,
                              std::uint32_t node) {
  const NodeParents parents = {graph.drg_parents(node), graph.expander_parents(node)};
  const auto column = [&](std::uint32_t n) {
    return ColumnProof{n, source.rows(n), source.column_path(n)};
  };
  PorepChallengeProof proof;
  proof.comm_d_proof = source.data_path(node);
  proof.comm_r_last_proof = source.replica_path(node);
  proof.c_x = column(node);
  for (const std::uint32_t p : parents.drg) proof.drg_parents.push_back(column(p));
  for (const std::uint32_t p : parents.expander) proof.exp_parents.push_back(column(p));
  for (std::uint32_t layer = 1; layer <= layers; ++layer) {
    const auto labels = gather_label_parents(
        parents, layer,
        [&](std::uint32_t l, std::uint32_t n) -> const Node& { return source.label(l, n); });
    proof.labeling.push_back({{labels.begin(), labels.end()}, layer, node});
  }
  proof.encoding = proof.labeling.back();
  return proof;
}

}  // namespace cuzk::filecoin
