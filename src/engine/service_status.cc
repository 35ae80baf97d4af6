#include "engine/service_status.h"

#include <algorithm>

namespace cuzk::engine {

void Histogram::add(double seconds) {
  const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
  ++counts[static_cast<std::size_t>(bucket)];
  ++count;
  sum_seconds += seconds;
}

std::string_view partition_state_name(PartitionState state) {
  constexpr std::array<std::string_view, 7> kNames = {
      "pending", "synthesizing", "synthesized", "proving", "finishing", "done", "failed"};
  return kNames.at(static_cast<std::size_t>(state));
}

std::string_view job_state_name(JobState state) {
  constexpr std::array<std::string_view, 7> kNames = {"queued",    "parsing", "waiting",  "running",
                                                      "completed", "failed",  "cancelled"};
  return kNames.at(static_cast<std::size_t>(state));
}

std::string_view event_type_name(EventType type) {
  constexpr std::array<std::string_view, 7> kNames = {"accepted", "parsed", "partition", "finished",
                                                      "circuit",  "device", "problem"};
  return kNames.at(static_cast<std::size_t>(type));
}

}  // namespace cuzk::engine
