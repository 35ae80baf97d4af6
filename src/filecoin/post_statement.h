#pragma once
// What a proof of spacetime claims, and the public inputs of its circuit that follow from it.
//
// Public inputs are never read from a file: they are computed here from the statement.
//
// Threads: pure functions.
// Source:  rust-fil-proofs 87348a74,
// filecoin-proofs/src/api/{window_post,winning_post,post_util}.rs
//          and storage-proofs-post/src/fallback/circuit.rs.

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "filecoin/hash.h"
#include "filecoin/post_shapes.h"

namespace cuzk::filecoin {

struct PostSector {
  std::uint64_t number = 0;
  Node comm_r{};
};

// That the sectors were stored when the randomness came out.
class PostStatement {
 public:
  // Sorts the sectors by number and drops repetitions, as the chain does before it verifies.
  // `first_partition`: which partition of a larger set of sectors these begin with; it counts only
  // for PostIndexing::kAcrossSectors.
  // Errors: kInvalidArgument for no sector, for more than one of a WinningPoSt, and for a sector
  //         that comes with two different comm_r; kCorruptInput for a comm_r above the modulus.
  static Result<PostStatement> make(PostProof proof, const Node& chain_randomness,
                                    std::vector<PostSector> sectors,
                                    std::uint32_t first_partition = 0);

  const PostProof& proof() const { return proof_; }
  // With its two highest bits cleared.
  const Node& randomness() const { return randomness_; }
  // Ascending, each once.
  std::span<const PostSector> sectors() const { return sectors_; }

  std::uint32_t partitions() const;
  // Sectors of a partition; empty when there is no such partition.
  std::span<const PostSector> sectors_of(std::uint32_t partition) const;
  // The leaves that the sector at `position` of sectors() must open.
  std::vector<std::uint64_t> challenges(std::size_t position) const;

 private:
  PostStatement() = default;

  PostProof proof_;
  Node randomness_{};
  std::vector<PostSector> sectors_;
  std::uint32_t first_partition_ = 0;
};

// The inputs of one partition in the circuit's order, without the constant one: for each place
// comm_r and its challenges. Places beyond the last sector repeat its inputs.
// Errors: kInvalidArgument for a partition that is not there.
Result<std::vector<Fr>> post_public_inputs(const PostStatement& statement, std::uint32_t partition);

}  // namespace cuzk::filecoin
