#pragma once
// The towers over Fp2 that hold the pairing's values:
//   Fp6 = Fp2[v] / (v^3 - xi),  Fp12 = Fp6[w] / (w^2 - v),  so w^6 = xi.
//
// Form:    coordinates as in fp2.h. T names the tower: T::Fq2, T::mul_xi(a) = a xi, T::xi().
// Source:  Karatsuba products; Devegili, O hEigeartaigh, Scott, Dahab 2006; squaring in the
//          cyclotomic subgroup: Granger, Scott 2010.
// Threads: values; the Frobenius constants are made once, at first use.

#include <array>

#include "base/check.h"
#include "field/fp2.h"

namespace cuzk {

namespace internal {

// x^((q-1)/divisor) for the modulus q of x's prime field; divisor must divide q - 1.
template <class F, std::size_t N>
F power_of_q_minus_1_over(const F& x, Limbs<N> q, std::uint64_t divisor) {
  q[0] -= 1;  // q is odd
  u128 rest = 0;
  for (std::size_t i = N; i-- > 0;) {
    rest = rest << 64 | q[i];
    q[i] = static_cast<std::uint64_t>(rest / divisor);
    rest %= divisor;
  }
  CUZK_CHECK(rest == 0);
  return x.pow(q);
}

}  // namespace internal

template <class T>
struct Fp6 {
  using F2 = typename T::Fq2;
  F2 c0;
  F2 c1;
  F2 c2;

  static Fp6 zero() { return {}; }
  static Fp6 one() { return {F2::one(), F2::zero(), F2::zero()}; }
  bool is_zero() const { return c0.is_zero() && c1.is_zero() && c2.is_zero(); }
  friend bool operator==(const Fp6&, const Fp6&) = default;

  friend Fp6 operator+(const Fp6& a, const Fp6& b) {
    return {a.c0 + b.c0, a.c1 + b.c1, a.c2 + b.c2};
  }
  friend Fp6 operator-(const Fp6& a, const Fp6& b) {
    return {a.c0 - b.c0, a.c1 - b.c1, a.c2 - b.c2};
  }
  Fp6 operator-() const { return {-c0, -c1, -c2}; }
  Fp6 dbl() const { return {c0.dbl(), c1.dbl(), c2.dbl()}; }
  // Six products (Karatsuba).
  friend Fp6 operator*(const Fp6& a, const Fp6& b) {
    const F2 v0 = a.c0 * b.c0;
    const F2 v1 = a.c1 * b.c1;
    const F2 v2 = a.c2 * b.c2;
    return {v0 + T::mul_xi((a.c1 + a.c2) * (b.c1 + b.c2) - v1 - v2),
            (a.c0 + a.c1) * (b.c0 + b.c1) - v0 - v1 + T::mul_xi(v2),
            (a.c0 + a.c2) * (b.c0 + b.c2) - v0 - v2 + v1};
  }
  friend Fp6 operator*(const Fp6& a, const F2& b) { return {a.c0 * b, a.c1 * b, a.c2 * b}; }
  // Chung, Hasan 2007 (CH-SQR2): two products and three squares.
  Fp6 square() const {
    const F2 s0 = c0.square();
    const F2 s1 = (c0 * c1).dbl();
    const F2 s2 = (c0 - c1 + c2).square();
    const F2 s3 = (c1 * c2).dbl();
    const F2 s4 = c2.square();
    return {s0 + T::mul_xi(s3), s1 + T::mul_xi(s4), s1 + s2 + s3 - s0 - s4};
  }
  Fp6 mul_v() const { return {T::mul_xi(c2), c0, c1}; }
  // this * (b0 + b1 v): five products.
  Fp6 mul_by_01(const F2& b0, const F2& b1) const {
    const F2 v0 = c0 * b0;
    const F2 v1 = c1 * b1;
    return {v0 + T::mul_xi((c1 + c2) * b1 - v1), (c0 + c1) * (b0 + b1) - v0 - v1,
            (c0 + c2) * b0 - v0 + v1};
  }
  // this * b1 v: three products.
  Fp6 mul_by_1(const F2& b1) const { return {T::mul_xi(c2 * b1), c0 * b1, c1 * b1}; }
  // The inverse; zero for zero.
  Fp6 inverse() const {
    const F2 t0 = c0.square() - T::mul_xi(c1 * c2);
    const F2 t1 = T::mul_xi(c2.square()) - c0 * c1;
    const F2 t2 = c1.square() - c0 * c2;
    const F2 norm = c0 * t0 + T::mul_xi(c2 * t1 + c1 * t2);
    const F2 n = norm.inverse();
    return {t0 * n, t1 * n, t2 * n};
  }
  static Fp6 random(RandomSource& source) {
    const F2 a = F2::random(source);
    const F2 b = F2::random(source);
    return {a, b, F2::random(source)};
  }
};

template <class T>
struct Fp12 {
  using F2 = typename T::Fq2;
  using F6 = Fp6<T>;
  F6 c0;
  F6 c1;

  static Fp12 one() { return {F6::one(), F6::zero()}; }
  bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
  bool is_one() const { return *this == one(); }
  friend bool operator==(const Fp12&, const Fp12&) = default;

