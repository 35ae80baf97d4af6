#pragma once
// Sizes and durations as they stand in a configuration file.
//
// Threads: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cuzk::daemon {

// "512MiB", "1.5 GiB", "64GB" (powers of ten), "123" (bytes). Errors: kInvalidArgument names
// `what`.
Result<std::size_t> parse_size(std::string_view text, std::string_view what);
// The largest unit that divides it: "16GiB", "1500MiB", "123".
std::string format_size(std::size_t bytes);

// "250ms", "30s", "5m", "2h", "1d", "90" (seconds). Errors: kInvalidArgument names `what`.
Result<std::int64_t> parse_duration_ms(std::string_view text, std::string_view what);
std::string format_duration(std::int64_t ms);

}  // namespace cuzk::daemon
