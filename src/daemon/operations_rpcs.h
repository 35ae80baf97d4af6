#pragma once
// The service cuzk.operations.v1.Operations: events, one job in full, drain, what the daemon is.
//
// Threads: each watcher has a thread of its own; there are at most kMaxWatchers.

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "daemon/grpc_call.h"

namespace cuzk::daemon {

inline constexpr int kMaxWatchers = 64;

// `context` outlives the service.
std::unique_ptr<grpc::Service> make_operations_service(const RpcContext& context);

}  // namespace cuzk::daemon
