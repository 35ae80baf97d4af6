#include "daemon/address.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace cuzk::daemon {

namespace {

sockaddr_un socket_address(const std::filesystem::path& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  std::strncpy(out.sun_path, path.c_str(), sizeof out.sun_path - 1);
  return out;
}

bool somebody_listens(const std::filesystem::path& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const sockaddr_un target = socket_address(path);
  const bool answered =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0;
  ::close(fd);
  return answered;
}

}  // namespace

bool Address::is_local() const {
  return is_unix() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string Address::text() const {
  if (is_unix()) return "unix://" + socket.string();
  if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
  return fmt::format("{}:{}", host, port);
}

std::string Address::grpc_target() const { return is_unix() ? "unix:" + socket.string() : text(); }

Result<Address> parse_address(std::string_view text, std::string_view what) {
  Address out;
  std::string_view rest = text;
  if (rest.starts_with("unix:")) {
    rest.remove_prefix(rest.starts_with("unix://") ? 7 : 5);
    if (rest.empty()) {
      return fail(ErrorCode::kInvalidArgument, "{}: '{}' has no path after unix://", what, text);
    }
    out.socket = std::filesystem::absolute(std::string(rest));
    return out;
  }
  if (rest.starts_with("http://")) rest.remove_prefix(7);
  const std::size_t colon = rest.rfind(':');
  const std::string_view port =
      colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  std::string_view host = colon == std::string_view::npos ? rest : rest.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (port.empty() || error != std::errc() || end != port.data() + port.size() ||
      (!bracketed && host.find(':') != std::string_view::npos) ||
      host.find_first_of("/ []") != std::string_view::npos) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: '{}' is no address; write HOST:PORT, [IPV6]:PORT or unix:///PATH", what, text);
  }
  out.host = host.empty() ? "0.0.0.0" : std::string(host);
  return out;
}

Status prepare_socket(const Address& address) {
  const std::filesystem::path& path = address.socket;
  if (path.string().size() >= sizeof(sockaddr_un::sun_path)) {
    return fail(ErrorCode::kIo, "{}: the path has {} bytes, a socket's may have {}", address.text(),
                path.string().size(), sizeof(sockaddr_un::sun_path) - 1);
  }
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    return fail(ErrorCode::kIo, "{}: the folder {} cannot be made: {}", address.text(),
                path.parent_path().string(), error.message());
  }
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) {
    return fail(ErrorCode::kIo, "{}: there is a file of another kind at this path", address.text());
  }
  if (somebody_listens(path)) {
    return fail(ErrorCode::kIo, "{}: another process listens there", address.text());
  }
  if (::unlink(path.c_str()) != 0) {
    return fail(ErrorCode::kIo, "{}: the stale socket cannot be removed: {}", address.text(),
                std::strerror(errno));
  }
  return {};
}

}  // namespace cuzk::daemon
