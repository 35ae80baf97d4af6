#pragma once
// Helpers of the tests that seal the reference's sectors again.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/hash.h"
#include "filecoin/test_support.h"

namespace cuzk::format::testing {

inline nlohmann::json golden_json(const std::string& name) {
  return nlohmann::json::parse(
      filecoin::testing::read_text(CUZK_TESTDATA_DIR "/golden/seal/" + name));
}

// The data of the golden sectors: Marsaglia's xorshift128 with a seed for each sector.
inline std::vector<std::uint8_t> xorshift_piece(std::uint32_t stream, std::size_t offset,
                                                std::size_t bytes) {
  std::uint32_t x = 0x5dbe6259 ^ stream, y = 0x8d313d76, z = 0x3237db17, w = 0xe5bc0654;
  std::vector<std::uint8_t> out((offset + bytes + 3) / 4 * 4);
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const std::uint32_t t = x ^ x << 11;
    x = y, y = z, z = w;
    w = w ^ w >> 19 ^ t ^ t >> 8;
    std::memcpy(out.data() + i, &w, 4);
  }
  return {out.begin() + static_cast<std::ptrdiff_t>(offset),
          out.begin() + static_cast<std::ptrdiff_t>(offset + bytes)};
}

// A random value of the golden sectors: the lowest bytes of 32 words of a stream.
inline filecoin::Node xorshift_node(std::uint32_t stream, std::size_t offset) {
  const auto words = xorshift_piece(stream, offset, 128);
  filecoin::Node node;
  for (std::size_t i = 0; i < node.size(); ++i) node[i] = words[4 * i];
  node[31] &= 0x3f;
  return node;
}

inline std::string sha256_hex(ByteSpan bytes) { return to_hex(sha256(bytes)); }
inline std::string sha256_hex(std::span<const filecoin::Node> nodes) {
  return sha256_hex(ByteSpan(reinterpret_cast<const std::uint8_t*>(nodes.data()),
                             nodes.size() * sizeof(filecoin::Node)));
}
inline std::string sha256_hex(const std::string& text) {
  return sha256_hex(ByteSpan(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

}  // namespace cuzk::format::testing
