#include "daemon/operations_rpcs.h"

#include <cuzk/operations/v1/operations.grpc.pb.h>

#include <atomic>
#include <condition_variable>
#include <nlohmann/json.hpp>

#include "daemon/kinds.h"
#include "daemon/status_json.h"

namespace cuzk::daemon {

namespace {

namespace wire = operations::v1;
using Call = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

wire::Event event_of(const engine::Event& in, std::uint64_t lost) {
  wire::Event out;
  out.set_sequence(in.sequence);
  out.set_at_us(in.at_us);
  out.set_type(std::string(engine::event_type_name(in.type)));
  out.set_job_id(in.job_id);
  out.set_run(in.run);
  if (in.kind) out.set_proof_kind(std::string(status_kind_name(*in.kind)));
  out.set_partition(static_cast<std::uint32_t>(in.partition));
  out.set_partitions(static_cast<std::uint32_t>(in.partitions));
  out.set_partitions_done(static_cast<std::uint32_t>(in.partitions_done));
  out.set_state(in.state);
  out.set_detail(in.detail);
  out.set_lost(lost);
  return out;
}

void fill(wire::Job& out, const engine::JobStatus& in) {
  out.set_job_id(in.job_id);
  out.set_run(in.run);
  out.set_proof_kind(std::string(status_kind_name(in.kind)));
  out.set_client(in.client);
  out.set_priority(std::string(engine::priority_name(in.priority)));
  out.set_state(std::string(engine::job_state_name(in.state)));
  out.set_name(in.name);
  out.set_circuit(in.circuit);
  out.set_waits_for(in.waits_for);
  if (in.eta_ms) out.set_eta_ms(*in.eta_ms);
  for (const engine::PartitionStatus& p : in.partitions) {
    auto* partition = out.add_partitions();
    partition->set_state(std::string(engine::partition_state_name(p.state)));
    if (p.synthesis_ms >= 0) partition->set_synthesis_ms(p.synthesis_ms);
    if (p.prove_ms >= 0) partition->set_prove_ms(p.prove_ms);
    partition->set_device(p.device);
    partition->set_attempts(p.attempts);
  }
  if (in.error) out.set_error_message(in.error->message);
  auto* timings = out.mutable_timings();
  timings->set_queue_wait_ms(in.timings.queue_wait_ms);
  timings->set_key_load_ms(in.timings.key_load_ms);
  timings->set_parse_ms(in.timings.parse_ms);
  timings->set_memory_wait_ms(in.timings.memory_wait_ms);
  timings->set_synthesis_ms(in.timings.synthesis_ms);
  timings->set_prove_wait_ms(in.timings.prove_wait_ms);
  timings->set_prove_ms(in.timings.prove_ms);
  timings->set_finish_ms(in.timings.finish_ms);
  timings->set_verify_ms(in.timings.verify_ms);
  timings->set_total_ms(in.timings.total_ms);
}

// One watcher: its thread takes events and writes them, one at a time.
class WatchReactor final : public grpc::ServerWriteReactor<wire::Event> {
 public:
  WatchReactor(const RpcContext& context, std::atomic<int>& watchers, std::string job_id)
      : context_(context),
        watchers_(watchers),
        job_id_(std::move(job_id)),
        events_(context.service.subscribe()) {
    thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    written_ = true;
    broken_ = broken_ || !ok;
    wake_.notify_all();
  }
  void OnCancel() override { thread_.request_stop(); }
  void OnDone() override {
    // The thread cannot join itself; a pool's thread ends it.
    context_.submissions.post([this] {
      --watchers_;
      delete this;
    });
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto began = std::chrono::steady_clock::now();
      const std::vector<engine::Event> events = events_->next(began + 1s, stop);
      for (const engine::Event& event : events) {
        if (!job_id_.empty() && event.job_id != job_id_) continue;
        if (!write(event)) return Finish(grpc::Status::CANCELLED);
      }
      // A service that has stopped answers at once and has nothing more to tell.
      if (events.empty() && std::chrono::steady_clock::now() - began < 500ms) break;
    }
    Finish(stop.stop_requested() ? grpc::Status::CANCELLED : grpc::Status::OK);
  }

  bool write(const engine::Event& event) {
    message_ = event_of(event, events_->lost());
    std::unique_lock lock(mutex_);
    written_ = false;
    lock.unlock();
    StartWrite(&message_);
    lock.lock();
    wake_.wait(lock, [this] { return written_; });
    return !broken_;
  }

