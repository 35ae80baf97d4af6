#include "daemon/proving_rpcs.h"

#include <cuzk/v1/proving.grpc.pb.h>
#include <grpcpp/alarm.h>

#include <algorithm>
#include <charconv>

#include "daemon/kinds.h"
#include "daemon/metrics_text.h"

namespace cuzk::daemon {

namespace {

using Call = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

// A deadline in Unix milliseconds, which Curio's messages have no field for.
constexpr const char* kDeadlineMetadata = "cuzk-deadline-unix-ms";
// Set to "1" beside a proof that was made under a key with which anyone can forge proofs.
constexpr const char* kInsecureMetadata = "cuzk-insecure-dev";

constexpr int kAwaitAttempts = 10;

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

std::uint64_t count(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value));
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
  out.set_queue_wait_ms(count(answer.timings.queue_wait_ms));
  out.set_srs_load_ms(count(answer.timings.key_load_ms));
  out.set_synthesis_ms(count(answer.timings.synthesis_ms));
  out.set_gpu_compute_ms(count(answer.timings.prove_ms));
  out.set_total_ms(count(answer.timings.total_ms));
}

// A call that ends once: with an answer, an error, a timeout, or because its client left. Whoever
// comes first claims it; only then may the reactor and its response be touched, and they live until
// Finish is called.
struct Pending {
  std::atomic<bool> claimed{false};
  bool claim() { return !claimed.exchange(true); }

  std::mutex mutex;
  bool done = false;
  std::string job_id;  // once submitted
  std::shared_ptr<engine::Service::Watch> watch;
};

// Prove and AwaitProof: waits without a thread.
class AnswerReactor : public Reactor {
 public:
  AnswerReactor(const RpcContext& context, Call& call, v1::AwaitProofResponse& response,
                bool cancels_with_client)
      : context_(context),
        call_(call),
        response_(response),
        cancels_with_client_(cancels_with_client),
        pending_(std::make_shared<Pending>()) {}

  std::shared_ptr<Pending> pending() const { return pending_; }

  // Claimed calls only.
  void answer(const engine::Answer& answer, const std::string& job_id) {
    response_.set_job_id(job_id);
    fill(response_, answer);
    if (answer.insecure_dev) call_.AddTrailingMetadata(kInsecureMetadata, "1");
    Finish(grpc::Status::OK);
  }
  void time_out_at(std::chrono::system_clock::time_point deadline, const std::string& job_id) {
    alarm_.Set(deadline, [this, job_id, pending = pending_](bool expired) {
      if (!expired || !pending->claim()) return;
      response_.set_job_id(job_id);
      response_.set_status(v1::AwaitProofResponse::TIMEOUT);
      Finish(grpc::Status::OK);
    });
  }

