#pragma once
// Which nodes a sector update must open, and the factors that its encoding multiplies data by.
//
// A partition opens nodes of its own part of the sector: their highest bits are its number, the
// others are cut, lowest first, from Poseidon digests of comm_r_new and a number that runs over all
// partitions. An updated node is old + data * rho, where rho depends on the node's h highest bits.
//
// Threads: pure functions.
// Source:  rust-fil-proofs 87348a74, storage-proofs-update/src/{challenges,vanilla}.rs.

#include <cstdint>
#include <vector>

#include "filecoin/hash.h"
#include "filecoin/update_shapes.h"

namespace cuzk::filecoin {

// How challenges are cut from digests.
struct UpdateDigests {
  std::uint32_t bits = 0;           // of one challenge, without the partition's
  std::uint32_t challenges = 0;     // that one digest makes at most
  std::uint32_t per_partition = 0;  // digests
};
UpdateDigests update_digests(const UpdateShape& shape);

// shape.challenges nodes; repetitions possible. partition < shape.partitions.
std::vector<std::uint32_t> update_challenges(const UpdateShape& shape, const Fr& comm_r_new,
                                             std::uint32_t partition);

// What the factors of an update are drawn from.
Fr update_phi(const Fr& comm_d_new, const Fr& comm_r_old);
// The factor of all nodes whose highest bits, as many as the statement's h, are `high`.
Fr update_rho(const Fr& phi, std::uint64_t high);

}  // namespace cuzk::filecoin
