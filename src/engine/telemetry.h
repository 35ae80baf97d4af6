#pragma once
// What happened lately: events for those who subscribed, spans for the timeline. Bounded, and a
// leaf: it calls nothing and may be called under any lock.
//
// Threads: may be shared.

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "engine/service_status.h"

namespace cuzk::engine {

class Telemetry {
 public:
  explicit Telemetry(std::size_t max_spans)
      : origin_(std::chrono::steady_clock::now()), max_spans_(max_spans) {}

  std::int64_t now_us() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                                 origin_)
        .count();
  }

  void emit(Event event);    // sequence and time are filled in
  void add(SpanEvent span);  // sequence is filled in
  SpanList spans(std::uint64_t after_sequence) const;
  // The Chrome trace event format: one process, a thread for each lane.
  std::string trace_json() const;

  class Subscription {
   public:
    Subscription(Telemetry& telemetry, std::size_t capacity);
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    std::vector<Event> next(std::chrono::steady_clock::time_point deadline, std::stop_token stop);
    std::uint64_t lost() const;

   private:
    friend class Telemetry;
    Telemetry& telemetry_;
    const std::size_t capacity_;
    std::deque<Event> queue_;
    std::uint64_t lost_ = 0;
  };

  // Subscriptions answer at once from now on.
  void close();

 private:
  const std::chrono::steady_clock::time_point origin_;
  const std::size_t max_spans_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<SpanEvent> spans_;
  std::vector<Subscription*> subscriptions_;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t last_span_ = 0;
  bool closed_ = false;
};

}  // namespace cuzk::engine
