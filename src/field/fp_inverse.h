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

// r = |a f + b g| / 2^31; f and g change sign when the sum was negative.
template <std::size_t N>
void combine_exact(Limbs<N>& r, const Limbs<N>& a, const Limbs<N>& b, std::int64_t& f,
                   std::int64_t& g) {
  // x = a |f|, y = b |g| with their signs applied limb by limb in two's complement.
  const std::uint64_t mf = magnitude(f), mg = magnitude(g);
  const std::uint64_t sf = static_cast<std::uint64_t>(f >> 63);
  const std::uint64_t sg = static_cast<std::uint64_t>(g >> 63);
  Limbs<N + 1> t{};
  std::uint64_t product_carry_a = 0, product_carry_b = 0;
  std::uint64_t negate_a = sf & 1, negate_b = sg & 1;  // the +1 of two's complement
  u128 sum = 0;
  for (std::size_t i = 0; i <= N; ++i) {
    const u128 pa = static_cast<u128>(i < N ? a[i] : 0) * mf + product_carry_a;
    const u128 pb = static_cast<u128>(i < N ? b[i] : 0) * mg + product_carry_b;
    product_carry_a = static_cast<std::uint64_t>(pa >> 64);
    product_carry_b = static_cast<std::uint64_t>(pb >> 64);
    sum += static_cast<u128>(static_cast<std::uint64_t>(pa) ^ sf) + negate_a;
    sum += static_cast<u128>(static_cast<std::uint64_t>(pb) ^ sg) + negate_b;
    negate_a = negate_b = 0;
    t[i] = static_cast<std::uint64_t>(sum);
    sum >>= 64;
  }
  const std::uint64_t negative = std::uint64_t{0} - (t[N] >> 63);
  std::uint64_t carry = negative & 1;
  for (auto& limb : t) {
    const u128 v = static_cast<u128>(limb ^ negative) + carry;
    limb = static_cast<std::uint64_t>(v);
    carry = static_cast<std::uint64_t>(v >> 64);
  }
  const auto sign = static_cast<std::int64_t>(negative);
  f = (f ^ sign) - sign;
  g = (g ^ sign) - sign;
  for (std::size_t i = 0; i < N; ++i) r[i] = t[i] >> 31 | t[i + 1] << 33;
}

// v or p - v.
template <std::size_t N>
Limbs<N> negated_if(const Limbs<N>& v, bool negative, const Limbs<N>& p) {
  if (!negative) return v;
  Limbs<N> r = p;
  sub_in_place(r, v);
  return r;  // p for v = 0, which the reduction below tolerates
}

// (u f + v g) / 2^64 mod p, reduced.
template <std::size_t N>
Limbs<N> combine_modular(const Limbs<N>& u, const Limbs<N>& v, std::int64_t f, std::int64_t g,
                         const Limbs<N>& p, std::uint64_t inverse) {
  const Limbs<N> su = negated_if(u, f < 0, p);
  const Limbs<N> sv = negated_if(v, g < 0, p);
  const std::uint64_t mf = magnitude(f), mg = magnitude(g);
  Limbs<N> r{};
  u128 sum = static_cast<u128>(su[0]) * mf + static_cast<u128>(sv[0]) * mg;
  const std::uint64_t m = static_cast<std::uint64_t>(sum) * inverse;
  u128 row = static_cast<u128>(m) * p[0] + static_cast<std::uint64_t>(sum);
  sum >>= 64;
  row >>= 64;
  for (std::size_t i = 1; i < N; ++i) {
    sum += static_cast<u128>(su[i]) * mf + static_cast<u128>(sv[i]) * mg;  // below 2^97
    row += static_cast<u128>(m) * p[i] + static_cast<std::uint64_t>(sum);
    r[i - 1] = static_cast<std::uint64_t>(row);
    sum >>= 64;
    row >>= 64;
  }
  r[N - 1] = static_cast<std::uint64_t>(row + sum);  // the value is below p (1 + 2^-32)
  Limbs<N> reduced = r;
  return sub_in_place(reduced, p) ? r : reduced;
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
    Limbs<N> next_a, next_b;
    combine_exact(next_a, a, b, k.f0, k.g0);
    combine_exact(next_b, a, b, k.f1, k.g1);
    a = next_a;
    b = next_b;
    const Limbs<N> next_u = combine_modular(u, v, k.f0, k.g0, p, inverse);
    v = combine_modular(u, v, k.f1, k.g1, p, inverse);
    u = next_u;
  }
  return {v, rounds};
}

}  // namespace cuzk::internal
