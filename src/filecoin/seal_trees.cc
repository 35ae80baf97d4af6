#include "filecoin/seal_trees.h"

#include "base/check.h"
#include "filecoin/hash.h"

namespace cuzk::filecoin {
namespace {

// Nodes a task hashes at least: some 10 ms of Poseidon or of SHA-256.
constexpr std::size_t kPoseidonGrain = 256;
constexpr std::size_t kSha256Grain = 16384;

Node poseidon_parent(std::span<const Node> children) {
  return fr_to_node(poseidon_node(elements_of(children)));
}

}  // namespace

Result<SealTree> SealTree::build(Tasks& tasks, MemoryBudget& memory, std::string_view owner,
                                 const PathShape& shape, TreeHash hash, const FillLeaves& fill) {
  SealTree tree;
  tree.shape_ = shape;
  std::uint64_t width = 1, total = 0;
  for (const std::uint32_t arity : shape.arities) width *= arity;
  tree.level_begin_ = {0, total = width};
  for (const std::uint32_t arity : shape.arities) {
    tree.level_begin_.push_back(total += width /= arity);
  }
  CUZK_TRY(tree.nodes_, Buffer<Node>::allocate(memory, owner, total));
  const std::span<Node> leaves = tree.mutable_level(0);
  tasks.parallel_for(leaves.size(), kPoseidonGrain, [&](std::size_t begin, std::size_t end) {
    fill(begin, leaves.subspan(begin, end - begin));
  });
  for (std::uint32_t level = 1; level < tree.levels(); ++level) tree.hash_level(tasks, level, hash);
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "{}: stopped", owner);
  return tree;
}

void SealTree::hash_level(Tasks& tasks, std::uint32_t number, TreeHash hash) {
  const std::span<const Node> below = level(number - 1);
  const std::span<Node> here = mutable_level(number);
  const std::uint32_t arity = shape_.arities[number - 1];
  const std::size_t grain = hash == TreeHash::kSha256 ? kSha256Grain : kPoseidonGrain;
  tasks.parallel_for(here.size(), grain, [&](std::size_t begin, std::size_t end) {
    // Of a level that was skipped on stop nothing is defined, not even that it is canonical.
    if (tasks.stop_requested()) return;
    for (std::size_t i = begin; i < end; ++i) {
      const auto children = below.subspan(i * arity, arity);
      here[i] = hash == TreeHash::kSha256 ? tree_d_node(children[0], children[1])
                                          : poseidon_parent(children);
    }
  });
}

std::span<const Node> SealTree::level(std::uint32_t number) const {
  return nodes_.span().subspan(level_begin_[number],
                               level_begin_[number + 1] - level_begin_[number]);
}

std::span<Node> SealTree::mutable_level(std::uint32_t number) {
  return nodes_.span().subspan(level_begin_[number],
                               level_begin_[number + 1] - level_begin_[number]);
}

MerkleProof SealTree::prove(std::uint64_t leaf) const {
  CUZK_CHECK(leaf < level(0).size());
  return prove_path(shape_, leaf, [&](std::uint32_t number, std::uint64_t index) -> const Node& {
    return level(number)[index];
  });
}

}  // namespace cuzk::filecoin
