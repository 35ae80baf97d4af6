#include "daemon/client.h"

#include <cuzk/circom/v1/circom.grpc.pb.h>
#include <cuzk/operations/v1/operations.grpc.pb.h>
#include <cuzk/v1/proving.grpc.pb.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "base/mapped_file.h"
#include "daemon/address.h"

namespace cuzk::daemon {

namespace {

constexpr std::size_t kMaxPemBytes = 1 << 20;
constexpr auto kShortCall = std::chrono::seconds(30);

Result<std::string> read_pem(const std::string& file) {
  if (file.empty()) return std::string();
  CUZK_TRY(const auto bytes, read_file(file, kMaxPemBytes));
  return std::string(bytes.begin(), bytes.end());
}

bool wants_tls(const ClientOptions& o) {
  return o.address.starts_with("https://") || !o.tls_ca.empty() || !o.tls_certificate.empty();
}

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials_of(const ClientOptions& o) {
  if (!wants_tls(o)) return grpc::InsecureChannelCredentials();
  if (o.tls_certificate.empty() != o.tls_key.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "--tls-certificate and --tls-key go together, one of them is missing");
  }
  grpc::SslCredentialsOptions tls;
  CUZK_TRY(tls.pem_root_certs, read_pem(o.tls_ca));
  CUZK_TRY(tls.pem_cert_chain, read_pem(o.tls_certificate));
  CUZK_TRY(tls.pem_private_key, read_pem(o.tls_key));
  return grpc::SslCredentials(tls);
}

// The wire's codes back into ours; see status_of in grpc_call.cc.
ErrorCode code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return ErrorCode::kOutOfBudget;
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::UNIMPLEMENTED:
      return ErrorCode::kNotFound;
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return ErrorCode::kCancelled;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::DATA_LOSS:
      return ErrorCode::kIo;
    case grpc::StatusCode::INTERNAL:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kInvalidArgument;
  }
}

std::string text(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// CRITICAL is 4 on the wire and comes first here.
int wire_priority(const engine::ProofRequest& in) {
  return in.priority ? 4 - static_cast<int>(*in.priority) : 0;
}

v1::SubmitProofRequest wire_request(const engine::ProofRequest& in) {
  v1::SubmitProofRequest out;
  out.set_request_id(in.request_id);
  out.set_proof_kind(static_cast<v1::ProofKind>(in.kind));
  out.set_sector_size(in.sector_bytes);
  out.set_registered_proof(in.registered_proof);
  out.set_priority(static_cast<v1::Priority>(wire_priority(in)));
  for (const auto& payload : in.payloads) {
    if (in.kind == engine::ProofKind::kPorep) {
      out.set_vanilla_proof(text(payload));
    } else {
      out.add_vanilla_proofs(text(payload));
    }
  }
  out.set_sector_number(in.sector);
  out.set_miner_id(in.miner);
  out.set_randomness(text(in.randomness));
  out.set_partition_index(in.partition_index);
  out.set_comm_r_old(text(in.comm_r_old));
  out.set_comm_r_new(text(in.comm_r_new));
  out.set_comm_d_new(text(in.comm_d_new));
  return out;
}

circom::v1::SubmitRequest circom_request(const engine::ProofRequest& in) {
  circom::v1::SubmitRequest out;
  out.set_request_id(in.request_id);
  out.set_circuit(in.circuit);
  out.set_priority(static_cast<circom::v1::Priority>(wire_priority(in)));
  if (in.deadline_ms) out.set_deadline_unix_ms(*in.deadline_ms);
  for (const auto& witness : in.payloads) {
    // Whichever of the two it is, a .wtns or an array, the daemon looks at its bytes.
    if (!witness.empty() && witness[0] == 'w') {
      out.set_wtns(text(witness));
    } else {
      out.set_witness_json(text(witness));
    }
  }
  return out;
}

engine::Answer answer_of(const circom::v1::Answer& in) {
  engine::Answer out;
  out.job_id = in.job_id();
  out.proof.assign(in.proof_json().begin(), in.proof_json().end());
  out.public_json = in.public_json();
  out.insecure_dev = in.insecure_key();
  if (in.status() == circom::v1::Answer::COMPLETED) {
    out.status = engine::AnswerStatus::kCompleted;
  } else if (in.status() == circom::v1::Answer::CANCELLED) {
    out.status = engine::AnswerStatus::kCancelled;
  } else {
    out.error = Error{ErrorCode::kInternal, in.error_message()};
  }
  const auto ms = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  const auto& timings = in.timings();
  out.timings.queue_wait_ms = ms(timings.queue_wait_ms());
  out.timings.key_load_ms = ms(timings.key_load_ms());
  out.timings.synthesis_ms = ms(timings.witness_ms());
  out.timings.prove_ms = ms(timings.prove_ms());
  out.timings.verify_ms = ms(timings.verify_ms());
  out.timings.total_ms = ms(timings.total_ms());
  return out;
}

engine::Answer answer_of(const v1::AwaitProofResponse& in) {
  engine::Answer out;
  out.job_id = in.job_id();
  out.proof.assign(in.proof().begin(), in.proof().end());
  switch (in.status()) {
    case v1::AwaitProofResponse::COMPLETED:
      out.status = engine::AnswerStatus::kCompleted;
      break;
    case v1::AwaitProofResponse::CANCELLED:
      out.status = engine::AnswerStatus::kCancelled;
      break;
    default:
      out.status = engine::AnswerStatus::kFailed;
      out.error = Error{ErrorCode::kInternal, in.error_message()};
  }
  out.timings.queue_wait_ms = static_cast<std::int64_t>(in.queue_wait_ms());
  out.timings.key_load_ms = static_cast<std::int64_t>(in.srs_load_ms());
  out.timings.synthesis_ms = static_cast<std::int64_t>(in.synthesis_ms());
  out.timings.prove_ms = static_cast<std::int64_t>(in.gpu_compute_ms());
  out.timings.total_ms = static_cast<std::int64_t>(in.total_ms());
  return out;
}

}  // namespace

