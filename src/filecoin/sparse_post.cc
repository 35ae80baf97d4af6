#include "filecoin/sparse_post.h"

#include "filecoin/hash.h"
#include "filecoin/merkle_path.h"
#include "filecoin/sparse_tree.h"

namespace cuzk::filecoin {
namespace {

// A sector's own filler: no two sectors of a seed have a node in common.
Filler filler_of(std::uint64_t seed, std::uint64_t sector) {
  return Filler(seed + sector * 0x9e3779b97f4a7c15);
}

PostSectorProof open_sector(const PostShape& shape, std::uint64_t seed, std::uint64_t sector,
                            const std::vector<std::uint64_t>& challenges) {
  const Filler filler = filler_of(seed, sector);
  std::map<std::uint64_t, Node> leaves;
  for (const std::uint64_t c : challenges) leaves.emplace(c, filler.at("replica", 0, c));
  const SparseTree tree(poseidon_path_shape(shape.nodes(), shape.tree), "replica", filler,
                        std::move(leaves));
  PostSectorProof out;
  out.sector = sector;
  out.comm_c = filler.at("comm_c", 0, 0);
  out.comm_r_last = tree.root();
  out.comm_r = fr_to_node(comm_r_of(element_of(out.comm_c), element_of(out.comm_r_last)));
  for (const std::uint64_t c : challenges) out.inclusion.push_back(tree.prove(c));
  return out;
}

}  // namespace

Result<SparsePost> make_sparse_post(Tasks& tasks, const PostProof& proof, std::size_t count,
                                    std::uint64_t seed) {
  SparsePost out;
  out.randomness = Filler(seed).at("randomness", 0, 0);
  for (std::size_t i = 0; i < count; ++i) out.sectors.push_back({i + 1, Node{}});
  // The challenges do not depend on comm_r, which is not known yet.
  CUZK_TRY(const auto statement, PostStatement::make(proof, out.randomness, out.sectors));
  out.proofs.resize(count);
  tasks.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out.proofs[i] =
          open_sector(proof.shape, seed, out.sectors[i].number, statement.challenges(i));
      out.sectors[i].comm_r = out.proofs[i].comm_r;
    }
  });
  return out;
}

}  // namespace cuzk::filecoin
