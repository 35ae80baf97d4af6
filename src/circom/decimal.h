#pragma once
// Decimal texts of canonical integers, the form in which snarkjs' JSON carries every number.
//
// Threads: pure functions.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "field/bigint.h"

namespace cuzk::circom {

inline constexpr std::uint64_t kTenTo19 =
    10'000'000'000'000'000'000u;  // the most that fits 64 bits

template <std::size_t N>
std::string to_decimal(Limbs<N> value) {
  std::string out;  // lowest digit first
  while (!is_zero(value)) {
    u128 rest = 0;
    for (std::size_t i = N; i-- > 0;) {
      rest = rest << 64 | value[i];
      value[i] = static_cast<std::uint64_t>(rest / kTenTo19);
      rest %= kTenTo19;
    }
    auto digits = static_cast<std::uint64_t>(rest);
    for (int k = 0; k < 19 && (digits != 0 || !is_zero(value)); ++k, digits /= 10) {
      out += static_cast<char>('0' + digits % 10);
    }
  }
  if (out.empty()) out.push_back('0');
  std::reverse(out.begin(), out.end());
  return out;
}

// The one spelling of a value below `modulus`: digits only, no leading zero. Nothing otherwise.
template <std::size_t N>
std::optional<Limbs<N>> from_decimal(std::string_view text, const Limbs<N>& modulus) {
  constexpr std::size_t kMaxDigits = 20 * N;  // 2^(64 N) has fewer
  if (text.empty() || text.size() > kMaxDigits || (text.size() > 1 && text[0] == '0')) return {};
  Limbs<N> value{};
  for (const char c : text) {
    if (c < '0' || c > '9') return {};
    u128 carry = static_cast<unsigned>(c - '0');
    for (std::uint64_t& limb : value) {
      carry += static_cast<u128>(limb) * 10u;
      limb = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    if (carry != 0) return {};
  }
  if (compare(value, modulus) >= 0) return {};
  return value;
}

// -3 for p - 3: coefficients and small negative values as people read them.
template <class Fr>
std::string to_signed_decimal(const Fr& v) {
  std::string minus = to_decimal((-v).to_scalar().limbs);
  std::string plus = to_decimal(v.to_scalar().limbs);
  if (plus.size() <= minus.size()) return plus;
  minus.insert(minus.begin(), '-');
  return minus;
}

}  // namespace cuzk::circom
