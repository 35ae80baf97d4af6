#include "engine/telemetry.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cuzk::engine {

void Telemetry::emit(Event event) {
  {
    std::lock_guard lock(mutex_);
    event.sequence = next_sequence_++;
    event.at_us = now_us();
    for (Subscription* s : subscriptions_) {
      if (s->queue_.size() >= s->capacity_) {
        s->queue_.pop_front();
        ++s->lost_;
      }
      s->queue_.push_back(event);
    }
  }
  changed_.notify_all();
}

void Telemetry::add(SpanEvent span) {
  std::lock_guard lock(mutex_);
  if (!max_spans_) return;
  span.sequence = ++last_span_;
  if (spans_.size() >= max_spans_) spans_.pop_front();
  spans_.push_back(std::move(span));
}

SpanList Telemetry::spans(std::uint64_t after_sequence) const {
  std::lock_guard lock(mutex_);
  const auto first = std::partition_point(spans_.begin(), spans_.end(), [&](const SpanEvent& s) {
    return s.sequence <= after_sequence;
  });
  return {{first, spans_.end()}, last_span_};
}

std::string Telemetry::trace_json() const {
  using Json = nlohmann::json;
  std::vector<SpanEvent> all = spans(0).spans;
  std::stable_sort(all.begin(), all.end(),
                   [](const SpanEvent& a, const SpanEvent& b) { return a.end_us < b.end_us; });
  std::vector<std::string> lanes;
  Json events = Json::array();
  for (const SpanEvent& s : all) {
    auto lane = std::find(lanes.begin(), lanes.end(), s.lane);
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), s.lane);
    events.push_back({{"name", s.name},
                      {"ph", "X"},
                      {"ts", s.start_us},
                      {"dur", s.end_us - s.start_us},
                      {"pid", 1},
                      {"tid", lane - lanes.begin() + 1},
                      {"args", {{"job", s.job_id}, {"run", s.run}, {"partition", s.partition}}}});
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 1},
                      {"tid", i + 1},
                      {"args", {{"name", lanes[i]}}}});
  }
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

void Telemetry::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

Telemetry::Subscription::Subscription(Telemetry& telemetry, std::size_t capacity)
    : telemetry_(telemetry), capacity_(std::max<std::size_t>(capacity, 1)) {
  std::lock_guard lock(telemetry_.mutex_);
  telemetry_.subscriptions_.push_back(this);
}

Telemetry::Subscription::~Subscription() {
  std::lock_guard lock(telemetry_.mutex_);
  std::erase(telemetry_.subscriptions_, this);
}

std::vector<Event> Telemetry::Subscription::next(std::chrono::steady_clock::time_point deadline,
                                                 std::stop_token stop) {
  std::unique_lock lock(telemetry_.mutex_);
  telemetry_.changed_.wait_until(lock, stop, deadline,
                                 [&] { return !queue_.empty() || telemetry_.closed_; });
  std::vector<Event> out(std::make_move_iterator(queue_.begin()),
                         std::make_move_iterator(queue_.end()));
  queue_.clear();
  return out;
}

std::uint64_t Telemetry::Subscription::lost() const {
  std::lock_guard lock(telemetry_.mutex_);
  return lost_;
}

}  // namespace cuzk::engine
