#include "filecoin/update_vanilla.h"

#include "filecoin/merkle_path.h"

namespace cuzk::filecoin {
namespace {

Status in_item(Status status, std::string_view item) {
  return status ? status : fail(status.error().in(item));
}

struct TreePaths {
  PathShape data, replica;
};

Status check_challenge(const TreePaths& paths, const UpdateChallengeProof& proof, std::size_t i) {
  CUZK_TRY_VOID(in_item(check_path_shape(proof.proof_r_old, paths.replica),
                        update_item_path(i, "proof_r_old")));
  CUZK_TRY_VOID(
      in_item(check_path_shape(proof.proof_d_new, paths.data), update_item_path(i, "proof_d_new")));
  return in_item(check_path_shape(proof.proof_r_new, paths.replica),
                 update_item_path(i, "proof_r_new"));
}

}  // namespace

std::string update_item_path(std::size_t challenge, std::string_view proof) {
  return fmt::format("challenge_proofs[{}]: {}", challenge, proof);
}

Status check_update_partition_shape(const UpdateShape& shape, const UpdatePartitionProof& proof) {
  CUZK_TRY_VOID(check_element(proof.comm_c, "comm_c"));
  CUZK_TRY_VOID(check_count(proof.apex_leafs.size(), shape.apex_leafs, "apex_leafs"));
  for (std::size_t i = 0; i < proof.apex_leafs.size(); ++i) {
    CUZK_TRY_VOID(check_element(proof.apex_leafs[i], fmt::format("apex_leafs[{}]", i)));
  }
  CUZK_TRY_VOID(check_count(proof.challenges.size(), shape.challenges, "challenge_proofs"));
  const TreePaths paths = {data_path_shape(shape.nodes()),
                           poseidon_path_shape(shape.nodes(), shape.tree)};
  for (std::size_t i = 0; i < proof.challenges.size(); ++i) {
    CUZK_TRY_VOID(check_challenge(paths, proof.challenges[i], i));
  }
  return {};
}

Status check_update_shape(const UpdateShape& shape, std::span<const UpdatePartitionProof> proofs) {
  CUZK_TRY_VOID(check_count(
      proofs.size(), shape.partitions,
      fmt::format("partition proofs of an update of {}", sector_size_name(shape.sector_bytes))));
  for (std::size_t k = 0; k < proofs.size(); ++k) {
    CUZK_TRY_VOID(
        in_item(check_update_partition_shape(shape, proofs[k]), fmt::format("partition {}", k)));
  }
  return {};
}

}  // namespace cuzk::filecoin
