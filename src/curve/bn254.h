#pragma once
// The groups of BN254: G1: y^2 = x^3 + 3 over Fq, G2: y^2 = x^3 + 3 / (9 + u) over Fq2.

#include "curve/point.h"
#include "field/bn254.h"

namespace cuzk {

struct Bn254G1 {
  using Field = bn254::Fq;
  static Field b();
  static Affine<Bn254G1> generator();
};
struct Bn254G2 {
  using Field = bn254::Fq2;
  static Field b();
  static Affine<Bn254G2> generator();
};

struct Bn254 {
  static constexpr const char* kName = "bn254";
  using Fr = bn254::Fr;
  using Fq = bn254::Fq;
  using Fq2 = bn254::Fq2;
  using Fq12 = bn254::Fq12;
  using G1 = Bn254G1;
  using G2 = Bn254G2;
};

}  // namespace cuzk
