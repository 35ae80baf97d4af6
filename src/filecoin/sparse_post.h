#pragma once
// Made-up sectors of any size with valid vanilla proofs of spacetime, for tests and benchmarks of
// sizes that are too large to seal. See sparse_sector.h: every hash and path holds, and the leaves
// are those that the randomness asks for, and yet nobody sealed anything.
//
// Cost:    32 GiB: a WinningPoSt 0.1 s of one core, a sector of a WindowPoSt 10 ms.
// Threads: uses `tasks`, a sector a task.

#include <cstdint>
#include <vector>

#include "base/tasks.h"
#include "filecoin/post_statement.h"
#include "filecoin/post_vanilla.h"

namespace cuzk::filecoin {

struct SparsePost {
  Node randomness{};
  std::vector<PostSector> sectors;
  std::vector<PostSectorProof> proofs;  // in the order of the sectors
};

// Sectors number 1 to `count` of a seed. The same arguments give the same.
// Errors: kInvalidArgument for no sectors, and for several of a WinningPoSt.
Result<SparsePost> make_sparse_post(Tasks& tasks, const PostProof& proof, std::size_t count,
                                    std::uint64_t seed);

}  // namespace cuzk::filecoin
