#include "daemon/proving_rpcs.h"

#include <cuzk/v1/proving.grpc.pb.h>

#include <algorithm>
#include <charconv>

#include "daemon/answer_call.h"
#include "daemon/kinds.h"
#include "daemon/metrics_text.h"

namespace cuzk::daemon {

namespace {

using Call = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

// A deadline in Unix milliseconds, which Curio's messages have no field for.
constexpr const char* kDeadlineMetadata = "cuzk-deadline-unix-ms";
std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::optional<engine::Priority> priority_of(v1::Priority priority) {
  switch (priority) {
    case v1::PRIORITY_UNSPECIFIED:
      return std::nullopt;
    case v1::LOW:
      return engine::Priority::kLow;
    case v1::HIGH:
      return engine::Priority::kHigh;
    case v1::CRITICAL:
      return engine::Priority::kCritical;
    default:
      return engine::Priority::kNormal;
  }
}

std::optional<std::int64_t> deadline_of(const Call& call) {
  const auto found = call.client_metadata().find(kDeadlineMetadata);
  if (found == call.client_metadata().end()) return std::nullopt;
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(found->second.begin(), found->second.end(), out);
  if (error != std::errc() || end != found->second.end()) return std::nullopt;
  return out;
}

engine::ProofRequest request_of(const v1::SubmitProofRequest& in, const Call& call,
                                const Caller& caller) {
  engine::ProofRequest out;
  out.request_id = in.request_id();
  out.client = caller.name;
  out.kind = static_cast<engine::ProofKind>(in.proof_kind());
  out.priority = priority_of(in.priority());
  out.deadline_ms = deadline_of(call);
  if (!in.vanilla_proof().empty()) out.payloads.push_back(bytes_of(in.vanilla_proof()));
  for (const std::string& proof : in.vanilla_proofs()) out.payloads.push_back(bytes_of(proof));
  out.registered_proof = in.registered_proof();
  out.sector_bytes = in.sector_size();
  out.sector = in.sector_number();
  out.miner = in.miner_id();
  out.randomness = bytes_of(in.randomness());
  out.partition_index = in.partition_index();
  out.comm_r_old = bytes_of(in.comm_r_old());
  out.comm_r_new = bytes_of(in.comm_r_new());
  out.comm_d_new = bytes_of(in.comm_d_new());
  return out;
}

grpc::Status check_kind(const v1::SubmitProofRequest& request) {
  const int kind = request.proof_kind();
  if (kind >= 1 && kind <= 4) return grpc::Status::OK;
  return {grpc::StatusCode::INVALID_ARGUMENT, fmt::format("invalid proof_kind: {}", kind)};
}

void fill(v1::AwaitProofResponse& out, const engine::Answer& answer) {
  switch (answer.status) {
    case engine::AnswerStatus::kCompleted:
      out.set_status(v1::AwaitProofResponse::COMPLETED);
      out.set_proof(answer.proof.data(), answer.proof.size());
      break;
    case engine::AnswerStatus::kFailed:
      out.set_status(v1::AwaitProofResponse::FAILED);
      break;
    case engine::AnswerStatus::kCancelled:
      out.set_status(v1::AwaitProofResponse::CANCELLED);
      break;
  }
  if (answer.error) out.set_error_message(answer.error->message);
  out.set_queue_wait_ms(wire_count(answer.timings.queue_wait_ms));
  out.set_srs_load_ms(wire_count(answer.timings.key_load_ms));
  out.set_synthesis_ms(wire_count(answer.timings.synthesis_ms));
  out.set_gpu_compute_ms(wire_count(answer.timings.prove_ms));
  out.set_total_ms(wire_count(answer.timings.total_ms));
}

constexpr AnswerForm<v1::AwaitProofResponse> kAnswerForm = {
    fill, [](v1::AwaitProofResponse& out) { out.set_status(v1::AwaitProofResponse::TIMEOUT); }};

class ProvingService final : public v1::ProvingEngine::CallbackService {
 public:
  explicit ProvingService(const RpcContext& context) : context_(context) {}

  Reactor* SubmitProof(Call* call, const v1::SubmitProofRequest* request,
                       v1::SubmitProofResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kSubmit, "SubmitProof");
    if (!admission.status.ok()) return finished(call, admission.status);
    if (auto kind = check_kind(*request); !kind.ok()) return finished(call, kind);
    Reactor* reactor = call->DefaultReactor();
    context_.submissions.post([=, this, caller = admission.caller] {
      const auto submitted = context_.service.submit(request_of(*request, *call, caller));
      if (!submitted) {
        return reactor->Finish(refused(context_, submitted.error(), request->request_id()));
      }
      response->set_job_id(submitted->job_id);
      response->set_queue_position(static_cast<std::uint32_t>(submitted->queue_position));
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  Reactor* Prove(Call* call, const v1::ProveRequest* request,
                 v1::ProveResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kSubmit, "Prove");
    if (!admission.status.ok()) return finished(call, admission.status);
    if (!request->has_submit()) {
      return finished(call, {grpc::StatusCode::INVALID_ARGUMENT, "missing submit field"});
    }
    if (auto kind = check_kind(request->submit()); !kind.ok()) return finished(call, kind);
    auto* reactor = new AnswerReactor(context_, *call, *response->mutable_result(), kAnswerForm,
                                      context_.cancel_on_disconnect);
    // The request is copied here, where it surely lives: a client that leaves takes it away.
    submit_and_await(context_, reactor, request_of(request->submit(), *call, admission.caller));
    return reactor;
  }

  Reactor* AwaitProof(Call* call, const v1::AwaitProofRequest* request,
                      v1::AwaitProofResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kSubmit, "AwaitProof");
    if (!admission.status.ok()) return finished(call, admission.status);
    return await_call(context_, *call, *response, kAnswerForm, request->job_id(),
                      request->timeout_ms());
  }

