#include "base/bytes.h"

namespace cuzk {

std::string to_hex(ByteSpan bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (std::uint8_t b : bytes) {
    out.push_back(kDigits[b >> 4]);
    out.push_back(kDigits[b & 15]);
  }
  return out;
}

namespace {
int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace

Result<std::vector<std::uint8_t>> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return fail(ErrorCode::kCorruptInput, "hexadecimal text has odd length {}", text.size());
  }
  std::vector<std::uint8_t> out(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_digit(text[i]);
    const int low = hex_digit(text[i + 1]);
    if (high < 0 || low < 0) {
      return fail(ErrorCode::kCorruptInput, "not a hexadecimal digit at position {}",
                  high < 0 ? i : i + 1);
    }
    out[i / 2] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return out;
}

Result<ByteSpan> ByteReader::take(std::size_t n, std::string_view field) {
  if (n > remaining()) {
    return fail(ErrorCode::kCorruptInput,
                "{}: {} needs {} bytes at offset {}, but only {} are left", what_, field, n,
                offset_, remaining());
  }
  ByteSpan out = bytes_.subspan(offset_, n);
  offset_ += n;
  return out;
}

Result<std::uint8_t> ByteReader::u8(std::string_view field) {
  CUZK_TRY(ByteSpan b, take(1, field));
  return b[0];
}

Result<std::uint32_t> ByteReader::u32_le(std::string_view field) {
  CUZK_TRY(ByteSpan b, take(4, field));
  return load_le<std::uint32_t>(b.data());
}

Result<std::uint32_t> ByteReader::u32_be(std::string_view field) {
  CUZK_TRY(ByteSpan b, take(4, field));
  return load_be32(b.data());
}

Result<std::uint64_t> ByteReader::u64_le(std::string_view field) {
  CUZK_TRY(ByteSpan b, take(8, field));
  return load_le<std::uint64_t>(b.data());
}

namespace {
template <class T>
Result<T> bounded_count(const ByteReader& reader, T count, std::string_view field,
                        std::size_t element_bytes) {
  const std::uint64_t room = reader.remaining() / element_bytes;
  if (count > room) {
    return fail(ErrorCode::kCorruptInput,
                "{}: {} declares {} elements of {} bytes, the file has room for {}", reader.what(),
                field, count, element_bytes, room);
  }
  return count;
}
}  // namespace

Result<std::uint64_t> ByteReader::count_u64_le(std::string_view field, std::size_t element_bytes) {
  CUZK_TRY(std::uint64_t count, u64_le(field));
  return bounded_count(*this, count, field, element_bytes);
}

Result<std::uint32_t> ByteReader::count_u32_be(std::string_view field, std::size_t element_bytes) {
  CUZK_TRY(std::uint32_t count, u32_be(field));
  return bounded_count(*this, count, field, element_bytes);
}

Status ByteReader::expect_end() const {
  if (remaining() != 0) {
    return fail(ErrorCode::kCorruptInput, "{}: {} bytes left over after offset {}", what_,
                remaining(), offset_);
  }
  return {};
}

}  // namespace cuzk
