#include "filecoin/sparse_tree.h"

#include <array>

#include "base/bytes.h"
#include "base/hash.h"
#include "filecoin/hash.h"

namespace cuzk::filecoin {

Node Filler::at(std::string_view what, std::uint32_t level, std::uint64_t index) const {
  std::array<std::uint8_t, 20> place;
  store_le(place.data(), seed_);
  store_le(place.data() + 8, level);
  store_le(place.data() + 12, index);
  Node node;
  Blake2b hash(node.size());
  hash.update({reinterpret_cast<const std::uint8_t*>(what.data()), what.size()});
  hash.update(place);
  hash.finish(node);
  node[31] &= 0x3f;
  return node;
}

SparseTree::SparseTree(PathShape shape, std::string_view name, const Filler& filler,
                       std::map<std::uint64_t, Node> leaves)
    : shape_(std::move(shape)), name_(name), filler_(filler) {
  levels_.push_back(std::move(leaves));
  for (std::uint32_t level = 0; level < shape_.arities.size(); ++level) {
    const std::uint32_t arity = shape_.arities[level];
    std::map<std::uint64_t, Node> above;
    for (const auto& [index, unused] : levels_[level]) {
      const std::uint64_t parent = index / arity;
      if (above.contains(parent)) continue;
      std::vector<Fr> children;
      for (std::uint32_t i = 0; i < arity; ++i) {
        children.push_back(element_of(at(level, parent * arity + i)));
      }
      above.emplace(parent, fr_to_node(poseidon_node(children)));
    }
    levels_.push_back(std::move(above));
  }
}

MerkleProof SparseTree::prove(std::uint64_t leaf) const {
  return prove_path(shape_, leaf, [&](auto level, auto index) { return at(level, index); });
}

Node SparseTree::at(std::uint32_t level, std::uint64_t index) const {
  const auto it = levels_[level].find(index);
  return it == levels_[level].end() ? filler_.at(name_, level, index) : it->second;
}

}  // namespace cuzk::filecoin
