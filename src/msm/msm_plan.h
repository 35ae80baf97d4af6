#pragma once
// How a sum of scalar times base is cut into windows and buckets. Shared by every variant.
//
// Digits:  signed, in [-2^(c-1), 2^(c-1)), for windows of c bits. Adding the constant
//          2^(c-1) * (1 + 2^c + 4^c + ...) to the scalar first makes every digit a plain bit field
//          minus 2^(c-1), so that no carry runs from window to window.
// Threads: values.

#include <cstddef>
#include <cstdint>

#include "field/bigint.h"

namespace cuzk {

inline constexpr unsigned kMinWindowBits = 4;
inline constexpr unsigned kMaxWindowBits = 22;

// One bit more than the scalar's, for the sign of the highest digit.
constexpr unsigned window_count(std::size_t scalar_bits, unsigned window_bits) {
  return static_cast<unsigned>((scalar_bits + window_bits) / window_bits);
}
constexpr std::size_t bucket_count(unsigned window_bits) {
  return std::size_t{1} << (window_bits - 1);
}

// Field products for n terms: an addition of two affine points that share inversions takes about 6,
// with its gathering and sorting 7; a bucket is added twice in the running sum, 10 and 14.
constexpr double msm_cost(std::size_t scalar_bits, std::size_t n, unsigned window_bits) {
  const double per_window = 7.0 * static_cast<double>(n) +
                            24.0 * static_cast<double>(bucket_count(window_bits)) +
                            9.0 * window_bits;
  return window_count(scalar_bits, window_bits) * per_window;
}

constexpr unsigned best_window_bits(std::size_t scalar_bits, std::size_t n) {
  unsigned best = kMinWindowBits;
  for (unsigned c = kMinWindowBits; c <= kMaxWindowBits; ++c) {
    if (msm_cost(scalar_bits, n, c) < msm_cost(scalar_bits, n, best)) best = c;
  }
  return best;
}

// Reads the signed digits of scalars of N limbs, whose windows end at most one limb above them.
template <std::size_t N>
class DigitReader {
 public:
  DigitReader(unsigned window_bits, unsigned windows)
      : bits_(window_bits), half_(std::int32_t{1} << (window_bits - 1)) {
    for (unsigned w = 0; w < windows; ++w) {
      const std::size_t at = std::size_t{w} * window_bits + window_bits - 1;
      offset_[at / 64] |= std::uint64_t{1} << (at % 64);
    }
  }

  std::int32_t digit(const Limbs<N>& scalar, unsigned window) const {
    Limbs<N + 1> t = offset_;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < N; ++i) {
      const u128 sum = static_cast<u128>(t[i]) + scalar[i] + carry;
      t[i] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    t[N] += carry;
    const std::size_t at = std::size_t{window} * bits_;
    std::uint64_t field = t[at / 64] >> (at % 64);
    if (at % 64 + bits_ > 64 && at / 64 < N) field |= t[at / 64 + 1] << (64 - at % 64);
    return static_cast<std::int32_t>(field & ((std::uint64_t{1} << bits_) - 1)) - half_;
  }

 private:
  unsigned bits_;
  std::int32_t half_;
  Limbs<N + 1> offset_{};
};

}  // namespace cuzk
