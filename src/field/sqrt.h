#pragma once
// Square roots in Fp for p = 3 mod 4 and in Fp2 over it.
//
// Source: Fp: a^((p+1)/4). Fp2: the complex method, arranged so that two exponentiations in Fp are
//         all it costs. Write a = a0 + a1 u, n^2 = a0^2 + a1^2, t = (a0 + n) / 2 and
//         d = t^((p-3)/4); then t d^2 = t^((p-1)/2) is 1 or -1. If 1, the root is
//         d t + (a1 d / 2) u; if -1, it is (a1 d / 2) - (d t) u.
// Time:   variable. Either root may come back; the caller chooses the sign.

#include <optional>

#include "field/fp.h"
#include "field/fp2.h"

namespace cuzk {

namespace internal {

// a^((p-3)/4); its product with a is a root of a or of -a.
template <class P>
Fp<P> pow_p_minus_3_over_4(const Fp<P>& a) {
  static_assert(P::kModulus[0] % 4 == 3, "the root by one power needs p = 3 mod 4");
  auto e = P::kModulus;
  shift_right_in_place(e, 2);
  return a.pow(e);
}

template <class P>
Fp<P> half(const Fp<P>& a) {
  Limbs<Fp<P>::kLimbs> t = a.limbs;
  if (t[0] & 1) add_in_place(t, P::kModulus);  // no carry: the modulus' top bit is clear
  shift_right_in_place(t, 1);
  return Fp<P>{t};
}

}  // namespace internal

template <class P>
std::optional<Fp<P>> sqrt(const Fp<P>& a) {
  const Fp<P> root = internal::pow_p_minus_3_over_4(a) * a;
  if (root.square() != a) return std::nullopt;
  return root;
}

template <class F>
std::optional<Fp2<F>> sqrt(const Fp2<F>& a) {
  const auto n = sqrt(a.c0.square() + a.c1.square());
  if (!n) return std::nullopt;
  F t = internal::half(a.c0 + *n);
  if (t.is_zero()) t = a.c0;  // a1 = 0 and n = -a0: the other root of the norm
  const F d = internal::pow_p_minus_3_over_4(t);
  const F dt = d * t;
  const F half_a1_d = internal::half(a.c1 * d);
  const Fp2<F> root = dt.square() == t ? Fp2<F>{dt, half_a1_d} : Fp2<F>{half_a1_d, -dt};
  if (root.square() != a) return std::nullopt;
  return root;
}

}  // namespace cuzk
