#pragma once
// A sweep over workers and requests in flight as an SVG of three panels: throughput, latency, peak
// memory; a line for each number of workers.
//
// Threads: pure functions.

#include <cstddef>
#include <string>
#include <vector>

namespace cuzk::bench {

struct SweepPoint {
  unsigned workers = 0;
  std::size_t in_flight = 0;
  double proofs_per_minute = 0;
  double p50_seconds = 0;
  double p99_seconds = 0;
  double peak_bytes = 0;   // 0: not known
  double limit_bytes = 0;  // 0: not known
  std::string bound;       // the verdict's cause
};

struct SweepPlot {
  std::string title;
  std::string subtitle;
  std::vector<SweepPoint> points;  // at least one
};

std::string draw_sweep(const SweepPlot& plot);

}  // namespace cuzk::bench
