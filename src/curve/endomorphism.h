#pragma once
// The endomorphisms of G1 and G2 and the membership tests of the prime-order subgroups.
//
//   phi(x, y) = (beta x, y) on E(Fq), beta a primitive cube root of unity in Fq
//   psi       = untwist, Frobenius, twist on E'(Fq2): (conj(x) cx, conj(y) cy)
//
// For P on the curve, P has order r (or 1) exactly when
//   BLS12-381 G1: phi(P) = [-z^2] P      BLS12-381 G2: psi(P) = [z] P
//   BN254 G1:     always (cofactor 1)    BN254 G2:     psi(P) = [6 x^2] P
// On G2 both sides come from psi^2 - t psi + q = 0: psi(P) = [t - 1] P gives [q + 1 - t] P = 0,
// which is [r] P = 0 on BN254 and [(z-1)^2 r / 3] P = 0 on BLS12-381, whose twist has no point of
// an order that divides (z-1)^2 / 3 (tools/check_curve_facts.py computes the common divisors).
//
// Source: Scott, "A note on group membership tests for G1, G2 and GT on BLS pairing-friendly
// curves",
//         2021; El Housni, Guillevic, Piellard 2022.
// Time:   variable; points to be checked are public.

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "curve/point.h"

namespace cuzk {

Affine<Bls12_381G1> phi(const Affine<Bls12_381G1>& p);
Affine<Bls12_381G2> psi(const Affine<Bls12_381G2>& p);
Affine<Bn254G2> psi(const Affine<Bn254G2>& p);

// For a point on the curve (not checked here): is it in the subgroup of order r?
bool is_in_subgroup(const Affine<Bls12_381G1>& p);
bool is_in_subgroup(const Affine<Bls12_381G2>& p);
bool is_in_subgroup(const Affine<Bn254G1>& p);
bool is_in_subgroup(const Affine<Bn254G2>& p);

// The same question asked the plain way, r * P = 0; the reference for the tests above.
template <class Curve, class G>
bool is_in_subgroup_reference(const Affine<G>& p) {
  return Xyzz<G>::from_affine(p).mul(std::span(Curve::Fr::kModulus)).is_identity();
}

}  // namespace cuzk