class Client::Impl {
 public:
  explicit Impl(ClientOptions options) : options_(std::move(options)) {}

  ~Impl() {
    std::unique_lock lock(mutex_);
    for (grpc::ClientContext* call : calls_) call->TryCancel();
    idle_.wait(lock, [this] { return calls_.empty(); });
  }

  Status connect() {
    CUZK_TRY(const auto credentials, credentials_of(options_));
    std::string text = options_.address;
    if (text.starts_with("https://")) text.erase(0, std::string_view("https://").size());
    CUZK_TRY(const Address address, parse_address(text, "--addr"));
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    if (!options_.tls_server_name.empty()) {
      arguments.SetSslTargetNameOverride(options_.tls_server_name);
    }
    const auto channel = grpc::CreateCustomChannel(address.grpc_target(), credentials, arguments);
    proving_ = v1::ProvingEngine::NewStub(channel);
    circom_ = circom::v1::CircomProving::NewStub(channel);
    operations_ = operations::v1::Operations::NewStub(channel);
    const auto seen = status(options_.connect_timeout);
    if (!seen) return fail(seen.error());
    return {};
  }

  Result<WireStatus> status(std::chrono::milliseconds timeout) {
    v1::GetStatusResponse in;
    CUZK_TRY_VOID(call("GetStatus", timeout, [&](grpc::ClientContext& context) {
      return proving_->GetStatus(&context, {}, &in);
    }));
    WireStatus out;
    for (const auto& gpu : in.gpus()) {
      out.gpus.push_back({gpu.ordinal(), gpu.name(), gpu.vram_total_bytes(), gpu.vram_free_bytes(),
                          gpu.current_job_id(), gpu.current_proof_kind()});
    }
    for (const auto& srs : in.loaded_srs()) {
      out.circuits.push_back({srs.circuit_id(), v1::SRSStatus::Tier_Name(srs.tier()),
                              srs.size_bytes(), srs.ref_count()});
    }
    for (const auto& queue : in.queues()) {
      out.queues.push_back({queue.proof_kind(), queue.pending(), queue.in_progress()});
    }
    out.completed = in.total_proofs_completed();
    out.failed = in.total_proofs_failed();
    out.uptime_seconds = in.uptime_seconds();
    out.pinned_bytes = in.pinned_memory_bytes();
    out.pinned_limit_bytes = in.pinned_memory_limit_bytes();
    return out;
  }

  // A call of its own length; `timeout` none: as long as it takes.
  template <class F>
  Status call(std::string_view name, std::optional<std::chrono::milliseconds> timeout, F&& rpc) {
    grpc::ClientContext context;
    prepare(context);
    if (timeout) context.set_deadline(std::chrono::system_clock::now() + *timeout);
    const grpc::Status status = rpc(context);
    if (status.ok()) return {};
    return fail(error_of(name, status));
  }

  void prove(const engine::ProofRequest& request,
             std::function<void(Result<engine::Answer>)> callback) {
    if (request.kind == engine::ProofKind::kCircom) {
      auto call = std::make_shared<Call<circom::v1::ProveRequest, circom::v1::Answer>>();
      *call->request.mutable_submit() = circom_request(request);
      return start(*circom_->async(), std::move(call), std::move(callback));
    }
    auto call = std::make_shared<Call<v1::ProveRequest, v1::ProveResponse>>();
    *call->request.mutable_submit() = wire_request(request);
    start(*proving_->async(), std::move(call), std::move(callback));
  }

  const ClientOptions options_;
  std::unique_ptr<v1::ProvingEngine::Stub> proving_;
  std::unique_ptr<circom::v1::CircomProving::Stub> circom_;
  std::unique_ptr<operations::v1::Operations::Stub> operations_;

 private:
  template <class Request, class Response>
  struct Call {
    grpc::ClientContext context;
    Request request;
    Response response;
  };

