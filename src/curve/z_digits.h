#pragma once
// A scalar of BLS12-381 in base |z|, z the curve's parameter, for multiplication by endomorphisms.
//
//   k = d0 + d1 |z| + d2 |z|^2 + d3 |z|^3,  0 <= di < |z| < 2^64
//
// because r = z^4 - z^2 + 1 < z^4. On G2, psi is the multiplication by z; in GT, so is raising to
// the power q; on G1, phi is the multiplication by -z^2. A digit is then recoded with signed odd
// values, of which one in `width + 1` is not zero.
//
// Time:    depends on the scalar (_vartime).
// Threads: pure functions.
// Source:  Galbraith, Scott 2008 (GT and G2); Solinas 2000 (width-w NAF).

#include <array>
#include <cstdint>

#include "field/bls12_381.h"

namespace cuzk {

using ZDigits = std::array<std::uint64_t, 4>;

inline ZDigits z_digits(const bls12_381::Fr::Scalar& scalar) {
  ZDigits digits;
  auto value = scalar.limbs;
  for (std::uint64_t& digit : digits) {
    u128 rest = 0;
    for (std::size_t i = value.size(); i-- > 0;) {
      rest = rest << 64 | value[i];
      value[i] = static_cast<std::uint64_t>(rest / bls12_381::kZAbs);
      rest %= bls12_381::kZAbs;
    }
    digit = static_cast<std::uint64_t>(rest);
  }
  return digits;
}

inline constexpr unsigned kNafWidth = 4;
inline constexpr std::size_t kNafOddMultiples = 1 << (kNafWidth - 2);  // 1, 3, 5, 7

// Digits 0, +-1, +-3, +-5, +-7, least significant first: the sum of naf[i] 2^i is `value`, which
// must be below 2^kBits and, for kBits 128, below 2^128 - 8.
template <std::size_t kBits>
std::array<std::int8_t, kBits + 1> width_4_naf(u128 value) {
  std::array<std::int8_t, kBits + 1> naf{};
  for (std::size_t i = 0; value != 0; ++i, value >>= 1) {
    if ((value & 1) == 0) continue;
    const auto low = static_cast<std::int8_t>(value & 15);
    naf[i] = low < 8 ? low : static_cast<std::int8_t>(low - 16);
    value = low < 8 ? value - static_cast<u128>(low) : value + static_cast<u128>(16 - low);
  }
  return naf;
}

}  // namespace cuzk
