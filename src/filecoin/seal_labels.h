#pragma once
// The labels of a sector: layer by layer, each node's from those of its parents.
//
// Within a layer the work is sequential, which is the point of it; only the graph is drawn beside.
//
// Cost:    nodes * layers * 32 bytes; a node and layer about 1 us of SHA-256 beside some 10 us of
//          graph, the latter spread over `tasks`.
// Errors:  kOutOfBudget; kCancelled on stop.
// Threads: building uses `tasks`; labels never change afterwards.
// Source:  rust-fil-proofs 87348a74, storage-proofs-porep/src/stacked/vanilla/{proof,create_label}.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/memory.h"
#include "base/tasks.h"
#include "filecoin/graph.h"
#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

struct NodeParents {
  DrgParents drg{};
  ExpanderParents expander{};
};

// The labels that the label of a node at `layer` (from 1) depends on, in the order of the hash:
// those of the DRG parents in this layer, those of the expander parents in the layer below, again
// and again. Not for node 0, which has none. `label_at(layer, node)` is a label.
template <class LabelAt>
std::array<Node, kLabelParents> gather_label_parents(const NodeParents& parents,
                                                     std::uint32_t layer, LabelAt&& label_at) {
  std::array<Node, kLabelParents> labels;
  std::size_t used = 0;
  for (const std::uint32_t p : parents.drg) labels[used++] = label_at(layer, p);
  if (layer > 1) {
    for (const std::uint32_t p : parents.expander) labels[used++] = label_at(layer - 1, p);
  }
  for (std::size_t i = 0; used < kLabelParents; ++i) labels[used++] = labels[i];
  return labels;
}

class SectorLabels {
 public:
  static Result<SectorLabels> make(Tasks& tasks, MemoryBudget& memory, const SectorGraph& graph,
                                   std::uint32_t layers, const Node& replica_id);

  std::uint32_t layers() const { return layers_; }
  // From 1; the last one is the key that the data are encoded with.
  std::span<const Node> layer(std::uint32_t number) const {
    return labels_.span().subspan((number - 1) * nodes_, nodes_);
  }
  const Node& at(std::uint32_t layer, std::uint32_t node) const {
    return labels_[(layer - 1) * nodes_ + node];
  }
  // One node's labels, layer 1 first.
  std::vector<Node> column(std::uint32_t node) const;

 private:
  SectorLabels() = default;
  void label_layer(Tasks& tasks, const SectorGraph& graph, std::uint32_t layer,
                   const Node& replica_id);

  std::uint64_t nodes_ = 0;
  std::uint32_t layers_ = 0;
  Buffer<Node> labels_;  // layer by layer
};

}  // namespace cuzk::filecoin
