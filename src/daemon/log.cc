#include "daemon/log.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace cuzk::daemon {

namespace {

std::string timestamp() {
  const auto now = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms % 1000);
}

// Quoted unless it is one plain word: request ids hold blanks and brackets.
std::string text_value(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("-_./:+@%").find(c) != std::string_view::npos;
  });
  if (plain) return text;
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_line(LogLevel level, std::string_view message,
                      const std::vector<LogField>& fields) {
  std::string name(log_level_name(level));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string out = fmt::format("{} {} {}", timestamp(), name, message);
  for (const LogField& field : fields) {
    out += fmt::format(" {}=", field.name);
    if (const auto* text = std::get_if<std::string>(&field.value)) {
      out += text_value(*text);
    } else if (const auto* number = std::get_if<std::int64_t>(&field.value)) {
      out += std::to_string(*number);
    } else if (const auto* real = std::get_if<double>(&field.value)) {
      out += fmt::format("{:.3f}", *real);
    } else {
      out += std::get<bool>(field.value) ? "true" : "false";
    }
  }
  return out;
}

std::string json_line(LogLevel level, std::string_view message,
                      const std::vector<LogField>& fields) {
  nlohmann::ordered_json out = {
      {"time", timestamp()}, {"level", log_level_name(level)}, {"message", message}};
  for (const LogField& field : fields) {
    std::visit([&](const auto& value) { out[field.name] = value; }, field.value);
  }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Log::Log(LogLevel level, bool json, Sink sink)
    : level_(level), json_(json), sink_(sink ? std::move(sink) : [](std::string_view line) {
        const std::string whole = std::string(line) + '\n';
        std::fwrite(whole.data(), 1, whole.size(), stderr);
      }) {}

void Log::set_level(LogLevel level) {
  const std::lock_guard lock(mutex_);
  level_ = level;
}

bool Log::enabled(LogLevel level) const {
  const std::lock_guard lock(mutex_);
  return level >= level_;
}

bool Log::admit(LogLevel level) {
  if (level < level_) return false;
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - refilled_).count();
  refilled_ = now;
  credit_ = std::min<double>(kBurst, credit_ + seconds * kLinesPerSecond);
  if (level < LogLevel::kError && credit_ < 1) {
    ++suppressed_;
    return false;
  }
  credit_ = std::max(0.0, credit_ - 1);
  return true;
}

void Log::write(LogLevel level, std::string_view message, const std::vector<LogField>& fields) {
  const std::lock_guard lock(mutex_);
  if (!admit(level)) return;
  std::vector<LogField> all = fields;
  if (suppressed_ != 0) all.emplace_back("suppressed", std::exchange(suppressed_, 0));
  sink_(json_ ? json_line(level, message, all) : text_line(level, message, all));
}

}  // namespace cuzk::daemon
