#pragma once
// What every RPC shares: who calls, whether it may, and how our errors look on the wire.
//
// Threads: pure functions, but for the Access they ask.

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "daemon/access.h"
#include "daemon/blocking_calls.h"
#include "daemon/log.h"
#include "engine/service.h"

namespace cuzk::daemon {

// What the services work with; all of it outlives them.
struct RpcContext {
  engine::Service& service;
  const AccessControl& access;
  Log& log;
  BlockingCalls& submissions;
  BlockingCalls& loads;
  std::string version;
  bool cuda = false;
  std::size_t max_message_bytes = 0;
  bool cancel_on_disconnect = false;
};

Caller caller_of(const grpc::CallbackServerContext& call, const AccessControl& access);

// The caller if it may do this. Otherwise UNAUTHENTICATED for one without any role,
// PERMISSION_DENIED for one with too little, and a line in the log.
struct Admission {
  Caller caller;
  grpc::Status status;
};
Admission admit(const grpc::CallbackServerContext& call, const RpcContext& context, Role needed,
                std::string_view rpc);

grpc::Status status_of(const Error& error);
// The same, with a line in the log: of a request that was not accepted.
grpc::Status refused(const RpcContext& context, const Error& error, const std::string& job_id);

// A call that ends where it began.
grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* call, const grpc::Status& status);

// Whether the job was queued or running, with a line in the log if so. An unknown job is no error,
// as with Curio's daemon: it does not run.
bool cancel_job(const RpcContext& context, const std::string& job_id, const Caller& caller);

// The wire's numbers have no sign: less than nothing is 0.
std::uint64_t wire_count(std::int64_t value);

}  // namespace cuzk::daemon
