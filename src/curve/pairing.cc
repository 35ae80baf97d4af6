#include "curve/pairing.h"

#include <array>

#include "curve/endomorphism.h"
#include "field/sqrt.h"

namespace cuzk {

namespace {

// The digits of the Miller loop, most significant first and without the leading one.
//
// BLS12-381 runs over |z|, which has few ones; BN254 over the non-adjacent form of 6x + 2, which
// has fewer non-zero digits than the binary form.
template <class Curve>
struct MillerLoop;

template <>
struct MillerLoop<Bls12_381> {
  static constexpr std::array<std::int8_t, 63> kDigits = [] {
    std::array<std::int8_t, 63> d{};
    for (std::size_t i = 0; i < 63; ++i) d[i] = bls12_381::kZAbs >> (62 - i) & 1;
    return d;
  }();
};

template <>
struct MillerLoop<Bn254> {
  static constexpr u128 kLength = static_cast<u128>(6) * bn254::kX + 2;
  static constexpr std::size_t kNafDigits = [] {
    std::size_t n = 0;
    for (u128 v = 3 * kLength; v >> n; ++n) {
    }
    return n - 1;  // the NAF of v has the bits of 3v and v where they differ, without bit 0
  }();
  static constexpr std::array<std::int8_t, kNafDigits - 1> kDigits = [] {
    std::array<std::int8_t, kNafDigits - 1> d{};
    const u128 triple = 3 * kLength;
    for (std::size_t i = 0; i < d.size(); ++i) {
      const std::size_t position = d.size() - i;  // of 3v; digit position - 1
      d[i] = static_cast<std::int8_t>(static_cast<int>(triple >> position & 1) -
                                      static_cast<int>(kLength >> position & 1));
    }
    return d;
  }();
};

// A point of the twist in homogeneous coordinates x = X / Z, y = Y / Z, walking the Miller loop.
template <class Curve>
class Walker {
 public:
  using F2 = typename Curve::Fq2;
  using Point = Affine<typename Curve::G2>;
  using Line = typename G2Prepared<Curve>::Line;

  explicit Walker(const Point& q) : x_(q.x), y_(q.y), z_(F2::one()) {
    const F2 b = Curve::G2::b();
    b3_ = b.dbl() + b;
  }

  // T = 2T; the tangent at T, times 2YZ.
  Line double_step() {
    const F2 a = halved(x_ * y_);
    const F2 b = y_.square();
    const F2 c = z_.square();
    const F2 e = b3_ * c;
    const F2 f = e.dbl() + e;
    const F2 g = halved(b + f);
    const F2 h = (y_ + z_).square() - b - c;  // 2YZ
    const F2 x2 = x_.square();
    const F2 e2 = e.square();
    x_ = a * (b - f);
    y_ = g.square() - (e2.dbl() + e2);
    z_ = b * h;
    return {b - e, -(x2.dbl() + x2), h};
  }

  // T = T + Q; the line through T and Q, times X - x_Q Z.
  Line add_step(const Point& q) {
    const F2 theta = y_ - q.y * z_;
    const F2 mu = x_ - q.x * z_;
    const F2 c = theta.square();
    const F2 d = mu.square();
    const F2 e = mu * d;
    const F2 f = z_ * c;
    const F2 g = x_ * d;
    const F2 h = e + f - g.dbl();
    x_ = mu * h;
    y_ = theta * (g - h) - y_ * e;
    z_ = z_ * e;
    return {theta * q.x - mu * q.y, -theta, mu};
  }

 private:
  static F2 halved(const F2& v) { return {internal::half(v.c0), internal::half(v.c1)}; }

