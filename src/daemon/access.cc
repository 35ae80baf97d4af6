#include "daemon/access.h"

#include <sys/stat.h>

#include <algorithm>
#include <sstream>

#include "base/bytes.h"
#include "base/mapped_file.h"

namespace cuzk::daemon {

namespace {

constexpr std::size_t kMaxTokenFileBytes = 1 << 20;
constexpr std::size_t kMinTokenLetters = 16;

ByteSpan bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// SHA-256 of the token, or the digest that stands in its place.
Result<Digest32> token_digest(const std::string& text, const std::string& where) {
  constexpr std::string_view kPrefix = "sha256:";
  if (!text.starts_with(kPrefix)) {
    if (text.size() < kMinTokenLetters) {
      return fail(ErrorCode::kInvalidArgument, "{}: a token has at least {} letters", where,
                  kMinTokenLetters);
    }
    return sha256(bytes_of(text));
  }
  const auto bytes = from_hex(std::string_view(text).substr(kPrefix.size()));
  if (!bytes || bytes->size() != 32) {
    return fail(ErrorCode::kInvalidArgument, "{}: sha256: is followed by 64 hexadecimal digits",
                where);
  }
  Digest32 out;
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

// "ipv4:10.0.0.7:41234" -> "10.0.0.7": the port changes with every connection.
std::string peer_name(const std::string& peer) {
  const std::size_t colon = peer.find(':');
  if (colon == std::string::npos || peer.starts_with("unix")) return "unix";
  const std::string rest = peer.substr(colon + 1);
  return rest.substr(0, rest.rfind(':'));
}

}  // namespace

Result<Access> Access::load(const Config& config) {
  if (config.tokens_file.empty()) return from_text(config, "", "");
  struct stat info {};
  if (::stat(config.tokens_file.c_str(), &info) == 0 && (info.st_mode & 077) != 0) {
    return fail(ErrorCode::kInvalidArgument,
                "auth.tokens_file: {} can be read by others (mode {:04o}); chmod 600 it",
                config.tokens_file, static_cast<unsigned>(info.st_mode & 07777));
  }
  CUZK_TRY(const auto bytes, read_file(config.tokens_file, kMaxTokenFileBytes));
  return from_text(config,
                   std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                   config.tokens_file);
}

Result<Access> Access::from_text(const Config& config, std::string_view tokens,
                                 std::string_view file_name) {
  Access out;
  out.certificate_role_ = config.tls_client_role;
  out.unix_role_ = config.unix_role;
  out.anonymous_role_ = config.effective_anonymous_role();
  std::istringstream lines{std::string(tokens)};
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, role, token, more;
    if (!(words >> name)) continue;
    const std::string where = fmt::format("auth.tokens_file: {}:{}", file_name, number);
    if (!(words >> role >> token) || words >> more) {
      return fail(ErrorCode::kInvalidArgument, "{}: NAME ROLE TOKEN is expected", where);
    }
    CUZK_TRY(const Role parsed, parse_role(role, where));
    CUZK_TRY(const Digest32 digest, token_digest(token, where));
    out.tokens_.push_back({name, parsed, digest});
  }
  return out;
}

Caller Access::caller(const Credentials& credentials) const {
  constexpr std::string_view kBearer = "Bearer ";
  if (!credentials.authorization.empty()) {
    if (!credentials.authorization.starts_with(kBearer)) {
      return {"", Role::kNone, "the authorization metadata is not of the form 'Bearer TOKEN'"};
    }
    // The digests are compared, not the tokens: how long a comparison takes tells nothing about
    // a token.
    const Digest32 digest =
        sha256(bytes_of(std::string_view(credentials.authorization).substr(kBearer.size())));
    const auto found = std::find_if(tokens_.begin(), tokens_.end(),
                                    [&](const Token& t) { return t.digest == digest; });
    if (found == tokens_.end()) return {"", Role::kNone, "this token is not known"};
    return {found->name, found->role, ""};
  }
  if (!credentials.certificate.empty()) {
    return {credentials.certificate, certificate_role_, ""};
  }
  if (credentials.peer.starts_with("unix")) return {"unix", unix_role_, ""};
  Caller out{peer_name(credentials.peer), anonymous_role_, ""};
  if (out.role == Role::kNone) out.refusal = "a token is needed: authorization: Bearer TOKEN";
  return out;
}

}  // namespace cuzk::daemon