  friend Fp12 operator+(const Fp12& a, const Fp12& b) { return {a.c0 + b.c0, a.c1 + b.c1}; }
  friend Fp12 operator-(const Fp12& a, const Fp12& b) { return {a.c0 - b.c0, a.c1 - b.c1}; }
  friend Fp12 operator*(const Fp12& a, const Fp12& b) {
    const F6 v0 = a.c0 * b.c0;
    const F6 v1 = a.c1 * b.c1;
    return {v0 + v1.mul_v(), (a.c0 + a.c1) * (b.c0 + b.c1) - v0 - v1};
  }
  Fp12& operator*=(const Fp12& b) { return *this = *this * b; }
  Fp12 square() const {
    const F6 t = c0 * c1;
    return {(c0 + c1) * (c0 + c1.mul_v()) - t - t.mul_v(), t.dbl()};
  }
  // this^(q^6); the inverse of an element of the cyclotomic subgroup.
  Fp12 conjugate() const { return {c0, -c1}; }
  // The inverse; zero for zero.
  Fp12 inverse() const {
    const F6 n = (c0.square() - c1.square().mul_v()).inverse();
    return {c0 * n, -(c1 * n)};
  }

  // this * (a + b w^2 + c w^3), the shape of a line on a multiplying twist.
  Fp12 mul_by_023(const F2& a, const F2& b, const F2& c) const {
    const F6 v0 = c0.mul_by_01(a, b);
    const F6 v1 = c1.mul_by_1(c);
    return {v0 + v1.mul_v(), (c0 + c1).mul_by_01(a, b + c) - v0 - v1};
  }
  // this * (a + b w + c w^3), the shape of a line on a dividing twist.
  Fp12 mul_by_013(const F2& a, const F2& b, const F2& c) const {
    const F6 v0 = c0 * a;
    const F6 v1 = c1.mul_by_01(b, c);
    return {v0 + v1.mul_v(), (c0 + c1).mul_by_01(a + b, c) - v0 - v1};
  }

  // this^(q^power).
  Fp12 frobenius(unsigned power = 1) const {
    static const std::array<F2, 6> gamma = make_gamma();
    Fp12 r = *this;
    for (; power > 0; --power) {
      r = {{r.c0.c0.conjugate(), r.c0.c1.conjugate() * gamma[2], r.c0.c2.conjugate() * gamma[4]},
           {r.c1.c0.conjugate() * gamma[1], r.c1.c1.conjugate() * gamma[3],
            r.c1.c2.conjugate() * gamma[5]}};
    }
    return r;
  }

  // The square, for an element of the cyclotomic subgroup (order divides q^4 - q^2 + 1) only.
  // With s = w^3 the element is A + B w + C w^2 over Fp4 = Fp2[s] / (s^2 - xi), and its square is
  // 3 A^2 - 2 conj(A) + (3 s C^2 + 2 conj(B)) w + (3 B^2 - 2 conj(C)) w^2.
  Fp12 cyclotomic_square() const {
    const auto [a0, a1] = square_fp4(c0.c0, c1.c1);
    const auto [b0, b1] = square_fp4(c1.c0, c0.c2);
    const auto [s0, s1] = square_fp4(c0.c1, c1.c2);
    return {{three_minus_two(a0, c0.c0), three_minus_two(b0, c0.c1), three_minus_two(s0, c0.c2)},
            {three_plus_two(T::mul_xi(s1), c1.c0), three_plus_two(a1, c1.c1),
             three_plus_two(b1, c1.c2)}};
  }
  // this^e for an element of the cyclotomic subgroup.
  Fp12 cyclotomic_pow(std::uint64_t e) const {
    if (e == 0) return one();
    Fp12 r = *this;
    for (int i = 62 - __builtin_clzll(e); i >= 0; --i) {
      r = r.cyclotomic_square();
      if (e >> i & 1) r *= *this;
    }
    return r;
  }
  Fp12 pow(std::span<const std::uint64_t> exponent) const {
    Fp12 r = one();
    for (std::size_t i = 64 * exponent.size(); i-- > 0;) {
      r = r.square();
      if (exponent[i / 64] >> (i % 64) & 1) r *= *this;
    }
    return r;
  }
  static Fp12 random(RandomSource& source) {
    const F6 a = F6::random(source);
    return {a, F6::random(source)};
  }

 private:
  // gamma[k] = xi^(k (q-1) / 6), so that (w^k)^q = gamma[k] w^k.
  static std::array<F2, 6> make_gamma() {
    std::array<F2, 6> g;
    g[0] = F2::one();
    g[1] = internal::power_of_q_minus_1_over(T::xi(), F2::Base::kModulus, 6);
    for (std::size_t k = 2; k < 6; ++k) g[k] = g[k - 1] * g[1];
    return g;
  }
  // (x + y s)^2.
  static std::pair<F2, F2> square_fp4(const F2& x, const F2& y) {
    const F2 x2 = x.square();
    const F2 y2 = y.square();
    return {x2 + T::mul_xi(y2), (x + y).square() - x2 - y2};
  }
  static F2 three_minus_two(const F2& a, const F2& b) { return (a - b).dbl() + a; }
  static F2 three_plus_two(const F2& a, const F2& b) { return (a + b).dbl() + a; }
};

}  // namespace cuzk