  Reactor* CancelProof(Call* call, const v1::CancelProofRequest* request,
                       v1::CancelProofResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kSubmit, "CancelProof");
    if (!admission.status.ok()) return finished(call, admission.status);
    response->set_was_running(cancel_job(context_, request->job_id(), admission.caller));
    return finished(call, grpc::Status::OK);
  }

  Reactor* GetStatus(Call* call, const v1::GetStatusRequest*,
                     v1::GetStatusResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kRead, "GetStatus");
    if (!admission.status.ok()) return finished(call, admission.status);
    const engine::ServiceStatus status = context_.service.status();
    fill_workers(*response, status);
    fill_circuits(*response, status);
    for (const engine::QueueStatus& queue : status.queues) {
      if (queue.pending == 0 && queue.in_progress == 0) continue;
      auto* out = response->add_queues();
      out->set_proof_kind(std::string(status_kind_name(queue.kind)));
      out->set_pending(static_cast<std::uint32_t>(queue.pending));
      out->set_in_progress(static_cast<std::uint32_t>(queue.in_progress));
    }
    response->set_total_proofs_completed(status.completed);
    response->set_total_proofs_failed(status.failed);
    response->set_uptime_seconds(wire_count(status.uptime_us / 1'000'000));
    response->set_pinned_memory_bytes(status.memory.pinned_leased_bytes);
    response->set_pinned_memory_limit_bytes(status.memory.pinned_limit_bytes);
    return finished(call, grpc::Status::OK);
  }

  Reactor* GetMetrics(Call* call, const v1::GetMetricsRequest*,
                      v1::GetMetricsResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kRead, "GetMetrics");
    if (!admission.status.ok()) return finished(call, admission.status);
    response->set_prometheus_text(
        metrics_text(context_.service.metrics(), {context_.version, context_.cuda, true}));
    return finished(call, grpc::Status::OK);
  }

  Reactor* PreloadSRS(Call* call, const v1::PreloadSrsRequest* request,
                      v1::PreloadSrsResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kAdmin, "PreloadSRS");
    if (!admission.status.ok()) return finished(call, admission.status);
    Reactor* reactor = call->DefaultReactor();
    context_.loads.post([this, reactor, response, id = request->circuit_id()] {
      const auto loaded = context_.service.preload(id);
      if (!loaded) return reactor->Finish(status_of(loaded.error()));
      response->set_already_loaded(loaded->already_loaded);
      response->set_load_time_ms(wire_count(loaded->load_ms));
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  Reactor* EvictSRS(Call* call, const v1::EvictSrsRequest* request,
                    v1::EvictSrsResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kAdmin, "EvictSRS");
    if (!admission.status.ok()) return finished(call, admission.status);
    Reactor* reactor = call->DefaultReactor();
    context_.submissions.post([this, reactor, response, id = request->circuit_id()] {
      const auto evicted = context_.service.evict(id);
      if (!evicted) return reactor->Finish(status_of(evicted.error()));
      response->set_was_loaded(evicted->was_loaded);
      response->set_freed_bytes(evicted->freed_bytes);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

 private:
  static void fill_workers(v1::GetStatusResponse& out, const engine::ServiceStatus& status) {
    for (const engine::WorkerStatus& worker : status.workers) {
      if (worker.stage != "prove") continue;
      const auto device =
          std::find_if(status.devices.begin(), status.devices.end(),
                       [&](const engine::DeviceStatus& d) { return d.name == worker.device; });
      auto* gpu = out.add_gpus();
      gpu->set_ordinal(static_cast<std::uint32_t>(device - status.devices.begin()));
      gpu->set_name(worker.device);
      if (device != status.devices.end()) {
        gpu->set_vram_total_bytes(device->limit_bytes);
        gpu->set_vram_free_bytes(device->limit_bytes -
                                 std::min(device->limit_bytes, device->leased_bytes));
      }
      gpu->set_current_job_id(worker.job_id);
      if (worker.kind) gpu->set_current_proof_kind(std::string(status_kind_name(*worker.kind)));
    }
  }

  static void fill_circuits(v1::GetStatusResponse& out, const engine::ServiceStatus& status) {
    for (const engine::CircuitStatus& circuit : status.circuits) {
      if (circuit.tier == engine::Tier::kCold) continue;
      auto* srs = out.add_loaded_srs();
      srs->set_circuit_id(circuit.circuit_id);
      srs->set_tier(circuit.tier == engine::Tier::kHot ? v1::SRSStatus::HOT : v1::SRSStatus::WARM);
      srs->set_size_bytes(circuit.bytes);
      srs->set_ref_count(static_cast<std::uint32_t>(circuit.in_use));
    }
  }

  const RpcContext& context_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_proving_service(const RpcContext& context) {
  return std::make_unique<ProvingService>(context);
}

}  // namespace cuzk::daemon
