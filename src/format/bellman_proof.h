#pragma once
// Groth16 proofs over BLS12-381 as bellman and Filecoin keep them.
//
// Form:    A (G1), B (G2), C (G1), compressed: 48 + 96 + 48 = 192 bytes; the proofs of several
//          partitions one after the other, nothing between them.
// Errors:  kCorruptInput names the source, the proof and the element: another length, a byte string
//          that is no point, the identity, a point outside the subgroup.
// Threads: pure functions.
// Source:  docs/formats/bellman.md.

#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "curve/bls12_381.h"
#include "groth16/keys.h"

namespace cuzk::bellman {

inline constexpr std::size_t kProofBytes = 192;
using ProofBytes = std::array<std::uint8_t, kProofBytes>;

ProofBytes encode_proof(const Proof<Bls12_381>& proof);
std::vector<std::uint8_t> encode_proofs(std::span<const Proof<Bls12_381>> proofs);

// Exactly one proof. `what` names the source in errors.
Result<Proof<Bls12_381>> decode_proof(ByteSpan bytes, std::string_view what);
// One or more proofs.
Result<std::vector<Proof<Bls12_381>>> decode_proofs(ByteSpan bytes, std::string_view what);

// A file of one or more proofs; at most `max_proofs` are accepted.
Result<std::vector<Proof<Bls12_381>>> read_proofs(const std::filesystem::path& path,
                                                  std::size_t max_proofs = 4096);

}  // namespace cuzk::bellman
