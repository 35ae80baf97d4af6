#pragma once
// Shapes of the sector-update circuit (EmptySectorUpdate, "SnapDeals") and registered update
// proofs.
//
// Source: rust-fil-proofs 87348a74, storage-proofs-update/src/{constants,vanilla}.rs; the numbers
//         of the Go ABI.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "filecoin/shapes.h"

namespace cuzk::filecoin {

// The circuit of one partition of an update, by what determines it.
struct UpdateShape {
  std::uint64_t sector_bytes = 0;
  TreeShape tree;                // of both replicas
  std::uint32_t partitions = 0;  // a power of two; each opens nodes of its own part of the sector
  std::uint32_t challenges = 0;  // of one partition
  std::uint32_t apex_leafs = 0;  // of one partition; a power of two
  // How many of a node's highest bits may choose its factor rho; a statement selects one by place.
  std::array<std::uint32_t, 6> h_values{};

  std::uint64_t nodes() const { return sector_bytes / 32; }
  std::uint32_t node_bits() const;       // of a node's index; the height of tree D
  std::uint32_t partition_bits() const;  // of them, the highest: the partition
  std::uint32_t apex_bits() const;       // of them, below those: the apex leaf
  // Steps from a leaf of tree D to its apex leaf.
  std::uint32_t steps_below_apex() const { return node_bits() - partition_bits() - apex_bits(); }
  // Arity of each step of a path from a leaf to the root of a replica's tree.
  std::vector<std::uint32_t> path_arities() const;

  // What everyone uses: 10, or 1 for sectors up to 32 KiB.
  std::uint32_t default_h() const { return h_values[3]; }
  // The place of the first such value among h_values.
  // Errors: kInvalidArgument, naming the values there are.
  Result<std::uint32_t> h_index(std::uint32_t h) const;

  static constexpr std::uint32_t kPublicInputs = 4;
  // "empty_sector_update::PublicParams{ ... }": what the parameter file's name is the hash of.
  std::string parameter_identifier() const;
  // "v28-empty-sector-update-merkletree-poseidon_hasher-8-8-0-<hex>", without extension.
  std::string parameter_stem() const;
  // "v28-empty-sector-update-poseidon-...": of the variant whose tree D is Poseidon's. It has
  // published keys and no registered proof; cuzk has no circuit for it and refuses its keys by
  // name.
  std::string poseidon_parameter_stem() const;

  friend bool operator==(const UpdateShape&, const UpdateShape&) = default;
};

// kInvalidArgument for a size that updates are not defined for (1 GiB among them), naming those
// that they are.
Result<UpdateShape> update_shape(std::uint64_t sector_bytes);
std::vector<std::uint64_t> update_sector_sizes();

// A registered update proof, 0 to 4.
struct UpdateProof {
  std::uint32_t number = 0;
  std::string name;  // "StackedDrg32GiBV1"
  UpdateShape shape;
};
Result<UpdateProof> update_proof(std::uint32_t number);
// By name, or its number in decimal. Also the sizes that have no registered number (4, 16, 32 KiB,
// 16 MiB) in the same style; their number is that of the 2 KiB proof. A name or stem of the
// poseidon variant is refused as such.
Result<UpdateProof> update_proof(std::string_view name);
// The proof of a shape's size, as above for sizes without a number.
UpdateProof update_proof_of(const UpdateShape& shape);

// Whether a parameter file's name is one of the poseidon variant's.
bool is_poseidon_update_parameter(std::string_view file_name);

}  // namespace cuzk::filecoin
