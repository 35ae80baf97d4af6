#pragma once
// Merkle paths: from a leaf to the root that it claims to be under.
//
// Source: storage-proofs-core 14.1.0, src/gadgets/por.rs.

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "gadget/insertion.h"
#include "gadget/poseidon.h"
#include "gadget/sha256.h"

namespace cuzk::gadget {

// What hashes the nodes.
struct PoseidonTree {
  static constexpr const char* kName = "poseidon";
  template <class CS>
  static typename CS::Num hash(CS& cs, std::span<const typename CS::Num> children) {
    return poseidon(cs, children);
  }
};
struct Sha256Tree {  // TreeD: the digest without its two top bits
  static constexpr const char* kName = "sha256";
  template <class CS>
  static typename CS::Num hash(CS& cs, std::span<const typename CS::Num> children) {
    std::vector<typename CS::Word> message;
    for (const auto& child : children) {
      const auto words = message_words<CS>(to_bits_le(cs, child));
      message.insert(message.end(), words.begin(), words.end());
    }
    return digest_to_num<CS>(cs, sha256<CS>(cs, message));
  }
};

// One step of a path: the node's place among its parent's children, and the others.
template <class Fr>
struct PathStep {
  std::uint64_t index = 0;
  std::vector<Fr> siblings;
};
template <class Fr>
using Path = std::vector<PathStep<Fr>>;

// The root of the path from `leaf`, and the bits of the leaf's index, lowest first.
template <class CS>
struct ComputedRoot {
  typename CS::Num root;
  std::vector<typename CS::Bit> index_bits;
};

// Shape: arities holds the fan-out of each step, powers of two. `path` has as many steps with
//        arity - 1 siblings each, or is null where a builder wants no values.
template <class Tree, class CS>
ComputedRoot<CS> merkle_root(CS& cs, const typename CS::Num& leaf,
                             std::span<const std::uint32_t> arities,
                             const Path<typename CS::Fr>* path) {
  using Num = typename CS::Num;
  ComputedRoot<CS> out{leaf, {}};
  for (std::size_t step = 0; step < arities.size(); ++step) {
    const auto named = cs.scope("step", step);
    const auto index_width = static_cast<std::size_t>(std::countr_zero(arities[step]));
    const auto bits =
        cs.alloc_bits_u64(CS::index([&] { return (*path)[step].index; }), index_width);
    std::vector<Num> siblings;
    for (std::size_t i = 0; i + 1 < arities[step]; ++i) {
      siblings.push_back(cs.alloc(CS::value([&] { return (*path)[step].siblings[i]; })));
    }
    const auto children = insert<CS>(cs, out.root, siblings, bits);
    out.root = Tree::template hash<CS>(cs, children);
    out.index_bits.insert(out.index_bits.end(), bits.begin(), bits.end());
  }
  return out;
}

// Constrains `leaf` to lie under `root`; the leaf's index becomes a public input.
template <class Tree, class CS>
void merkle_inclusion(CS& cs, const typename CS::Num& leaf, std::span<const std::uint32_t> arities,
                      const Path<typename CS::Fr>* path, const typename CS::Num& root) {
  const ComputedRoot<CS> computed = merkle_root<Tree>(cs, leaf, arities, path);
  pack_into_inputs<CS>(cs, computed.index_bits);
  enforce_equal(cs, computed.root, root);
}

}  // namespace cuzk::gadget
