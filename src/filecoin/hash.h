#pragma once
// The hashes of a sealed sector: nodes of its trees, columns, labels, commitments.
//
// Form:    a Node is 32 bytes, little-endian; Fr is Montgomery.
// Threads: pure functions.
// Source:  rust-fil-proofs 87348a74, filecoin-hashers and storage-proofs-porep/src/stacked.

#include <optional>
#include <span>

#include "field/bls12_381.h"
#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

using Fr = bls12_381::Fr;

// nullopt when the bytes are not below the modulus.
std::optional<Fr> node_to_fr(const Node& node);
Node fr_to_node(const Fr& value);
bool is_canonical(const Node& node);

// A node of the tree over the data (tree D): SHA-256 of the children with the two highest bits
// cleared, so that it is an element of the field.
Node tree_d_node(const Node& left, const Node& right);

// A node of the Poseidon trees (C and R), a column of labels, or comm_r; by the number of children:
// 2, 4, 8, 11 or 16.
Fr poseidon_node(std::span<const Fr> children);

// The hash of one node's labels over all layers, by the number of layers: 2 or 11.
Fr column_hash(std::span<const Fr> rows);

Fr comm_r_of(const Fr& comm_c, const Fr& comm_r_last);

// The label of `node` at `layer` (from 1), given the kLabelParents labels it depends on in order;
// none for node 0.
Node create_label(const Node& replica_id, std::uint32_t layer, std::uint64_t node,
                  std::span<const Node> parents);

}  // namespace cuzk::filecoin
