#pragma once
// Fixed-size little-endian integers of 64-bit limbs, usable at compile time. Plain building blocks
// for the prime fields; variable-time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace cuzk {

__extension__ using u128 = unsigned __int128;

template <std::size_t N>
using Limbs = std::array<std::uint64_t, N>;

template <std::size_t N>
constexpr int compare(const Limbs<N>& a, const Limbs<N>& b) {
  for (std::size_t i = N; i-- > 0;) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

// a += b; returns the carry.
template <std::size_t N>
constexpr std::uint64_t add_in_place(Limbs<N>& a, const Limbs<N>& b) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const u128 t = static_cast<u128>(a[i]) + b[i] + carry;
    a[i] = static_cast<std::uint64_t>(t);
    carry = static_cast<std::uint64_t>(t >> 64);
  }
  return carry;
}

// a -= b; returns the borrow.
template <std::size_t N>
constexpr std::uint64_t sub_in_place(Limbs<N>& a, const Limbs<N>& b) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const u128 t = static_cast<u128>(a[i]) - b[i] - borrow;
    a[i] = static_cast<std::uint64_t>(t);
    borrow = static_cast<std::uint64_t>(t >> 64) & 1;
  }
  return borrow;
}

template <std::size_t N>
constexpr bool is_zero(const Limbs<N>& a) {
  std::uint64_t any = 0;
  for (std::uint64_t limb : a) {
    any |= limb;
    // Keeps the limbs apart: a vector load would wait for the 8-byte stores that just wrote them.
    if (!std::is_constant_evaluated()) asm("" : "+r"(any));
  }
  return any == 0;
}

template <std::size_t N>
constexpr bool bit(const Limbs<N>& a, std::size_t i) {
  return i < 64 * N && (a[i / 64] >> (i % 64) & 1);
}

// Number of bits up to the highest set one; 0 for 0.
template <std::size_t N>
constexpr std::size_t bit_length(const Limbs<N>& a) {
  for (std::size_t i = N; i-- > 0;) {
    if (a[i]) return 64 * i + 64 - static_cast<std::size_t>(__builtin_clzll(a[i]));
  }
  return 0;
}

template <std::size_t N>
constexpr void shift_right_in_place(Limbs<N>& a, unsigned bits) {  // bits in 1..63
  for (std::size_t i = 0; i < N; ++i) {
    a[i] = a[i] >> bits | (i + 1 < N ? a[i + 1] << (64 - bits) : 0);
  }
}

// 2a mod p for a < p.
template <std::size_t N>
constexpr Limbs<N> double_mod(Limbs<N> a, const Limbs<N>& p) {
  const std::uint64_t top = a[N - 1] >> 63;
  for (std::size_t i = N; i-- > 0;) a[i] = a[i] << 1 | (i ? a[i - 1] >> 63 : 0);
  if (top || compare(a, p) >= 0) sub_in_place(a, p);
  return a;
}

// 2^bits mod p.
template <std::size_t N>
constexpr Limbs<N> power_of_two_mod(std::size_t bits, const Limbs<N>& p) {
  Limbs<N> r{};
  r[0] = 1;
  for (std::size_t i = 0; i < bits; ++i) r = double_mod(r, p);
  return r;
}

// -p^-1 mod 2^64 for odd p (Newton's iteration).
template <std::size_t N>
constexpr std::uint64_t montgomery_inverse(const Limbs<N>& p) {
  std::uint64_t inv = 1;
  for (int i = 0; i < 6; ++i) inv *= 2 - p[0] * inv;
  return ~inv + 1;
}

}  // namespace cuzk
