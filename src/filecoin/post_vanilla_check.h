#pragma once
// Whether vanilla proofs of spacetime hold, before anything is synthesized: the plain twin of the
// PoSt circuit. For every sector: its form, its comm_r, that it opens the challenges that follow
// from randomness and sector number, comm_r = H(comm_c, comm_r_last), every path.
//
// Cost:    32 GiB: 100 Poseidon hashes of 8 elements a sector and 660 for a WinningPoSt.
// Threads: uses `tasks`, a sector a task.

#include <span>
#include <vector>

#include "base/tasks.h"
#include "filecoin/post_statement.h"
#include "filecoin/post_vanilla.h"

namespace cuzk::filecoin {

// The proofs of the statement's sectors, in its order, each once.
// Errors: kMismatch for a sector without proof or with two that differ, for a proof of a sector
//         that the statement does not have, and for one that claims another comm_r; all name the
//         sector.
Result<std::vector<PostSectorProof>> arrange_post_proofs(const PostStatement& statement,
                                                         std::vector<PostSectorProof> proofs);

struct PostFault {
  std::uint64_t sector = 0;
  Error error;  // without the sector: "inclusion_proofs[3]: ..."
};
// Every sector whose proof does not hold, in order. `proofs` are arranged.
// Errors: kCancelled.
Result<std::vector<PostFault>> find_post_faults(Tasks& tasks, const PostStatement& statement,
                                                std::span<const PostSectorProof> proofs);

// No faults. Errors: that of the first faulty sector, by number, and the numbers of the others.
Status check_post_vanilla(Tasks& tasks, const PostStatement& statement,
                          std::span<const PostSectorProof> proofs);

}  // namespace cuzk::filecoin
