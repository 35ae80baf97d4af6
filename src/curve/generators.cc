// Coefficients and generators of the groups, as published (BLS12-381: Bowe 2017; BN254: EIP-197).

#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "curve/bls12_381.h"
#include "curve/bn254.h"

namespace cuzk {

namespace {

template <class F>
F from_hex_be(std::string_view text) {
  const auto bytes = from_hex(text);
  CUZK_CHECK(bytes && bytes->size() == F::kBytes);
  const auto v = F::from_bytes_be(std::span<const std::uint8_t, F::kBytes>(*bytes));
  CUZK_CHECK(v);
  return *v;
}

}  // namespace

bls12_381::Fq Bls12_381G1::b() {
  static const Field b = Field::from_u64(4);
  return b;
}
Affine<Bls12_381G1> Bls12_381G1::generator() {
  static const Affine<Bls12_381G1> g = {
      from_hex_be<Field>("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff"
                         "97a1aeffb3af00adb22c6bb"),
      from_hex_be<Field>("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a"
                         "2888ae40caa232946c5e7e1")};
  return g;
}
bls12_381::Fq2 Bls12_381G2::b() {
  static const Field b = {bls12_381::Fq::from_u64(4), bls12_381::Fq::from_u64(4)};
  return b;
}
Affine<Bls12_381G2> Bls12_381G2::generator() {
  using Fq = bls12_381::Fq;
  static const Affine<Bls12_381G2> g = {
      {from_hex_be<Fq>("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a80"
                       "5bbefd48056c8c121bdb8"),
       from_hex_be<Fq>("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf112139"
                       "45d57e5ac7d055d042b7e")},
      {from_hex_be<Fq>("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3ba"
                       "ca289e193548608b82801"),
       from_hex_be<Fq>("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275ce"
                       "c1da1aaa9075ff05f79be")}};
  return g;
}

bn254::Fq Bn254G1::b() {
  static const Field b = Field::from_u64(3);
  return b;
}
Affine<Bn254G1> Bn254G1::generator() { return {bn254::Fq::from_u64(1), bn254::Fq::from_u64(2)}; }
bn254::Fq2 Bn254G2::b() {
  static const Field b =
      Field{bn254::Fq::from_u64(9), bn254::Fq::from_u64(1)}.inverse() * bn254::Fq::from_u64(3);
  return b;
}
Affine<Bn254G2> Bn254G2::generator() {
  using Fq = bn254::Fq;
  static const Affine<Bn254G2> g = {
      {from_hex_be<Fq>("1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"),
       from_hex_be<Fq>("198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2")},
      {from_hex_be<Fq>("12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa"),
       from_hex_be<Fq>("090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b")}};
  return g;
}

}  // namespace cuzk
