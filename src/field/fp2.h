#pragma once
// The quadratic extension Fp[u] / (u^2 + 1), which both curves use.
//
// Form: c0 + c1 u, each coordinate as in fp.h.

#include "field/fp.h"

namespace cuzk {

template <class F>
struct Fp2 {
  using Base = F;
  F c0;
  F c1;

  static constexpr Fp2 zero() { return {F::zero(), F::zero()}; }
  static constexpr Fp2 one() { return {F::one(), F::zero()}; }

  bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
  bool is_one() const { return c0.is_one() && c1.is_zero(); }
  friend bool operator==(const Fp2&, const Fp2&) = default;

  friend Fp2 operator+(const Fp2& a, const Fp2& b) { return {a.c0 + b.c0, a.c1 + b.c1}; }
  friend Fp2 operator-(const Fp2& a, const Fp2& b) { return {a.c0 - b.c0, a.c1 - b.c1}; }
  Fp2 operator-() const { return {-c0, -c1}; }
  // Three products (Karatsuba), two reductions where kernels::fp2_mul exists.
  friend Fp2 operator*(const Fp2& a, const Fp2& b) {
    static_assert(sizeof(Fp2) == 2 * sizeof(F));
    Fp2 r;
    if (!kernels::fp2_mul<typename F::Params>(r.data(), a.data(), b.data())) {
      r = mul_reference(a, b);
    }
    return r;
  }
  static Fp2 mul_reference(const Fp2& a, const Fp2& b) {
    const F v0 = a.c0 * b.c0;
    const F v1 = a.c1 * b.c1;
    return {v0 - v1, (a.c0 + a.c1) * (b.c0 + b.c1) - v0 - v1};
  }
  friend Fp2 operator*(const Fp2& a, const F& b) { return {a.c0 * b, a.c1 * b}; }
  Fp2& operator+=(const Fp2& b) {
    c0 += b.c0;
    c1 += b.c1;
    return *this;
  }
  Fp2& operator-=(const Fp2& b) {
    c0 -= b.c0;
    c1 -= b.c1;
    return *this;
  }
  Fp2& operator*=(const Fp2& b) {
    if (!kernels::fp2_mul<typename F::Params>(data(), data(), b.data()))
      *this = mul_reference(*this, b);
    return *this;
  }
  Fp2 dbl() const { return {c0.dbl(), c1.dbl()}; }
  // (c0 + c1)(c0 - c1) + 2 c0 c1 u; the sums enter the products unreduced where the field allows
  // it.
  Fp2 square() const {
    Fp2 r = *this;
    r.square_in_place();
    return r;
  }
  void set_difference(const Fp2& a, const Fp2& b) {
    c0.set_difference(a.c0, b.c0);
    c1.set_difference(a.c1, b.c1);
  }
  Fp2& square_in_place() {
    using P = typename F::Params;
    F sum, twice;
    if constexpr (kernels::kHasSpareBits<P>) {
      kernels::add_unreduced<P>(sum.limbs, c0.limbs, c1.limbs);
      kernels::add_unreduced<P>(twice.limbs, c0.limbs, c0.limbs);
    } else {
      sum = c0 + c1;
      twice = c0.dbl();
    }
    c0 -= c1;
    c0 *= sum;
    c1 *= twice;
    return *this;
  }
  Fp2 conjugate() const { return {c0, -c1}; }
  Fp2 inverse() const {
    const F n = (c0.square() + c1.square()).inverse();
    return {c0 * n, -(c1 * n)};
  }
  Fp2 pow(std::span<const std::uint64_t> exponent) const {
    Fp2 r = one();
    for (std::size_t i = 64 * exponent.size(); i-- > 0;) {
      r.square_in_place();
      if (exponent[i / 64] >> (i % 64) & 1) r *= *this;
    }
    return r;
  }
  // c0's limbs, then c1's.
  std::uint64_t* data() { return reinterpret_cast<std::uint64_t*>(this); }
  const std::uint64_t* data() const { return reinterpret_cast<const std::uint64_t*>(this); }

  static Fp2 random(RandomSource& source) {
    const F a = F::random(source);
    return {a, F::random(source)};
  }
};

}  // namespace cuzk
