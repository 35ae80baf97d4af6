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

// Inputs of Ethereum's pairing precompile (EIP-197): x, y of G1, then x and y of G2 with the
// coefficient of u first, 32 bytes each, for each pair. The vectors "jeff1" (product one) and
// "jeff6" (its second point of G1 negated, product not one) of ethereum/go-ethereum's precompile
// tests.
bn254::Fq eip197_word(ByteSpan bytes, std::size_t i) {
  return *bn254::Fq::from_bytes_be(bytes.subspan(32 * i).first<32>());
}

bool eip197_product_is_one(const std::string& hex) {
  const auto bytes = from_hex(hex).value();
  std::vector<std::pair<Affine<Bn254G1>, Affine<Bn254G2>>> pairs;
  for (std::size_t i = 0; i < bytes.size() / 32; i += 6) {
    const auto word = [&](std::size_t j) { return eip197_word(bytes, i + j); };
    pairs.push_back({{word(0), word(1)}, {{word(3), word(2)}, {word(5), word(4)}}});
    EXPECT_TRUE(pairs.back().first.is_on_curve());
    EXPECT_TRUE(pairs.back().second.is_on_curve());
  }
  EXPECT_EQ(pairs.size(), 2u);
  return pairing_product_is_one<Bn254>(
      std::span<const std::pair<Affine<Bn254G1>, Affine<Bn254G2>>>(pairs));
}

TEST(Eip197, PublishedProductsAreDecidedAsPublished) {
  const std::string first_pair =
      "1c76476f4def4bb94541d57ebba1193381ffa7aa76ada664dd31c16024c43f59"
      "3034dd2920f673e204fee2811c678745fc819b55d3e9d294e45c9b03a76aef41"
      "209dd15ebff5d46c4bd888e51a93cf99a7329636c63514396b4a452003a35bf7"
      "04bf11ca01483bfa8b34b43561848d28905960114c8ac04049af4b6315a41678"
      "2bb8324af6cfc93537a2ad1a445cfd0ca2a71acd7ac41fadbf933c2a51be344d"
      "120a2a4cf30c1bf9845f20c6fe39e07ea2cce61f0c9bb048165fe5e4de877550";
  const std::string generator_g2 =
      "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2"
      "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"
      "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b"
      "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa";
  EXPECT_TRUE(
      eip197_product_is_one(first_pair +
                            "111e129f1cf1097710d41c4ac70fcdfa5ba2023c6ff1cbeac322de49d1b6df7c"
                            "2032c61a830e3c17286de9462bf242fca2883585b93870a73853face6a6bf411" +
                            generator_g2));
  EXPECT_FALSE(
      eip197_product_is_one(first_pair +
                            "111e129f1cf1097710d41c4ac70fcdfa5ba2023c6ff1cbeac322de49d1b6df7c"
                            "103188585e2364128fe25c70558f1560f4f9350baf3959e603cc91486e110936" +
                            generator_g2));
}

}  // namespace
}  // namespace cuzk
