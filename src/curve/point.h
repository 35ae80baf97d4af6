#pragma once
// Points of a short Weierstrass curve y^2 = x^3 + b, for any group G that gives
//   G::Field, G::b(), G::generator().
//
// Affine<G>: x, y; the identity is (0, 0), which lies on no curve here because b != 0.
// Xyzz<G>:   X / ZZ, Y / ZZZ with ZZ^3 = ZZZ^2; the identity has ZZ = 0. Formulas:
// Explicit-Formulas
//            Database, short Weierstrass, a = 0, coordinates xyzz (madd-2008-s, add-2008-s,
//            dbl-2008-s-1, mdbl-2008-s-1). All of them are complete: any operands, equal, opposite
//            or the identity.
// Threads: values.

#include <span>

#include "field/fp.h"
#include "field/fp2.h"

namespace cuzk {

template <class G>
struct Affine {
  using Group = G;
  using Field = typename G::Field;
  Field x{};
  Field y{};

  static Affine identity() { return {}; }
  bool is_identity() const { return x.is_zero() && y.is_zero(); }
  bool is_on_curve() const { return is_identity() || y.square() == x.square() * x + G::b(); }
  Affine operator-() const { return {x, -y}; }
  friend bool operator==(const Affine&, const Affine&) = default;
};

template <class G>
struct Xyzz {
  using Group = G;
  using Field = typename G::Field;
  Field x{};
  Field y{};
  Field zz{};
  Field zzz{};

  static Xyzz identity() { return {}; }
  static Xyzz from_affine(const Affine<G>& p) {
    if (p.is_identity()) return identity();
    return {p.x, p.y, Field::one(), Field::one()};
  }
  bool is_identity() const { return zz.is_zero(); }
  Xyzz operator-() const { return {x, -y, zz, zzz}; }

  // Equal as points.
  friend bool operator==(const Xyzz& a, const Xyzz& b) {
    if (a.is_identity() || b.is_identity()) return a.is_identity() == b.is_identity();
    return a.x * b.zz == b.x * a.zz && a.y * b.zzz == b.y * a.zzz;
  }

  Affine<G> to_affine() const {
    if (is_identity()) return {};
    const Field i = zzz.inverse();
    const Field zi = i * zz;  // 1 / Z
    return {x * zi.square(), y * i};
  }

  Xyzz dbl() const {
    if (is_identity()) return *this;
    const Field u = y.dbl();
    const Field v = u.square();
    const Field w = u * v;
    const Field s = x * v;
    const Field x2 = x.square();
    const Field m = x2.dbl() + x2;
    const Field x3 = m.square() - s.dbl();
    return {x3, m * (s - x3) - w * y, v * zz, w * zzz};
  }

  // The additions work in place: see fp.h on copies.
  Xyzz& operator+=(const Affine<G>& b) {
    if (b.is_identity()) return *this;
    if (is_identity()) return *this = from_affine(b);
    const Field p = b.x * zz - x;
    const Field r = b.y * zzz - y;
    if (p.is_zero()) return *this = r.is_zero() ? from_affine(b).dbl() : identity();
    const Field pp = p.square();
    const Field ppp = p * pp;
    const Field q = x * pp;
    x = r.square() - ppp - q.dbl();
    y = r * (q - x) - y * ppp;
    zz *= pp;
    zzz *= ppp;
    return *this;
  }

  Xyzz& operator+=(const Xyzz& b) {
    if (b.is_identity()) return *this;
    if (is_identity()) return *this = b;
    const Field u1 = x * b.zz;
    const Field s1 = y * b.zzz;
    const Field p = b.x * zz - u1;
    const Field r = b.y * zzz - s1;
    if (p.is_zero()) return *this = r.is_zero() ? dbl() : identity();
    const Field pp = p.square();
    const Field ppp = p * pp;
    const Field q = u1 * pp;
    zz *= b.zz;  // b is not *this: p would have been zero
    zz *= pp;
    zzz *= b.zzz;
    zzz *= ppp;
    x = r.square() - ppp - q.dbl();
    y = r * (q - x) - s1 * ppp;
    return *this;
  }
  friend Xyzz operator+(const Xyzz& a, const Affine<G>& b) {
    Xyzz r = a;
    r += b;
    return r;
  }
  friend Xyzz operator+(const Xyzz& a, const Xyzz& b) {
    Xyzz r = a;
    r += b;
    return r;
  }
  friend Xyzz operator-(const Xyzz& a, const Xyzz& b) { return a + -b; }
  friend Xyzz operator-(const Xyzz& a, const Affine<G>& b) { return a + -b; }

  // k * this, k as little-endian limbs; the plain double-and-add.
  Xyzz mul(std::span<const std::uint64_t> k) const {
    Xyzz r = identity();
    for (std::size_t i = 64 * k.size(); i-- > 0;) {
      r = r.dbl();
      if (k[i / 64] >> (i % 64) & 1) r += *this;
    }
    return r;
  }
  template <class P>
  Xyzz mul(const ScalarOf<P>& k) const {
    return mul(std::span<const std::uint64_t>(k.limbs));
  }
};

}  // namespace cuzk
