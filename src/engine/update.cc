#include "engine/update.h"

#include <memory>

#include "filecoin/update_circuit.h"
#include "filecoin/update_vanilla_check.h"
#include "format/update_vanilla.h"

namespace cuzk::engine {

namespace {

using filecoin::UpdatePartitionProof;

void append(std::vector<UpdatePartitionProof>& all, std::vector<UpdatePartitionProof> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Result<std::vector<PublicInputs>> public_inputs_of(const filecoin::UpdateStatement& statement) {
  std::vector<PublicInputs> out;
  for (std::uint32_t p = 0; p < statement.proof.shape.partitions; ++p) {
    CUZK_TRY(auto inputs, filecoin::update_public_inputs(statement, p));
    out.push_back(std::move(inputs));
  }
  return out;
}

Status check(const Context& context, const std::vector<UpdatePartitionProof>& proofs,
             const filecoin::UpdateStatement& statement) {
  CUZK_TRY_VOID(filecoin::check_update_shape(statement.proof.shape, proofs));
  return filecoin::check_update_vanilla(context.tasks, proofs, statement);
}

Result<UpdateJob> settle(const Context& context, std::vector<UpdatePartitionProof> parsed,
                         std::string_view source, const filecoin::UpdateStatement& statement) {
  auto span = context.timeline.span("check_vanilla");
  const auto proofs = std::make_shared<const std::vector<UpdatePartitionProof>>(std::move(parsed));
  UpdateJob out;
  out.statement = statement;
  Job& job = out.job;
  job.name = statement.proof.name;
  job.circuit = filecoin::update_circuit_spec(statement.proof.shape);
  CUZK_TRY(job.public_inputs, public_inputs_of(statement));
  if (auto status = check(context, *proofs, statement); !status) {
    return fail(status.error().in(source));
  }
  job.synthesize = [proofs, shape = statement.proof.shape, inputs = job.public_inputs](
                       Tasks& tasks, std::size_t p) {
    return filecoin::synthesize_update_witness(tasks, shape, (*proofs)[p], inputs[p]);
  };
  return out;
}

}  // namespace

Result<UpdateJob> parse_update(const Context& context,
                               std::span<const std::filesystem::path> vanilla,
                               const filecoin::UpdateStatement& statement) {
  if (vanilla.empty()) return fail(ErrorCode::kInvalidArgument, "no vanilla proofs are given");
  auto span = context.timeline.span("parse");
  std::vector<UpdatePartitionProof> proofs;
  for (const auto& path : vanilla) {
    CUZK_TRY(auto more, format::read_update_vanilla(path));
    append(proofs, std::move(more));
  }
  span.end();
  const std::string source =
      vanilla.size() == 1 ? vanilla[0].string()
                          : fmt::format("{} and {} more", vanilla[0].string(), vanilla.size() - 1);
  return settle(context, std::move(proofs), source, statement);
}

Result<UpdateJob> parse_update(const Context& context, std::span<const ByteSpan> vanilla,
                               std::string_view source,
                               const filecoin::UpdateStatement& statement) {
  if (vanilla.empty()) {
    return fail(ErrorCode::kInvalidArgument, "{}: no vanilla proofs are given", source);
  }
  auto span = context.timeline.span("parse");
  std::vector<UpdatePartitionProof> proofs;
  for (std::size_t i = 0; i < vanilla.size(); ++i) {
    CUZK_TRY(auto more, format::parse_update_vanilla(vanilla[i], fmt::format("{} {}", source, i)));
    append(proofs, std::move(more));
  }
  span.end();
  return settle(context, std::move(proofs), source, statement);
}

Result<Statement> update_statement(const filecoin::UpdateStatement& statement) {
  Statement out;
  out.name = statement.proof.name;
  out.circuit = filecoin::update_circuit_spec(statement.proof.shape);
  CUZK_TRY(out.public_inputs, public_inputs_of(statement));
  return out;
}

}  // namespace cuzk::engine
