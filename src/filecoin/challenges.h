#pragma once
// Which nodes a PoRep must open.
//
// Threads: pure functions.
// Source:  rust-fil-proofs 87348a74, storage-proofs-porep/src/stacked/vanilla/challenges.rs;
//          FIP-0059 (synthetic), FIP-0092 (non-interactive).

#include <cstdint>
#include <vector>

#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

// Challenges number first to first + count - 1 of a sector of `nodes` nodes: each in
// [1, nodes - 1], repetitions possible.
struct ChallengeRange {
  std::uint64_t nodes = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// From a seed that the chain reveals after the replica is committed.
std::vector<std::uint32_t> interactive_challenges(const ChallengeRange& range,
                                                  const Node& replica_id, const Node& seed);

// The seed picks among 2^18 candidates (or as many as there are nodes) that the commitment fixes.
std::vector<std::uint32_t> synthetic_challenges(const ChallengeRange& range, const Node& replica_id,
                                                const Node& comm_r, const Node& seed);

// From the commitment alone.
std::vector<std::uint32_t> non_interactive_challenges(const ChallengeRange& range,
                                                      const Node& replica_id, const Node& comm_r);

}  // namespace cuzk::filecoin
