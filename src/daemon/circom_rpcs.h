#pragma once
// The service cuzk.circom.v1.CircomProving.
//
// Threads: as proving_rpcs.h; a registration holds a thread of the pool for loads.

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "daemon/grpc_call.h"

namespace cuzk::daemon {

// `context` outlives the service.
std::unique_ptr<grpc::Service> make_circom_service(const RpcContext& context);

}  // namespace cuzk::daemon
