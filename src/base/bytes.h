#pragma once
// Bytes: endian loads and stores, hexadecimal, and a bounded reader over a span.

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cuzk {

using ByteSpan = std::span<const std::uint8_t>;
static_assert(std::endian::native == std::endian::little, "cuzk's memory forms are little-endian");

template <class T>
T load_le(const std::uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void store_le(std::uint8_t* p, T v) {
  std::memcpy(p, &v, sizeof v);
}
inline std::uint32_t load_be32(const std::uint8_t* p) {
  return __builtin_bswap32(load_le<std::uint32_t>(p));
}
inline std::uint64_t load_be64(const std::uint8_t* p) {
  return __builtin_bswap64(load_le<std::uint64_t>(p));
}
inline void store_be32(std::uint8_t* p, std::uint32_t v) { store_le(p, __builtin_bswap32(v)); }
inline void store_be64(std::uint8_t* p, std::uint64_t v) { store_le(p, __builtin_bswap64(v)); }

std::string to_hex(ByteSpan bytes);
// Lower or upper case, even length, no prefix; kCorruptInput otherwise.
Result<std::vector<std::uint8_t>> from_hex(std::string_view text);

// Reads forward over a span and never past its end. `what` names the source in errors.
class ByteReader {
 public:
  ByteReader(ByteSpan bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  std::size_t offset() const { return offset_; }
  std::size_t remaining() const { return bytes_.size() - offset_; }
  const std::string& what() const { return what_; }

  // The next n bytes; kCorruptInput names `field` and the offset when the source is too short.
  Result<ByteSpan> take(std::size_t n, std::string_view field);
  Result<std::uint8_t> u8(std::string_view field);
  Result<std::uint32_t> u32_le(std::string_view field);
  Result<std::uint32_t> u32_be(std::string_view field);
  Result<std::uint64_t> u64_le(std::string_view field);
  // A declared element count, refused when count * element_bytes exceeds what is left.
  Result<std::uint64_t> count_u64_le(std::string_view field, std::size_t element_bytes);
  Result<std::uint32_t> count_u32_be(std::string_view field, std::size_t element_bytes);
  // kCorruptInput when bytes are left over.
  Status expect_end() const;

 private:
  ByteSpan bytes_;
  std::string what_;
  std::size_t offset_ = 0;
};

}  // namespace cuzk
