#include "base/random.h"

#include <sodium.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace cuzk {

void SystemRandom::fill(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t n = getrandom(out.data(), out.size(), 0);
    if (n < 0) {
      if (errno == EINTR) continue;
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    out = out.subspan(static_cast<std::size_t>(n));
  }
}

SeededRandom::SeededRandom(std::uint64_t seed) { std::memcpy(key_.data(), &seed, sizeof seed); }

void SeededRandom::fill(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    if (used_ == pool_.size()) {
      pool_.fill(0);
      const std::uint8_t nonce[8] = {};
      crypto_stream_chacha20_xor_ic(pool_.data(), pool_.data(), pool_.size(), nonce, block_,
                                    key_.data());
      block_ += pool_.size() / 64;
      used_ = 0;
    }
    const std::size_t n = std::min(out.size(), pool_.size() - used_);
    std::memcpy(out.data(), pool_.data() + used_, n);
    used_ += n;
    out = out.subspan(n);
  }
}

}  // namespace cuzk
