#pragma once
// Inversion modulo an odd prime p by the binary greatest common divisor in rounds of 31 steps.
//
// Steps run on 64-bit approximations of a and b (their 31 lowest and 33 highest bits) and collect
// factors below 2^31; each round then applies them to the long numbers:
//   (a, b) <- (a f0 + b g0, a f1 + b g1) / 2^31     exact, signs repaired
//   (u, v) <- (u f0 + v g0, u f1 + v g1) / 2^64     modulo p, one Montgomery row each
// so a = y u 2^(33 k) mod p holds after k rounds, likewise for b and v. It ends with a = 0, b = 1
// and 1 / y = v 2^(33 k); a table holds the powers of two, with the Montgomery factors folded in.
//
// Shape:   y reduced, in Montgomery form, not zero; p's top bit is clear.
// Cost:    about 1.4 bits a step; at most (2 bits(p) - 1) / 31 rounds, rounded up.
// Source:  Pornin, "Optimized Binary GCD for Modular Inversion", 2020; here in variable time, with
//          runs of zeros shifted out at once.

#include <array>
#include <cstdint>

#include "base/check.h"
#include "field/bigint.h"

namespace cuzk::internal {

// The two linear combinations of a round; absolute values at most 2^31.
struct GcdFactors {
  std::int64_t f0;
  std::int64_t g0;
  std::int64_t f1;
  std::int64_t g1;
};

// 31 halvings of the first number, on approximations xa and xb; xb odd. f and g of one combination
// travel in one word, f + 2^32 g.
inline GcdFactors gcd_steps(std::uint64_t xa, std::uint64_t xb) {
  std::uint64_t fg0 = 1;
  std::uint64_t fg1 = std::uint64_t{1} << 32;
  for (int left = 31;;) {
    const int zeros = __builtin_ctzll(xa | std::uint64_t{1} << left);
    xa >>= zeros;
    fg1 <<= zeros;
    left -= zeros;
    if (left == 0) break;
    // xa is odd: (xa, xb) <- (|xa - xb|, min(xa, xb)), the factors alike, by masks, because a
    // branch on xa < xb would be mispredicted half of the time.
    const std::uint64_t difference = xa - xb;
    const std::uint64_t less = std::uint64_t{0} - (xa < xb);
    const std::uint64_t factors = fg0 - fg1;
    xb += difference & less;
    fg1 += factors & less;
    xa = (difference ^ less) - less;
    fg0 = (factors ^ less) - less;
  }
  // Both halves lie in (-2^31, 2^31]; the bias makes them unsigned, so that they come apart.
  constexpr std::uint64_t kBias = 0x7fffffff;
  const auto low = [](std::uint64_t fg) {
    return static_cast<std::int64_t>((fg + (kBias << 32 | kBias)) & 0xffffffff) -
           static_cast<std::int64_t>(kBias);
  };
  const auto high = [](std::uint64_t fg) {
    return static_cast<std::int64_t>((fg + (kBias << 32 | kBias)) >> 32) -
           static_cast<std::int64_t>(kBias);
  };
  return {low(fg0), high(fg0), low(fg1), high(fg1)};
}

inline std::uint64_t magnitude(std::int64_t v) {
  return static_cast<std::uint64_t>(v < 0 ? -v : v);
}

// A number of N + 1 limbs and its sign, an all-ones or all-zeros mask.
template <std::size_t N>
struct SignedWide {
  Limbs<N + 1> magnitude;
  std::uint64_t negative;
};

// a mf - b mg, with mf, mg at most 2^31.
template <std::size_t N>
inline SignedWide<N> difference_of_multiples(const Limbs<N>& a, std::uint64_t mf, const Limbs<N>& b,
                                             std::uint64_t mg) {
  SignedWide<N> r;
  std::uint64_t carry_a = 0, carry_b = 0, borrow = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const u128 pa = static_cast<u128>(a[i]) * mf + carry_a;
    const u128 pb = static_cast<u128>(b[i]) * mg + carry_b;
    carry_a = static_cast<std::uint64_t>(pa >> 64);
    carry_b = static_cast<std::uint64_t>(pb >> 64);
    const u128 d =
        static_cast<u128>(static_cast<std::uint64_t>(pa)) - static_cast<std::uint64_t>(pb) - borrow;
    r.magnitude[i] = static_cast<std::uint64_t>(d);
    borrow = static_cast<std::uint64_t>(d >> 64) & 1;
  }
  r.magnitude[N] = carry_a - carry_b - borrow;
  r.negative = std::uint64_t{0} - (r.magnitude[N] >> 63);
  std::uint64_t carry = r.negative & 1;
  for (auto& limb : r.magnitude) {
    const u128 v = static_cast<u128>(limb ^ r.negative) + carry;
    limb = static_cast<std::uint64_t>(v);
    carry = static_cast<std::uint64_t>(v >> 64);
  }
  return r;
}

