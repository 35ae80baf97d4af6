#include "filecoin/vanilla_check.h"

#include <algorithm>

#include "base/bytes.h"
#include "filecoin/graph.h"
#include "filecoin/hash.h"
#include "filecoin/merkle_path.h"

namespace cuzk::filecoin {

namespace {

Status in_item(Status status, std::string_view item) {
  return status ? status : fail(status.error().in(item));
}

Status expect_node(const Node& found, const Node& expected, std::string_view what) {
  if (found == expected) return {};
  return fail(ErrorCode::kMismatch, "{} is {}, expected {}", what, to_hex(found), to_hex(expected));
}

Status expect_number(std::uint64_t found, std::uint64_t expected, std::string_view what) {
  if (found == expected) return {};
  return fail(ErrorCode::kMismatch, "{} is {}, expected {}", what, found, expected);
}

// Labels that `node` depends on at `layer`, repeated to kLabelParents.
std::vector<Node> label_parents(const PorepChallengeProof& proof, std::uint32_t layer) {
  std::vector<Node> own;
  for (const ColumnProof& c : proof.drg_parents) own.push_back(c.rows[layer - 1]);
  if (layer > 1) {
    for (const ColumnProof& c : proof.exp_parents) own.push_back(c.rows[layer - 2]);
  }
  std::vector<Node> out;
  for (std::size_t i = 0; i < kLabelParents; ++i) out.push_back(own[i % own.size()]);
  return out;
}

class ChallengeCheck {
 public:
  ChallengeCheck(const PorepStatement& statement, const SectorGraph& graph,
                 const PorepChallengeProof& proof, std::uint32_t challenge)
      : statement_(statement), graph_(graph), proof_(proof), challenge_(challenge) {}

  Status run() const {
    CUZK_TRY_VOID(check_commitment());
    CUZK_TRY_VOID(check_columns());
    CUZK_TRY_VOID(check_labels());
    return check_encoding();
  }

 private:
  const Node& comm_c() const { return proof_.c_x.inclusion.root; }

  Status check_commitment() const {
    const Node& comm_r_last = proof_.comm_r_last_proof.root;
    const Fr comm_r = comm_r_of(element_of(comm_c()), element_of(comm_r_last));
    return expect_node(fr_to_node(comm_r), statement_.comm_r, "the hash of comm_c and comm_r_last");
  }

  Status check_column(const ColumnProof& column, std::uint32_t node) const {
    CUZK_TRY_VOID(expect_number(column.index, node, "column.index"));
    const Node hash = fr_to_node(column_hash(elements_of(column.rows)));
    return in_item(check_poseidon_path(column.inclusion, {node, hash}, comm_c()),
                   "inclusion_proof");
  }

  template <std::size_t N>
  Status check_parents(const std::vector<ColumnProof>& columns,
                       const std::array<std::uint32_t, N>& nodes, std::string_view name) const {
    for (std::size_t i = 0; i < N; ++i) {
      if (auto status = check_column(columns[i], nodes[i]); !status) {
        return in_item(std::move(status), fmt::format("replica_column_proofs.{}[{}]", name, i));
      }
    }
    return {};
  }

  Status check_columns() const {
    CUZK_TRY_VOID(in_item(check_column(proof_.c_x, challenge_), "replica_column_proofs.c_x"));
    CUZK_TRY_VOID(check_parents(proof_.drg_parents, graph_.drg_parents(challenge_), "drg_parents"));
    return check_parents(proof_.exp_parents, graph_.expander_parents(challenge_), "exp_parents");
  }

  Status check_carried(const LabelingProof& carried, std::uint32_t layer) const {
    CUZK_TRY_VOID(expect_number(carried.layer, layer, "layer_index"));
    CUZK_TRY_VOID(expect_number(carried.node, challenge_, "node"));
    const std::vector<Node> parents = label_parents(proof_, layer);
    for (std::size_t i = 0; i < parents.size(); ++i) {
      CUZK_TRY_VOID(expect_node(carried.parents[i], parents[i], fmt::format("parents[{}]", i)));
    }
    return {};
  }

  Status check_labels() const {
    for (std::uint32_t layer = 1; layer <= statement_.proof.shape.layers; ++layer) {
      const Node label =
          create_label(statement_.replica_id, layer, challenge_, label_parents(proof_, layer));
      CUZK_TRY_VOID(
          expect_node(proof_.c_x.rows[layer - 1], label,
                      fmt::format("replica_column_proofs.c_x.column.rows[{}]", layer - 1)));
      CUZK_TRY_VOID(in_item(check_carried(proof_.labeling[layer - 1], layer),
                            fmt::format("labeling_proofs[{}]", layer - 1)));
    }
    return in_item(check_carried(proof_.encoding, statement_.proof.shape.layers), "encoding_proof");
  }

  Status check_encoding() const {
    const Node& data = proof_.comm_d_proof.leaf;
    CUZK_TRY_VOID(
        in_item(check_data_path(proof_.comm_d_proof, {challenge_, data}, statement_.comm_d),
                "comm_d_proofs"));
    const Node replica = fr_to_node(element_of(data) + element_of(proof_.c_x.rows.back()));
    return in_item(check_poseidon_path(proof_.comm_r_last_proof, {challenge_, replica},
                                       proof_.comm_r_last_proof.root),
                   "comm_r_last_proof");
  }

  const PorepStatement& statement_;
  const SectorGraph& graph_;
  const PorepChallengeProof& proof_;
  const std::uint32_t challenge_;
};

}  // namespace

Status check_vanilla(Tasks& tasks, const PorepC1& c1, const PorepStatement& statement) {
  const SealProof& seal = statement.proof;
  const SectorGraph graph(seal.shape.nodes(), statement.porep_id, seal.api);
  const std::size_t per_partition = seal.shape.challenges_per_partition;
  std::vector<std::uint32_t> challenges;
  for (std::uint32_t k = 0; k < c1.partitions.size(); ++k) {
    CUZK_TRY(const auto of_partition, porep_challenges(statement, k));
    challenges.insert(challenges.end(), of_partition.begin(), of_partition.end());
  }
  std::vector<Status> results(challenges.size());
  tasks.parallel_for(challenges.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto& proof = c1.partitions[i / per_partition][i % per_partition];
      results[i] = ChallengeCheck(statement, graph, proof, challenges[i]).run();
    }
  });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "asked to stop");
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) continue;
    return fail(results[i].error().in(fmt::format(
        "{} (challenge {})", challenge_path(i / per_partition, i % per_partition), challenges[i])));
  }
  return {};
}

}  // namespace cuzk::filecoin
