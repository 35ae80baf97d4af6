#pragma once
// The HTTP front: read only, plain, meant for the loopback or a trusted network.
//
//   /            the status page            /metrics   Prometheus' text
//   /status      JSON (status_json.h)       /healthz   200 while the process works
//   /spans       recent spans, ?after=      /readyz    200 when it may be given work, else 503
//   /trace.json  for Perfetto               /events    server-sent events, as they happen
//
// Limits:  requests are a line and headers, a body is refused; kHttpThreads connections at once, of
//          which kMaxEventStreams may be streams; an idle one is closed after some seconds.
// Threads: every function may be called from any thread.

#include <memory>
#include <string>

#include "daemon/address.h"
#include "daemon/log.h"
#include "engine/service.h"

namespace cuzk::daemon {

inline constexpr std::size_t kHttpThreads = 16;
inline constexpr int kMaxEventStreams = 6;

struct HttpOptions {
  Address listen;
  std::string cors_origin;  // empty: no Access-Control-Allow-Origin
  std::string version;
  bool cuda = false;
};

class HttpServer {
 public:
  // Errors: kIo when the address cannot be had.
  static Result<std::unique_ptr<HttpServer>> start(engine::Service& service, Log& log,
                                                   const HttpOptions& options);
  ~HttpServer();  // stops, and joins its threads

  const Address& address() const;  // with the port that was chosen

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace cuzk::daemon
