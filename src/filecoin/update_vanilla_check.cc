#include "filecoin/update_vanilla_check.h"

#include "base/bytes.h"
#include "filecoin/merkle_path.h"
#include "filecoin/update_challenges.h"

namespace cuzk::filecoin {
namespace {

Status in_item(Status status, std::string_view item) {
  return status ? status : fail(status.error().in(item));
}

Status expect_node(const Node& found, const Node& expected, std::string_view what) {
  if (found == expected) return {};
  return fail(ErrorCode::kMismatch, "{} is {}, expected {}", what, to_hex(found), to_hex(expected));
}

// A node and the siblings of its first steps, hashed up tree D.
Node climb(Node node, std::span<const MerkleStep> steps) {
  for (const MerkleStep& step : steps) {
    node =
        step.index == 0 ? tree_d_node(node, step.siblings[0]) : tree_d_node(step.siblings[0], node);
  }
  return node;
}

Node apex_root(std::vector<Node> level) {
  while (level.size() > 1) {
    for (std::size_t i = 0; i < level.size() / 2; ++i) {
      level[i] = tree_d_node(level[2 * i], level[2 * i + 1]);
    }
    level.resize(level.size() / 2);
  }
  return level[0];
}

class PartitionCheck {
 public:
  PartitionCheck(const UpdateStatement& statement, const UpdatePartitionProof& proof,
                 std::uint32_t partition, const Fr& phi)
      : statement_(statement),
        shape_(statement.proof.shape),
        proof_(proof),
        partition_(partition),
        phi_(phi) {}

  // What all of the partition's challenges share. `comm_c` is that of partition 0.
  Status check_commitments(const Node& comm_c) const {
    CUZK_TRY_VOID(expect_node(proof_.comm_c, comm_c, "comm_c"));
    CUZK_TRY_VOID(
        check_commitment(root_r_old(), statement_.comm_r_old, "comm_r_old", "proof_r_old"));
    return check_commitment(root_r_new(), statement_.comm_r_new, "comm_r_new", "proof_r_new");
  }

  // The first challenge's path, checked before, says which siblings lead to comm_d_new.
  Status check_apex_tree() const {
    const std::span<const MerkleStep> path = proof_.challenges[0].proof_d_new.path;
    Node node = apex_root(proof_.apex_leafs);
    const auto upper = path.last(shape_.partition_bits());
    for (std::size_t i = 0; i < upper.size(); ++i) {
      const Node& sibling = upper[i].siblings[0];
      node = partition_ >> i & 1 ? tree_d_node(sibling, node) : tree_d_node(node, sibling);
    }
    return expect_node(node, statement_.comm_d_new, "the root of the tree over apex_leafs");
  }

  Status check_challenge(std::size_t i, std::uint32_t node) const {
    const UpdateChallengeProof& p = proof_.challenges[i];
    const Fr old_leaf = element_of(p.proof_r_old.leaf);
    const Fr data = element_of(p.proof_d_new.leaf);
    const Fr rho = update_rho(phi_, node >> (shape_.node_bits() - statement_.h));
    const Node new_leaf = fr_to_node(old_leaf + data * rho);
    CUZK_TRY_VOID(
        in_item(check_poseidon_path(p.proof_r_old, {node, p.proof_r_old.leaf}, root_r_old()),
                "proof_r_old"));
    CUZK_TRY_VOID(in_item(check_data(p.proof_d_new, node), "proof_d_new"));
    return in_item(check_poseidon_path(p.proof_r_new, {node, new_leaf}, root_r_new()),
                   "proof_r_new");
  }

 private:
  const Node& root_r_old() const { return proof_.challenges[0].proof_r_old.root; }
  const Node& root_r_new() const { return proof_.challenges[0].proof_r_new.root; }

  Status check_commitment(const Node& root, const Node& comm_r, std::string_view name,
                          std::string_view proof) const {
    const Fr hash = comm_r_of(element_of(proof_.comm_c), element_of(root));
    return expect_node(fr_to_node(hash), comm_r,
                       fmt::format("{}: the hash of comm_c and the root of {}", name, proof));
  }

  Status check_data(const MerkleProof& proof, std::uint32_t node) const {
    CUZK_TRY_VOID(check_data_path(proof, {node, proof.leaf}, statement_.comm_d_new));
    const std::uint32_t below = shape_.steps_below_apex();
    const std::uint32_t place = node >> below & (shape_.apex_leafs - 1);
    const Node passed = climb(proof.leaf, std::span(proof.path).first(below));
    return expect_node(proof_.apex_leafs[place], passed, fmt::format("apex_leafs[{}]", place));
  }

  const UpdateStatement& statement_;
  const UpdateShape& shape_;
  const UpdatePartitionProof& proof_;
  const std::uint32_t partition_;
  const Fr& phi_;
};

}  // namespace

Status check_update_vanilla(Tasks& tasks, std::span<const UpdatePartitionProof> proofs,
                            const UpdateStatement& statement) {
  const std::size_t per_partition = statement.proof.shape.challenges;
  // Also sees that h and the commitments are what the circuit takes.
  CUZK_TRY(const auto inputs, update_public_inputs(statement, 0));
  const Fr phi = update_phi(inputs[2], inputs[1]);
  std::vector<PartitionCheck> checks;
  std::vector<std::uint32_t> challenges;
  for (std::uint32_t k = 0; k < proofs.size(); ++k) {
    checks.emplace_back(statement, proofs[k], k, phi);
    CUZK_TRY(const auto of_partition, update_challenges(statement, k));
    challenges.insert(challenges.end(), of_partition.begin(), of_partition.end());
  }
  std::vector<Status> results(challenges.size());
  tasks.parallel_for(challenges.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      results[i] = checks[i / per_partition].check_challenge(i % per_partition, challenges[i]);
    }
  });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "asked to stop");
  for (std::uint32_t k = 0; k < proofs.size(); ++k) {
    const std::string partition = fmt::format("partition {}", k);
    CUZK_TRY_VOID(in_item(checks[k].check_commitments(proofs[0].comm_c), partition));
    for (std::size_t i = 0; i < per_partition; ++i) {
      const std::size_t at = k * per_partition + i;
      CUZK_TRY_VOID(in_item(results[at], fmt::format("{}: challenge_proofs[{}] (challenge {})",
                                                     partition, i, challenges[at])));
    }
    CUZK_TRY_VOID(in_item(checks[k].check_apex_tree(), partition));
  }
  return {};
}

}  // namespace cuzk::filecoin
