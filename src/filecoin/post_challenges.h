#pragma once
// What a proof of spacetime must open: leaves of a sector, and which sector of a provider.
//
// Threads: pure functions.
// Source:  rust-fil-proofs 87348a74, storage-proofs-post/src/fallback/vanilla.rs.

#include <cstdint>
#include <vector>

#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

// The chain's randomness as PoSt hashes it: the two highest bits cleared, as every caller of the
// reference does.
Node post_randomness(const Node& chain_randomness);

// Leaves of a sector, each below `nodes`: draws number first_index to first_index + count - 1.
struct PostDraws {
  std::uint64_t nodes = 0;
  std::uint64_t first_index = 0;
  std::uint32_t count = 0;
};
std::vector<std::uint64_t> post_leaf_challenges(const PostDraws& draws, const Node& randomness,
                                                std::uint64_t sector);

// Which of a provider's `count` eligible sectors, in ascending order, a WinningPoSt opens.
std::uint64_t winning_sector_index(const Node& prover_id, const Node& randomness,
                                   std::uint64_t count);

}  // namespace cuzk::filecoin
