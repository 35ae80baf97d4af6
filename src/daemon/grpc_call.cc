#include "daemon/grpc_call.h"

#include <grpcpp/security/auth_context.h>

#include <algorithm>

namespace cuzk::daemon {

namespace {

grpc::StatusCode code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kCorruptInput:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case ErrorCode::kMismatch:
    case ErrorCode::kUnsatisfied:
    case ErrorCode::kInvalidProof:
    case ErrorCode::kInsecureKey:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case ErrorCode::kOutOfBudget:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case ErrorCode::kDeviceLost:
    case ErrorCode::kCancelled:  // by a stop or a drain of ours, not by the caller
      return grpc::StatusCode::UNAVAILABLE;
    case ErrorCode::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return grpc::StatusCode::INTERNAL;
  }
  return grpc::StatusCode::INTERNAL;
}

std::string certificate_name(const grpc::CallbackServerContext& call) {
  const auto auth = call.auth_context();
  if (!auth || !auth->IsPeerAuthenticated()) return "";
  const auto names = auth->FindPropertyValues("x509_common_name");
  return names.empty() ? "certificate" : std::string(names[0].begin(), names[0].end());
}

}  // namespace

Caller caller_of(const grpc::CallbackServerContext& call, const AccessControl& access) {
  Credentials shown{"", certificate_name(call), call.peer()};
  const auto& metadata = call.client_metadata();
  if (const auto found = metadata.find("authorization"); found != metadata.end()) {
    shown.authorization.assign(found->second.begin(), found->second.end());
  }
  return access.current()->caller(shown);
}

Admission admit(const grpc::CallbackServerContext& call, const RpcContext& context, Role needed,
                std::string_view rpc) {
  Admission out{caller_of(call, context.access), grpc::Status::OK};
  const Caller& caller = out.caller;
  if (caller.role >= needed) {
    if (needed == Role::kAdmin) {
      context.log.info("admin call",
                       {{"rpc", rpc}, {"caller", caller.name}, {"peer", call.peer()}});
    }
    return out;
  }
  out.status =
      caller.role == Role::kNone
          ? grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                         caller.refusal.empty() ? "no role" : caller.refusal)
          : grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                         fmt::format("{} needs the role {}, {} has {}", rpc, role_name(needed),
                                     caller.name, role_name(caller.role)));
  context.log.warn("call refused",
                   {{"rpc", rpc}, {"peer", call.peer()}, {"reason", out.status.error_message()}});
  return out;
}

grpc::Status status_of(const Error& error) { return {code_of(error.code), error.message}; }

grpc::Status refused(const RpcContext& context, const Error& error, const std::string& job_id) {
  context.log.warn(
      "request refused",
      {{"job", job_id}, {"code", error_code_name(error.code)}, {"reason", error.message}});
  return status_of(error);
}

grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* call, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

bool cancel_job(const RpcContext& context, const std::string& job_id, const Caller& caller) {
  const bool was_running = context.service.cancel(job_id).value_or(false);
  if (was_running) context.log.info("cancel", {{"job", job_id}, {"caller", caller.name}});
  return was_running;
}

std::uint64_t wire_count(std::int64_t value) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, value));
}

}  // namespace cuzk::daemon
