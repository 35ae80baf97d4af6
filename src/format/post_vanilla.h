#pragma once
// Vanilla proofs of spacetime at rest.
//
// Forms, told apart by content:
//   bincode     FallbackPoStSectorProof as the Filecoin FFI hands it to Go: one sector's proof, or
//               several back to back
//   JSON        an array of base64 strings, each the bincode of one sector's proof: what Go makes
//               of a list of proofs
// Nothing about hashes, numbers of challenges or sector numbers is looked at here: see
// filecoin/post_vanilla_check.h.
// Errors:  kCorruptInput names the source, the proof by its place, and the field with its offset.
//          Nothing is allocated from a declared length.
// Threads: pure functions.
// Source:  docs/formats/post_vanilla.md.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "filecoin/post_vanilla.h"

namespace cuzk::format {

// In the file's order; at least one.
Result<std::vector<filecoin::PostSectorProof>> read_post_vanilla(const std::filesystem::path& path);
// `what` names the source in errors.
Result<std::vector<filecoin::PostSectorProof>> parse_post_vanilla(ByteSpan bytes,
                                                                  std::string_view what);

// Exactly one sector's proof in bincode: what one entry of a request's list is.
Result<filecoin::PostSectorProof> parse_post_sector_proof(ByteSpan bytes, std::string_view what);

// Byte for byte what bincode makes of the same value.
std::vector<std::uint8_t> write_post_sector_proof(const filecoin::PostSectorProof& proof);
// The JSON array.
std::string write_post_vanilla_json(std::span<const filecoin::PostSectorProof> proofs);

}  // namespace cuzk::format