  const RpcContext& context_;
  std::atomic<int>& watchers_;
  const std::string job_id_;
  const std::unique_ptr<engine::Service::Events> events_;
  wire::Event message_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool written_ = false;
  bool broken_ = false;
  std::jthread thread_;  // last: begins when everything else stands
};

// A stream that is refused before it begins.
class RefusedWatch final : public grpc::ServerWriteReactor<wire::Event> {
 public:
  explicit RefusedWatch(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

class OperationsService final : public wire::Operations::CallbackService {
 public:
  explicit OperationsService(const RpcContext& context) : context_(context) {}

  grpc::ServerWriteReactor<wire::Event>* Watch(Call* call,
                                               const wire::WatchRequest* request) override {
    const Admission admission = admit(*call, context_, Role::kRead, "Watch");
    if (!admission.status.ok()) return new RefusedWatch(admission.status);
    if (++watchers_ > kMaxWatchers) {
      --watchers_;
      return new RefusedWatch({grpc::StatusCode::RESOURCE_EXHAUSTED,
                               fmt::format("{} watchers are the most", kMaxWatchers)});
    }
    return new WatchReactor(context_, watchers_, request->job_id());
  }

  Reactor* GetJob(Call* call, const wire::GetJobRequest* request, wire::Job* response) override {
    return answer(call, Role::kRead, "GetJob", [&](const Caller&) -> grpc::Status {
      const auto job = context_.service.job(request->job_id());
      if (!job) {
        return {grpc::StatusCode::NOT_FOUND, fmt::format("job not found: {}", request->job_id())};
      }
      fill(*response, *job);
      return grpc::Status::OK;
    });
  }

  Reactor* GetServerInfo(Call* call, const wire::GetServerInfoRequest*,
                         wire::ServerInfo* response) override {
    return answer(call, Role::kRead, "GetServerInfo", [&](const Caller& caller) {
      const engine::ServiceStatus status = context_.service.status();
      response->set_version(context_.version);
      response->set_ready(status.ready);
      response->set_draining(status.draining);
      response->set_max_message_bytes(context_.max_message_bytes);
      for (const engine::ProofKind kind : engine::kProofKinds) {
        response->add_proof_kinds(std::string(status_kind_name(kind)));
      }
      for (const std::string& id : engine::circuit_ids()) response->add_circuit_ids(id);
      for (const engine::Problem& p : status.problems) {
        response->add_problems(fmt::format("{}: {}", p.subject, p.message));
      }
      response->set_peak_memory_bytes(status.memory.peak_reserved_bytes);
      response->set_memory_limit_bytes(status.memory.limit_bytes);
      response->set_caller(caller.name);
      response->set_role(std::string(role_name(caller.role)));
      return grpc::Status::OK;
    });
  }

  Reactor* GetTrace(Call* call, const wire::GetTraceRequest*, wire::Trace* response) override {
    return answer(call, Role::kRead, "GetTrace", [&](const Caller&) {
      response->set_chrome_trace_json(context_.service.trace_json());
      return grpc::Status::OK;
    });
  }

  Reactor* GetSnapshot(Call* call, const wire::GetSnapshotRequest* request,
                       wire::Snapshot* response) override {
    return answer(call, Role::kRead, "GetSnapshot", [&](const Caller&) {
      const engine::ServiceMetrics metrics = context_.service.metrics();
      response->set_status_json(json_text(status_json(metrics, context_.version)));
      if (request->has_spans_after()) {
        response->set_spans_json(json_text(
            spans_json(context_.service.spans(request->spans_after()), metrics.status.uptime_us)));
      }
      return grpc::Status::OK;
    });
  }

  Reactor* Drain(Call* call, const wire::DrainRequest*, wire::DrainResponse* response) override {
    return answer(call, Role::kAdmin, "Drain", [&](const Caller&) {
      context_.service.drain(std::chrono::steady_clock::now());
      response->set_unfinished(context_.service.status().jobs.size());
      return grpc::Status::OK;
    });
  }

  Reactor* Undrain(Call* call, const wire::UndrainRequest*, wire::UndrainResponse*) override {
    return answer(call, Role::kAdmin, "Undrain", [&](const Caller&) {
      context_.service.undrain();
      return grpc::Status::OK;
    });
  }

 private:
  template <class F>
  Reactor* answer(Call* call, Role needed, std::string_view rpc, F&& f) {
    const Admission admission = admit(*call, context_, needed, rpc);
    Reactor* reactor = call->DefaultReactor();
    reactor->Finish(admission.status.ok() ? f(admission.caller) : admission.status);
    return reactor;
  }

  const RpcContext& context_;
  std::atomic<int> watchers_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> make_operations_service(const RpcContext& context) {
  return std::make_unique<OperationsService>(context);
}

}  // namespace cuzk::daemon
