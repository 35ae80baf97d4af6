#include "filecoin/hash.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "filecoin/graph.h"
#include "gadget/poseidon_hash.h"

namespace cuzk::filecoin {
namespace {

void clear_two_highest_bits(Node& node) { node[31] &= 0x3f; }

}  // namespace

std::optional<Fr> node_to_fr(const Node& node) { return Fr::from_bytes_le(node); }

Node fr_to_node(const Fr& value) { return value.to_bytes_le(); }

bool is_canonical(const Node& node) {
  Limbs<4> limbs;
  std::memcpy(limbs.data(), node.data(), node.size());
  return compare(limbs, Fr::kModulus) < 0;
}

Node tree_d_node(const Node& left, const Node& right) {
  std::array<std::uint8_t, 64> input;
  std::copy(left.begin(), left.end(), input.begin());
  std::copy(right.begin(), right.end(), input.begin() + 32);
  Node node = sha256(input);
  clear_two_highest_bits(node);
  return node;
}

Fr poseidon_node(std::span<const Fr> children) {
  return gadget::poseidon_hash(gadget::poseidon_params(children.size()), children);
}

Fr column_hash(std::span<const Fr> rows) { return poseidon_node(rows); }

Fr comm_r_of(const Fr& comm_c, const Fr& comm_r_last) {
  const std::array<Fr, 2> children = {comm_c, comm_r_last};
  return poseidon_node(children);
}

Node create_label(const Node& replica_id, std::uint32_t layer, std::uint64_t node,
                  std::span<const Node> parents) {
  CUZK_CHECK(parents.size() == (node == 0 ? 0 : kLabelParents));
  // Two blocks of 32 bytes, replica id and place, then the parents.
  std::array<std::uint8_t, 32 * (2 + kLabelParents)> input{};
  std::copy(replica_id.begin(), replica_id.end(), input.begin());
  store_be32(input.data() + 32, layer);
  store_be64(input.data() + 36, node);
  std::size_t used = 64;
  for (const Node& parent : parents) {
    std::copy(parent.begin(), parent.end(), input.begin() + static_cast<std::ptrdiff_t>(used));
    used += 32;
  }
  Node label = sha256(ByteSpan(input).first(used));
  clear_two_highest_bits(label);
  return label;
}

}  // namespace cuzk::filecoin
