#pragma once
// Sector shapes and registered seal proofs of Filecoin.
//
// Source: rust-fil-proofs 87348a74, filecoin-proofs/src/constants.rs; the numbers of the Go ABI.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cuzk::filecoin {

// Merkle tree over `8`-ary base trees: sub and top are 0 where that level does not exist.
struct TreeShape {
  std::uint32_t base = 8;
  std::uint32_t sub = 0;
  std::uint32_t top = 0;
  friend bool operator==(const TreeShape&, const TreeShape&) = default;

  std::string name() const;  // "8-8-2"
  // Arity of each step of a path from a leaf to the root of a tree of so many leaves: base steps,
  // then sub, then top.
  std::vector<std::uint32_t> path_arities(std::uint64_t nodes) const;
};

enum class ApiVersion { kV1_0, kV1_1, kV1_2 };
enum class PorepFeature { kNone, kSynthetic, kNonInteractive };

// The circuit of one PoRep partition, by what determines it.
struct PorepShape {
  std::uint64_t sector_bytes = 0;
  TreeShape tree;
  std::uint32_t layers = 0;
  std::uint32_t challenges_per_partition = 0;

  std::uint64_t nodes() const { return sector_bytes / 32; }
  // Of a path from a leaf to comm_r_last or comm_c.
  std::vector<std::uint32_t> path_arities() const { return tree.path_arities(nodes()); }
  // Number of public inputs of one partition, without the constant one.
  std::uint32_t num_public_inputs() const { return 3 + 18 * challenges_per_partition; }
  // "layered_drgporep::PublicParams{ ... }": what the parameter file's name is the hash of.
  std::string parameter_identifier() const;
  // "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-<hex>",
  // without extension.
  std::string parameter_stem() const;

  friend bool operator==(const PorepShape&, const PorepShape&) = default;
};

// The shape for a sector size of `constants.rs` (2, 4, 16, 32 KiB, 8, 16, 512 MiB, 1, 32, 64 GiB);
// kInvalidArgument for another size, naming those there are.
Result<PorepShape> porep_shape(std::uint64_t sector_bytes);
std::vector<std::uint64_t> sector_sizes();
// "2KiB", "32GiB": as registered proofs spell it. And back; kInvalidArgument lists what is known.
std::string sector_size_name(std::uint64_t sector_bytes);
Result<std::uint64_t> parse_sector_size(std::string_view text);

// A registered seal proof, 0 to 19.
struct SealProof {
  std::uint32_t number = 0;
  std::string name;  // "StackedDrg32GiBV1_1"
  std::uint64_t sector_bytes = 0;
  ApiVersion api = ApiVersion::kV1_1;
  PorepFeature feature = PorepFeature::kNone;
  std::uint32_t partitions = 0;
  PorepShape shape;

  // The registered number as u64 LE, nonce 0, 16 zero bytes.
  std::array<std::uint8_t, 32> porep_id() const;
  // "StackedDrg32GiBV1": the size's tag in C1 outputs, whatever the version.
  std::string size_tag() const;
};

Result<SealProof> seal_proof(std::uint32_t number);
// Also accepts the sizes that have no registered number (4, 16, 32 KiB, 16 MiB, 1 GiB) in the same
// style, e.g. "StackedDrg16KiBV1_1"; their number and porep_id are those of the 2 KiB proof of that
// version.
Result<SealProof> seal_proof(std::string_view name);
// Every size with every version, the unnumbered ones too.
std::vector<SealProof> all_seal_proofs();

}  // namespace cuzk::filecoin
