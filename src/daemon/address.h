#pragma once
// Where a server listens: a unix socket or a host and port.
//
// Threads: values; prepare_socket touches the file system.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cuzk::daemon {

struct Address {
  std::filesystem::path socket;  // of a unix socket; empty otherwise
  std::string host;              // name or address; IPv6 without its brackets
  std::uint16_t port = 0;        // 0: any free one

  bool is_unix() const { return !socket.empty(); }
  // Only this machine can reach it.
  bool is_local() const;
  // "unix:///run/x.sock", "127.0.0.1:9820", "[::1]:9820".
  std::string text() const;
  // As gRPC takes it: "unix:/run/x.sock", "127.0.0.1:9820".
  std::string grpc_target() const;
};

// "unix:///path", "unix:path", "HOST:PORT", "[::1]:PORT", ":PORT" (every interface), with or
// without http:// before it. Errors: kInvalidArgument names `what` and the text.
Result<Address> parse_address(std::string_view text, std::string_view what);

// Makes the socket's folder, and removes a socket that nobody listens on any more.
// Errors: kIo when somebody listens there, when the path is taken by another kind of file, or is
// too long for a socket.
Status prepare_socket(const Address& address);

}  // namespace cuzk::daemon
