#pragma once
// The service cuzk.v1.ProvingEngine, as Curio's client calls it.
//
// Threads: no call holds a thread of the network while it waits: an answer finds its call by
//          engine::Service::watch.

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "daemon/grpc_call.h"

namespace cuzk::daemon {

// `context` outlives the service.
std::unique_ptr<grpc::Service> make_proving_service(const RpcContext& context);

}  // namespace cuzk::daemon
