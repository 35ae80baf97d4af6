#include "curve/endomorphism.h"

#include "base/check.h"

namespace cuzk {

namespace {

template <class G>
Xyzz<G> mul_u64(const Xyzz<G>& p, std::uint64_t k) {
  return p.mul(std::span<const std::uint64_t>(&k, 1));
}

// Of the two primitive cube roots of unity, the one with phi(G) = [-z^2] G on the generator.
bls12_381::Fq find_beta() {
  using Fq = bls12_381::Fq;
  using Point = Xyzz<Bls12_381G1>;
  Fq beta = Fq::one();
  for (std::uint64_t base = 2; beta.is_one(); ++base) {
    beta = internal::power_of_q_minus_1_over(Fq::from_u64(base), Fq::kModulus, 3);
  }
  const auto g = Bls12_381G1::generator();
  const Point image = -mul_u64(mul_u64(Point::from_affine(g), bls12_381::kZAbs), bls12_381::kZAbs);
  for (const Fq& root : {beta, beta.square()}) {
    if (image == Point::from_affine({g.x * root, g.y})) return root;
  }
  invariant_broken("phi has the eigenvalue -z^2 on G1", __FILE__, __LINE__);
}

template <class F2>
struct PsiConstants {
  F2 x;
  F2 y;
};

// The twist divides (BN254) or multiplies (BLS12-381) the coefficient of the curve by xi.
template <class F2>
PsiConstants<F2> psi_constants(const F2& xi, bool multiplying_twist) {
  const F2 base = multiplying_twist ? xi.inverse() : xi;
  return {internal::power_of_q_minus_1_over(base, F2::Base::kModulus, 3),
          internal::power_of_q_minus_1_over(base, F2::Base::kModulus, 2)};
}

}  // namespace

Affine<Bls12_381G1> phi(const Affine<Bls12_381G1>& p) {
  static const bls12_381::Fq beta = find_beta();
  return {p.x * beta, p.y};
}

Affine<Bls12_381G2> psi(const Affine<Bls12_381G2>& p) {
  static const auto k = psi_constants(bls12_381::Tower::xi(), true);
  return {p.x.conjugate() * k.x, p.y.conjugate() * k.y};
}

Affine<Bn254G2> psi(const Affine<Bn254G2>& p) {
  static const auto k = psi_constants(bn254::Tower::xi(), false);
  return {p.x.conjugate() * k.x, p.y.conjugate() * k.y};
}

bool is_in_subgroup(const Affine<Bls12_381G1>& p) {
  using Point = Xyzz<Bls12_381G1>;
  const Point z2 = mul_u64(mul_u64(Point::from_affine(p), bls12_381::kZAbs), bls12_381::kZAbs);
  return (z2 + phi(p)).is_identity();
}

bool is_in_subgroup(const Affine<Bls12_381G2>& p) {
  using Point = Xyzz<Bls12_381G2>;
  return (mul_u64(Point::from_affine(p), bls12_381::kZAbs) + psi(p)).is_identity();  // z < 0
}

bool is_in_subgroup(const Affine<Bn254G1>&) { return true; }

bool is_in_subgroup(const Affine<Bn254G2>& p) {
  using Point = Xyzz<Bn254G2>;
  const Point x2 = mul_u64(mul_u64(Point::from_affine(p), bn254::kX), bn254::kX);
  return (mul_u64(x2, 6) - psi(p)).is_identity();
}

}  // namespace cuzk
