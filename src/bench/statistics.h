#pragma once
// What many measurements say in a few figures.
//
// Threads: pure functions.

#include <cstddef>
#include <span>
#include <vector>

namespace cuzk::bench {

// The smallest value that at least p percent of the values do not exceed (nearest rank): always a
// value that was measured. `sorted` is not empty and ascending; 0 < p <= 100.
double percentile(std::span<const double> sorted, double p);

struct Summary {
  std::size_t count = 0;
  double mean = 0;
  double min = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};
// All zero for no values.
Summary summarize(std::vector<double> values);

}  // namespace cuzk::bench
