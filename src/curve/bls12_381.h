#pragma once
// The groups of BLS12-381: G1: y^2 = x^3 + 4 over Fq, G2: y^2 = x^3 + 4(1 + u) over Fq2.

#include "curve/point.h"
#include "field/bls12_381.h"

namespace cuzk {

struct Bls12_381G1 {
  using Field = bls12_381::Fq;
  static Field b();
  static Affine<Bls12_381G1> generator();
};
struct Bls12_381G2 {
  using Field = bls12_381::Fq2;
  static Field b();
  static Affine<Bls12_381G2> generator();
};

// What generic code over a pairing-friendly curve needs.
struct Bls12_381 {
  static constexpr const char* kName = "bls12-381";
  using Fr = bls12_381::Fr;
  using Fq = bls12_381::Fq;
  using Fq2 = bls12_381::Fq2;
  using Fq12 = bls12_381::Fq12;
  using G1 = Bls12_381G1;
  using G2 = Bls12_381G2;
};

}  // namespace cuzk
