#include "filecoin/merkle_path.h"

#include "base/bytes.h"
#include "base/check.h"

namespace cuzk::filecoin {
namespace {

Status expect_node(const Node& found, const Node& expected, std::string_view what) {
  if (found == expected) return {};
  return fail(ErrorCode::kMismatch, "{} is {}, expected {}", what, to_hex(found), to_hex(expected));
}

// The node of a tree whose children are `node` at `step.index` and the siblings around it.
std::vector<Node> children_of(const Node& node, const MerkleStep& step) {
  std::vector<Node> children = step.siblings;
  children.insert(children.begin() + static_cast<std::ptrdiff_t>(step.index), node);
  return children;
}

template <class Hash>
Status check_path(const MerkleProof& proof, const PathLeaf& leaf, const Node& root, Hash&& parent) {
  const std::uint64_t index = proof.leaf_index();
  if (index != leaf.index) {
    return fail(ErrorCode::kMismatch, "the path's leaf index is {}, expected {}", index,
                leaf.index);
  }
  CUZK_TRY_VOID(expect_node(proof.leaf, leaf.value, "leaf"));
  CUZK_TRY_VOID(expect_node(proof.root, root, "root"));
  Node node = proof.leaf;
  for (const MerkleStep& step : proof.path) node = parent(children_of(node, step));
  return expect_node(node, root, "the path's end");
}

}  // namespace

PathShape data_path_shape(std::uint64_t nodes) {
  PathShape path;
  for (; nodes > 1; nodes /= 2) path.arities.push_back(2);
  path.base_steps = static_cast<std::uint32_t>(path.arities.size());
  return path;
}

PathShape poseidon_path_shape(std::uint64_t nodes, const TreeShape& tree) {
  PathShape path;
  path.arities = tree.path_arities(nodes);
  path.sub_steps = tree.sub ? 1 : 0;
  const std::uint32_t top_steps = tree.top ? 1 : 0;
  path.base_steps = static_cast<std::uint32_t>(path.arities.size()) - path.sub_steps - top_steps;
  path.kind = top_steps        ? MerkleKind::kTop
              : path.sub_steps ? MerkleKind::kSub
                               : MerkleKind::kSingle;
  return path;
}

Status check_count(std::size_t found, std::size_t expected, std::string_view what) {
  if (found == expected) return {};
  return fail(ErrorCode::kMismatch, "{}: expected {}, found {}", what, expected, found);
}

Status check_element(const Node& node, std::string_view what) {
  if (is_canonical(node)) return {};
  return fail(ErrorCode::kCorruptInput,
              "{}: {} (little-endian) is not below the modulus of the scalar field", what,
              to_hex(node));
}

Status check_path_shape(const MerkleProof& proof, const PathShape& shape) {
  if (proof.kind != shape.kind) {
    return fail(ErrorCode::kMismatch, "data: expected a {} proof, found {}",
                kMerkleKindNames[static_cast<int>(shape.kind)],
                kMerkleKindNames[static_cast<int>(proof.kind)]);
  }
  CUZK_TRY_VOID(check_count(proof.base_steps, shape.base_steps, "steps of the base path"));
  CUZK_TRY_VOID(check_count(proof.sub_steps, shape.sub_steps, "steps of the sub path"));
  CUZK_TRY_VOID(check_count(proof.path.size(), shape.arities.size(), "steps of the whole path"));
  CUZK_TRY_VOID(check_element(proof.root, "root"));
  CUZK_TRY_VOID(check_element(proof.leaf, "leaf"));
  for (std::size_t i = 0; i < proof.path.size(); ++i) {
    const MerkleStep& step = proof.path[i];
    const std::uint32_t arity = shape.arities[i];
    if (step.siblings.size() != arity - 1) {
      return check_count(step.siblings.size(), arity - 1, fmt::format("hashes of step {}", i));
    }
    if (step.index >= arity) {
      return fail(ErrorCode::kCorruptInput, "index of step {}: expected less than {}, found {}", i,
                  arity, step.index);
    }
    for (const Node& sibling : step.siblings) {
      if (!is_canonical(sibling)) {
        return check_element(sibling, fmt::format("a hash of step {}", i));
      }
    }
  }
  return {};
}

Status check_data_path(const MerkleProof& proof, const PathLeaf& leaf, const Node& root) {
  return check_path(proof, leaf, root, [](std::span<const Node> children) {
    return tree_d_node(children[0], children[1]);
  });
}

Status check_poseidon_path(const MerkleProof& proof, const PathLeaf& leaf, const Node& root) {
  return check_path(proof, leaf, root, [](std::span<const Node> children) {
    return fr_to_node(poseidon_node(elements_of(children)));
  });
}

Fr element_of(const Node& node) {
  const auto value = node_to_fr(node);
  CUZK_CHECK(value.has_value());
  return *value;
}

std::vector<Fr> elements_of(std::span<const Node> nodes) {
  std::vector<Fr> out;
  for (const Node& n : nodes) out.push_back(element_of(n));
  return out;
}

}  // namespace cuzk::filecoin
