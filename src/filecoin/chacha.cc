#include "filecoin/chacha.h"

#include <bit>

#include "base/bytes.h"

namespace cuzk::filecoin {
namespace {

using Words = std::array<std::uint32_t, 16>;

void quarter_round(Words& w, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  w[a] += w[b];
  w[d] = std::rotl(w[d] ^ w[a], 16);
  w[c] += w[d];
  w[b] = std::rotl(w[b] ^ w[c], 12);
  w[a] += w[b];
  w[d] = std::rotl(w[d] ^ w[a], 8);
  w[c] += w[d];
  w[b] = std::rotl(w[b] ^ w[c], 7);
}

}  // namespace

Words chacha_block(const ChaChaKey& key, const std::array<std::uint32_t, 4>& tail, int rounds) {
  Words input = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};  // "expand 32-byte k"
  for (std::size_t i = 0; i < 8; ++i) input[4 + i] = load_le<std::uint32_t>(key.data() + 4 * i);
  for (std::size_t i = 0; i < 4; ++i) input[12 + i] = tail[i];
  Words w = input;
  for (int r = 0; r < rounds; r += 2) {
    for (std::size_t i = 0; i < 4; ++i) quarter_round(w, i, 4 + i, 8 + i, 12 + i);
    for (std::size_t i = 0; i < 4; ++i) {
      quarter_round(w, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
  }
  for (std::size_t i = 0; i < 16; ++i) w[i] += input[i];
  return w;
}

std::uint64_t ChaCha8::next_u64() {
  if (used_ == block_.size()) {
    const auto low = static_cast<std::uint32_t>(counter_);
    const auto high = static_cast<std::uint32_t>(counter_ >> 32);
    block_ = chacha_block(key_, {low, high, 0, 0}, 8);
    ++counter_;
    used_ = 0;
  }
  const std::uint64_t v = block_[used_] | std::uint64_t{block_[used_ + 1]} << 32;
  used_ += 2;
  return v;
}

}  // namespace cuzk::filecoin
