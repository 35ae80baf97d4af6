#pragma once
// Sealing: a replica of one's data that could not be had without the labels, its commitments, and
// what commit phase 1 opens of it. Simple and right rather than fast: for sectors that a developer
// makes (2 KiB to 512 MiB), not for those of a storage provider.
//
// Memory:  (2 * layers + 5) * sector bytes, nearly: labels, tree D (2 sectors), trees C and R (8/7
//          each). 512 MiB take 3.2 GiB.
// Cost:    8 MiB about ten seconds of CPU time, 512 MiB about ten minutes; nearly all of it is
//          Poseidon, which spreads over `tasks`.
// Errors:  kInvalidArgument for a piece that is too long; kOutOfBudget; kCancelled on stop.
// Threads: building uses `tasks`; a sealed sector never changes afterwards.
// Source:  rust-fil-proofs 87348a74, storage-proofs-porep/src/stacked/vanilla/proof.rs.

#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "filecoin/seal_labels.h"
#include "filecoin/seal_trees.h"
#include "filecoin/statement.h"

namespace cuzk::filecoin {

// Bytes of a user that a sector holds: 127 of 128, since a node carries 254 bits.
std::uint64_t piece_capacity(std::uint64_t sector_bytes);

// Node `index` of the padded data: bits 254 * index and on of the piece, with zeros after its end.
Node piece_node(ByteSpan piece, std::uint64_t index);

// The tree over a piece that begins at the sector's start.
// Errors: kInvalidArgument when the piece is longer than piece_capacity.
Result<SealTree> build_data_tree(Tasks& tasks, MemoryBudget& memory, std::uint64_t sector_bytes,
                                 ByteSpan piece);

struct SealRequest {
  SealProof proof;
  PorepId porep_id{};  // proof.porep_id() on every public network
  ReplicaIdentity identity;
};

class SealedSector {
 public:
  static Result<SealedSector> seal(Tasks& tasks, MemoryBudget& memory, const SealRequest& request,
                                   ByteSpan piece);

  const SealRequest& request() const { return request_; }
  const Node& replica_id() const { return replica_id_; }
  const Node& comm_d() const { return data_.root(); }
  const Node& comm_c() const { return columns_.root(); }
  const Node& comm_r_last() const { return replica_.root(); }
  const Node& comm_r() const { return comm_r_; }

  const SectorLabels& labels() const { return labels_; }
  const SealTree& data() const { return data_; }
  const SealTree& columns() const { return columns_; }
  const SealTree& replica() const { return replica_; }  // its leaves are the sealed bytes

  // All that later proofs need beside comm_c; the rest of the sector is given up.
  SealTree take_replica() && { return std::move(replica_); }

  // Commit phase 1: opens what `seed` asks for (nothing of it does, for non-interactive proofs).
  Result<PorepC1> open(const Node& seed) const;

 private:
  SealedSector(const SealRequest& request, SealTree data, SectorLabels labels, SealTree columns,
               SealTree replica);

  SealRequest request_;
  Node replica_id_{};
  Node comm_r_{};
  SealTree data_;
  SectorLabels labels_;
  SealTree columns_;
  SealTree replica_;
};

}  // namespace cuzk::filecoin
