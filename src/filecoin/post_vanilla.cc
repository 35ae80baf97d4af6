#include "filecoin/post_vanilla.h"

#include "filecoin/merkle_path.h"

namespace cuzk::filecoin {

Status check_post_parts(const PostSectorProof& proof, const PostShape& shape) {
  CUZK_TRY_VOID(check_element(proof.comm_r, "comm_r"));
  CUZK_TRY_VOID(check_element(proof.comm_c, "comm_c"));
  CUZK_TRY_VOID(check_element(proof.comm_r_last, "comm_r_last"));
  CUZK_TRY_VOID(
      check_count(proof.inclusion.size(), shape.challenges_per_sector(),
                  fmt::format("inclusion_proofs of a {} {}", sector_size_name(shape.sector_bytes),
                              post_kind_name(shape.kind))));
  const PathShape path = poseidon_path_shape(shape.nodes(), shape.tree);
  for (std::size_t i = 0; i < proof.inclusion.size(); ++i) {
    if (auto status = check_path_shape(proof.inclusion[i], path); !status) {
      return fail(status.error().in(fmt::format("inclusion_proofs[{}]", i)));
    }
  }
  return {};
}

Status check_post_shape(const PostSectorProof& proof, const PostShape& shape) {
  auto status = check_post_parts(proof, shape);
  return status ? status : fail(status.error().in(fmt::format("sector {}", proof.sector)));
}

}  // namespace cuzk::filecoin
