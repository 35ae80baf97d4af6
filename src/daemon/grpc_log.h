#pragma once
// What gRPC's library says becomes lines of the log. By itself it writes to standard error, with
// whatever bytes a peer sent: a peer could forge lines, or send a terminal its control characters.
//
// Threads: one GrpcLog at a time; made before the first server, gone after the last.

#include "daemon/log.h"

namespace cuzk::daemon {

class GrpcLog {
 public:
  explicit GrpcLog(Log& log);
  // From here on the library is silent.
  ~GrpcLog();
  GrpcLog(const GrpcLog&) = delete;
  GrpcLog& operator=(const GrpcLog&) = delete;
};

}  // namespace cuzk::daemon
