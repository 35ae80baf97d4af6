#include "filecoin/cid.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/bytes.h"

namespace cuzk::filecoin {
namespace {

constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
constexpr char kMultibaseBase32 = 'b';

// Version 1, codec, multihash code and length, each a varint (7 bits a byte, lowest first).
constexpr std::array<std::uint8_t, 8> kSealedPrefix = {0x01, 0x82, 0xe2, 0x03,
                                                       0x81, 0xe8, 0x02, 0x20};
constexpr std::array<std::uint8_t, 7> kUnsealedPrefix = {0x01, 0x81, 0xe2, 0x03, 0x92, 0x20, 0x20};

std::span<const std::uint8_t> prefix_of(CommitmentKind kind) {
  if (kind == CommitmentKind::kSealed) return kSealedPrefix;
  return kUnsealedPrefix;
}
std::string_view name_of(CommitmentKind kind) {
  return kind == CommitmentKind::kSealed ? "a sealed sector (comm_r, bagboea4b5abc...)"
                                         : "an unsealed sector (comm_d, baga6ea4seaq...)";
}
CommitmentKind other(CommitmentKind kind) {
  return kind == CommitmentKind::kSealed ? CommitmentKind::kUnsealed : CommitmentKind::kSealed;
}

std::string base32(std::span<const std::uint8_t> bytes) {
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const std::uint8_t b : bytes) {
    bits = bits << 8 | b;
    for (count += 8; count >= 5; count -= 5) out.push_back(kAlphabet[bits >> (count - 5) & 31]);
  }
  if (count) out.push_back(kAlphabet[bits << (5 - count) & 31]);
  return out;
}

Result<std::vector<std::uint8_t>> from_base32(std::string_view text) {
  std::vector<std::uint8_t> out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kAlphabet.find(text[i]);
    if (digit == std::string_view::npos) {
      return fail(ErrorCode::kInvalidArgument,
                  "character {} is not of base32's lower-case alphabet (a to z, 2 to 7)", i + 2);
    }
    bits = bits << 5 | static_cast<std::uint32_t>(digit);
    count += 5;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<std::uint8_t>(bits >> count));
    }
  }
  if (count >= 5 || (bits & ((1u << count) - 1))) {
    return fail(ErrorCode::kInvalidArgument,
                "bits are left over at its end: it was cut or changed");
  }
  return out;
}

bool has_prefix(std::span<const std::uint8_t> bytes, CommitmentKind kind) {
  const auto prefix = prefix_of(kind);
  return bytes.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

// The start of a text that may be anything, for an error message.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::string out(text.substr(0, kMost));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text.size() > kMost ? out + "..." : out;
}

Result<Node> decode(CommitmentKind kind, std::string_view text) {
  if (text.empty() || text[0] != kMultibaseBase32) {
    return fail(ErrorCode::kInvalidArgument, "a CID of {} begins with b (base32)", name_of(kind));
  }
  CUZK_TRY(const auto bytes, from_base32(text.substr(1)));
  if (has_prefix(bytes, other(kind))) {
    return fail(ErrorCode::kInvalidArgument, "this is the CID of {}, expected that of {}",
                name_of(other(kind)), name_of(kind));
  }
  if (!has_prefix(bytes, kind)) {
    return fail(ErrorCode::kInvalidArgument, "this is not the CID of {}", name_of(kind));
  }
  const auto digest = std::span(bytes).subspan(prefix_of(kind).size());
  Node node;
  if (digest.size() != node.size()) {
    return fail(ErrorCode::kInvalidArgument, "a commitment has {} bytes, this CID holds {}",
                node.size(), digest.size());
  }
  std::copy(digest.begin(), digest.end(), node.begin());
  return node;
}

}  // namespace

std::string cid_of(CommitmentKind kind, const Node& commitment) {
  const auto prefix = prefix_of(kind);
  std::vector<std::uint8_t> bytes(prefix.begin(), prefix.end());
  bytes.insert(bytes.end(), commitment.begin(), commitment.end());
  return kMultibaseBase32 + base32(bytes);
}

Result<Node> parse_cid(CommitmentKind kind, std::string_view text) {
  auto node = decode(kind, text);
  if (!node) return fail(node.error().in(fmt::format("\"{}\"", shown(text))));
  return node;
}

Result<Node> parse_commitment(CommitmentKind kind, std::string_view text, std::string_view what) {
  Node node;
  if (is_hex(text)) {
    const auto bytes = from_hex(text);
    if (!bytes || bytes->size() != node.size()) {
      return fail(ErrorCode::kInvalidArgument,
                  "{}: expected 64 hexadecimal digits or a CID, found "
                  "{} hexadecimal digits",
                  what, text.size());
    }
    std::copy(bytes->begin(), bytes->end(), node.begin());
    return node;
  }
  auto parsed = parse_cid(kind, text);
  if (!parsed) {
    Error error = parsed.error().in(what);
    error.message += "; 64 hexadecimal digits are taken too";
    return fail(std::move(error));
  }
  return parsed;
}

}  // namespace cuzk::filecoin
