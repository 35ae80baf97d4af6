#pragma once
// PoRep, commit phase 2: from a C1 output to a job, and the statement of a proof.
//
// Threads: one call uses context.tasks; several calls may run at once.

#include <filesystem>
#include <optional>

#include "engine/job.h"
#include "filecoin/statement.h"
#include "format/c1.h"

namespace cuzk::engine {

// Who sealed what: when given, the replica id is recomputed and compared with the file's.
struct PorepClaim {
  std::optional<filecoin::Node> prover_id;
  std::optional<std::uint64_t> sector;
  // Networks of one's own may use another than the registered proof's.
  std::optional<filecoin::PorepId> porep_id;
};

struct PorepJob {
  Job job;
  filecoin::PorepStatement statement;
  bool replica_id_recomputed = false;
};

// A job whose statement is settled and whose vanilla proofs hold. Spans parse, check_vanilla.
// Errors name the source, the partition, the challenge and the item.
Result<PorepJob> parse_porep(const Context& context, const std::filesystem::path& c1,
                             const PorepClaim& claim);
// `source` names the bytes in errors. Any of the forms of format/c1.h.
Result<PorepJob> parse_porep(const Context& context, ByteSpan c1, std::string_view source,
                             const PorepClaim& claim);

Result<Statement> porep_statement(const filecoin::PorepStatement& statement);

}  // namespace cuzk::engine
