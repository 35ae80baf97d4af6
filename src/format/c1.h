#pragma once
// Outputs of commit phase 1 ("C1") at rest.
//
// Forms, told apart by content:
//   raw JSON    SealCommitPhase1Output as the Filecoin FFI hands it to Go
//   envelope    {"SectorNum", "Phase1Out": base64 of the raw JSON, "SectorSize"}: Lotus, Curio
//   body        {"sector": [miner, number], "proof_type", "commit1_out": base64}: remote workers
//   bincode     SealCommitPhase1Output by bincode 1.3, alone or followed by prover id and sector
//               number behind a variant tag
// Strict:  every key once and no other, every array of its length, every number in its range, every
//          field element canonical, nothing left over. Nothing is allocated from a declared length.
// Errors:  kCorruptInput for bytes that are none of these, kMismatch for a well-formed C1 whose
//          parts do not belong together; the message names the file and the item's path.
// Threads: pure functions.
// Source:  docs/formats/c1.md.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "filecoin/vanilla.h"

namespace cuzk::format {

Result<filecoin::PorepC1> read_c1(const std::filesystem::path& path);
// `what` names the source in errors.
Result<filecoin::PorepC1> parse_c1(ByteSpan bytes, std::string_view what);

// The bincode of the older inner struct, which does not say what proof it is for: vanilla proofs,
// comm_r, comm_d, replica_id, seed, ticket.
Result<filecoin::PorepC1> parse_c1_inner_bincode(ByteSpan bytes, std::string_view what,
                                                 const filecoin::SealProof& proof);

// Byte for byte what serde_json makes of the same value.
std::string write_c1_json(const filecoin::PorepC1& c1);
std::string write_c1_envelope(const filecoin::PorepC1& c1, std::uint64_t sector);
// kInvalidArgument for a size without registered number: the form has no name for it.
Result<std::vector<std::uint8_t>> write_c1_bincode(const filecoin::PorepC1& c1);
// Only the vanilla proofs (Vec<Vec<Proof>>).
std::vector<std::uint8_t> write_vanilla_bincode(const filecoin::PorepC1& c1);

// Vec<Vec<Proof>> alone; nothing about its shape is checked but its bytes.
Result<std::vector<std::vector<filecoin::PorepChallengeProof>>> parse_vanilla_bincode(
    ByteSpan bytes, std::string_view what);

}  // namespace cuzk::format
