#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace cuzk::cli {

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

double total_of(const StageShares& shares, int partitions) {
  double sum = 0;
  for (const auto& [name, share] : shares) sum += share;
  return sum * partitions;
}

}  // namespace

Progress::Progress(bool visible, StageShares shares, int partitions)
    : visible_(visible),
      shares_(std::move(shares)),
      partitions_(partitions),
      total_(total_of(shares_, partitions)),
      start_(Clock::now()),
      current_start_(start_) {
  if (visible_) thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

Progress::~Progress() {
  if (!visible_) return;
  thread_.request_stop();
  thread_.join();
  std::fputs("\r\033[K", stderr);
}

void Progress::observe(std::string_view name, int lane, bool begins) {
  const auto share = shares_.find(name);
  if (share == shares_.end()) return;
  std::lock_guard lock(mutex_);
  if (begins) {
    current_ = name;
    lane_ = lane;
    current_start_ = Clock::now();
  } else {
    done_ += share->second;
    if (current_ == name) current_.clear();
  }
}

std::string Progress::line_now() {
  std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  double done = done_;
  if (!current_.empty() && done_ > 0) {
    // Inside a stage: as fast as the ended ones went, but never past its end.
    const double rate = done_ / std::max(1e-3, seconds(current_start_ - start_));
    const double share = shares_.find(current_)->second;
    done += std::min(0.98 * share, rate * seconds(now - current_start_));
  }
  const double fraction = std::clamp(total_ > 0 ? done / total_ : 0.0, 0.0, 1.0);
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(fraction * kWidth);
  std::string eta = "--";
  if (fraction > 0.02)
    eta = fmt::format("{:.0f} s", seconds(now - start_) * (1 - fraction) / fraction);
  const std::string what = current_.empty() ? "working" : current_;
  const std::string where =
      partitions_ > 1 ? fmt::format("partition {}/{} {}", lane_ + 1, partitions_, what) : what;
  return fmt::format("{:<28} [{:#<{}}{:.<{}}] {:3.0f} %  left {}", where, "", filled, "",
                     kWidth - filled, 100 * fraction, eta);
}

void Progress::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    std::fprintf(stderr, "\r\033[K%s", line_now().c_str());
    std::fflush(stderr);
    std::mutex sleep;
    std::unique_lock lock(sleep);
    wake_.wait_for(lock, stop, std::chrono::milliseconds(200), [] { return false; });
  }
}

}  // namespace cuzk::cli
