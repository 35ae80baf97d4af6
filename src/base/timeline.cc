#include "base/timeline.h"

#include <fmt/format.h>

namespace cuzk {

namespace {
std::int64_t micros(std::chrono::steady_clock::duration d) {
  return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}
}  // namespace

Timeline::Span::Span(Timeline* timeline, std::string_view name, int lane)
    : timeline_(timeline), name_(name), lane_(lane), start_(std::chrono::steady_clock::now()) {
  if (timeline_ && timeline_->observer_) timeline_->observer_(name_, lane_, true);
}

void Timeline::Span::end() {
  if (!timeline_) return;
  const auto now = std::chrono::steady_clock::now();
  if (timeline_->observer_) timeline_->observer_(name_, lane_, false);
  timeline_->add(
      {std::move(name_), lane_, micros(start_ - timeline_->origin_), micros(now - start_)});
  timeline_ = nullptr;
}

void Timeline::measured(std::string_view name, int lane,
                        std::chrono::steady_clock::time_point start,
                        std::chrono::microseconds duration) {
  add({std::string(name), lane, micros(start - origin_), duration.count()});
}

void Timeline::add(SpanRecord record) {
  std::lock_guard lock(mutex_);
  records_.push_back(std::move(record));
}

std::vector<SpanRecord> Timeline::records() const {
  std::lock_guard lock(mutex_);
  return records_;
}

double Timeline::total_ms(std::string_view name) const {
  std::int64_t sum = 0;
  for (const SpanRecord& r : records()) {
    if (r.name == name) sum += r.duration_us;
  }
  return static_cast<double>(sum) / 1000.0;
}

std::string Timeline::key_values() const {
  std::vector<std::pair<std::string, std::int64_t>> sums;
  for (const SpanRecord& r : records()) {
    auto it = sums.begin();
    while (it != sums.end() && it->first != r.name) ++it;
    if (it == sums.end()) it = sums.insert(sums.end(), {r.name, 0});
    it->second += r.duration_us;
  }
  std::string out;
  for (const auto& [name, us] : sums) {
    out += fmt::format("{}{}_ms={:.1f}", out.empty() ? "" : " ", name,
                       static_cast<double>(us) / 1000.0);
  }
  return out;
}

std::string Timeline::trace_json() const {
  std::string out = "{\"traceEvents\":[";
  bool first = true;
  for (const SpanRecord& r : records()) {
    out +=
        fmt::format("{}{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":1,\"tid\":{},\"ts\":{},\"dur\":{}}}",
                    first ? "" : ",", r.name, r.lane, r.start_us, r.duration_us);
    first = false;
  }
  return out + "]}\n";
}

}  // namespace cuzk
