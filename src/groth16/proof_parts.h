#pragma once
// The sums that a Groth16 proof is made of, and the proof made of them.
//
//   A = alpha + a_inputs + a_aux + r delta
//   B = beta  + b_inputs + b_aux + s delta             (in G2; B' the same in G1)
//   C = h + l + s (A - alpha - r delta) + r (B' - beta - s delta) + r s delta + s alpha + r beta
//
// Threads: values and a pure function.
// Source:  Groth, "On the Size of Pairing-based Non-interactive Arguments", 2016, section 3.2.

#include "curve/point.h"
#include "groth16/blinding.h"
#include "groth16/keys.h"

namespace cuzk::groth16 {

template <class Curve>
struct ProofParts {
  using G1 = Affine<typename Curve::G1>;
  using G2 = Affine<typename Curve::G2>;
  G1 h;            // quotient times h_query
  G1 l;            // auxiliaries times l_query
  G1 a_inputs;     // inputs and
  G1 a_aux;        // dense auxiliaries times a_query
  G1 b_g1_inputs;  // dense inputs and
  G1 b_g1_aux;     // dense auxiliaries times b_g1_query
  G2 b_g2_inputs;  // the same in G2
  G2 b_g2_aux;
  friend bool operator==(const ProofParts&, const ProofParts&) = default;
};

template <class Curve>
Proof<Curve> assemble(const VerifyingKey<Curve>& vk, const ProofParts<Curve>& parts,
                      const Blinding<Curve>& blinding) {
  using G1 = Xyzz<typename Curve::G1>;
  using G2 = Xyzz<typename Curve::G2>;
  const auto r = blinding.r().to_scalar();
  const auto s = blinding.s().to_scalar();
  const auto rs = (blinding.r() * blinding.s()).to_scalar();
  const G1 delta = G1::from_affine(vk.delta_g1);
  const G1 alpha = G1::from_affine(vk.alpha_g1);
  const G1 a = G1::from_affine(parts.a_inputs) + parts.a_aux;
  const G1 b_g1 = G1::from_affine(parts.b_g1_inputs) + parts.b_g1_aux;
  const G2 b = G2::from_affine(parts.b_g2_inputs) + parts.b_g2_aux;

  G1 c = G1::from_affine(parts.h) + parts.l;
  c += (a + alpha).mul(s) + (b_g1 + vk.beta_g1).mul(r) + delta.mul(rs);
  return {(a + alpha + delta.mul(r)).to_affine(),
          (b + vk.beta_g2 + G2::from_affine(vk.delta_g2).mul(s)).to_affine(), c.to_affine()};
}

}  // namespace cuzk::groth16
