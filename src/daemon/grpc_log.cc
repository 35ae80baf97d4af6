#include "daemon/grpc_log.h"

#include <fmt/format.h>
#include <grpc/support/log.h>

#include <shared_mutex>
#include <string_view>

namespace cuzk::daemon {

namespace {

// The library's callback carries nothing of ours, and its threads outlive servers for a moment.
std::shared_mutex mutex;
Log* target = nullptr;

void write(gpr_log_func_args* args) {
  const std::shared_lock lock(mutex);
  if (!target) return;
  const std::string_view path = args->file ? args->file : "";
  const std::string_view file = path.substr(path.rfind('/') + 1);
  const std::vector<LogField> fields = {{"text", args->message ? args->message : ""},
                                        {"at", fmt::format("{}:{}", file, args->line)}};
  // Its errors are mostly a peer's mistakes; what fails here is reported by the calls that fail.
  target->write(args->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarn : LogLevel::kDebug,
                "gRPC", fields);
}

void set(Log* log) {
  const std::unique_lock lock(mutex);
  target = log;
}

}  // namespace

GrpcLog::GrpcLog(Log& log) {
  set(&log);
  gpr_set_log_function(&write);
}

GrpcLog::~GrpcLog() { set(nullptr); }

}  // namespace cuzk::daemon
