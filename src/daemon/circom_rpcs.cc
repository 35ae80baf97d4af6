#include "daemon/circom_rpcs.h"

#include <cuzk/circom/v1/circom.grpc.pb.h>

#include "daemon/answer_call.h"

namespace cuzk::daemon {

namespace {

namespace wire = circom::v1;
using Call = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

std::optional<engine::Priority> priority_of(wire::Priority priority) {
  switch (priority) {
    case wire::LOW:
      return engine::Priority::kLow;
    case wire::HIGH:
      return engine::Priority::kHigh;
    case wire::CRITICAL:
      return engine::Priority::kCritical;
    case wire::NORMAL:
      return engine::Priority::kNormal;
    default:
      return std::nullopt;
  }
}

engine::ProofRequest request_of(const wire::SubmitRequest& in, const Caller& caller) {
  engine::ProofRequest out;
  out.request_id = in.request_id();
  out.client = caller.name;
  out.kind = engine::ProofKind::kCircom;
  out.circuit = in.circuit();
  out.priority = priority_of(in.priority());
  if (in.has_deadline_unix_ms()) out.deadline_ms = in.deadline_unix_ms();
  const std::string& witness = in.has_wtns() ? in.wtns() : in.witness_json();
  out.payloads.emplace_back(witness.begin(), witness.end());
  return out;
}

grpc::Status check(const wire::SubmitRequest& request) {
  if (request.witness_case() != wire::SubmitRequest::WITNESS_NOT_SET) return grpc::Status::OK;
  return {grpc::StatusCode::INVALID_ARGUMENT, "the request has neither wtns nor witness_json"};
}

void fill(wire::Answer& out, const engine::Answer& answer) {
  switch (answer.status) {
    case engine::AnswerStatus::kCompleted:
      out.set_status(wire::Answer::COMPLETED);
      out.set_proof_json(std::string(answer.proof.begin(), answer.proof.end()));
      out.set_public_json(answer.public_json);
      break;
    case engine::AnswerStatus::kFailed:
      out.set_status(wire::Answer::FAILED);
      break;
    case engine::AnswerStatus::kCancelled:
      out.set_status(wire::Answer::CANCELLED);
      break;
  }
  if (answer.error) out.set_error_message(answer.error->message);
  out.set_insecure_key(answer.insecure_dev);
  const engine::JobTimings& t = answer.timings;
  auto* timings = out.mutable_timings();
  timings->set_queue_wait_ms(wire_count(t.queue_wait_ms));
  timings->set_key_load_ms(wire_count(t.key_load_ms));
  timings->set_witness_ms(wire_count(t.parse_ms + t.synthesis_ms));
  timings->set_prove_ms(wire_count(t.prove_ms));
  timings->set_verify_ms(wire_count(t.verify_ms));
  timings->set_total_ms(wire_count(t.total_ms));
}

constexpr AnswerForm<wire::Answer> kAnswerForm = {
    fill, [](wire::Answer& out) { out.set_status(wire::Answer::TIMEOUT); }};

void fill(wire::Circuit& out, const engine::CircomCircuitStatus& in) {
  out.set_id(in.options.id);
  out.set_curve(in.curve);
  out.set_num_public(in.num_public);
  out.set_num_wires(in.num_wires);
  out.set_num_constraints(in.num_constraints);
  out.set_domain_size(in.domain_size);
  out.set_file_bytes(in.file_bytes);
  out.set_resident_bytes(in.resident_bytes);
  out.set_prove_bytes(in.prove_bytes);
  out.set_key_digest(in.key_digest);
  out.set_insecure(!in.insecure_reason.empty());
  out.set_insecure_reason(in.insecure_reason);
  out.set_checks_constraints(!in.options.r1cs.empty());
  out.set_loaded(in.loaded);
  out.set_preload(in.options.preload);
  out.set_origin(std::string(engine::circom_origin_name(in.options.origin)));
  out.set_zkey(in.options.zkey.string());
  out.set_problem(in.problem);
}

engine::CircomCircuitOptions options_of(const wire::RegisterCircuitRequest& in) {
  engine::CircomCircuitOptions out;
  out.id = in.id();
  out.zkey = in.zkey();
  out.r1cs = in.r1cs();
  out.sym = in.sym();
  out.allow_insecure_key = in.allow_insecure_key();
  out.preload = in.preload();
  out.resident = in.resident();
  out.origin = engine::CircomOrigin::kRegistered;
  return out;
}

class CircomService final : public wire::CircomProving::CallbackService {
 public:
  explicit CircomService(const RpcContext& context) : context_(context) {}

