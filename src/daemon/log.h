#pragma once
// Log lines on standard error: text for people and journald, or one JSON object a line. What is
// logged has a name for each value, so that no line is ever parsed by guess; payloads and witnesses
// are never among them.
//
// Text:    2026-11-30T07:45:13.123Z INFO proved job=porep-1000-7 kind=porep total_ms=41230
// Limit:   a burst of kBurst lines below "error", then kLinesPerSecond; what is left out is counted
//          in the next line that is written ("suppressed=N").
// Threads: every function may be called from any thread.

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/config.h"

namespace cuzk::daemon {

struct LogField {
  std::string name;
  std::variant<std::string, std::int64_t, double, bool> value;

  LogField(std::string n, std::string v) : name(std::move(n)), value(std::move(v)) {}
  LogField(std::string n, std::string_view v) : name(std::move(n)), value(std::string(v)) {}
  LogField(std::string n, const char* v) : name(std::move(n)), value(std::string(v)) {}
  LogField(std::string n, bool v) : name(std::move(n)), value(v) {}
  LogField(std::string n, double v) : name(std::move(n)), value(v) {}
  template <std::integral T>
  LogField(std::string n, T v) : name(std::move(n)), value(static_cast<std::int64_t>(v)) {}
};

class Log {
 public:
  static constexpr int kBurst = 1000;
  static constexpr int kLinesPerSecond = 200;
  using Sink = std::function<void(std::string_view line)>;

  // No sink: standard error.
  Log(LogLevel level, bool json, Sink sink = {});

  void set_level(LogLevel level);
  bool enabled(LogLevel level) const;
  void write(LogLevel level, std::string_view message, const std::vector<LogField>& fields = {});

  void debug(std::string_view m, const std::vector<LogField>& f = {}) {
    write(LogLevel::kDebug, m, f);
  }
  void info(std::string_view m, const std::vector<LogField>& f = {}) {
    write(LogLevel::kInfo, m, f);
  }
  void warn(std::string_view m, const std::vector<LogField>& f = {}) {
    write(LogLevel::kWarn, m, f);
  }
  void error(std::string_view m, const std::vector<LogField>& f = {}) {
    write(LogLevel::kError, m, f);
  }

 private:
  bool admit(LogLevel level);

  mutable std::mutex mutex_;
  LogLevel level_;
  const bool json_;
  const Sink sink_;
  double credit_ = kBurst;
  std::chrono::steady_clock::time_point refilled_ = std::chrono::steady_clock::now();
  std::uint64_t suppressed_ = 0;
};

}  // namespace cuzk::daemon
