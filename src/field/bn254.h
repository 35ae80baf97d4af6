#pragma once
// The fields of BN254, also called alt_bn128 and, by circom, bn128. With x = 4965661367192848881:
//   q = 36x^4 + 36x^3 + 24x^2 + 6x + 1,  r = 36x^4 + 36x^3 + 18x^2 + 6x + 1.

#include "field/fp.h"
#include "field/fp2.h"
#include "field/tower.h"

namespace cuzk::bn254 {

inline constexpr std::uint64_t kX = 4965661367192848881;

struct FrParams {
  static constexpr const char* kName = "bn254::Fr";
  static constexpr Limbs<4> kModulus = {0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d,
                                        0x30644e72e131a029};
  static constexpr std::uint64_t kGenerator = 5;  // of the multiplicative group
  static constexpr unsigned kTwoAdicity = 28;
};
struct FqParams {
  static constexpr const char* kName = "bn254::Fq";
  static constexpr Limbs<4> kModulus = {0x3c208c16d87cfd47, 0x97816a916871ca8d, 0xb85045b68181585d,
                                        0x30644e72e131a029};
};

using Fr = Fp<FrParams>;
using Fq = Fp<FqParams>;
using Fq2 = Fp2<Fq>;

// xi = 9 + u.
struct Tower {
  using Fq2 = bn254::Fq2;
  static Fq2 xi() { return {Fq::from_u64(9), Fq::one()}; }
  static Fq2 mul_xi(const Fq2& a) {
    const Fq2 a9 = a.dbl().dbl().dbl() + a;
    return {a9.c0 - a.c1, a9.c1 + a.c0};
  }
};
using Fq6 = Fp6<Tower>;
using Fq12 = Fp12<Tower>;

}  // namespace cuzk::bn254
