#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace cuzk::bench {

double percentile(std::span<const double> sorted, double p) {
  CUZK_CHECK(!sorted.empty() && p > 0 && p <= 100);
  const double rank = std::ceil(p / 100 * static_cast<double>(sorted.size()));
  const auto index = static_cast<std::size_t>(std::max(1.0, rank)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

Summary summarize(std::vector<double> values) {
  Summary out;
  out.count = values.size();
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  out.mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  out.min = values.front();
  out.p50 = percentile(values, 50);
  out.p90 = percentile(values, 90);
  out.p99 = percentile(values, 99);
  out.max = values.back();
  return out;
}

}  // namespace cuzk::bench
