#pragma once
// Proofs of spacetime: from vanilla proofs and what the chain knows to a job, and the statement of
// a proof. WinningPoSt and WindowPoSt alike; the registered proof says which.
//
// Threads: one call uses context.tasks; several calls may run at once.

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "engine/job.h"
#include "filecoin/post_statement.h"
#include "filecoin/post_vanilla.h"

namespace cuzk::engine {

struct PostClaim {
  filecoin::PostProof proof;
  filecoin::Node randomness{};  // the chain's, as it is
  // What the chain says is stored. Absent: sectors and comm_r are taken from the vanilla proofs.
  std::optional<std::vector<filecoin::PostSector>> sectors;
  // Which partitions of the sectors to prove; empty: all. A partition's number counts from the
  // first sector given.
  std::vector<std::uint32_t> partitions;
  // Which partition of a larger set the sectors given begin with. It matters only to WindowPoSt V1.
  std::uint32_t first_partition = 0;
};

struct PostJob {
  Job job;
  filecoin::PostStatement statement;
  bool sectors_from_vanilla = false;
};

// A job whose statement is settled and whose vanilla proofs hold: all of them, also those of
// partitions that are not asked for. Spans parse, check_vanilla.
// Errors name the source, the sector, the proof and the challenge. kInvalidArgument for no sectors,
// for several of a WinningPoSt, and for a partition that is not there.
Result<PostJob> parse_post(const Context& context, std::span<const std::filesystem::path> vanilla,
                           const PostClaim& claim);
// Each item in any of the forms of format/post_vanilla.h; `source` names them in errors.
Result<PostJob> parse_post(const Context& context, std::span<const ByteSpan> vanilla,
                           std::string_view source, const PostClaim& claim);
Result<PostJob> parse_post(const Context& context, std::vector<filecoin::PostSectorProof> proofs,
                           const PostClaim& claim);

// Which of a provider's sectors a WinningPoSt is about, when all eligible ones are given: the
// randomness chooses. Errors: kInvalidArgument for none.
Result<filecoin::PostSector> winning_sector(std::vector<filecoin::PostSector> eligible,
                                            const filecoin::Node& prover_id,
                                            const filecoin::Node& randomness);

// Of those partitions; empty: of all.
Result<Statement> post_statement(const filecoin::PostStatement& statement,
                                 std::span<const std::uint32_t> partitions = {});

}  // namespace cuzk::engine
