#pragma once
// What a load is sent to: a daemon or a service in this process. A measurement sees no difference.
//
// Threads: every function of a target may be called from any thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/service.h"

namespace cuzk::bench {

// The service at one moment. Times by its own clock.
struct Snapshot {
  std::int64_t now_us = 0;
  std::string version;
  engine::MemoryStatus memory;
  std::size_t resident_bytes = 0;       // of the process; 0: not known
  std::size_t peak_resident_bytes = 0;  // since its start
  std::vector<engine::DeviceStatus> devices;
  unsigned synthesis_workers = 0;  // without the one that stands by for CRITICAL work
  engine::SpanList spans;
};

class Target {
 public:
  virtual ~Target() = default;
  // "unix:///run/cuzk/cuzk.sock", "this process".
  virtual std::string name() const = 0;
  // Calls back once, from any thread, perhaps before it returns; the callback is short.
  // An error: the request was not accepted, or its answer was lost.
  virtual void prove(engine::ProofRequest request,
                     std::function<void(Result<engine::Answer>)> callback) = 0;
  virtual Result<bool> cancel(const std::string& job_id) = 0;
  // With the spans that were told after that one (SpanEvent::sequence); without it none.
  // Errors: kNotFound when the service does not tell.
  virtual Result<Snapshot> snapshot(std::optional<std::uint64_t> spans_after) = 0;
  virtual Status preload(const std::string& circuit_id) = 0;
};

// Keeps the service to itself and stops it at the end.
std::unique_ptr<Target> make_local_target(std::unique_ptr<engine::Service> service,
                                          std::string version);

// Of this process, now and at most.
std::size_t resident_bytes();
std::size_t peak_resident_bytes();

// What of the service's status a snapshot keeps.
Snapshot snapshot_of(const engine::ServiceStatus& status);

}  // namespace cuzk::bench
