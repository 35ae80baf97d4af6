#pragma once
// Who may call what: bearer tokens, client certificates, the unix socket, or nobody in particular.
//
// Order:   a token decides when one is shown (a wrong one is refused, it does not fall through),
//          then a client certificate, then the unix socket, then the role of anonymous callers.
// Threads: Access is immutable; AccessControl may be replaced while others ask it.

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "daemon/config.h"

namespace cuzk::daemon {

// What a connection and a call show.
struct Credentials {
  std::string authorization;  // the header's value, "Bearer ..."; empty: none
  std::string certificate;    // common name of a verified client certificate; empty: none
  std::string peer;           // "unix:...", "ipv4:1.2.3.4:5", as gRPC says it
};

struct Caller {
  std::string name;  // for logs, and for fairness between clients
  Role role = Role::kNone;
  std::string refusal;  // why there is no role
};

class Access {
 public:
  // Errors: kNotFound and kIo for the token file, kInvalidArgument when others may read it or a
  // line is wrong; a token itself is never repeated in a message.
  static Result<Access> load(const Config& config);
  static Result<Access> from_text(const Config& config, std::string_view tokens,
                                  std::string_view file_name);

  Caller caller(const Credentials& credentials) const;
  std::size_t tokens() const { return tokens_.size(); }

 private:
  struct Token {
    std::string name;
    Role role;
    Digest32 digest;  // SHA-256
  };
  std::vector<Token> tokens_;
  Role certificate_role_ = Role::kNone;
  Role unix_role_ = Role::kNone;
  Role anonymous_role_ = Role::kNone;
};

// The Access of now.
class AccessControl {
 public:
  explicit AccessControl(Access access)
      : access_(std::make_shared<const Access>(std::move(access))) {}
  void replace(Access access) {
    auto next = std::make_shared<const Access>(std::move(access));
    const std::lock_guard lock(mutex_);
    access_ = std::move(next);
  }
  std::shared_ptr<const Access> current() const {
    const std::lock_guard lock(mutex_);
    return access_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Access> access_;
};

}  // namespace cuzk::daemon
