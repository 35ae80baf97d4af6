#pragma once
// The other end of the wire: calls a daemon as Curio's client does, and asks our own Operations
// service for what a measurement needs. Hides gRPC from the rooms above.
//
// Errors:  the service's own kinds for what it refused (kOutOfBudget, kInvalidArgument,
//          kCancelled, kNotFound); kIo when nobody answers, with the address; kInvalidArgument for
//          a token or a role that does not do.
// Threads: every function may be called from any thread.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/service.h"

namespace cuzk::daemon {

struct ClientOptions {
  std::string address = "http://127.0.0.1:9820";  // as parse_address; https:// asks for TLS
  std::string token;                              // empty: none is shown
  std::string tls_ca;                             // PEM file; empty: the system's
  std::string tls_certificate;                    // PEM files, for daemons that ask for one
  std::string tls_key;
  std::string tls_server_name;  // when the certificate is for another name than the address
  std::chrono::milliseconds connect_timeout{5000};
};

struct ServerInfo {
  std::string version;
  std::string caller;
  std::string role;
  std::uint64_t max_message_bytes = 0;
};

// GetStatus as it is on the wire, also from a daemon that is not ours.
struct WireStatus {
  struct Gpu {
    std::uint32_t ordinal = 0;
    std::string name;
    std::uint64_t vram_total_bytes = 0;
    std::uint64_t vram_free_bytes = 0;
    std::string job_id;
    std::string proof_kind;
  };
  struct Circuit {
    std::string circuit_id;
    std::string tier;  // "HOT", "WARM", "COLD"
    std::uint64_t bytes = 0;
    std::uint32_t uses = 0;
  };
  struct Queue {
    std::string proof_kind;
    std::uint32_t pending = 0;
    std::uint32_t in_progress = 0;
  };
  std::vector<Gpu> gpus;
  std::vector<Circuit> circuits;
  std::vector<Queue> queues;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t uptime_seconds = 0;
  std::uint64_t pinned_bytes = 0;
  std::uint64_t pinned_limit_bytes = 0;
};

// The documents of /status and /spans (docs/daemon.md).
struct SnapshotTexts {
  std::string status_json;
  std::string spans_json;  // empty when none were asked for
};

class Client {
 public:
  // Connects and asks for the status once, so that a wrong address, token or certificate is told
  // here. Errors: kInvalidArgument, kIo.
  static Result<std::unique_ptr<Client>> connect(const ClientOptions& options);
  ~Client();  // calls that still wait are called back first, as cancelled

  // Calls back once, from a thread of gRPC, which must not be held up. A circom request goes to
  // CircomProving: kNotFound from a daemon that has none.
  void prove(const engine::ProofRequest& request,
             std::function<void(Result<engine::Answer>)> callback);
  Result<bool> cancel(const std::string& job_id);
  Result<WireStatus> status();
  Result<std::string> metrics();
  Result<engine::Service::Preloaded> preload(const std::string& circuit_id);

  // Of our own daemon only: kNotFound from one that has no Operations service.
  Result<ServerInfo> info();
  Result<SnapshotTexts> snapshot(std::optional<std::uint64_t> spans_after);

  const std::string& address() const;

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuzk::daemon
