#pragma once
// The fields of BLS12-381 (Bowe 2017). With z = -0xd201000000010000:
//   r = z^4 - z^2 + 1,  q = (z - 1)^2 r / 3 + z.

#include "field/fp.h"
#include "field/fp2.h"
#include "field/tower.h"

namespace cuzk::bls12_381 {

inline constexpr std::uint64_t kZAbs = 0xd201000000010000;  // z is negative

struct FrParams {
  static constexpr const char* kName = "bls12_381::Fr";
  static constexpr Limbs<4> kModulus = {0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805,
                                        0x73eda753299d7d48};
  static constexpr std::uint64_t kGenerator = 7;  // of the multiplicative group
  static constexpr unsigned kTwoAdicity = 32;
};
struct FqParams {
  static constexpr const char* kName = "bls12_381::Fq";
  static constexpr Limbs<6> kModulus = {0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624,
                                        0x64774b84f38512bf, 0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a};
};

using Fr = Fp<FrParams>;
using Fq = Fp<FqParams>;
using Fq2 = Fp2<Fq>;

// xi = 1 + u.
struct Tower {
  using Fq2 = bls12_381::Fq2;
  static Fq2 xi() { return {Fq::one(), Fq::one()}; }
  static Fq2 mul_xi(const Fq2& a) { return {a.c0 - a.c1, a.c0 + a.c1}; }
};
using Fq6 = Fp6<Tower>;
using Fq12 = Fp12<Tower>;

}  // namespace cuzk::bls12_381
