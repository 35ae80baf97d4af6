#pragma once
// The gRPC front: Curio's service, ours, health v1 and reflection, on one address.
//
// Limits:  messages up to max_message_bytes, told in the error of a larger one; at most
//          kReceiveQuotaMessages such messages are in memory at once, whoever sends them;
//          handshakes end within kHandshakeTimeout.
// Threads: every function may be called from any thread.

#include <chrono>
#include <memory>
#include <string>

#include "daemon/access.h"
#include "daemon/address.h"
#include "daemon/log.h"
#include "engine/service.h"

namespace cuzk::daemon {

inline constexpr std::size_t kReceiveQuotaMessages = 8;
inline constexpr std::chrono::seconds kHandshakeTimeout{20};

struct GrpcOptions {
  Address listen;
  unsigned socket_mode = 0660;
  std::size_t max_message_bytes = std::size_t{256} << 20;
  std::string tls_certificate;  // PEM files; empty: no TLS
  std::string tls_key;
  std::string tls_client_ca;
  bool cancel_on_disconnect = false;
  std::string version;
  bool cuda = false;
};

class GrpcServer {
 public:
  // Errors: kIo when the address cannot be had, with the reason where the system tells one; those
  // of TlsFiles.
  static Result<std::unique_ptr<GrpcServer>> start(engine::Service& service,
                                                   const AccessControl& access, Log& log,
                                                   const GrpcOptions& options);
  // shutdown() with what is left of a second, and the socket's file goes.
  ~GrpcServer();

  const Address& address() const;  // with the port that was chosen
  // For health checks of the whole server and of both services.
  void set_serving(bool serving);
  // Reads the PEM files again; new connections are shown what they say now. True when something is
  // new. Errors: those of TlsFiles; everything stays as it was.
  Result<bool> reload_tls();
  // No new calls; those in flight may end until the deadline and are cancelled then.
  void shutdown(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit GrpcServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuzk::daemon
