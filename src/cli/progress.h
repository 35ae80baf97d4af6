#pragma once
// A progress line on a terminal: what runs now, how far the whole is, when it should end.
//
// Threads: observe() may be called from any thread; one thread of its own redraws the line and is
// joined by the destructor.

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace cuzk::cli {

// How the stages of one partition share its time, in any unit; stages that are not named take none.
using StageShares = std::map<std::string, double, std::less<>>;

class Progress {
 public:
  // Draws on standard error when `visible`; otherwise does nothing. `partitions` is how often each
  // stage will run.
  Progress(bool visible, StageShares shares, int partitions);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // For Timeline's observer.
  void observe(std::string_view name, int lane, bool begins);

 private:
  void run(std::stop_token stop);
  std::string line_now();

  const bool visible_;
  const StageShares shares_;
  const int partitions_;
  const double total_;
  const std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  double done_ = 0;      // shares of ended stages
  std::string current_;  // the stage begun last
  int lane_ = 0;
  std::chrono::steady_clock::time_point current_start_;
  std::jthread thread_;
};

}  // namespace cuzk::cli
