#pragma once
// Sector updates ("SnapDeals"): from vanilla proofs and what the chain knows to a job, and the
// statement of a proof.
//
// Threads: one call uses context.tasks; several calls may run at once.

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "engine/job.h"
#include "filecoin/update_statement.h"
#include "filecoin/update_vanilla.h"

namespace cuzk::engine {

struct UpdateJob {
  Job job;
  filecoin::UpdateStatement statement;
};

// A job whose vanilla proofs hold for the statement. Spans parse, check_vanilla.
//
// `vanilla`: the proofs of all partitions in order, each item in any of the forms of
// format/update_vanilla.h. Errors name the source, the partition, the challenge and the item.
Result<UpdateJob> parse_update(const Context& context,
                               std::span<const std::filesystem::path> vanilla,
                               const filecoin::UpdateStatement& statement);
// `source` names the items in errors.
Result<UpdateJob> parse_update(const Context& context, std::span<const ByteSpan> vanilla,
                               std::string_view source, const filecoin::UpdateStatement& statement);

// Of all partitions.
Result<Statement> update_statement(const filecoin::UpdateStatement& statement);

}  // namespace cuzk::engine
