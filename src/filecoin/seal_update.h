#pragma once
// Updating a sealed sector: its replica encodes new data without being labelled again, and what the
// proof of that opens.
//
// Memory:  tree D (2 sectors) and tree R (8/7) of the new data, beside the key's tree R.
// Errors:  kInvalidArgument for a piece that is too long or an h that is not there; kOutOfBudget;
//          kCancelled on stop.
// Threads: building uses `tasks`; an updated sector never changes afterwards.
// Source:  rust-fil-proofs 87348a74, storage-proofs-update/src/vanilla.rs.

#include <vector>

#include "base/bytes.h"
#include "filecoin/seal_trees.h"
#include "filecoin/update_statement.h"
#include "filecoin/update_vanilla.h"

namespace cuzk::filecoin {

struct UpdateRequest {
  UpdateProof proof;
  std::uint32_t h = 0;            // proof.shape.default_h() on every public network
  Node comm_c{};                  // of the sealed sector, which is the key
  const SealTree* key = nullptr;  // its tree R; it outlives the updated sector
};

class UpdatedSector {
 public:
  // Every node of the key plus that of the data times the factor of its place.
  static Result<UpdatedSector> encode(Tasks& tasks, MemoryBudget& memory,
                                      const UpdateRequest& request, ByteSpan piece);

  const UpdateStatement& statement() const { return statement_; }
  const SealTree& data() const { return data_; }
  const SealTree& replica() const { return replica_; }

  // The proofs of all partitions.
  Result<std::vector<UpdatePartitionProof>> open(Tasks& tasks) const;

 private:
  UpdatedSector(const UpdateRequest& request, SealTree data, SealTree replica);
  UpdatePartitionProof open_partition(std::uint32_t partition,
                                      std::span<const std::uint32_t> nodes) const;

  UpdateRequest request_;
  SealTree data_;
  SealTree replica_;
  UpdateStatement statement_;
};

}  // namespace cuzk::filecoin
