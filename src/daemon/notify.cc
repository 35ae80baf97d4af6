#include "daemon/notify.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace cuzk::daemon {

bool notify(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (!path || (path[0] != '/' && path[0] != '@')) return false;
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof target.sun_path) return false;
  std::memcpy(target.sun_path, path, length);
  if (path[0] == '@') target.sun_path[0] = '\0';  // a name without a file
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const bool sent = ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&target),
                             size) == static_cast<ssize_t>(state.size());
  ::close(fd);
  return sent;
}

std::optional<std::chrono::microseconds> watchdog_interval() {
  const char* interval = std::getenv("WATCHDOG_USEC");
  const char* pid = std::getenv("WATCHDOG_PID");
  if (!interval || (pid && std::atoll(pid) != ::getpid())) return std::nullopt;
  const long long us = std::atoll(interval);
  if (us <= 0) return std::nullopt;
  return std::chrono::microseconds(us);
}

std::string monotonic_field() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return fmt::format("MONOTONIC_USEC={}", now.tv_sec * 1'000'000LL + now.tv_nsec / 1000);
}

}  // namespace cuzk::daemon
