#pragma once
// Vanilla proofs of sector updates at rest.
//
// Forms, told apart by content:
//   bincode     PartitionProof as the Filecoin FFI hands it to Go: one partition's proof, or
//               several back to back
//   JSON        an array of base64 strings, each the bincode of one partition's proof: what Go
//               makes of a list of proofs
// Neither says which partition or sector size it is of: that follows from their order and the
// registered proof. Numbers of challenges and hashes are not looked at here: see
// filecoin/update_vanilla.h and filecoin/update_vanilla_check.h.
// Errors:  kCorruptInput names the source, the proof by its place, and the field with its offset.
//          Nothing is allocated from a declared length.
// Threads: pure functions.
// Source:  docs/formats/update_vanilla.md.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "filecoin/update_vanilla.h"

namespace cuzk::format {

// In the file's order; at least one.
Result<std::vector<filecoin::UpdatePartitionProof>> read_update_vanilla(
    const std::filesystem::path& path);
// `what` names the source in errors.
Result<std::vector<filecoin::UpdatePartitionProof>> parse_update_vanilla(ByteSpan bytes,
                                                                         std::string_view what);

// Exactly one partition's proof in bincode: what one entry of a request's list is.
Result<filecoin::UpdatePartitionProof> parse_update_partition(ByteSpan bytes,
                                                              std::string_view what);

// Byte for byte what bincode makes of the same value.
std::vector<std::uint8_t> write_update_partition(const filecoin::UpdatePartitionProof& proof);
// The JSON array.
std::string write_update_vanilla_json(std::span<const filecoin::UpdatePartitionProof> proofs);

}  // namespace cuzk::format
