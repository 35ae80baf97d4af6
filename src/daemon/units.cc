#include "daemon/units.h"

#include <charconv>
#include <iterator>
#include <optional>
#include <span>

namespace cuzk::daemon {

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr Unit kSizes[] = {{"TiB", std::uint64_t{1} << 40},
                           {"GiB", std::uint64_t{1} << 30},
                           {"MiB", std::uint64_t{1} << 20},
                           {"KiB", std::uint64_t{1} << 10},
                           {"TB", 1'000'000'000'000},
                           {"GB", 1'000'000'000},
                           {"MB", 1'000'000},
                           {"KB", 1'000},
                           {"B", 1},
                           {"", 1}};
constexpr std::size_t kBinarySizes = 4;
constexpr Unit kDurations[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000},
                               {"ms", 1},         {"s", 1'000},     {"", 1'000}};

std::optional<std::uint64_t> parse(std::string_view text, std::span<const Unit> units) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value >= 0)) return std::nullopt;
  std::string_view name(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (name.starts_with(' ')) name.remove_prefix(1);
  for (const Unit& unit : units) {
    const double product = value * static_cast<double>(unit.factor);
    if (unit.name == name && product < 9e18) return static_cast<std::uint64_t>(product);
  }
  return std::nullopt;
}

}  // namespace

Result<std::size_t> parse_size(std::string_view text, std::string_view what) {
  if (const auto bytes = parse(text, kSizes)) return static_cast<std::size_t>(*bytes);
  return fail(ErrorCode::kInvalidArgument, "{}: '{}' is no size; write e.g. 512MiB or 16GiB", what,
              text);
}

std::string format_size(std::size_t bytes) {
  for (const Unit& unit : std::span(kSizes).first(kBinarySizes)) {
    if (bytes != 0 && bytes % unit.factor == 0) {
      return fmt::format("{}{}", bytes / unit.factor, unit.name);
    }
  }
  return std::to_string(bytes);
}

Result<std::int64_t> parse_duration_ms(std::string_view text, std::string_view what) {
  if (const auto ms = parse(text, kDurations)) return static_cast<std::int64_t>(*ms);
  return fail(ErrorCode::kInvalidArgument, "{}: '{}' is no duration; write e.g. 250ms, 30s or 5m",
              what, text);
}

std::string format_duration(std::int64_t ms) {
  for (const Unit& unit : kDurations) {
    const auto factor = static_cast<std::int64_t>(unit.factor);
    if (unit.name == "ms" || unit.name.empty()) continue;
    if (ms != 0 && ms % factor == 0) return fmt::format("{}{}", ms / factor, unit.name);
  }
  return ms == 0 ? "0s" : fmt::format("{}ms", ms);
}

}  // namespace cuzk::daemon
