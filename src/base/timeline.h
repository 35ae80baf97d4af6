#pragma once
// The thermometer on the host: named spans of the steady clock, kept as records that feed the
// timing line, the table of the command line and a trace file.
//
// Threads: any thread may add spans; the observer is called by the thread that begins or ends a
// span, set it before the first one.

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cuzk {

struct SpanRecord {
  std::string name;           // e.g. "synthesize"
  int lane = 0;               // partition number, or 0
  std::int64_t start_us = 0;  // since the timeline was made
  std::int64_t duration_us = 0;
};

class Timeline {
 public:
  // Told of every span that begins (and ends), e.g. to show progress.
  using Observer = std::function<void(std::string_view name, int lane, bool begins)>;

  explicit Timeline(Observer observer = {})
      : origin_(std::chrono::steady_clock::now()), observer_(std::move(observer)) {}

  // Measures from its construction to its end.
  class Span {
   public:
    Span(Timeline* timeline, std::string_view name, int lane);
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;
    ~Span() { end(); }
    void end();

   private:
    Timeline* timeline_;  // null once ended, or when nothing is measured
    std::string name_;
    int lane_;
    std::chrono::steady_clock::time_point start_;
  };
  Span span(std::string_view name, int lane = 0) { return Span(this, name, lane); }
  // A span that was measured elsewhere, e.g. by events of a device. The observer is not told.
  void measured(std::string_view name, int lane, std::chrono::steady_clock::time_point start,
                std::chrono::microseconds duration);

  std::vector<SpanRecord> records() const;
  // Sum of the durations of all spans of that name.
  double total_ms(std::string_view name) const;
  // "name_ms=12.3 ..." in order of first appearance.
  std::string key_values() const;
  // The Chrome trace event format, which Perfetto opens.
  std::string trace_json() const;

 private:
  void add(SpanRecord record);

  const std::chrono::steady_clock::time_point origin_;
  const Observer observer_;
  mutable std::mutex mutex_;
  std::vector<SpanRecord> records_;
};

}  // namespace cuzk
