#pragma once
// The graph over the nodes of a sector: which nodes a label depends on.
//
// Each node has 6 parents in its own layer (a depth-robust graph: earlier nodes, drawn by a bucket
// sample) and 8 in the layer below (an expander: a permutation of nodes * 8 edges by a Feistel
// network).
//
// Threads: immutable.
// Cost:    some microseconds a node.
// Source:  Alwen, Blocki, Harsha 2017 (DRSample); rust-fil-proofs 87348a74,
//          storage-proofs-core/src/drgraph.rs and
//          storage-proofs-porep/src/stacked/vanilla/graph.rs.

#include <array>
#include <cstdint>

#include "filecoin/chacha.h"
#include "filecoin/shapes.h"

namespace cuzk::filecoin {

inline constexpr std::size_t kDrgParents = 6;
inline constexpr std::size_t kExpanderParents = 8;
// Parents that go into a label: the node's own, repeated to this number.
inline constexpr std::size_t kLabelParents = 37;

using PorepId = std::array<std::uint8_t, 32>;
using DrgParents = std::array<std::uint32_t, kDrgParents>;
using ExpanderParents = std::array<std::uint32_t, kExpanderParents>;

class SectorGraph {
 public:
  // `nodes` is a power of two, at least 2 and at most 2^31. V1_0 puts the predecessor last among
  // the DRG parents and cuts an expander edge to 32 bits before dividing; later versions do
  // neither.
  SectorGraph(std::uint64_t nodes, const PorepId& porep_id, ApiVersion api);

  std::uint64_t nodes() const { return nodes_; }
  // Six times node 0 for nodes 0 and 1.
  DrgParents drg_parents(std::uint32_t node) const;
  ExpanderParents expander_parents(std::uint32_t node) const;

 private:
  std::uint64_t permuted_edge(std::uint64_t edge) const;

  std::uint64_t nodes_;
  ApiVersion api_;
  ChaChaKey drg_seed_{};  // the last four bytes are the node's
  std::array<std::uint64_t, 3> feistel_keys_{};
  unsigned half_bits_ = 0;  // of an edge's number, on each side of the network
};

}  // namespace cuzk::filecoin