  Reactor* Prove(Call* call, const wire::ProveRequest* request, wire::Answer* response) override {
    const Admission admission = admit(*call, context_, Role::kSubmit, "Prove");
    if (!admission.status.ok()) return finished(call, admission.status);
    if (auto good = check(request->submit()); !good.ok()) return finished(call, good);
    auto* reactor =
        new AnswerReactor(context_, *call, *response, kAnswerForm, context_.cancel_on_disconnect);
    submit_and_await(context_, reactor, request_of(request->submit(), admission.caller));
    return reactor;
  }

  Reactor* Submit(Call* call, const wire::SubmitRequest* request,
                  wire::Submitted* response) override {
    const Admission admission = admit(*call, context_, Role::kSubmit, "Submit");
    if (!admission.status.ok()) return finished(call, admission.status);
    if (auto good = check(*request); !good.ok()) return finished(call, good);
    Reactor* reactor = call->DefaultReactor();
    context_.submissions.post([=, this, caller = admission.caller] {
      const auto submitted = context_.service.submit(request_of(*request, caller));
      if (!submitted) {
        return reactor->Finish(refused(context_, submitted.error(), request->request_id()));
      }
      response->set_job_id(submitted->job_id);
      response->set_queue_position(submitted->queue_position);
      response->set_attached(submitted->attached);
      response->set_already_done(submitted->already_done);
      response->set_journaled(submitted->journaled);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  Reactor* Await(Call* call, const wire::AwaitRequest* request, wire::Answer* response) override {
    const Admission admission = admit(*call, context_, Role::kSubmit, "Await");
    if (!admission.status.ok()) return finished(call, admission.status);
    return await_call(context_, *call, *response, kAnswerForm, request->job_id(),
                      request->timeout_ms());
  }

  Reactor* Cancel(Call* call, const wire::CancelRequest* request,
                  wire::CancelResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kSubmit, "Cancel");
    if (!admission.status.ok()) return finished(call, admission.status);
    response->set_was_running(cancel_job(context_, request->job_id(), admission.caller));
    return finished(call, grpc::Status::OK);
  }

  Reactor* ListCircuits(Call* call, const wire::ListCircuitsRequest*,
                        wire::ListCircuitsResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kRead, "ListCircuits");
    if (!admission.status.ok()) return finished(call, admission.status);
    for (const auto& circuit : context_.service.circom_circuits()) {
      fill(*response->add_circuits(), circuit);
    }
    response->set_directory(context_.service.circom_directory().string());
    return finished(call, grpc::Status::OK);
  }

  Reactor* GetVerificationKey(Call* call, const wire::GetVerificationKeyRequest* request,
                              wire::GetVerificationKeyResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kRead, "GetVerificationKey");
    if (!admission.status.ok()) return finished(call, admission.status);
    // A file may have to be looked at.
    Reactor* reactor = call->DefaultReactor();
    context_.submissions.post([this, reactor, response, id = request->circuit()] {
      auto key = context_.service.circom_verification_key(id);
      if (!key) return reactor->Finish(status_of(key.error()));
      response->set_verification_key_json(std::move(*key));
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  Reactor* RegisterCircuit(Call* call, const wire::RegisterCircuitRequest* request,
                           wire::Circuit* response) override {
    const Admission admission = admit(*call, context_, Role::kAdmin, "RegisterCircuit");
    if (!admission.status.ok()) return finished(call, admission.status);
    Reactor* reactor = call->DefaultReactor();
    context_.loads.post([this, reactor, response, options = options_of(*request)] {
      const auto circuit = context_.service.register_circom(options);
      if (!circuit) {
        context_.log.warn("circuit refused",
                          {{"circuit", options.id}, {"reason", circuit.error().message}});
        return reactor->Finish(status_of(circuit.error()));
      }
      fill(*response, *circuit);
      context_.log.info("circuit registered", {{"circuit", options.id},
                                               {"zkey", circuit->options.zkey.string()},
                                               {"digest", circuit->key_digest}});
      if (!circuit->insecure_reason.empty()) {
        context_.log.warn("proofs of this circuit can be forged",
                          {{"circuit", options.id}, {"reason", circuit->insecure_reason}});
      }
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  Reactor* UnregisterCircuit(Call* call, const wire::UnregisterCircuitRequest* request,
                             wire::UnregisterCircuitResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kAdmin, "UnregisterCircuit");
    if (!admission.status.ok()) return finished(call, admission.status);
    const bool was_known = context_.service.unregister_circom(request->id());
    response->set_was_registered(was_known);
    if (was_known) context_.log.info("circuit unregistered", {{"circuit", request->id()}});
    return finished(call, grpc::Status::OK);
  }

 private:
  const RpcContext& context_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_circom_service(const RpcContext& context) {
  return std::make_unique<CircomService>(context);
}

}  // namespace cuzk::daemon
