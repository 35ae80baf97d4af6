#include "filecoin/seal_labels.h"

#include <utility>

#include "filecoin/hash.h"

namespace cuzk::filecoin {
namespace {

// Nodes whose parents are drawn at once, while those before them are labelled.
constexpr std::uint64_t kWindow = 16384;
constexpr std::size_t kGraphGrain = 512;

std::vector<NodeParents> draw_window(Tasks& tasks, const SectorGraph& graph, std::uint64_t first,
                                     std::uint32_t layer) {
  std::vector<NodeParents> window(std::min(kWindow, graph.nodes() - first));
  tasks.parallel_for(window.size(), kGraphGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto node = static_cast<std::uint32_t>(first + i);
      window[i].drg = graph.drg_parents(node);
      if (layer > 1) window[i].expander = graph.expander_parents(node);
    }
  });
  return window;
}

}  // namespace

Result<SectorLabels> SectorLabels::make(Tasks& tasks, MemoryBudget& memory,
                                        const SectorGraph& graph, std::uint32_t layers,
                                        const Node& replica_id) {
  SectorLabels labels;
  labels.nodes_ = graph.nodes();
  labels.layers_ = layers;
  CUZK_TRY(labels.labels_, Buffer<Node>::allocate(memory, "labels", graph.nodes() * layers));
  for (std::uint32_t layer = 1; layer <= layers; ++layer) {
    labels.label_layer(tasks, graph, layer, replica_id);
    if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "labels: stopped");
  }
  return labels;
}

void SectorLabels::label_layer(Tasks& tasks, const SectorGraph& graph, std::uint32_t layer,
                               const Node& replica_id) {
  const std::span<Node> here = labels_.span().subspan((layer - 1) * nodes_, nodes_);
  const auto label_at = [&](std::uint32_t l, std::uint32_t node) -> const Node& {
    return at(l, node);
  };
  std::vector<NodeParents> window = draw_window(tasks, graph, 0, layer);
  for (std::uint64_t first = 0; first < nodes_ && !tasks.stop_requested(); first += kWindow) {
    std::vector<NodeParents> next;
    tasks.invoke(
        [&] {
          for (std::size_t i = 0; i < window.size(); ++i) {
            if (first + i == 0) {
              here[0] = create_label(replica_id, layer, 0, {});
              continue;
            }
            const auto parents = gather_label_parents(window[i], layer, label_at);
            here[first + i] = create_label(replica_id, layer, first + i, parents);
          }
        },
        [&] {
          if (first + kWindow < nodes_) next = draw_window(tasks, graph, first + kWindow, layer);
        });
    window = std::move(next);
  }
}

std::vector<Node> SectorLabels::column(std::uint32_t node) const {
  std::vector<Node> rows;
  for (std::uint32_t layer = 1; layer <= layers_; ++layer) rows.push_back(at(layer, node));
  return rows;
}

}  // namespace cuzk::filecoin
