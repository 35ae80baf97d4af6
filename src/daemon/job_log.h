#pragma once
// Log lines about jobs: one for each answer, with where its time went; devices, parameters and
// problems as they change; partitions at debug.
//
// Threads: has one of its own.

#include <memory>
#include <thread>

#include "daemon/log.h"
#include "engine/service.h"

namespace cuzk::daemon {

class JobLog {
 public:
  // Both outlive it.
  JobLog(engine::Service& service, Log& log);
  ~JobLog();  // what has happened so far is still written

 private:
  void run(const std::stop_token& stop);
  void write(const engine::Event& event);
  void write_finished(const engine::Event& event);

  engine::Service& service_;
  Log& log_;
  const std::unique_ptr<engine::Service::Events> events_;
  std::jthread thread_;
};

}  // namespace cuzk::daemon
