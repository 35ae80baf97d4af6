#include "bench/verifier.h"

#include "engine/service.h"

namespace cuzk::bench {

Verifier::Verifier(std::filesystem::path parameters, engine::KeyPolicy policy)
    : parameters_(std::move(parameters)),
      policy_(policy),
      memory_(MemoryBudget::detect_limit_bytes()) {}

Result<const Verifier::Known*> Verifier::known(const engine::ProofRequest& request) {
  const Digest32 digest = engine::request_digest(request);
  if (const auto found = known_.find(digest); found != known_.end()) return &found->second;
  const engine::Context context{tasks_, memory_, timeline_};
  CUZK_TRY(const engine::Job job, engine::parse_request(context, request));
  CUZK_TRY(const engine::KeyFiles files, parameters_.find(job.circuit, policy_));
  CUZK_TRY(auto key, parameters_.load_verifying_key(files, policy_));
  Known entry{{job.name, job.circuit, job.public_inputs}, std::move(key)};
  return &known_.emplace(digest, std::move(entry)).first->second;
}

Status Verifier::verify(const engine::ProofRequest& request, ByteSpan proof) {
  CUZK_TRY(const Known* entry, known(request));
  const engine::Context context{tasks_, memory_, timeline_};
  return engine::verify_statement(context, entry->key, entry->statement, proof);
}

Result<std::string> circuit_id_of(const engine::ProofRequest& request) {
  Tasks tasks;
  MemoryBudget memory(MemoryBudget::detect_limit_bytes());
  Timeline timeline;
  const engine::Context context{tasks, memory, timeline};
  CUZK_TRY(const engine::Job job, engine::parse_request(context, request));
  for (const std::string& id : engine::circuit_ids()) {
    CUZK_TRY(const auto spec, engine::find_circuit_id(id));
    if (spec.identifier == job.circuit.identifier) return id;
  }
  return fail(ErrorCode::kNotFound, "{}: no id names this circuit", job.circuit.name);
}

}  // namespace cuzk::bench
