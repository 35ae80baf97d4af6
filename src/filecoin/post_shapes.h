#pragma once
// Shapes and registered proofs of proofs of spacetime: WinningPoSt and WindowPoSt.
//
// Both have one circuit: so many sectors, each opened at so many challenges under its comm_r. A
// WindowPoSt partition has 2,349 sectors (2,300 at 64 GiB, 2 in development sizes) of 10
// challenges; a WinningPoSt has 66 times the same sector, one challenge each.
//
// Source: rust-fil-proofs 87348a74, filecoin-proofs/src/constants.rs; the numbers of the Go ABI.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "filecoin/shapes.h"

namespace cuzk::filecoin {

enum class PostKind { kWinning, kWindow };
// "WinningPoSt", "WindowPoSt".
std::string_view post_kind_name(PostKind kind);

// The circuit of one partition, by what determines it.
struct PostShape {
  PostKind kind = PostKind::kWindow;
  std::uint64_t sector_bytes = 0;
  TreeShape tree;
  std::uint32_t circuit_sectors = 0;     // places for a comm_r
  std::uint32_t circuit_challenges = 0;  // of each place

  std::uint64_t nodes() const { return sector_bytes / 32; }
  std::vector<std::uint32_t> path_arities() const { return tree.path_arities(nodes()); }
  // How many different sectors one partition proves at most, and how often it opens each.
  std::uint32_t sectors_per_partition() const {
    return kind == PostKind::kWinning ? 1 : circuit_sectors;
  }
  std::uint32_t challenges_per_sector() const {
    return kind == PostKind::kWinning ? circuit_sectors * circuit_challenges : circuit_challenges;
  }
  // Of one partition, without the constant one.
  std::uint32_t num_public_inputs() const { return circuit_sectors * (1 + circuit_challenges); }
  // "FallbackPoSt::PublicParams{...}": what the parameter file's name is the hash of.
  std::string parameter_identifier() const;
  // "v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-8-8-0-<hex>", without extension.
  std::string parameter_stem() const;

  friend bool operator==(const PostShape&, const PostShape&) = default;
};

// Every size of sector_sizes(); kInvalidArgument for another, naming those there are.
Result<PostShape> winning_post_shape(std::uint64_t sector_bytes);
Result<PostShape> window_post_shape(std::uint64_t sector_bytes);

// Which index a sector's n-th challenge is drawn with.
enum class PostIndexing {
  kAcrossSectors,  // the sector's place among all sectors of the statement counts too (V1)
  kWithinSector,   // just n (V1_1 of the Go ABI, which rust-filecoin-proofs-api spells V1_2)
};

// A registered proof of spacetime, 0 to 14.
struct PostProof {
  std::uint32_t number = 0;
  std::string name;  // "StackedDrgWindow32GiBV1_1", as the Go ABI spells it
  PostIndexing indexing = PostIndexing::kAcrossSectors;
  PostShape shape;
};

Result<PostProof> post_proof(std::uint32_t number);
// Either spelling of the newer WindowPoSt (V1_1, V1_2); a number in decimal too. Also accepts the
// sizes that have no registered number (4, 16, 32 KiB, 16 MiB, 1 GiB) in the same style; their
// number is that of the 2 KiB proof of that version.
Result<PostProof> post_proof(std::string_view name);
// Every size with every version, the unnumbered ones too.
std::vector<PostProof> all_post_proofs();

}  // namespace cuzk::filecoin