  void OnCancel() override {
    if (!pending_->claim()) return;
    std::string job_id;
    {
      const std::lock_guard lock(pending_->mutex);
      job_id = pending_->job_id;
    }
    if (cancels_with_client_ && !job_id.empty()) (void)context_.service.cancel(job_id);
    Finish(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    std::shared_ptr<engine::Service::Watch> watch;
    {
      const std::lock_guard lock(pending_->mutex);
      pending_->done = true;
      watch = std::move(pending_->watch);
    }
    // The end of a watch waits for its callback, which may be what brought us here.
    if (watch) context_.submissions.post([watch]() mutable { watch.reset(); });
    delete this;
  }

 private:
  const RpcContext& context_;
  Call& call_;
  v1::AwaitProofResponse& response_;
  const bool cancels_with_client_;
  const std::shared_ptr<Pending> pending_;
  grpc::Alarm alarm_;
};

// Lets the answer of a run end the call.
void watch_run(const RpcContext& context, AnswerReactor* reactor,
               const std::shared_ptr<Pending>& pending, const std::string& job_id,
               std::uint64_t run) {
  auto watch =
      context.service.watch(job_id, run, [reactor, pending, job_id](const engine::Answer& answer) {
        if (pending->claim()) reactor->answer(answer, job_id);
      });
  if (!watch) {
    if (pending->claim()) reactor->Finish(status_of(watch.error()));
    return;
  }
  std::shared_ptr<engine::Service::Watch> held = std::move(*watch);
  const std::lock_guard lock(pending->mutex);
  if (!pending->done) pending->watch.swap(held);
}

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
      if (!submitted) return reactor->Finish(refused(submitted.error(), request->request_id()));
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
    auto* reactor = new AnswerReactor(context_, *call, *response->mutable_result(),
                                      context_.cancel_on_disconnect);
    // The request is copied here, where it surely lives: a client that leaves takes it away.
    auto copy = std::make_shared<engine::ProofRequest>(
        request_of(request->submit(), *call, admission.caller));
    context_.submissions.post([this, reactor, copy, pending = reactor->pending()] {
      const std::string id = copy->request_id;
      const auto submitted = context_.service.submit(std::move(*copy));
      if (!submitted) {
        const grpc::Status status = refused(submitted.error(), id);
        if (pending->claim()) reactor->Finish(status);
        return;
      }
      {
        const std::lock_guard lock(pending->mutex);
        pending->job_id = submitted->job_id;
      }
      watch_run(context_, reactor, pending, submitted->job_id, submitted->run);
    });
    return reactor;
  }

  Reactor* AwaitProof(Call* call, const v1::AwaitProofRequest* request,
                      v1::AwaitProofResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kSubmit, "AwaitProof");
    if (!admission.status.ok()) return finished(call, admission.status);
    auto* reactor = new AnswerReactor(context_, *call, *response, false);
    const std::string id = request->job_id();
    if (request->timeout_ms() != 0) {
      constexpr std::uint64_t kLongest = 1000ULL * 3600 * 24 * 365;
      reactor->time_out_at(std::chrono::system_clock::now() +
                               std::chrono::milliseconds(std::min(request->timeout_ms(), kLongest)),
                           id);
    }
    context_.submissions.post(
        [this, reactor, id, pending = reactor->pending()] { await(reactor, pending, id); });
    return reactor;
  }

  Reactor* CancelProof(Call* call, const v1::CancelProofRequest* request,
                       v1::CancelProofResponse* response) override {
    const Admission admission = admit(*call, context_, Role::kSubmit, "CancelProof");
    if (!admission.status.ok()) return finished(call, admission.status);
    const auto cancelled = context_.service.cancel(request->job_id());
    // As Curio's daemon: an unknown job is no error, it does not run.
    response->set_was_running(cancelled.value_or(false));
    if (cancelled.value_or(false)) {
      context_.log.info("cancel", {{"job", request->job_id()}, {"caller", admission.caller.name}});
    }
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
    response->set_uptime_seconds(count(status.uptime_us / 1'000'000));
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
      response->set_load_time_ms(count(loaded->load_ms));
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
  static Reactor* finished(Call* call, const grpc::Status& status) {
    Reactor* reactor = call->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }

  grpc::Status refused(const Error& error, const std::string& id) const {
    context_.log.warn(
        "request refused",
        {{"job", id}, {"code", error_code_name(error.code)}, {"reason", error.message}});
    return status_of(error);
  }

  void await(AnswerReactor* reactor, const std::shared_ptr<Pending>& pending,
             const std::string& id) {
    // A finished answer first: it may be older than this process and known to the journal alone. A
    // job on its way from running to finished is for a moment in neither list; hence the
    // repetition.
    for (int attempt = 0; attempt < kAwaitAttempts; ++attempt) {
      const auto answer = context_.service.await(
          id, std::chrono::steady_clock::now() + attempt * std::chrono::milliseconds(20));
      if (!answer) break;
      if (*answer) {
        if (pending->claim()) reactor->answer(**answer, id);
        return;
      }
      if (const auto job = context_.service.job(id)) {
        return watch_run(context_, reactor, pending, id, job->run);
      }
    }
    if (pending->claim()) {
      reactor->Finish({grpc::StatusCode::NOT_FOUND, fmt::format("job not found: {}", id)});
    }
  }

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
