#pragma once
// Randomness. SystemRandom is for everything secret; SeededRandom is for tests, benches and
// development set-ups that must be reproducible.

#include <array>
#include <cstdint>
#include <span>

namespace cuzk {

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  virtual void fill(std::span<std::uint8_t> out) = 0;

  std::uint64_t next_u64() {
    std::array<std::uint8_t, 8> b;
    fill(b);
    std::uint64_t v = 0;
    for (int i = 7; i >= 0; --i) v = v << 8 | b[static_cast<std::size_t>(i)];
    return v;
  }
};

// getrandom(2). Throws std::system_error if the system refuses: a proof must never go on without
// it.
class SystemRandom final : public RandomSource {
 public:
  void fill(std::span<std::uint8_t> out) override;
};

// ChaCha20 keyed by the seed; the same seed gives the same stream on every machine.
class SeededRandom final : public RandomSource {
 public:
  explicit SeededRandom(std::uint64_t seed);
  void fill(std::span<std::uint8_t> out) override;

 private:
  std::array<std::uint8_t, 32> key_{};
  std::uint64_t block_ = 0;
  std::array<std::uint8_t, 4096> pool_;
  std::size_t used_ = 4096;
};

}  // namespace cuzk
