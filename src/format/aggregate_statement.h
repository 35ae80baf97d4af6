#pragma once
// What an aggregate is about, as JSON: the statements of its sectors, in the order of their proofs.
//
// Form:    {"kind": "porep", "registered_proof": "StackedDrg32GiBV1_1", "miner": 1000,
//           "sectors": [{"sector": 7, "ticket": HEX, "seed": HEX, "comm_d": C, "comm_r": C}, ...]}
//          {"kind": "update", "registered_proof": "StackedDrg32GiBV1",
//           "sectors": [{"comm_r_old": C, "comm_r_new": C, "comm_d_new": C}, ...]}
//          C is a CID or 64 hexadecimal digits. A PoRep's sector may have a "miner" and a
//          "registered_proof" of its own; optional are "porep_id" (of all or of one sector) and "h"
//          (update). Non-interactive proofs have no seed.
// Errors:  kCorruptInput names the file, the sector and the key; a key that is not known, or stands
//          twice, is refused. kInvalidArgument for a registered proof that does not exist.
// Threads: pure functions.
// Source:  docs/formats/snarkpack.md.

#include <filesystem>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "filecoin/statement.h"
#include "filecoin/update_statement.h"

namespace cuzk::format {

using PorepStatements = std::vector<filecoin::PorepStatement>;
using UpdateStatements = std::vector<filecoin::UpdateStatement>;
// At least one sector.
using AggregateStatement = std::variant<PorepStatements, UpdateStatements>;

Result<AggregateStatement> read_aggregate_statement(const std::filesystem::path& path);
// `what` names the source in errors.
Result<AggregateStatement> parse_aggregate_statement(ByteSpan bytes, std::string_view what);

}  // namespace cuzk::format
