// GT: membership, powers and byte forms, each against its plain definition.

#include "curve/gt.h"

#include <gtest/gtest.h>

#include <vector>

#include "curve/z_digits.h"

namespace cuzk {
namespace {

using Fq = bls12_381::Fq;
using Fq12 = bls12_381::Fq12;
using Fr = bls12_381::Fr;

Fq12 generator() {
  static const Fq12 e = pairing<Bls12_381>(Bls12_381G1::generator(), Bls12_381G2::generator());
  return e;
}
Fq12 random_gt(RandomSource& random) {
  return generator().pow(Fr::random(random).to_scalar().limbs);
}

std::vector<Fr::Scalar> edge_scalars() {
  std::vector<Fr> values = {Fr::zero(),
                            Fr::one(),
                            -Fr::one(),
                            Fr::from_u64(bls12_381::kZAbs),
                            Fr::from_u64(bls12_381::kZAbs - 1),
                            Fr::from_u64(bls12_381::kZAbs).square(),
                            Fr::from_u64(15)};
  for (std::uint64_t bit = 1; bit < 255; bit += 23) values.push_back(Fr::from_u64(2).pow(bit));
  std::vector<Fr::Scalar> out;
  for (const Fr& v : values) out.push_back(v.to_scalar());
  return out;
}

TEST(ZDigits, AreTheScalarInBaseZ) {
  SeededRandom random(61);
  std::vector<Fr::Scalar> scalars = edge_scalars();
  for (int i = 0; i < 100; ++i) scalars.push_back(Fr::random(random).to_scalar());
  const Fr z = Fr::from_u64(bls12_381::kZAbs);
  for (const auto& scalar : scalars) {
    const ZDigits d = z_digits(scalar);
    Fr value = Fr::zero();
    for (std::size_t i = 4; i-- > 0;) {
      EXPECT_LT(d[i], bls12_381::kZAbs);
      value = value * z + Fr::from_u64(d[i]);
    }
    EXPECT_EQ(value.to_scalar(), scalar);
  }
}

TEST(ZDigits, NafHasItsValueInSparseOddDigits) {
  SeededRandom random(62);
  std::vector<u128> values = {
      0, 1, 7, 8, 9, 15, 16, ~std::uint64_t{0}, (static_cast<u128>(bls12_381::kZAbs) << 64) - 1};
  for (int i = 0; i < 100; ++i) {
    values.push_back(random.next_u64());
    values.push_back(static_cast<u128>(random.next_u64() >> 1) << 64 | random.next_u64());
  }
  for (const u128 value : values) {
    const auto naf = width_4_naf<128>(value);
    u128 sum = 0;
    std::size_t last = naf.size() + kNafWidth;
    for (std::size_t i = naf.size(); i-- > 0;) {
      sum = 2 * sum + static_cast<u128>(static_cast<std::int64_t>(naf[i]));
      if (naf[i] == 0) continue;
      EXPECT_TRUE(naf[i] % 2 != 0 && naf[i] <= 7 && naf[i] >= -7) << int{naf[i]};
      EXPECT_GE(last - i, kNafWidth);
      last = i;
    }
    EXPECT_TRUE(sum == value);
  }
}

TEST(Gt, MembershipAgreesWithThePlainTest) {
  SeededRandom random(63);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(is_in_gt(random_gt(random)));
  EXPECT_TRUE(is_in_gt(Fq12::one()));
  EXPECT_FALSE(is_in_gt(Fq12{}));
  // Values on each step of the way into GT: any, norm 1 over Fq6, cyclotomic.
  for (int i = 0; i < 4; ++i) {
    const Fq12 any = Fq12::random(random);
    const Fq12 norm_1 = any.conjugate() * any.inverse();
    const Fq12 cyclotomic = norm_1.frobenius(2) * norm_1;
    for (const Fq12& g : {any, norm_1, cyclotomic}) {
      EXPECT_FALSE(is_in_gt(g));
      EXPECT_FALSE(is_in_gt_reference(g));
    }
    const Fq12 member = final_exponentiation<Bls12_381>(any);
    EXPECT_TRUE(is_in_gt(member));
    EXPECT_TRUE(is_in_gt_reference(member));
    EXPECT_FALSE(is_in_gt(member * cyclotomic));
  }
}

TEST(Gt, ProductsOfPowersAgreeWithPlainPowers) {
  SeededRandom random(64);
  for (const int threads : {1, 3}) {
    Tasks tasks(threads);
    for (const std::size_t count : {0, 1, 2, 9, 70}) {
      std::vector<Fq12> bases;
      std::vector<Fr::Scalar> exponents;
      Fq12 expected = Fq12::one();
      for (std::size_t i = 0; i < count; ++i) {
        bases.push_back(random_gt(random));
        exponents.push_back(Fr::random(random).to_scalar());
        expected *= bases[i].pow(exponents[i].limbs);
      }
      EXPECT_EQ(gt_product_of_powers(tasks, bases, exponents), expected);
    }
  }
}

TEST(Gt, EdgePowersAgreeWithPlainPowers) {
  Tasks tasks(1);
  SeededRandom random(65);
  for (const auto& scalar : edge_scalars()) {
    for (const Fq12& g : {random_gt(random), Fq12::one()}) {
      EXPECT_EQ(gt_product_of_powers(tasks, std::span(&g, 1), std::span(&scalar, 1)),
                g.pow(scalar.limbs));
    }
  }
}

TEST(Gt, CompressionRoundTrips) {
  SeededRandom random(66);
  for (int i = 0; i < 20; ++i) {
    const Fq12 g = random_gt(random);
    const auto bytes = compress_gt(g);
    ASSERT_TRUE(bytes);
    const auto back = decompress_gt(*bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, g);
  }
  EXPECT_EQ(compress_gt(Fq12::one()).error().code, ErrorCode::kInvalidArgument);
}

TEST(Gt, MalformedBytesAreRefused) {
  SeededRandom random(67);
  auto bytes = *compress_gt(random_gt(random));
  EXPECT_EQ(decompress_gt(std::span(bytes).first(287)).error().code, ErrorCode::kCorruptInput);
  for (std::size_t c = 0; c < 6; ++c) {
    auto changed = bytes;
    std::copy_n(reinterpret_cast<const std::uint8_t*>(Fq::kModulus.data()), 48,
                changed.begin() + static_cast<std::ptrdiff_t>(48 * c));
    const auto result = decompress_gt(changed);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find(fmt::format("coordinate {} of 6", c + 1)),
              std::string::npos);
    // Canonical but another value: norm 1, not in GT.
    changed = bytes;
    changed[48 * c] ^= 1;
    const auto other = decompress_gt(changed);
    ASSERT_TRUE(other);
    EXPECT_TRUE((*other * other->conjugate()).is_one());
    EXPECT_FALSE(is_in_gt(*other));
  }
}

TEST(Gt, UncompressedBytesAreTheCoordinatesInOrder) {
  SeededRandom random(68);
  const Fq12 g = random_gt(random);
  const auto bytes = encode_gt(g);
  const std::array<Fq, 12> expected = {g.c0.c0.c0, g.c0.c0.c1, g.c0.c1.c0, g.c0.c1.c1,
                                       g.c0.c2.c0, g.c0.c2.c1, g.c1.c0.c0, g.c1.c0.c1,
                                       g.c1.c1.c0, g.c1.c1.c1, g.c1.c2.c0, g.c1.c2.c1};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(Fq::from_bytes_le(std::span(bytes).subspan(48 * i).first<48>()), expected[i]);
  }
}

}  // namespace
}  // namespace cuzk
