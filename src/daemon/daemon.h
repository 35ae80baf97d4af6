#pragma once
// The daemon program: the service, its fronts, and what signals ask for.
//
//   SIGTERM, SIGINT  no new jobs, not ready; ends when every accepted job is answered, or after
//                    daemon.drain_timeout. A second one ends at once.
//   SIGHUP           reads the configuration and the tokens again and takes over what it can; says
//                    what needs a restart. A bad file changes nothing.
//
// Threads: run from the main thread, before any other exists: the signals are blocked for all.

#include <functional>
#include <string>
#include <vector>

#include "daemon/config.h"
#include "engine/service.h"

namespace cuzk::daemon {

struct DaemonOptions {
  LoadedConfig loaded;
  // Reads the configuration again, as at the start.
  std::function<Result<LoadedConfig>()> reload;
  std::string version;
  std::vector<std::string> notes;  // for the log, at the start
};

enum class DaemonEnd {
  kDrained,     // every accepted job was answered
  kUnfinished,  // some were not; those in the journal are taken up at the next start
};

// Errors: what keeps the daemon from starting.
Result<DaemonEnd> run_daemon(DaemonOptions options);

// What the configuration says to the engine; opens the GPUs. `notes`: which devices were taken, and
// why others were not.
Result<engine::ServiceOptions> service_options(const Config& config,
                                               std::vector<std::string>* notes = nullptr);

}  // namespace cuzk::daemon
