#pragma once
// ChaCha's block function with a chosen number of rounds, and a generator of integers over it.
//
// The graph of a sector is drawn with 8 rounds, which no library here offers; 20 rounds serve to
// test it against one that does.
//
// Threads: values.
// Source:  Bernstein 2008; the layout of the counter (64 bits, then a 64-bit stream of zero) is
//          that of the rand_chacha crate.

#include <array>
#include <cstdint>
#include <span>

namespace cuzk::filecoin {

using ChaChaKey = std::array<std::uint8_t, 32>;

// One block of the key stream. `tail` holds words 12 to 15: counter and nonce.
std::array<std::uint32_t, 16> chacha_block(const ChaChaKey& key,
                                           const std::array<std::uint32_t, 4>& tail, int rounds);

// Unsigned 64-bit integers, little-endian from the key stream of 8 rounds.
class ChaCha8 {
 public:
  explicit ChaCha8(const ChaChaKey& key) : key_(key) {}
  std::uint64_t next_u64();

 private:
  ChaChaKey key_;
  std::array<std::uint32_t, 16> block_{};
  std::uint64_t counter_ = 0;
  std::size_t used_ = 16;  // words of block_; always even
};

}  // namespace cuzk::filecoin
