#include "bench/verifier.h"

#include "circom/curve_id.h"
#include "engine/circom.h"
#include "engine/service.h"
#include "format/snarkjs_json.h"
#include "format/wtns.h"

namespace cuzk::bench {

namespace {

// The public signals that a witness claims, under a key that has so many.
template <class Curve>
Result<std::string> claimed_signals(Tasks& tasks, const engine::ProofRequest& request,
                                    const format::InputBytes& key) {
  using Fr = typename Curve::Fr;
  CUZK_TRY(const auto vk, format::read_verification_key_json<Curve>(key.text(), key.name()));
  CUZK_TRY(const auto given,
           engine::wtns_of(circom::kCurveId<Curve>,
                           format::InputBytes::borrow(request.payloads.at(0), "witness")));
  CUZK_TRY(const auto file, format::WtnsFile::parse(given));
  if (file.curve() != circom::kCurveId<Curve>) {
    return fail(ErrorCode::kMismatch, "{}: the key is of another curve than the witness",
                key.name());
  }
  const auto num_public = static_cast<std::uint32_t>(vk.ic.size() - 1);
  CUZK_TRY(const auto witness, file.template to_witness<Fr>(tasks, num_public));
  return format::write_public_json<Fr>(std::span(witness.inputs).subspan(1));
}

}  // namespace

Verifier::Verifier(std::filesystem::path parameters, engine::KeyPolicy policy, CircomKeys circom)
    : parameters_(std::move(parameters)),
      policy_(policy),
      circom_(std::move(circom)),
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

Status Verifier::verify_circom(const engine::ProofRequest& request, ByteSpan proof) {
  const auto file = circom_.find(request.circuit);
  if (file == circom_.end()) {
    return fail(ErrorCode::kNotFound, "circuit {}: --verify needs its verification_key.json (--vk)",
                request.circuit);
  }
  CUZK_TRY(const auto key, format::InputBytes::open(file->second));
  CUZK_TRY(const auto curve, format::curve_of_verification_key(key.text(), key.name()));
  CUZK_TRY(std::string signals, circom::with_curve(curve, [&]<class Curve>() {
             return claimed_signals<Curve>(tasks_, request, key);
           }));
  const ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(signals.data()), signals.size());
  return engine::verify_circom(tasks_,
                               {key, format::InputBytes::borrow(bytes, "the witness's signals"),
                                format::InputBytes::borrow(proof, "proof.json")},
                               policy_ == engine::KeyPolicy::kAllowInsecureDev);
}

Status Verifier::verify(const engine::ProofRequest& request, ByteSpan proof) {
  if (request.kind == engine::ProofKind::kCircom) return verify_circom(request, proof);
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
