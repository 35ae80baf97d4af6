#include "filecoin/seal_update.h"

#include <utility>

#include "filecoin/hash.h"
#include "filecoin/seal_sector.h"
#include "filecoin/update_challenges.h"

namespace cuzk::filecoin {
namespace {

Fr commitment_of(const Node& comm_c, const Node& comm_r_last) {
  return comm_r_of(element_of(comm_c), element_of(comm_r_last));
}

// The factors of an update, by a node's highest h bits.
std::vector<Fr> factors_of(std::uint32_t h, const Fr& phi) {
  std::vector<Fr> factors;
  for (std::uint64_t high = 0; high < std::uint64_t{1} << h; ++high) {
    factors.push_back(update_rho(phi, high));
  }
  return factors;
}

}  // namespace

UpdatedSector::UpdatedSector(const UpdateRequest& request, SealTree data, SealTree replica)
    : request_(request), data_(std::move(data)), replica_(std::move(replica)) {
  statement_.proof = request.proof;
  statement_.comm_r_old = fr_to_node(commitment_of(request.comm_c, request.key->root()));
  statement_.comm_r_new = fr_to_node(commitment_of(request.comm_c, replica_.root()));
  statement_.comm_d_new = data_.root();
  statement_.h = request.h;
}

Result<UpdatedSector> UpdatedSector::encode(Tasks& tasks, MemoryBudget& memory,
                                            const UpdateRequest& request, ByteSpan piece) {
  const UpdateShape& shape = request.proof.shape;
  CUZK_TRY_VOID(shape.h_index(request.h));
  CUZK_TRY(SealTree data, build_data_tree(tasks, memory, shape.sector_bytes, piece));
  const Fr phi =
      update_phi(element_of(data.root()), commitment_of(request.comm_c, request.key->root()));
  const std::vector<Fr> factors = factors_of(request.h, phi);
  const std::uint32_t low_bits = shape.node_bits() - request.h;
  CUZK_TRY(SealTree replica,
           SealTree::build(
               tasks, memory, "updated tree R", poseidon_path_shape(shape.nodes(), shape.tree),
               TreeHash::kPoseidon, [&](std::uint64_t first, std::span<Node> leaves) {
                 for (std::size_t i = 0; i < leaves.size(); ++i) {
                   const std::uint64_t node = first + i;
                   leaves[i] = fr_to_node(element_of(request.key->leaf(node)) +
                                          element_of(data.leaf(node)) * factors[node >> low_bits]);
                 }
               }));
  return UpdatedSector(request, std::move(data), std::move(replica));
}

UpdatePartitionProof UpdatedSector::open_partition(std::uint32_t partition,
                                                   std::span<const std::uint32_t> nodes) const {
  const UpdateShape& shape = request_.proof.shape;
  UpdatePartitionProof proof;
  proof.comm_c = request_.comm_c;
  const auto apex = data_.level(shape.steps_below_apex())
                        .subspan(std::size_t{partition} * shape.apex_leafs, shape.apex_leafs);
  proof.apex_leafs.assign(apex.begin(), apex.end());
  for (const std::uint32_t node : nodes) {
    proof.challenges.push_back(
        {request_.key->prove(node), data_.prove(node), replica_.prove(node)});
  }
  return proof;
}

Result<std::vector<UpdatePartitionProof>> UpdatedSector::open(Tasks& tasks) const {
  std::vector<std::vector<std::uint32_t>> nodes;
  for (std::uint32_t p = 0; p < request_.proof.shape.partitions; ++p) {
    CUZK_TRY(nodes.emplace_back(), update_challenges(statement_, p));
  }
  std::vector<UpdatePartitionProof> proofs(nodes.size());
  tasks.parallel_for(proofs.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      proofs[p] = open_partition(static_cast<std::uint32_t>(p), nodes[p]);
    }
  });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "opening an update: stopped");
  return proofs;
}

}  // namespace cuzk::filecoin
