#pragma once
// The sectors that a proof of spacetime is about, as JSON.
//
// Forms:
//   list      [{"sector": 7, "comm_r": "<CID or 64 hexadecimal digits>"}, ...]. Go's spelling of a
//             sector, {"SectorNumber": 7, "SealedCID": {"/": "<CID>"}, ...}, will do as well.
//   Lotus     {"Randomness": base64, "Proofs": [{"PoStProof": n, ...}], "ChallengedSectors": [...],
//             "Prover": n}: what Lotus and Curio verify a proof from. Proofs' bytes are not read.
// Errors:  kCorruptInput names the file and the item.
// Threads: pure functions.
// Source:  docs/formats/post_sectors.md.

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "filecoin/post_statement.h"

namespace cuzk::format {

struct PostSectorsFile {
  std::vector<filecoin::PostSector> sectors;  // in the file's order
  // Only of the Lotus form, where it says so.
  std::optional<filecoin::Node> randomness;
  std::optional<std::uint32_t> registered_proof;
  std::optional<std::uint64_t> miner;
};

Result<PostSectorsFile> read_post_sectors(const std::filesystem::path& path);
// `what` names the source in errors.
Result<PostSectorsFile> parse_post_sectors(ByteSpan bytes, std::string_view what);

}  // namespace cuzk::format
