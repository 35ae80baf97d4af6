#include "filecoin/vanilla.h"

#include "filecoin/graph.h"
#include "filecoin/merkle_path.h"

namespace cuzk::filecoin {
namespace {

Status check_elements(const std::vector<Node>& nodes, std::string_view what) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!is_canonical(nodes[i])) return check_element(nodes[i], fmt::format("{}[{}]", what, i));
  }
  return {};
}

Status with_path(Status status, std::string_view path) {
  return status ? status : fail(status.error().in(path));
}

class ChallengeChecker {
 public:
  explicit ChallengeChecker(const PorepShape& shape)
      : shape_(shape),
        data_(data_path_shape(shape.nodes())),
        poseidon_(poseidon_path_shape(shape.nodes(), shape.tree)) {}

  Status check(const PorepChallengeProof& proof) const {
    CUZK_TRY_VOID(with_path(check_path_shape(proof.comm_d_proof, data_), "comm_d_proofs"));
    CUZK_TRY_VOID(
        with_path(check_path_shape(proof.comm_r_last_proof, poseidon_), "comm_r_last_proof"));
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
    return with_path(check_path_shape(column.inclusion, poseidon_), "inclusion_proof");
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
