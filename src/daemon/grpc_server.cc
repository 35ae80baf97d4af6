#include "daemon/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/circom_rpcs.h"
#include "daemon/operations_rpcs.h"
#include "daemon/proving_rpcs.h"
#include "daemon/tls_files.h"

namespace cuzk::daemon {

namespace {

constexpr std::size_t kSubmissionThreads = 4;
constexpr std::size_t kLoadThreads = 2;
constexpr const char* kServices[] = {"", "cuzk.v1.ProvingEngine", "cuzk.operations.v1.Operations",
                                     "cuzk.circom.v1.CircomProving"};

// gRPC says only that it cannot listen; the system says why. Nothing is left open.
Status probe_port(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (const int code = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found)) {
    return fail(ErrorCode::kIo, "{}: {}", address.text(), gai_strerror(code));
  }
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const int bound = fd < 0 ? -1 : ::bind(fd, found->ai_addr, found->ai_addrlen);
  const int error = bound == 0 ? 0 : errno;
  if (fd >= 0) ::close(fd);
  ::freeaddrinfo(found);
  if (bound == 0) return {};
  return fail(ErrorCode::kIo, "{}: cannot listen there: {}", address.text(), std::strerror(error));
}

void set_limits(grpc::ServerBuilder& builder, const GrpcOptions& options) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_message_bytes));
  builder.SetMaxSendMessageSize(-1);
  grpc::ResourceQuota quota("cuzk");
  quota.Resize(options.max_message_bytes * kReceiveQuotaMessages);
  builder.SetResourceQuota(quota);
  const auto handshake = std::chrono::duration_cast<std::chrono::milliseconds>(kHandshakeTimeout);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(handshake.count()));
  // A port that another process has is an error, not shared with it.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Dead peers are noticed although a proof takes minutes; clients may ping as often as once in ten
  // seconds.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
}

}  // namespace

class GrpcServer::Impl {
 public:
  Impl(engine::Service& service, const AccessControl& access, Log& log, const GrpcOptions& options)
      : options_(options),
        context_{service,
                 access,
                 log,
                 submissions_,
                 loads_,
                 options.version,
                 options.cuda,
                 options.max_message_bytes,
                 options.cancel_on_disconnect},
        proving_(make_proving_service(context_)),
        operations_(make_operations_service(context_)),
        circom_(make_circom_service(context_)) {}

  ~Impl() {
    shutdown(std::chrono::seconds(1));
    // Only a socket of our own: after a failed start it may be another daemon's.
    if (server_ && options_.listen.is_unix()) ::unlink(options_.listen.socket.c_str());
  }

  Status start() {
    auto credentials = grpc::InsecureServerCredentials();
    if (!options_.tls_certificate.empty()) {
      CUZK_TRY(tls_, TlsFiles::open(
                         {options_.tls_certificate, options_.tls_key, options_.tls_client_ca}));
      credentials = tls_->credentials();
    }
    if (options_.listen.is_unix()) {
      CUZK_TRY_VOID(prepare_socket(options_.listen));
    } else {
      CUZK_TRY_VOID(probe_port(options_.listen));
    }
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(options_.listen.grpc_target(), credentials, &port);
    builder.RegisterService(proving_.get());
    builder.RegisterService(operations_.get());
    builder.RegisterService(circom_.get());
    set_limits(builder, options_);
    // The socket is never there with wider permissions than asked for.
    const mode_t before = ::umask(options_.listen.is_unix() ? 0777 & ~options_.socket_mode : 022);
    server_ = builder.BuildAndStart();
    ::umask(before);
    if (!server_ || port == 0) {
      return fail(ErrorCode::kIo, "{}: cannot listen there", options_.listen.text());
    }
    if (!options_.listen.is_unix()) options_.listen.port = static_cast<std::uint16_t>(port);
    if (options_.listen.is_unix() &&
        ::chmod(options_.listen.socket.c_str(), options_.socket_mode) != 0) {
      return fail(ErrorCode::kIo, "{}: mode {:04o} cannot be set: {}", options_.listen.text(),
                  options_.socket_mode, std::strerror(errno));
    }
    return {};
  }

  Result<bool> reload_tls() { return tls_ ? tls_->reload() : Result<bool>(false); }

  void set_serving(bool serving) {
    if (!server_) return;
    for (const char* name : kServices) {
      server_->GetHealthCheckService()->SetServingStatus(name, serving);
    }
  }

  void shutdown(std::chrono::milliseconds grace) {
    if (!server_ || std::exchange(is_down_, true)) return;
    server_->Shutdown(std::chrono::system_clock::now() + grace);
    server_->Wait();
  }

  // In this order: the server ends before the pools, which end what calls left behind, and they
  // before the services that it belongs to.
  GrpcOptions options_;
  const RpcContext context_;
  const std::unique_ptr<grpc::Service> proving_;
  const std::unique_ptr<grpc::Service> operations_;
  const std::unique_ptr<grpc::Service> circom_;
  BlockingCalls submissions_{kSubmissionThreads};
  BlockingCalls loads_{kLoadThreads};
  std::unique_ptr<TlsFiles> tls_;  // null: no TLS
  std::unique_ptr<grpc::Server> server_;
  bool is_down_ = false;
};

GrpcServer::GrpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcServer::~GrpcServer() = default;

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(engine::Service& service,
                                                      const AccessControl& access, Log& log,
                                                      const GrpcOptions& options) {
  auto impl = std::make_unique<Impl>(service, access, log, options);
  CUZK_TRY_VOID(impl->start());
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(impl)));
}

const Address& GrpcServer::address() const { return impl_->options_.listen; }
Result<bool> GrpcServer::reload_tls() { return impl_->reload_tls(); }
void GrpcServer::set_serving(bool serving) { impl_->set_serving(serving); }
void GrpcServer::shutdown(std::chrono::milliseconds grace) { impl_->shutdown(grace); }

}  // namespace cuzk::daemon
