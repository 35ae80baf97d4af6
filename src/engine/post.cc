#include "engine/post.h"

#include <algorithm>

#include "filecoin/post_challenges.h"
#include "filecoin/post_circuit.h"
#include "filecoin/post_vanilla_check.h"
#include "format/post_vanilla.h"

namespace cuzk::engine {

namespace {

using filecoin::PostSectorProof;
using Proofs = std::vector<PostSectorProof>;

void append(Proofs& to, Proofs from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

std::vector<filecoin::PostSector> sectors_of(const Proofs& proofs) {
  std::vector<filecoin::PostSector> out;
  for (const PostSectorProof& p : proofs) out.push_back({p.sector, p.comm_r});
  return out;
}

// The partitions to prove, each once and there.
Result<std::vector<std::uint32_t>> chosen_partitions(const filecoin::PostStatement& statement,
                                                     std::vector<std::uint32_t> wanted) {
  const std::uint32_t count = statement.partitions();
  if (wanted.empty()) {
    for (std::uint32_t p = 0; p < count; ++p) wanted.push_back(p);
    return wanted;
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  if (wanted.back() >= count) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: {} sectors make {} partition{} (numbered from 0); there is no partition {}",
                statement.proof().name, statement.sectors().size(), count, count == 1 ? "" : "s",
                wanted.back());
  }
  return wanted;
}

}  // namespace

Result<PostJob> parse_post(const Context& context, Proofs proofs, const PostClaim& claim) {
  auto span = context.timeline.span("check_vanilla");
  CUZK_TRY(auto statement,
           filecoin::PostStatement::make(claim.proof, claim.randomness,
                                         claim.sectors ? *claim.sectors : sectors_of(proofs),
                                         claim.first_partition));
  CUZK_TRY(Proofs arranged, filecoin::arrange_post_proofs(statement, std::move(proofs)));
  CUZK_TRY_VOID(filecoin::check_post_vanilla(context.tasks, statement, arranged));
  CUZK_TRY(const auto partitions, chosen_partitions(statement, claim.partitions));

  Job job;
  job.name = claim.proof.name;
  job.circuit = filecoin::post_circuit_spec(claim.proof.shape);
  for (const std::uint32_t p : partitions) {
    CUZK_TRY(auto inputs, filecoin::post_public_inputs(statement, p));
    job.public_inputs.push_back(std::move(inputs));
  }
  if (!claim.partitions.empty()) job.partition_numbers = partitions;
  job.synthesize = [shape = claim.proof.shape, partitions, inputs = job.public_inputs,
                    all = std::make_shared<const Proofs>(std::move(arranged))](Tasks& tasks,
                                                                               std::size_t i) {
    const std::size_t each = shape.sectors_per_partition();
    const std::size_t begin = partitions[i] * each;
    const auto own = std::span(*all).subspan(begin, std::min(each, all->size() - begin));
    return filecoin::synthesize_post_witness(tasks, shape, own, inputs[i]);
  };
  return PostJob{std::move(job), std::move(statement), !claim.sectors.has_value()};
}

Result<PostJob> parse_post(const Context& context, std::span<const std::filesystem::path> vanilla,
                           const PostClaim& claim) {
  auto span = context.timeline.span("parse");
  Proofs proofs;
  for (const std::filesystem::path& path : vanilla) {
    CUZK_TRY(auto part, format::read_post_vanilla(path));
    append(proofs, std::move(part));
  }
  span.end();
  return parse_post(context, std::move(proofs), claim);
}

Result<PostJob> parse_post(const Context& context, std::span<const ByteSpan> vanilla,
                           std::string_view source, const PostClaim& claim) {
  auto span = context.timeline.span("parse");
  Proofs proofs;
  for (std::size_t i = 0; i < vanilla.size(); ++i) {
    CUZK_TRY(auto part, format::parse_post_vanilla(vanilla[i], fmt::format("{}[{}]", source, i)));
    append(proofs, std::move(part));
  }
  span.end();
  return parse_post(context, std::move(proofs), claim);
}

Result<filecoin::PostSector> winning_sector(std::vector<filecoin::PostSector> eligible,
                                            const filecoin::Node& prover_id,
                                            const filecoin::Node& randomness) {
  if (eligible.empty()) return fail(ErrorCode::kInvalidArgument, "no eligible sectors are given");
  std::sort(eligible.begin(), eligible.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  const auto repeated = [](const auto& a, const auto& b) { return a.number == b.number; };
  eligible.erase(std::unique(eligible.begin(), eligible.end(), repeated), eligible.end());
  return eligible[filecoin::winning_sector_index(prover_id, filecoin::post_randomness(randomness),
                                                 eligible.size())];
}

Result<Statement> post_statement(const filecoin::PostStatement& statement,
                                 std::span<const std::uint32_t> partitions) {
  Statement out;
  out.name = statement.proof().name;
  out.circuit = filecoin::post_circuit_spec(statement.proof().shape);
  CUZK_TRY(const auto chosen, chosen_partitions(statement, {partitions.begin(), partitions.end()}));
  for (const std::uint32_t p : chosen) {
    CUZK_TRY(auto inputs, filecoin::post_public_inputs(statement, p));
    out.public_inputs.push_back(std::move(inputs));
  }
  return out;
}

}  // namespace cuzk::engine
