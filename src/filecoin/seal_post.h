#pragma once
// Opening sealed sectors for proofs of spacetime.
//
// Threads: uses `tasks`, a sector a task.

#include <span>
#include <vector>

#include "base/tasks.h"
#include "filecoin/post_statement.h"
#include "filecoin/post_vanilla.h"
#include "filecoin/seal_trees.h"

namespace cuzk::filecoin {

// What a storage provider keeps of a sealed sector to prove that it is still there.
struct PostReplica {
  std::uint64_t sector = 0;
  Node comm_c{};
  const SealTree* replica = nullptr;  // tree R

  Node comm_r() const;
};

// The proofs of the statement's sectors, in its order.
// Errors: kInvalidArgument for a sector of the statement that is not among `replicas`.
Result<std::vector<PostSectorProof>> open_post(Tasks& tasks, const PostStatement& statement,
                                               std::span<const PostReplica> replicas);

}  // namespace cuzk::filecoin
