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
    Xyzz r;
    r.x = m.square() - s.dbl();
    r.y = m * (s - r.x) - w * y;
    r.zz = v * zz;
    r.zzz = w * zzz;
    return r;
  }

  friend Xyzz operator+(const Xyzz& a, const Affine<G>& b) {
    if (b.is_identity()) return a;
    if (a.is_identity()) return from_affine(b);
    const Field p = b.x * a.zz - a.x;
    const Field r = b.y * a.zzz - a.y;
    if (p.is_zero()) return r.is_zero() ? from_affine(b).dbl() : identity();
    const Field pp = p.square();
    const Field ppp = p * pp;
    const Field q = a.x * pp;
    Xyzz out;
    out.x = r.square() - ppp - q.dbl();
    out.y = r * (q - out.x) - a.y * ppp;
    out.zz = a.zz * pp;
    out.zzz = a.zzz * ppp;
    return out;
  }

  friend Xyzz operator+(const Xyzz& a, const Xyzz& b) {
    if (b.is_identity()) return a;
    if (a.is_identity()) return b;
    const Field u1 = a.x * b.zz;
    const Field s1 = a.y * b.zzz;
    const Field p = b.x * a.zz - u1;
    const Field r = b.y * a.zzz - s1;
    if (p.is_zero()) return r.is_zero() ? a.dbl() : identity();
    const Field pp = p.square();
    const Field ppp = p * pp;
    const Field q = u1 * pp;
    Xyzz out;
    out.x = r.square() - ppp - q.dbl();
    out.y = r * (q - out.x) - s1 * ppp;
    out.zz = a.zz * b.zz * pp;
    out.zzz = a.zzz * b.zzz * ppp;
    return out;
  }
  friend Xyzz operator-(const Xyzz& a, const Xyzz& b) { return a + -b; }
  friend Xyzz operator-(const Xyzz& a, const Affine<G>& b) { return a + -b; }
  Xyzz& operator+=(const Affine<G>& b) { return *this = *this + b; }
  Xyzz& operator+=(const Xyzz& b) { return *this = *this + b; }

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
