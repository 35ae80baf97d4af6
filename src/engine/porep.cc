#include "engine/porep.h"

#include "filecoin/porep_circuit.h"
#include "filecoin/vanilla_check.h"

namespace cuzk::engine {

namespace {

// Settles who the statement is about: the identity that the caller gives, or the file's replica id.
Status check_replica_id(const filecoin::PorepStatement& statement, const filecoin::Node& ticket,
                        const PorepClaim& claim, std::string_view source) {
  const filecoin::ReplicaIdentity identity = {*claim.prover_id, *claim.sector, ticket};
  const filecoin::Node expected =
      filecoin::replica_id_of(identity, statement.comm_d, statement.porep_id);
  if (expected == statement.replica_id) return {};
  return fail(
      ErrorCode::kMismatch,
      "{}: replica_id is {}, but sector {} of this miner with the file's ticket and comm_d has {}",
      source, to_hex(statement.replica_id), *claim.sector, to_hex(expected));
}

Result<PorepJob> settle(const Context& context, filecoin::PorepC1 parsed, std::string_view source,
                        const PorepClaim& claim) {
  auto span = context.timeline.span("check_vanilla");
  const auto c1 = std::make_shared<const filecoin::PorepC1>(std::move(parsed));
  PorepJob out;
  out.statement = filecoin::PorepStatement::of(*c1);
  if (claim.porep_id) out.statement.porep_id = *claim.porep_id;
  if (claim.prover_id && claim.sector) {
    CUZK_TRY_VOID(check_replica_id(out.statement, c1->ticket, claim, source));
    out.replica_id_recomputed = true;
  }
  if (auto status = filecoin::check_vanilla(context.tasks, *c1, out.statement); !status) {
    return fail(status.error().in(std::string(source)));
  }
  const filecoin::PorepShape& shape = out.statement.proof.shape;
  Job& job = out.job;
  job.name = out.statement.proof.name;
  job.circuit = filecoin::porep_circuit_spec(shape);
  for (std::uint32_t p = 0; p < c1->partitions.size(); ++p) {
    CUZK_TRY(auto inputs, filecoin::porep_public_inputs(out.statement, p));
    job.public_inputs.push_back(std::move(inputs));
  }
  job.synthesize = [c1, shape, inputs = job.public_inputs](Tasks& tasks, std::size_t p) {
    return filecoin::synthesize_porep_witness(tasks, shape, c1->partitions[p], inputs[p]);
  };
  return out;
}

}  // namespace

Result<PorepJob> parse_porep(const Context& context, const std::filesystem::path& c1,
                             const PorepClaim& claim) {
  auto span = context.timeline.span("parse");
  CUZK_TRY(auto parsed, format::read_c1(c1));
  span.end();
  return settle(context, std::move(parsed), c1.string(), claim);
}

Result<PorepJob> parse_porep(const Context& context, ByteSpan c1, std::string_view source,
                             const PorepClaim& claim) {
  auto span = context.timeline.span("parse");
  CUZK_TRY(auto parsed, format::parse_c1(c1, source));
  span.end();
  return settle(context, std::move(parsed), source, claim);
}

Result<Statement> porep_statement(const filecoin::PorepStatement& statement) {
  Statement out;
  out.name = statement.proof.name;
  out.circuit = filecoin::porep_circuit_spec(statement.proof.shape);
  for (std::uint32_t p = 0; p < statement.proof.partitions; ++p) {
    CUZK_TRY(auto inputs, filecoin::porep_public_inputs(statement, p));
    out.public_inputs.push_back(std::move(inputs));
  }
  return out;
}

}  // namespace cuzk::engine