  template <class Stub, class C>
  void start(Stub& stub, std::shared_ptr<C> call,
             std::function<void(Result<engine::Answer>)> callback) {
    prepare(call->context);
    {
      const std::lock_guard lock(mutex_);
      calls_.insert(&call->context);
    }
    stub.Prove(&call->context, &call->request, &call->response,
               [this, call, callback = std::move(callback)](const grpc::Status& status) {
                 callback(status.ok() ? Result<engine::Answer>(result_of(*call))
                                      : fail(error_of("Prove", status)));
                 const std::lock_guard lock(mutex_);
                 calls_.erase(&call->context);
                 idle_.notify_all();
               });
  }

  void prepare(grpc::ClientContext& context) const {
    if (!options_.token.empty()) context.AddMetadata("authorization", "Bearer " + options_.token);
  }

  Error error_of(std::string_view name, const grpc::Status& status) const {
    const grpc::StatusCode code = status.error_code();
    std::string text = status.error_message();
    if (text.empty()) text = fmt::format("gRPC status {}", static_cast<int>(code));
    if (code == grpc::StatusCode::UNAVAILABLE) {
      return {ErrorCode::kIo,
              fmt::format("{}: no daemon answers there ({}). Is `cuzk serve` running, and is this "
                          "its address?",
                          options_.address, text)};
    }
    if (code == grpc::StatusCode::UNIMPLEMENTED) {
      return {ErrorCode::kNotFound,
              fmt::format("{}: the daemon does not know the call {}", options_.address, name)};
    }
    return {code_of(code), fmt::format("{} RPC failed: {}", name, text)};
  }

  static engine::Answer result_of(const Call<circom::v1::ProveRequest, circom::v1::Answer>& call) {
    return answer_of(call.response);
  }
  static engine::Answer result_of(const Call<v1::ProveRequest, v1::ProveResponse>& call) {
    engine::Answer answer = answer_of(call.response.result());
    answer.insecure_dev = call.context.GetServerTrailingMetadata().count("cuzk-insecure-dev") != 0;
    return answer;
  }

  std::mutex mutex_;
  std::condition_variable idle_;
  std::set<grpc::ClientContext*> calls_;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::connect(const ClientOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  CUZK_TRY_VOID(impl->connect());
  return std::unique_ptr<Client>(new Client(std::move(impl)));
}

void Client::prove(const engine::ProofRequest& request,
                   std::function<void(Result<engine::Answer>)> callback) {
  impl_->prove(request, std::move(callback));
}

Result<bool> Client::cancel(const std::string& job_id) {
  v1::CancelProofRequest request;
  request.set_job_id(job_id);
  v1::CancelProofResponse response;
  CUZK_TRY_VOID(impl_->call("CancelProof", kShortCall, [&](grpc::ClientContext& context) {
    return impl_->proving_->CancelProof(&context, request, &response);
  }));
  return response.was_running();
}

Result<WireStatus> Client::status() { return impl_->status(kShortCall); }

Result<std::string> Client::metrics() {
  v1::GetMetricsResponse response;
  CUZK_TRY_VOID(impl_->call("GetMetrics", kShortCall, [&](grpc::ClientContext& context) {
    return impl_->proving_->GetMetrics(&context, {}, &response);
  }));
  return response.prometheus_text();
}

Result<engine::Service::Preloaded> Client::preload(const std::string& circuit_id) {
  v1::PreloadSrsRequest request;
  request.set_circuit_id(circuit_id);
  v1::PreloadSrsResponse response;
  CUZK_TRY_VOID(impl_->call("PreloadSRS", std::nullopt, [&](grpc::ClientContext& context) {
    return impl_->proving_->PreloadSRS(&context, request, &response);
  }));
  return engine::Service::Preloaded{response.already_loaded(),
                                    static_cast<std::int64_t>(response.load_time_ms())};
}

Result<ServerInfo> Client::info() {
  operations::v1::ServerInfo response;
  CUZK_TRY_VOID(impl_->call("GetServerInfo", kShortCall, [&](grpc::ClientContext& context) {
    return impl_->operations_->GetServerInfo(&context, {}, &response);
  }));
  return ServerInfo{response.version(), response.caller(), response.role(),
                    response.max_message_bytes()};
}

Result<SnapshotTexts> Client::snapshot(std::optional<std::uint64_t> spans_after) {
  operations::v1::GetSnapshotRequest request;
  if (spans_after) request.set_spans_after(*spans_after);
  operations::v1::Snapshot response;
  CUZK_TRY_VOID(impl_->call("GetSnapshot", kShortCall, [&](grpc::ClientContext& context) {
    return impl_->operations_->GetSnapshot(&context, request, &response);
  }));
  return SnapshotTexts{std::move(*response.mutable_status_json()),
                       std::move(*response.mutable_spans_json())};
}

const std::string& Client::address() const { return impl_->options_.address; }

}  // namespace cuzk::daemon