// r = |a f + b g| / 2^31, exact. In each combination f and g have opposite signs or are zero, as
// every step subtracts a combination with the other pattern; so only their magnitudes count. The
// result says whether a |f| - b |g| was negative, which is the sign that u and v must follow.
template <std::size_t N>
inline std::uint64_t combine_exact(Limbs<N>& r, const Limbs<N>& a, const Limbs<N>& b,
                                   std::uint64_t mf, std::uint64_t mg) {
  const auto d = difference_of_multiples(a, mf, b, mg);
  for (std::size_t i = 0; i < N; ++i) r[i] = d.magnitude[i] >> 31 | d.magnitude[i + 1] << 33;
  return d.negative;
}

// (u mf - v mg) / 2^64 mod p, times -1 if `negate` is all ones. At most p, and p only for zero,
// which the next round and the closing product tolerate.
template <std::size_t N>
inline Limbs<N> combine_modular(const Limbs<N>& u, std::uint64_t mf, const Limbs<N>& v,
                                std::uint64_t mg, std::uint64_t negate, const Limbs<N>& p,
                                std::uint64_t inverse) {
  const auto d = difference_of_multiples(u, mf, v, mg);
  negate ^= d.negative;
  // One Montgomery row: below (p 2^31 + p 2^64) / 2^64, so below p + p / 2^32.
  const std::uint64_t m = d.magnitude[0] * inverse;
  u128 row = static_cast<u128>(m) * p[0] + d.magnitude[0];
  Limbs<N> r;
  for (std::size_t i = 1; i < N; ++i) {
    row = static_cast<u128>(m) * p[i] + d.magnitude[i] + static_cast<std::uint64_t>(row >> 64);
    r[i - 1] = static_cast<std::uint64_t>(row);
  }
  r[N - 1] = static_cast<std::uint64_t>(row >> 64) + d.magnitude[N];
  // r or p - r; where r > p (rarely, by less than p / 2^32), r - p or 2p - r.
  Limbs<N> opposite = p;
  if (sub_in_place(opposite, r)) [[unlikely]] {
    sub_in_place(r, p);
    opposite = p;
    sub_in_place(opposite, r);
  }
  for (std::size_t i = 0; i < N; ++i) r[i] = (r[i] & ~negate) | (opposite[i] & negate);
  return r;
}

// The bits [n - 33, n) of a on top of its 31 lowest; n > 64.
template <std::size_t N>
std::uint64_t approximate(const Limbs<N>& a, std::size_t n) {
  const std::size_t limb = (n - 1) / 64;
  const unsigned used = static_cast<unsigned>((n - 1) % 64 + 1);
  const u128 top = static_cast<u128>(a[limb]) << 64 | a[limb - 1];
  const auto high = static_cast<std::uint64_t>(top >> (31 + used)) & 0x1ffffffff;
  return high << 31 | (a[0] & 0x7fffffff);
}

// The most rounds that an inversion modulo a number of `bits` bits takes.
constexpr std::size_t gcd_rounds(std::size_t bits) { return (2 * bits - 1 + 30) / 31; }

// 2^(33 k + 3 * 64 N) mod p for each number k of rounds: a Montgomery product with it turns the v
// of y = x R into R / x.
template <class P>
constexpr auto make_gcd_corrections() {
  constexpr std::size_t n = P::kModulus.size();
  std::array<Limbs<n>, gcd_rounds(bit_length(P::kModulus)) + 1> table{};
  table[0] = power_of_two_mod(3 * 64 * n, P::kModulus);
  for (std::size_t k = 1; k < table.size(); ++k) {
    table[k] = table[k - 1];
    for (int i = 0; i < 33; ++i) table[k] = double_mod(table[k], P::kModulus);
  }
  return table;
}
template <class P>
inline constexpr auto kGcdCorrections = make_gcd_corrections<P>();

template <std::size_t N>
struct GcdResult {
  Limbs<N> v;
  std::size_t rounds;
};

// y reduced and not zero; 1 / y = v 2^(33 rounds) mod p.
template <class P, std::size_t N>
GcdResult<N> binary_gcd(const Limbs<N>& y) {
  constexpr Limbs<N> p = P::kModulus;
  constexpr std::uint64_t inverse = montgomery_inverse(P::kModulus);
  Limbs<N> a = y, b = p, u{1}, v{};
  std::size_t rounds = 0;
  for (; !is_zero(a); ++rounds) {
    CUZK_CHECK(rounds < gcd_rounds(bit_length(p)));
    Limbs<N> either;
    for (std::size_t i = 0; i < N; ++i) either[i] = a[i] | b[i];
    const std::size_t n = bit_length(either);
    GcdFactors k =
        n <= 64 ? gcd_steps(a[0], b[0]) : gcd_steps(approximate(a, n), approximate(b, n));
    const std::uint64_t f0 = magnitude(k.f0), g0 = magnitude(k.g0);
    const std::uint64_t f1 = magnitude(k.f1), g1 = magnitude(k.g1);
    Limbs<N> next_a, next_b;
    const std::uint64_t negative_a = combine_exact(next_a, a, b, f0, g0);
    const std::uint64_t negative_b = combine_exact(next_b, a, b, f1, g1);
    a = next_a;
    b = next_b;
    const Limbs<N> next_u = combine_modular(u, f0, v, g0, negative_a, p, inverse);
    v = combine_modular(u, f1, v, g1, negative_b, p, inverse);
    u = next_u;
  }
  return {v, rounds};
}

}  // namespace cuzk::internal
