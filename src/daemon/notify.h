#pragma once
// What systemd is told (sd_notify): a datagram to the socket that $NOTIFY_SOCKET names. Without
// that variable nothing happens.
//
// Threads: every function may be called from any thread.
// Source:  sd_notify(3), sd_watchdog_enabled(3).

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace cuzk::daemon {

// "READY=1", "STOPPING=1", "STATUS=...", several on lines of their own. False when it did not
// arrive.
bool notify(std::string_view state);

// What systemd asks for, if it watches this process.
std::optional<std::chrono::microseconds> watchdog_interval();

// The "MONOTONIC_USEC=..." that goes with RELOADING=1.
std::string monotonic_field();

}  // namespace cuzk::daemon
