#pragma once
// What a command that works needs: threads, budget, timeline with its progress line, and the
// epilogue that writes the trace.

#include <csignal>
#include <memory>
#include <stop_token>

#include "cli/options.h"
#include "cli/progress.h"
#include "engine/context.h"

namespace cuzk::cli {

// Shares of one partition's time on a CPU, as measured (docs/performance.md); only their ratios
// count.
StageShares prove_stage_shares();
StageShares setup_stage_shares();

class Session {
 public:
  // kInvalidArgument for options that make no sense. SIGINT and SIGTERM ask the work to stop; a
  // second one ends the process.
  static Result<std::unique_ptr<Session>> start(const CommonOptions& options, StageShares shares,
                                                int partitions);
  ~Session();

  engine::Context context() { return {tasks_, memory_, timeline_}; }
  Timeline& timeline() { return timeline_; }
  const MemoryBudget& memory() const { return memory_; }
  bool stopped() const { return stop_.stop_requested(); }

  // Ends the progress line. Writes the trace file, if one was asked for.
  Status finish();
  // Largest resident set of the process so far.
  static std::size_t peak_resident_bytes();

 private:
  Session(const CommonOptions& options, std::size_t memory_bytes, StageShares shares,
          int partitions);

  const CommonOptions options_;
  std::stop_source stop_;
  std::unique_ptr<Progress> progress_;
  Timeline timeline_;
  MemoryBudget memory_;
  Tasks tasks_;
};

}  // namespace cuzk::cli
