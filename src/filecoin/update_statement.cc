#include "filecoin/update_statement.h"

#include "base/bytes.h"
#include "filecoin/update_challenges.h"

namespace cuzk::filecoin {
namespace {

Result<Fr> canonical(const Node& node, std::string_view what) {
  if (const auto v = node_to_fr(node)) return *v;
  return fail(ErrorCode::kCorruptInput,
              "{}: {} (little-endian) is not below the modulus of the scalar field", what,
              to_hex(node));
}

Status check_partition(const UpdateStatement& statement, std::uint32_t partition) {
  if (partition < statement.proof.shape.partitions) return {};
  return fail(ErrorCode::kInvalidArgument, "{} has {} partitions; there is no partition {}",
              statement.proof.name, statement.proof.shape.partitions, partition);
}

}  // namespace

Result<std::vector<std::uint32_t>> update_challenges(const UpdateStatement& statement,
                                                     std::uint32_t partition) {
  CUZK_TRY_VOID(check_partition(statement, partition));
  CUZK_TRY(const Fr comm_r_new, canonical(statement.comm_r_new, "comm_r_new"));
  return update_challenges(statement.proof.shape, comm_r_new, partition);
}

Result<std::vector<Fr>> update_public_inputs(const UpdateStatement& statement,
                                             std::uint32_t partition) {
  const UpdateShape& shape = statement.proof.shape;
  CUZK_TRY_VOID(check_partition(statement, partition));
  CUZK_TRY(const std::uint32_t h_index, shape.h_index(statement.h));
  std::vector<Fr> inputs;
  inputs.push_back(
      Fr::from_u64(partition | std::uint64_t{1} << (shape.partition_bits() + h_index)));
  CUZK_TRY(inputs.emplace_back(), canonical(statement.comm_r_old, "comm_r_old"));
  CUZK_TRY(inputs.emplace_back(), canonical(statement.comm_d_new, "comm_d_new"));
  CUZK_TRY(inputs.emplace_back(), canonical(statement.comm_r_new, "comm_r_new"));
  return inputs;
}

}  // namespace cuzk::filecoin
