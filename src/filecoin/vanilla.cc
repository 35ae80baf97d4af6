#include "filecoin/vanilla.h"

#include "base/bytes.h"
#include "filecoin/graph.h"
#include "filecoin/hash.h"

namespace cuzk::filecoin {
namespace {

// What a path through one tree must look like.
struct PathShape {
  MerkleKind kind = MerkleKind::kSingle;
  std::vector<std::uint32_t> arities;
  std::uint32_t base_steps = 0;
  std::uint32_t sub_steps = 0;
};

PathShape data_tree_path(const PorepShape& shape) {
  PathShape path;
  for (std::uint64_t leaves = shape.nodes(); leaves > 1; leaves /= 2) path.arities.push_back(2);
  path.base_steps = static_cast<std::uint32_t>(path.arities.size());
  return path;
}

PathShape poseidon_tree_path(const PorepShape& shape) {
  PathShape path;
  path.arities = shape.path_arities();
  path.sub_steps = shape.tree.sub ? 1 : 0;
  const std::uint32_t top_steps = shape.tree.top ? 1 : 0;
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

Status check_elements(const std::vector<Node>& nodes, std::string_view what) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!is_canonical(nodes[i])) return check_element(nodes[i], fmt::format("{}[{}]", what, i));
  }
  return {};
}

Status check_path(const MerkleProof& proof, const PathShape& shape) {
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

Status with_path(Status status, std::string_view path) {
  return status ? status : fail(status.error().in(path));
}

class ChallengeChecker {
 public:
  explicit ChallengeChecker(const PorepShape& shape)
      : shape_(shape), data_(data_tree_path(shape)), poseidon_(poseidon_tree_path(shape)) {}

  Status check(const PorepChallengeProof& proof) const {
    CUZK_TRY_VOID(with_path(check_path(proof.comm_d_proof, data_), "comm_d_proofs"));
    CUZK_TRY_VOID(with_path(check_path(proof.comm_r_last_proof, poseidon_), "comm_r_last_proof"));
    CUZK_TRY_VOID(with_path(check_column(proof.c_x), "replica_column_proofs.c_x"));
    CUZK_TRY_VOID(check_columns(proof.drg_parents, kDrgParents, "drg_parents"));
    CUZK_TRY_VOID(check_columns(proof.exp_parents, kExpanderParents, "exp_parents"));
    CUZK_TRY_VOID(check_count(proof.labeling.size(), shape_.layers, "labeling_proofs"));
    for (std::size_t i = 0; i < proof.labeling.size(); ++i) {
      Status status = check_labeling(proof.labeling[i]);
      if (!status) return with_path(std::move(status), fmt::format("labeling_proofs[{}]", i));
    }
    return with_path(check_labeling(proof.encoding), "encoding_proof");
  }

 private:
  Status check_column(const ColumnProof& column) const {
    CUZK_TRY_VOID(check_count(column.rows.size(), shape_.layers, "column.rows"));
    CUZK_TRY_VOID(check_elements(column.rows, "column.rows"));
    return with_path(check_path(column.inclusion, poseidon_), "inclusion_proof");
  }
  Status check_columns(const std::vector<ColumnProof>& columns, std::size_t expected,
                       std::string_view name) const {
    const std::string path = fmt::format("replica_column_proofs.{}", name);
    CUZK_TRY_VOID(check_count(columns.size(), expected, path));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Status status = check_column(columns[i]);
      if (!status) return with_path(std::move(status), fmt::format("{}[{}]", path, i));
    }
    return {};
  }
  static Status check_labeling(const LabelingProof& labeling) {
    CUZK_TRY_VOID(check_count(labeling.parents.size(), kLabelParents, "parents"));
    return check_elements(labeling.parents, "parents");
  }

  PorepShape shape_;
  PathShape data_;
  PathShape poseidon_;
};

}  // namespace

std::uint64_t MerkleProof::leaf_index() const {
  std::uint64_t index = 0;
  std::uint64_t weight = 1;
  for (const MerkleStep& step : path) {
    index += step.index * weight;
    weight *= step.siblings.size() + 1;
  }
  return index;
}

std::string challenge_path(std::size_t partition, std::size_t challenge) {
  return fmt::format("vanilla_proofs[{}][{}]", partition, challenge);
}

Status check_shape(const PorepC1& c1) {
  CUZK_TRY_VOID(check_element(c1.comm_r, "comm_r"));
  CUZK_TRY_VOID(check_element(c1.comm_d, "comm_d"));
  CUZK_TRY_VOID(check_element(c1.replica_id, "replica_id"));
  CUZK_TRY_VOID(check_count(c1.partitions.size(), c1.proof.partitions,
                            fmt::format("vanilla_proofs: partitions of {}", c1.proof.name)));
  const ChallengeChecker checker(c1.proof.shape);
  for (std::size_t k = 0; k < c1.partitions.size(); ++k) {
    const auto& challenges = c1.partitions[k];
    CUZK_TRY_VOID(check_count(challenges.size(), c1.proof.shape.challenges_per_partition,
                              fmt::format("vanilla_proofs[{}]: challenges", k)));
    for (std::size_t i = 0; i < challenges.size(); ++i) {
      Status status = checker.check(challenges[i]);
      if (!status) return with_path(std::move(status), challenge_path(k, i));
    }
  }
  return {};
}

}  // namespace cuzk::filecoin
