// The pairing: its defining properties, blst's values, and the final exponent against GMP.

#include "curve/pairing.h"

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/bytes.h"
#include "curve/encoding.h"

namespace cuzk {
namespace {

template <class C>
class Pairing : public ::testing::Test {
 public:
  using P1 = Affine<typename C::G1>;
  using P2 = Affine<typename C::G2>;
  using Scalar = typename C::Fr;
  using Pair = std::pair<P1, P2>;

  static P1 g1(const Scalar& k) {
    return Xyzz<typename C::G1>::from_affine(C::G1::generator()).mul(k.to_scalar()).to_affine();
  }
  static P2 g2(const Scalar& k) {
    return Xyzz<typename C::G2>::from_affine(C::G2::generator()).mul(k.to_scalar()).to_affine();
  }
  static bool product_is_one(const std::vector<Pair>& pairs) {
    return pairing_product_is_one<C>(std::span<const Pair>(pairs));
  }
};
using Curves = ::testing::Types<Bls12_381, Bn254>;
TYPED_TEST_SUITE(Pairing, Curves);

TYPED_TEST(Pairing, IsBilinear) {
  using Fr = typename TypeParam::Fr;
  SeededRandom random(51);
  const auto e = pairing<TypeParam>(this->g1(Fr::one()), this->g2(Fr::one()));
  for (int i = 0; i < 4; ++i) {
    const Fr a = Fr::random(random), b = Fr::random(random);
    const auto ab = (a * b).to_scalar();
    EXPECT_EQ(pairing<TypeParam>(this->g1(a), this->g2(b)), e.pow(ab.limbs));
    EXPECT_EQ(pairing<TypeParam>(this->g1(a * b), this->g2(Fr::one())), e.pow(ab.limbs));
    EXPECT_EQ(pairing<TypeParam>(this->g1(Fr::one()), this->g2(a * b)), e.pow(ab.limbs));
  }
}

TYPED_TEST(Pairing, IsNotDegenerateAndHasOrderR) {
  const auto e = pairing<TypeParam>(TypeParam::G1::generator(), TypeParam::G2::generator());
  EXPECT_FALSE(e.is_one());
  EXPECT_TRUE(e.pow(TypeParam::Fr::kModulus).is_one());
}

TYPED_TEST(Pairing, OfAnIdentityIsOne) {
  using G1 = Affine<typename TypeParam::G1>;
  using G2 = Affine<typename TypeParam::G2>;
  EXPECT_TRUE(pairing<TypeParam>(G1::identity(), TypeParam::G2::generator()).is_one());
  EXPECT_TRUE(pairing<TypeParam>(TypeParam::G1::generator(), G2::identity()).is_one());
  EXPECT_TRUE(pairing<TypeParam>(G1::identity(), G2::identity()).is_one());
}

TYPED_TEST(Pairing, ProductOfOppositePairsIsOneAndOfOthersIsNot) {
  using Fr = typename TypeParam::Fr;
  SeededRandom random(52);
  const Fr a = Fr::random(random), b = Fr::random(random), one = Fr::one();
  EXPECT_TRUE(this->product_is_one({}));
  EXPECT_TRUE(this->product_is_one({{this->g1(a), this->g2(b)}, {this->g1(-a), this->g2(b)}}));
  EXPECT_TRUE(this->product_is_one({{this->g1(a), this->g2(b)}, {this->g1(a), this->g2(-b)}}));
  EXPECT_TRUE(this->product_is_one(
      {{this->g1(a), this->g2(b)}, {this->g1(-a * b), this->g2(one)}, {{}, this->g2(a)}}));
  // a b + (a b + a) - a (2 b + 1) = 0 over three pairs, and one off.
  const Fr c = -(b.dbl() + one);
  EXPECT_TRUE(this->product_is_one(
      {{this->g1(a), this->g2(b)}, {this->g1(a), this->g2(b + one)}, {this->g1(a), this->g2(c)}}));
  EXPECT_FALSE(this->product_is_one({{this->g1(a), this->g2(b)},
                                     {this->g1(a), this->g2(b + one)},
                                     {this->g1(a), this->g2(c + one)}}));
  EXPECT_FALSE(this->product_is_one({{this->g1(a), this->g2(b)}}));
}

TYPED_TEST(Pairing, ProductSharesTheLoopWithoutChangingTheValue) {
  using Fr = typename TypeParam::Fr;
  SeededRandom random(53);
  std::vector<G2Prepared<TypeParam>> prepared;
  std::vector<PairingTerm<TypeParam>> terms;
  auto expected = Gt<TypeParam>::one();
  prepared.reserve(4);
  for (int i = 0; i < 4; ++i) {
    const auto p = this->g1(i == 2 ? Fr::zero() : Fr::random(random));
    const auto q = this->g2(i == 1 ? Fr::zero() : Fr::random(random));
    prepared.emplace_back(q);
    terms.push_back({p, &prepared.back()});
    expected *= pairing<TypeParam>(p, q);
  }
  const std::span<const PairingTerm<TypeParam>> span(terms);
  EXPECT_EQ(final_exponentiation<TypeParam>(miller_loop<TypeParam>(span)), expected);
}

template <class F>
mpz_class integer(const F& limbs) {
  mpz_class r;
  mpz_import(r.get_mpz_t(), limbs.size(), -1, 8, 0, 0, limbs.data());
  return r;
}

// multiple * (q^12 - 1) / r.
template <class C>
std::vector<std::uint64_t> final_exponent(const mpz_class& multiple) {
  const mpz_class q = integer(C::Fq::kModulus), r = integer(C::Fr::kModulus);
  mpz_class e;
  mpz_pow_ui(e.get_mpz_t(), q.get_mpz_t(), 12);
  e -= 1;
  EXPECT_EQ(e % r, 0);
  e = e / r * multiple;
  std::vector<std::uint64_t> limbs(mpz_sizeinbase(e.get_mpz_t(), 2) / 64 + 1);
  mpz_export(limbs.data(), nullptr, -1, 8, 0, 0, e.get_mpz_t());
  return limbs;
}

TEST(FinalExponentiation, IsThePowerThatTheHeaderStates) {
  SeededRandom random(54);
  const auto f = bls12_381::Fq12::random(random);
  EXPECT_EQ(final_exponentiation<Bls12_381>(f), f.pow(final_exponent<Bls12_381>(3)));
  const auto g = bn254::Fq12::random(random);
  const mpz_class x(std::to_string(bn254::kX));
  EXPECT_EQ(final_exponentiation<Bn254>(g),
            g.pow(final_exponent<Bn254>(2 * x * (6 * x * x + 3 * x + 1))));
}

TEST(GoldenPairing, ValuesEqualBlst) {
  std::ifstream file(CUZK_TESTDATA_DIR "/golden/unit/pairing.json");
  ASSERT_TRUE(file) << "testdata/golden/unit/pairing.json is missing";
  const auto json = nlohmann::json::parse(file);
  const auto expect_value = [](const bls12_381::Fq12& value, const nlohmann::json& expected) {
    std::size_t i = 0;
    for (const auto& c : {value.c0, value.c1}) {
      for (const auto& d : {c.c0, c.c1, c.c2}) {
        for (const auto& e : {d.c0, d.c1}) EXPECT_EQ(to_hex(e.to_bytes_be()), expected[i++]);
      }
    }
    EXPECT_EQ(i, expected.size());
  };
  expect_value(pairing<Bls12_381>(Bls12_381G1::generator(), Bls12_381G2::generator()),
               json["e_g1_g2"]["fp12_be"]);
  ASSERT_EQ(json["vectors"].size(), 3u);
  for (const auto& row : json["vectors"]) {
    const auto p = decode_uncompressed<Bls12_381G1>(from_hex(row["p"].get<std::string>()).value(),
                                                    PointCheck::kSubgroup);
    const auto q = decode_uncompressed<Bls12_381G2>(from_hex(row["q"].get<std::string>()).value(),
                                                    PointCheck::kSubgroup);
    ASSERT_TRUE(p && q);
    expect_value(pairing<Bls12_381>(*p, *q), row["e"]["fp12_be"]);
  }
}

}  // namespace
}  // namespace cuzk
