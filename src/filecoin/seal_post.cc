#include "filecoin/seal_post.h"

#include <algorithm>

#include "filecoin/hash.h"

namespace cuzk::filecoin {
namespace {

PostSectorProof open_sector(const PostReplica& replica, std::span<const std::uint64_t> leaves) {
  PostSectorProof proof;
  proof.sector = replica.sector;
  proof.comm_r = replica.comm_r();
  proof.comm_c = replica.comm_c;
  proof.comm_r_last = replica.replica->root();
  for (const std::uint64_t leaf : leaves) proof.inclusion.push_back(replica.replica->prove(leaf));
  return proof;
}

}  // namespace

Node PostReplica::comm_r() const {
  return fr_to_node(comm_r_of(element_of(comm_c), element_of(replica->root())));
}

Result<std::vector<PostSectorProof>> open_post(Tasks& tasks, const PostStatement& statement,
                                               std::span<const PostReplica> replicas) {
  std::vector<const PostReplica*> chosen;
  for (const PostSector& sector : statement.sectors()) {
    const auto it = std::find_if(replicas.begin(), replicas.end(),
                                 [&](const PostReplica& r) { return r.sector == sector.number; });
    if (it == replicas.end()) {
      return fail(ErrorCode::kInvalidArgument, "sector {}: there is no replica of it",
                  sector.number);
    }
    chosen.push_back(&*it);
  }
  std::vector<PostSectorProof> proofs(chosen.size());
  tasks.parallel_for(proofs.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      proofs[i] = open_sector(*chosen[i], statement.challenges(i));
    }
  });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "opening replicas: stopped");
  return proofs;
}

}  // namespace cuzk::filecoin
