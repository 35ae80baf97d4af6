#pragma once
// A run's timeline as an SVG: a lane for each worker and each wait, in the order in which a proof
// passes them; what a device does inside a proof on the proof.
//
// Threads: pure functions.

#include <span>
#include <string>
#include <vector>

#include "engine/service_status.h"

namespace cuzk::bench {

struct TimelinePlot {
  std::string title;
  std::vector<std::string> subtitles;
  std::span<const engine::SpanEvent> spans;  // in order of start
  std::vector<std::string> job_ids;          // shown as "1", "2", ... in this order
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
  double width = 1280;
};

std::string draw_timeline(const TimelinePlot& plot);

}  // namespace cuzk::bench
