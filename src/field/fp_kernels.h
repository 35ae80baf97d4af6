#pragma once
// The limb arithmetic under Fp: portable code, and the choice between it and code per instruction
// set. The choice is made once at start (base/cpu.h) and read as a plain load.
//
// Shape: operands reduced below P::kModulus, results too; outputs may alias inputs.

#include "base/cpu.h"
#include "field/bigint.h"
#include "field/fp_adx.h"
#include "field/fp_x86_64.h"

namespace cuzk::kernels {

namespace portable {

// r = a - p if a >= p, without a branch.
template <class P, std::size_t N>
inline void reduce_once(Limbs<N>& r, const Limbs<N>& a) {
  Limbs<N> t = a;
  const std::uint64_t keep = ~(sub_in_place(t, P::kModulus)) + 1;  // all ones when a < p
  for (std::size_t i = 0; i < N; ++i) r[i] = (a[i] & keep) | (t[i] & ~keep);
}

template <class P, std::size_t N>
inline void add(Limbs<N>& r, const Limbs<N>& a, const Limbs<N>& b) {
  Limbs<N> t = a;
  add_in_place(t, b);
  reduce_once<P>(r, t);
}

template <class P, std::size_t N>
inline void sub(Limbs<N>& r, const Limbs<N>& a, const Limbs<N>& b) {
  Limbs<N> t = a;
  const std::uint64_t mask = ~sub_in_place(t, b) + 1;
  Limbs<N> p{};
  for (std::size_t i = 0; i < N; ++i) p[i] = P::kModulus[i] & mask;
  add_in_place(t, p);
  r = t;
}

// Coarsely integrated operand scanning (Koc, Acar, Kaliski 1996), without the extra word: the top
// bit of the modulus is clear. Not inlined: the body is long, and on x86-64 it is the unlikely one.
template <class P, std::size_t N>
[[gnu::noinline]] void mul(Limbs<N>& r, const Limbs<N>& a, const Limbs<N>& b) {
  constexpr std::uint64_t inv = montgomery_inverse(P::kModulus);
  Limbs<N> t{};
  for (std::size_t i = 0; i < N; ++i) {
    u128 x = static_cast<u128>(a[0]) * b[i] + t[0];
    std::uint64_t carry_a = static_cast<std::uint64_t>(x >> 64);
    const std::uint64_t m = static_cast<std::uint64_t>(x) * inv;
    u128 y = static_cast<u128>(m) * P::kModulus[0] + static_cast<std::uint64_t>(x);
    std::uint64_t carry_m = static_cast<std::uint64_t>(y >> 64);
    for (std::size_t j = 1; j < N; ++j) {
      x = static_cast<u128>(a[j]) * b[i] + t[j] + carry_a;
      carry_a = static_cast<std::uint64_t>(x >> 64);
      y = static_cast<u128>(m) * P::kModulus[j] + static_cast<std::uint64_t>(x) + carry_m;
      carry_m = static_cast<std::uint64_t>(y >> 64);
      t[j - 1] = static_cast<std::uint64_t>(y);
    }
    t[N - 1] = carry_a + carry_m;
  }
  reduce_once<P>(r, t);
}

}  // namespace portable

template <class P, std::size_t N>
inline void add(Limbs<N>& r, const Limbs<N>& a, const Limbs<N>& b) {
#if CUZK_HAVE_ADX
  if constexpr (N == 4 || N == 6) {
    Limbs<N> t;
    x86_64::add_limbs(t, a, b);
    x86_64::reduce_once(r, t, kMontgomery<P>.modulus);
    return;
  }
#endif
  portable::add<P>(r, a, b);
}
template <class P, std::size_t N>
inline void sub(Limbs<N>& r, const Limbs<N>& a, const Limbs<N>& b) {
#if CUZK_HAVE_ADX
  if constexpr (N == 4 || N == 6) {
    x86_64::sub(r, a, b, kMontgomery<P>.modulus);
    return;
  }
#endif
  portable::sub<P>(r, a, b);
}

template <class P, std::size_t N>
inline void mul(Limbs<N>& r, const Limbs<N>& a, const Limbs<N>& b) {
#if CUZK_HAVE_ADX
  if constexpr (N == 4 || N == 6) {
    if (internal::kUseAdx) [[likely]] {
      if constexpr (N == 4) cuzk_mont_mul_4_adx(r.data(), a.data(), b.data(), &kMontgomery<P>);
      if constexpr (N == 6) cuzk_mont_mul_6_adx(r.data(), a.data(), b.data(), &kMontgomery<P>);
      return;
    }
  }
#endif
  portable::mul<P>(r, a, b);
}
template <class P, std::size_t N>
inline void square(Limbs<N>& r, const Limbs<N>& a) {
#if CUZK_HAVE_ADX
  if constexpr (N == 4 || N == 6) {
    if (internal::kUseAdx) [[likely]] {
      if constexpr (N == 4) cuzk_mont_square_4_adx(r.data(), a.data(), &kMontgomery<P>);
      if constexpr (N == 6) cuzk_mont_square_6_adx(r.data(), a.data(), &kMontgomery<P>);
      return;
    }
  }
#endif
  portable::mul<P>(r, a, a);
}

// Two spare bits: sums of two elements may enter a product without being reduced first.
template <class P>
inline constexpr bool kHasSpareBits = P::kModulus.back() >> 62 == 0;

// r = a + b, not reduced: for an operand of mul when kHasSpareBits<P>.
template <class P, std::size_t N>
inline void add_unreduced(Limbs<N>& r, const Limbs<N>& a, const Limbs<N>& b) {
#if CUZK_HAVE_ADX
  if constexpr (N == 4 || N == 6) return x86_64::add_limbs(r, a, b);
#endif
  Limbs<N> t = a;
  add_in_place(t, b);
  r = t;
}

// The product in Fp[u] / (u^2 + 1) with only two reductions; r, a, b point to c0 then c1. False
// when this machine or this field has no such code, and then nothing is written.
template <class P>
inline bool fp2_mul(std::uint64_t* r, const std::uint64_t* a, const std::uint64_t* b) {
#if CUZK_HAVE_ADX
  constexpr std::size_t n = P::kModulus.size();
  if constexpr ((n == 4 || n == 6) && kHasSpareBits<P>) {
    if (internal::kUseAdx) [[likely]] {
      if constexpr (n == 4) cuzk_fp2_mul_4_adx(r, a, b, &kMontgomery<P>);
      if constexpr (n == 6) cuzk_fp2_mul_6_adx(r, a, b, &kMontgomery<P>);
      return true;
    }
  }
#endif
  return false;
}

}  // namespace cuzk::kernels
