#pragma once
// Groth16 keys (Groth 2016), as bellman orders them.
//
// Form: points affine, Montgomery. Names as in docs/lexicon.md.
//   h_query[i]  = tau^i (tau^m - 1) / delta, i < m - 1, the powers basis (bellman, gnark)
//   l_query[j]  = (beta A_j + alpha B_j + C_j)(tau) / delta for auxiliary j
//   a_query     = A_i(tau) for all inputs, then the auxiliaries dense in A
//   b_g1_query, b_g2_query = B_i(tau) for the inputs dense in B, then the auxiliaries dense in B
//   ic[i]       = (beta A_i + alpha B_i + C_i)(tau) / gamma for input i
// Threads: immutable once built.

#include <cstdint>
#include <vector>

#include "base/memory.h"
#include "curve/point.h"

namespace cuzk {

template <class Curve>
struct VerifyingKey {
  using G1 = Affine<typename Curve::G1>;
  using G2 = Affine<typename Curve::G2>;
  G1 alpha_g1;
  G1 beta_g1;
  G2 beta_g2;
  G2 gamma_g2;
  G1 delta_g1;
  G2 delta_g2;
  std::vector<G1> ic;  // one for each input, the constant one first
};

template <class Curve>
struct ProvingKey {
  using G1 = Affine<typename Curve::G1>;
  using G2 = Affine<typename Curve::G2>;
  VerifyingKey<Curve> vk;
  Buffer<G1> h_query;
  Buffer<G1> l_query;
  Buffer<G1> a_query;
  Buffer<G1> b_g1_query;
  Buffer<G2> b_g2_query;
};

template <class Curve>
struct Proof {
  Affine<typename Curve::G1> a;
  Affine<typename Curve::G2> b;
  Affine<typename Curve::G1> c;
  friend bool operator==(const Proof&, const Proof&) = default;
};

}  // namespace cuzk