  F2 x_;
  F2 y_;
  F2 z_;
  F2 b3_;  // 3 b of the twist
};

// The two additions that end the loop of a BN curve: psi(Q) and -psi^2(Q).
std::array<Affine<Bn254G2>, 2> closing_points(const Affine<Bn254G2>& q) {
  const auto first = psi(q);
  return {first, -psi(first)};
}
std::array<Affine<Bls12_381G2>, 0> closing_points(const Affine<Bls12_381G2>&) { return {}; }

// f times a line at P. Untwisting sends (x, y) to (x / w^2, y / w^3) on BLS12-381 (the line is then
// taken times w^3) and to (x w^2, y w^3) on BN254.
void multiply_line(bls12_381::Fq12& f, const G2Prepared<Bls12_381>::Line& line,
                   const Affine<Bls12_381G1>& p) {
  f = f.mul_by_023(line.constant, line.x_coefficient * p.x, line.y_coefficient * p.y);
}
void multiply_line(bn254::Fq12& f, const G2Prepared<Bn254>::Line& line, const Affine<Bn254G1>& p) {
  f = f.mul_by_013(line.y_coefficient * p.y, line.x_coefficient * p.x, line.constant);
}

// f^((q^6 - 1)(q^2 + 1)): into the cyclotomic subgroup.
template <class Fq12>
Fq12 easy_part(const Fq12& f) {
  const Fq12 g = f.conjugate() * f.inverse();
  return g.frobenius(2) * g;
}

// f^z; z < 0.
bls12_381::Fq12 power_z(const bls12_381::Fq12& f) {
  return f.cyclotomic_pow(bls12_381::kZAbs).conjugate();
}

// 3 (q^4 - q^2 + 1) / r = (z - 1)^2 (z + q) (z^2 + q^2 - 1) + 3.
bls12_381::Fq12 hard_part(const bls12_381::Fq12& f) {
  auto g = power_z(f) * f.conjugate();  // z - 1
  g = power_z(g) * g.conjugate();       // (z - 1)^2
  g = power_z(g) * g.frobenius();       // (z - 1)^2 (z + q)
  g = power_z(power_z(g)) * g.frobenius(2) * g.conjugate();
  return g * f.cyclotomic_square() * f;
}

// The multiple 2x (6x^2 + 3x + 1) of (q^4 - q^2 + 1) / r written in base q; its digits are
// 12x^3 + 12x^2 + 6x + 1, 12x^3 + 6x^2 + 4x, 12x^3 + 6x^2 + 6x and 12x^3 + 6x^2 + 4x - 1.
bn254::Fq12 hard_part(const bn254::Fq12& f) {
  const auto f2x = f.cyclotomic_pow(bn254::kX).cyclotomic_square();
  const auto f6x = f2x.cyclotomic_square() * f2x;
  const auto f6x2 = f6x.cyclotomic_pow(bn254::kX);
  const auto f12x3 = f6x2.cyclotomic_square().cyclotomic_pow(bn254::kX);
  const auto a = f12x3 * f6x2 * f6x;
  const auto b = a * f2x.conjugate();
  return a * f6x2 * f * b.frobenius() * a.frobenius(2) * (b * f.conjugate()).frobenius(3);
}

}  // namespace

template <class Curve>
G2Prepared<Curve>::G2Prepared(const Affine<typename Curve::G2>& q) {
  if (q.is_identity()) return;
  Walker<Curve> walker(q);
  lines_.reserve(2 * MillerLoop<Curve>::kDigits.size());
  for (const int digit : MillerLoop<Curve>::kDigits) {
    lines_.push_back(walker.double_step());
    if (digit != 0) lines_.push_back(walker.add_step(digit > 0 ? q : -q));
  }
  for (const auto& point : closing_points(q)) lines_.push_back(walker.add_step(point));
  lines_.shrink_to_fit();
}

template <class Curve>
Gt<Curve> miller_loop(std::span<const PairingTerm<Curve>> terms) {
  std::vector<PairingTerm<Curve>> live;
  for (const auto& term : terms) {
    if (!term.p.is_identity() && !term.q->is_identity()) live.push_back(term);
  }
  Gt<Curve> f = Gt<Curve>::one();
  if (live.empty()) return f;
  std::size_t next_line = 0;
  const auto multiply_next_lines = [&] {
    for (const auto& term : live) multiply_line(f, term.q->lines()[next_line], term.p);
    ++next_line;
  };
  bool first = true;  // 1 squared is 1
  for (const int digit : MillerLoop<Curve>::kDigits) {
    if (!first) f = f.square();
    first = false;
    multiply_next_lines();
    if (digit != 0) multiply_next_lines();
  }
  while (next_line < live.front().q->lines().size()) multiply_next_lines();
  if constexpr (std::is_same_v<Curve, Bls12_381>) f = f.conjugate();  // z < 0
  return f;
}

template <class Curve>
Gt<Curve> final_exponentiation(const Gt<Curve>& f) {
  return hard_part(easy_part(f));
}

template <class Curve>
Gt<Curve> pairing(const Affine<typename Curve::G1>& p, const Affine<typename Curve::G2>& q) {
  const G2Prepared<Curve> prepared(q);
  const PairingTerm<Curve> term{p, &prepared};
  return final_exponentiation<Curve>(miller_loop<Curve>(std::span(&term, 1)));
}

template <class Curve>
bool pairing_product_is_one(std::span<const PairingTerm<Curve>> terms) {
  return final_exponentiation<Curve>(miller_loop<Curve>(terms)).is_one();
}

template <class Curve>
bool pairing_product_is_one(
    std::span<const std::pair<Affine<typename Curve::G1>, Affine<typename Curve::G2>>> pairs) {
  std::vector<G2Prepared<Curve>> prepared;
  std::vector<PairingTerm<Curve>> terms;
  prepared.reserve(pairs.size());
  terms.reserve(pairs.size());
  for (const auto& [p, q] : pairs) {
    prepared.emplace_back(q);
    terms.push_back({p, &prepared.back()});
  }
  return pairing_product_is_one<Curve>(std::span<const PairingTerm<Curve>>(terms));
}

#define CUZK_INSTANTIATE(C)                                                 \
  template class G2Prepared<C>;                                             \
  template Gt<C> miller_loop<C>(std::span<const PairingTerm<C>>);           \
  template Gt<C> final_exponentiation<C>(const Gt<C>&);                     \
  template Gt<C> pairing<C>(const Affine<C::G1>&, const Affine<C::G2>&);    \
  template bool pairing_product_is_one<C>(std::span<const PairingTerm<C>>); \
  template bool pairing_product_is_one<C>(std::span<const std::pair<Affine<C::G1>, Affine<C::G2>>>);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk
