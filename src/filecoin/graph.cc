#include "filecoin/graph.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"

namespace cuzk::filecoin {
namespace {

// A seed for one use of the porep id.
Digest32 domain_seed(std::string_view tag, const PorepId& porep_id) {
  Sha256 hash;
  hash.update({reinterpret_cast<const std::uint8_t*>(tag.data()), tag.size()});
  hash.update(porep_id);
  return hash.finish();
}

std::uint64_t feistel_round(std::uint64_t right, std::uint64_t key) {
  std::array<std::uint8_t, 16> input;
  store_be64(input.data(), right);
  store_be64(input.data() + 8, key);
  return load_be64(blake2b_512(input).data());
}

}  // namespace

SectorGraph::SectorGraph(std::uint64_t nodes, const PorepId& porep_id, ApiVersion api)
    : nodes_(nodes), api_(api) {
  CUZK_CHECK(std::has_single_bit(nodes) && nodes >= 2 && nodes <= std::uint64_t{1} << 31);
  const Digest32 drg = domain_seed("Filecoin_DRSample", porep_id);
  std::memcpy(drg_seed_.data(), drg.data(), 28);
  // Four keys are drawn; the network has three rounds.
  const Digest32 feistel = domain_seed("Filecoin_Feistel", porep_id);
  for (std::size_t i = 0; i < feistel_keys_.size(); ++i) {
    feistel_keys_[i] = load_le<std::uint64_t>(feistel.data() + 8 * i);
  }
  const auto edge_bits = static_cast<unsigned>(std::bit_width(nodes * kExpanderParents - 1));
  half_bits_ = (edge_bits + 1) / 2;
}

DrgParents SectorGraph::drg_parents(std::uint32_t node) const {
  CUZK_CHECK(node < nodes_);
  DrgParents parents{};
  if (node <= 1) return parents;

  // The sample runs over a graph in which each node is kDrawn "meta" nodes.
  constexpr std::uint64_t kDrawn = kDrgParents - 1;
  ChaChaKey seed = drg_seed_;
  store_le<std::uint32_t>(seed.data() + 28, node);
  ChaCha8 random(seed);
  const std::uint64_t meta_node = node * kDrawn;
  const auto buckets = static_cast<std::uint64_t>(std::bit_width(meta_node - 1));  // ceil(log2)
  const bool predecessor_first = api_ != ApiVersion::kV1_0;
  for (std::size_t i = 0; i < kDrawn; ++i) {
    const std::uint64_t bucket = random.next_u64() % buckets + 1;
    const std::uint64_t largest = std::min(meta_node, std::uint64_t{1} << bucket);
    const std::uint64_t smallest = std::max<std::uint64_t>(2, largest >> 1);
    const std::uint64_t distance = smallest + random.next_u64() % (largest - smallest + 1);
    const std::uint64_t parent = (meta_node - distance) / kDrawn;
    parents[i + (predecessor_first ? 1 : 0)] =
        parent == node ? node - 1 : static_cast<std::uint32_t>(parent);
  }
  parents[predecessor_first ? 0 : kDrawn] = node - 1;
  return parents;
}

std::uint64_t SectorGraph::permuted_edge(std::uint64_t edge) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  // The network permutes a power of four; walk its cycle until it is an edge again.
  do {
    std::uint64_t left = edge >> half_bits_ & mask;
    std::uint64_t right = edge & mask;
    for (const std::uint64_t key : feistel_keys_) {
      left ^= feistel_round(right, key) & mask;
      std::swap(left, right);
    }
    edge = left << half_bits_ | right;
  } while (edge >= nodes_ * kExpanderParents);
  return edge;
}

ExpanderParents SectorGraph::expander_parents(std::uint32_t node) const {
  CUZK_CHECK(node < nodes_);
  ExpanderParents parents;
  for (std::size_t i = 0; i < kExpanderParents; ++i) {
    std::uint64_t edge = permuted_edge(node * std::uint64_t{kExpanderParents} + i);
    // A flaw of the first version, kept for its proofs: edges beyond 2^32 wrap.
    if (api_ == ApiVersion::kV1_0) edge &= 0xffffffff;
    parents[i] = static_cast<std::uint32_t>(edge / kExpanderParents);
  }
  return parents;
}

}  // namespace cuzk::filecoin
