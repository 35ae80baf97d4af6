#include "bench/schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace cuzk::bench {

namespace {

constexpr std::size_t kMaxArrivals = 1'000'000;

// Uniform in (0, 1].
double uniform(RandomSource& random) {
  return (static_cast<double>(random.next_u64() >> 11) + 1) * 0x1p-53;
}

Status check(const StressOptions& o) {
  double total = 0;
  for (const double rate : o.per_second) {
    if (!(rate >= 0) || rate > 1e5) {
      return fail(ErrorCode::kInvalidArgument, "a rate is between 0 and 100000 a second, found {}",
                  rate);
    }
    total += rate;
  }
  if (total <= 0) return fail(ErrorCode::kInvalidArgument, "no kind has a rate above 0");
  if (o.duration_us <= 0 && o.count == 0) {
    return fail(ErrorCode::kInvalidArgument, "a stress run needs --duration or --count");
  }
  for (const double weight : o.priority_weights) {
    if (!(weight >= 0)) {
      return fail(ErrorCode::kInvalidArgument, "a priority's weight is not negative, found {}",
                  weight);
    }
  }
  if (!(o.cancel_share >= 0 && o.cancel_share <= 1)) {
    return fail(ErrorCode::kInvalidArgument, "the share to cancel is between 0 and 1, found {}",
                o.cancel_share);
  }
  return {};
}

std::optional<engine::Priority> draw_priority(const StressOptions& o, RandomSource& random) {
  const double sum = std::accumulate(o.priority_weights.begin(), o.priority_weights.end(), 0.0);
  if (sum <= 0) return std::nullopt;
  double left = uniform(random) * sum;
  for (std::size_t i = 0; i < o.priority_weights.size(); ++i) {
    left -= o.priority_weights[i];
    if (left <= 0 && o.priority_weights[i] > 0) return static_cast<engine::Priority>(i);
  }
  return engine::Priority::kNormal;
}

}  // namespace

std::vector<Arrival> batch_arrivals(std::size_t count) { return std::vector<Arrival>(count); }

Result<std::vector<Arrival>> stress_arrivals(const StressOptions& o) {
  CUZK_TRY_VOID(check(o));
  const std::size_t most = o.count ? std::min(o.count, kMaxArrivals) : kMaxArrivals;
  std::vector<Arrival> out;
  for (std::size_t request = 0; request < o.per_second.size(); ++request) {
    if (o.per_second[request] <= 0) continue;
    // A stream of its own for each request: another's rate does not move its times.
    SeededRandom random(o.seed * 0x9e3779b97f4a7c15 + request);
    double at = 0;
    for (std::size_t i = 0; i < most; ++i) {
      at += -std::log(uniform(random)) / o.per_second[request] * 1e6;
      if (o.duration_us > 0 && at > static_cast<double>(o.duration_us)) break;
      Arrival arrival;
      arrival.at_us = static_cast<std::int64_t>(at);
      arrival.request = request;
      arrival.priority = draw_priority(o, random);
      const double cancel = uniform(random);
      const double after = uniform(random);
      if (cancel <= o.cancel_share && o.cancel_share > 0) {
        arrival.cancel_after_us =
            static_cast<std::int64_t>(after * static_cast<double>(o.cancel_within_us));
      }
      out.push_back(arrival);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at_us < b.at_us; });
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace cuzk::bench
