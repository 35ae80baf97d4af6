#pragma once
// When a load sends which request: all at once behind a bound (batch), or at random times from a
// seed (stress). The same options give the same schedule on every machine.
//
// Form:    times in microseconds since the run began.
// Threads: values and pure functions.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/request.h"

namespace cuzk::bench {

struct Arrival {
  std::int64_t at_us = 0;
  std::size_t request = 0;  // which of the run's requests
  std::optional<engine::Priority> priority;
  std::optional<std::int64_t> cancel_after_us;  // after it was sent
};

// `count` times the first request, at once.
std::vector<Arrival> batch_arrivals(std::size_t count);

struct StressOptions {
  std::uint64_t seed = 1;
  std::vector<double> per_second;  // of each request; independent Poisson processes
  std::int64_t duration_us = 0;    // no arrival later; 0: no bound
  std::size_t count = 0;           // no more arrivals; 0: no bound. One of both is needed.
  // Weights of critical, high, normal, low; all 0: every kind's own.
  std::array<double, scheduler::kPriorities> priority_weights{};
  double cancel_share = 0;            // of the arrivals are cancelled
  std::int64_t cancel_within_us = 0;  // at a uniform time up to this after they were sent
};

// In order of time. Errors: kInvalidArgument for rates, shares and bounds that make no schedule.
Result<std::vector<Arrival>> stress_arrivals(const StressOptions& options);

}  // namespace cuzk::bench
