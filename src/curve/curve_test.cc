// Group laws, membership of the subgroups and byte forms of points.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "curve/encoding.h"
#include "curve/endomorphism.h"
#include "field/sqrt.h"

namespace cuzk {
namespace {

template <class C, class G>
struct Case {
  using Curve = C;
  using Group = G;
  static Xyzz<G> generator() { return Xyzz<G>::from_affine(G::generator()); }
  static Xyzz<G> random_point(RandomSource& random) {
    return generator().mul(C::Fr::random(random).to_scalar());
  }
};

template <class T>
class Group : public ::testing::Test {};
using Groups = ::testing::Types<Case<Bls12_381, Bls12_381G1>, Case<Bls12_381, Bls12_381G2>,
                                Case<Bn254, Bn254G1>, Case<Bn254, Bn254G2>>;
TYPED_TEST_SUITE(Group, Groups);

TYPED_TEST(Group, GeneratorIsOnTheCurveAndHasOrderR) {
  using G = typename TypeParam::Group;
  using Fr = typename TypeParam::Curve::Fr;
  EXPECT_TRUE(G::generator().is_on_curve());
  EXPECT_FALSE(G::generator().is_identity());
  EXPECT_TRUE(TypeParam::generator().mul(std::span(Fr::kModulus)).is_identity());
  EXPECT_EQ(TypeParam::generator().mul((-Fr::one()).to_scalar()), -TypeParam::generator());
}

TYPED_TEST(Group, LawsHoldForRandomPoints) {
  using X = Xyzz<typename TypeParam::Group>;
  SeededRandom random(31);
  for (int i = 0; i < 20; ++i) {
    const X p = TypeParam::random_point(random), q = TypeParam::random_point(random);
    const X s = TypeParam::random_point(random);
    EXPECT_EQ(p + q, q + p);
    EXPECT_EQ((p + q) + s, p + (q + s));
    EXPECT_EQ(p + q, p + q.to_affine());
    EXPECT_EQ((p + q) - q, p);
    EXPECT_EQ(p - q.to_affine(), p - q);
    EXPECT_TRUE((p + q).to_affine().is_on_curve());
    EXPECT_EQ(X::from_affine(p.to_affine()), p);
    X r = p;
    r += q;
    r += s.to_affine();
    EXPECT_EQ(r, p + q + s);
  }
}

TYPED_TEST(Group, EqualOppositeAndIdentityOperandsAreNotSpecial) {
  using X = Xyzz<typename TypeParam::Group>;
  SeededRandom random(32);
  const X o = X::identity();
  const X p = TypeParam::random_point(random);
  const X p2 = X::from_affine(p.to_affine());  // the same point, other coordinates
  EXPECT_EQ(p + p2, p.dbl());
  EXPECT_EQ(p + p, p.dbl());
  EXPECT_EQ(p + p.to_affine(), p.dbl());
  EXPECT_EQ(p2 + p.to_affine(), p.dbl());
  EXPECT_TRUE((p - p2).is_identity());
  EXPECT_TRUE((p - p.to_affine()).is_identity());
  EXPECT_EQ(p + o, p);
  EXPECT_EQ(o + p, p);
  EXPECT_EQ(o + p.to_affine(), p);
  EXPECT_EQ(p + o.to_affine(), p);
  EXPECT_TRUE((o + o).is_identity());
  EXPECT_TRUE(o.dbl().is_identity());
  EXPECT_TRUE((-o).is_identity());
  EXPECT_TRUE(o.to_affine().is_identity());
  EXPECT_FALSE(p == o);
  EXPECT_FALSE(p == -p);
}

TYPED_TEST(Group, ScalarMultiplicationIsAHomomorphism) {
  using Fr = typename TypeParam::Curve::Fr;
  SeededRandom random(33);
  for (int i = 0; i < 5; ++i) {
    const Fr a = Fr::random(random), b = Fr::random(random);
    const auto g = TypeParam::generator();
    EXPECT_EQ(g.mul(a.to_scalar()) + g.mul(b.to_scalar()), g.mul((a + b).to_scalar()));
    EXPECT_EQ(g.mul(a.to_scalar()).mul(b.to_scalar()), g.mul((a * b).to_scalar()));
  }
  EXPECT_TRUE(TypeParam::generator().mul(Fr::zero().to_scalar()).is_identity());
}

// A point of the curve with a random x, so nearly never in a proper subgroup.
template <class G>
Affine<G> random_curve_point(RandomSource& random) {
  for (;;) {
    const auto x = G::Field::random(random);
    if (const auto y = sqrt(x.square() * x + G::b())) return {x, *y};
  }
}

TYPED_TEST(Group, SubgroupTestAgreesWithMultiplicationByR) {
  using G = typename TypeParam::Group;
  using C = typename TypeParam::Curve;
  SeededRandom random(34);
  EXPECT_TRUE(is_in_subgroup(Affine<G>::identity()));
  for (int i = 0; i < 20; ++i) {
    const auto inside = TypeParam::random_point(random).to_affine();
    EXPECT_TRUE(is_in_subgroup(inside));
    EXPECT_TRUE(is_in_subgroup_reference<C>(inside));
    const auto any = random_curve_point<G>(random);
    ASSERT_TRUE(any.is_on_curve());
    EXPECT_EQ(is_in_subgroup(any), is_in_subgroup_reference<C>(any));
    // A point whose order divides the cofactor, alone and on top of one of the subgroup.
    const auto low = Xyzz<G>::from_affine(any).mul(std::span(C::Fr::kModulus));
    EXPECT_EQ(is_in_subgroup(low.to_affine()), low.is_identity());
    EXPECT_EQ(is_in_subgroup((low + inside).to_affine()), low.is_identity());
  }
}

TEST(Endomorphisms, ActOnTheSubgroupsByTheirEigenvalues) {
  SeededRandom random(35);
  const auto p = Case<Bls12_381, Bls12_381G1>::random_point(random).to_affine();
  const auto phi1 = Xyzz<Bls12_381G1>::from_affine(phi(p));
  EXPECT_TRUE(phi(p).is_on_curve());
  EXPECT_TRUE((phi1 + phi(phi(p)) + p).is_identity());  // phi^2 + phi + 1 = 0
  const auto q = Case<Bn254, Bn254G2>::random_point(random);
  EXPECT_TRUE(psi(q.to_affine()).is_on_curve());
  // psi acts as q, here reduced modulo r.
  Limbs<4> eigenvalue = bn254::FqParams::kModulus;
  sub_in_place(eigenvalue, bn254::FrParams::kModulus);
  EXPECT_EQ(Xyzz<Bn254G2>::from_affine(psi(q.to_affine())), q.mul(std::span(eigenvalue)));
}

// Byte forms, BLS12-381 only.
template <class T>
class Encoding : public ::testing::Test {};
using EncodedGroups = ::testing::Types<Case<Bls12_381, Bls12_381G1>, Case<Bls12_381, Bls12_381G2>>;
TYPED_TEST_SUITE(Encoding, EncodedGroups);

TYPED_TEST(Encoding, RoundTrips) {
  using G = typename TypeParam::Group;
  SeededRandom random(41);
  for (int i = 0; i < 30; ++i) {
    const auto p = i == 0 ? Affine<G>::identity() : TypeParam::random_point(random).to_affine();
    for (const auto& point : {p, -p}) {
      for (const auto check :
           {PointCheck::kFormOnly, PointCheck::kOnCurve, PointCheck::kSubgroup}) {
        EXPECT_EQ(decode_compressed<G>(encode_compressed(point), check).value(), point);
        EXPECT_EQ(decode_uncompressed<G>(encode_uncompressed(point), check).value(), point);
      }
    }
  }
}

template <class G>
std::string compressed_error(ByteSpan bytes, PointCheck check = PointCheck::kFormOnly) {
  const auto r = decode_compressed<G>(bytes, check);
  if (r) return "accepted";
  EXPECT_EQ(r.error().code, ErrorCode::kCorruptInput);
  return r.error().message;
}
template <class G>
std::string uncompressed_error(ByteSpan bytes, PointCheck check = PointCheck::kFormOnly) {
  const auto r = decode_uncompressed<G>(bytes, check);
  if (r) return "accepted";
  EXPECT_EQ(r.error().code, ErrorCode::kCorruptInput);
  return r.error().message;
}

TYPED_TEST(Encoding, EveryFlagCombinationIsAcceptedOrRefusedAsDefined) {
  using G = typename TypeParam::Group;
  const auto g = G::generator();
  for (unsigned flags = 0; flags < 8; ++flags) {
    const auto top = static_cast<std::uint8_t>(flags << 5);
    auto c = encode_compressed(g);
    c[0] = static_cast<std::uint8_t>((c[0] & 0x1f) | top);
    EXPECT_EQ(decode_compressed<G>(c, PointCheck::kSubgroup).has_value(),
              top == 0x80 || top == 0xa0)
        << "compressed, flags " << flags;
    auto u = encode_uncompressed(g);
    u[0] = static_cast<std::uint8_t>((u[0] & 0x1f) | top);
    EXPECT_EQ(decode_uncompressed<G>(u, PointCheck::kSubgroup).has_value(), top == 0)
        << "uncompressed, flags " << flags;
    auto ci = decltype(c){};
    ci[0] = top;
    EXPECT_EQ(decode_compressed<G>(ci, PointCheck::kSubgroup).has_value(), top == 0xc0)
        << "compressed zeros, flags " << flags;
    auto ui = decltype(u){};
    ui[0] = top;
    EXPECT_EQ(decode_uncompressed<G>(ui, PointCheck::kFormOnly).has_value(), top == 0x40)
        << "uncompressed zeros, flags " << flags;
  }
}

TYPED_TEST(Encoding, SignFlagChoosesBetweenThePointAndItsOpposite) {
  using G = typename TypeParam::Group;
  SeededRandom random(42);
  for (int i = 0; i < 10; ++i) {
    const auto p = TypeParam::random_point(random).to_affine();
    auto bytes = encode_compressed(p);
    bytes[0] ^= 0x20;
    EXPECT_EQ(decode_compressed<G>(bytes, PointCheck::kSubgroup).value(), -p);
    EXPECT_EQ(encode_compressed(-p), bytes);
  }
}

TYPED_TEST(Encoding, ErrorsNameTheGroupAndTheReason) {
  using G = typename TypeParam::Group;
  const std::string group = std::is_same_v<G, Bls12_381G1> ? "G1" : "G2";
  const auto c = encode_compressed(G::generator());
  const auto u = encode_uncompressed(G::generator());
  EXPECT_EQ(compressed_error<G>(ByteSpan(c).first(c.size() - 1)),
            fmt::format("{} point: the compressed form has {} bytes, found {}", group, c.size(),
                        c.size() - 1));
  EXPECT_EQ(uncompressed_error<G>(c),
            fmt::format("{} point: the uncompressed form has {} bytes, found {}", group, u.size(),
                        c.size()));
  EXPECT_EQ(compressed_error<G>({}),
            fmt::format("{} point: the compressed form has {} bytes, found 0", group, c.size()));
  auto bad = u;
  bad[0] |= 0x80;
  EXPECT_EQ(uncompressed_error<G>(bad),
            fmt::format("{} point: the uncompressed form needs flag 0x80 clear, found first byte "
                        "{:#04x}",
                        group, bad[0]));
  bad = {};
  bad[0] = 0x40;
  bad.back() = 1;
  EXPECT_EQ(uncompressed_error<G>(bad),
            group + " point: the identity flag 0x40 is set but the other bits are not all zero");
  bad = {};
  EXPECT_EQ(uncompressed_error<G>(bad),
            group + " point: x and y are zero but the identity flag 0x40 is clear");
}

TYPED_TEST(Encoding, CoordinatesFromTheModulusOnAreRefused) {
  using G = typename TypeParam::Group;
  using Fq = bls12_381::Fq;
  constexpr std::size_t kCoordinates = sizeof(typename G::Field) / Fq::kBytes;
  Limbs<6> minus_one = Fq::kModulus;
  minus_one[0] -= 1;
  const auto not_below_modulus = [](const char* name) {
    return fmt::format("{} point: coordinate {} is not below the field modulus",
                       kCoordinates == 1 ? "G1" : "G2", name);
  };
  const auto write = [](std::uint8_t* out, const Limbs<6>& v) {
    for (std::size_t i = 0; i < 6; ++i) store_be64(out + 8 * i, v[5 - i]);
  };
  for (std::size_t i = 0; i < 2 * kCoordinates; ++i) {
    auto u = encode_uncompressed(G::generator());
    write(u.data() + 48 * i, Fq::kModulus);
    EXPECT_EQ(uncompressed_error<G>(u), not_below_modulus(i < kCoordinates ? "x" : "y"));
    write(u.data() + 48 * i, minus_one);
    EXPECT_EQ(uncompressed_error<G>(u), "accepted") << i;
    EXPECT_EQ(
        uncompressed_error<G>(u, PointCheck::kOnCurve),
        std::string(kCoordinates == 1 ? "G1" : "G2") + " point: (x, y) does not lie on the curve");
  }
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    auto c = encode_compressed(G::generator());
    write(c.data() + 48 * i, Fq::kModulus);
    c[0] |= 0x80;
    EXPECT_EQ(compressed_error<G>(c), not_below_modulus("x"));
  }
}

TYPED_TEST(Encoding, PointsOutsideTheSubgroupAreRefusedOnlyWhenAsked) {
  using G = typename TypeParam::Group;
  SeededRandom random(43);
  const auto p = random_curve_point<G>(random);
  ASSERT_FALSE(is_in_subgroup_reference<Bls12_381>(p));
  EXPECT_EQ(decode_compressed<G>(encode_compressed(p), PointCheck::kOnCurve).value(), p);
  EXPECT_EQ(decode_uncompressed<G>(encode_uncompressed(p), PointCheck::kOnCurve).value(), p);
  const std::string outside = std::string(std::is_same_v<G, Bls12_381G1> ? "G1" : "G2") +
                              " point: it lies on the curve but not in the subgroup of order r";
  EXPECT_EQ(compressed_error<G>(encode_compressed(p), PointCheck::kSubgroup), outside);
  EXPECT_EQ(uncompressed_error<G>(encode_uncompressed(p), PointCheck::kSubgroup), outside);
}

TYPED_TEST(Encoding, AnXWithoutAYIsRefused) {
  using G = typename TypeParam::Group;
  SeededRandom random(44);
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    const auto x = G::Field::random(random);
    auto bytes = encode_compressed(Affine<G>{x, G::Field::one()});
    const bool on_curve = sqrt(x.square() * x + G::b()).has_value();
    EXPECT_EQ(decode_compressed<G>(bytes, PointCheck::kFormOnly).has_value(), on_curve);
    if (!on_curve) ++refused;
  }
  EXPECT_GT(refused, 5);
}

nlohmann::json golden(const std::string& name) {
  std::ifstream file(CUZK_TESTDATA_DIR "/golden/unit/" + name);
  EXPECT_TRUE(file) << name << " is missing in testdata/golden/unit";
  return nlohmann::json::parse(file);
}
std::vector<std::uint8_t> bytes_of(const nlohmann::json& hex) {
  return from_hex(hex.get<std::string>()).value();
}

template <class G>
void expect_multiple(const nlohmann::json& row, const std::string& group) {
  using Fr = bls12_381::Fr;
  const auto k_bytes = bytes_of(row["k"]);
  const Fr k = *Fr::from_bytes_le(std::span<const std::uint8_t, 32>(k_bytes));
  const auto p = Xyzz<G>::from_affine(G::generator()).mul(k.to_scalar()).to_affine();
  EXPECT_EQ(to_hex(encode_compressed(p)), row[group + "_compressed"]);
  EXPECT_EQ(to_hex(encode_uncompressed(p)), row[group + "_uncompressed"]);
  EXPECT_EQ(decode_compressed<G>(bytes_of(row[group + "_compressed"]), PointCheck::kSubgroup), p);
}

template <class G>
void expect_sums(const nlohmann::json& row, const std::string& group) {
  const auto point = [&](const char* name) {
    const auto bytes = bytes_of(row[group + name]);
    return Xyzz<G>::from_affine(decode_uncompressed<G>(bytes, PointCheck::kSubgroup).value());
  };
  const auto a = point("_a"), b = point("_b");
  EXPECT_EQ(a + b, point("_sum"));
  EXPECT_EQ(a.dbl(), point("_double_a"));
  EXPECT_EQ(-a, point("_neg_a"));
}

TEST(GoldenCurve, MultiplesOfTheGeneratorsAndSumsEqualTheReference) {
  const auto json = golden("curve.json");
  ASSERT_EQ(json["mult_of_generator"].size(), 12u);
  for (const auto& row : json["mult_of_generator"]) {
    expect_multiple<Bls12_381G1>(row, "g1");
    expect_multiple<Bls12_381G2>(row, "g2");
  }
  ASSERT_EQ(json["sums"].size(), 4u);
  for (const auto& row : json["sums"]) {
    expect_sums<Bls12_381G1>(row, "g1");
    expect_sums<Bls12_381G2>(row, "g2");
  }
}

TEST(GoldenCurve, MalformedEncodingsAreRefusedAsTheReferenceDoesOrStricter) {
  const auto json = golden("curve.json");
  ASSERT_EQ(json["decode"].size(), 7u);
  for (const auto& row : json["decode"]) {
    const bool ours =
        decode_uncompressed<Bls12_381G1>(bytes_of(row["g1_uncompressed"]), PointCheck::kSubgroup)
            .has_value();
    // The reference reads a compressed point from the first half of such a buffer; we refuse it.
    const bool stricter = row["name"] == "compression flag set on uncompressed";
    EXPECT_EQ(ours, row["from_uncompressed_ok"].get<bool>() && !stricter) << row["name"];
  }
}

std::vector<std::uint8_t> read_shared(const std::string& name) {
  std::ifstream file(std::string(CUZK_SHARED_DIR) + "/inputs/filecoin/points/" + name,
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The files hold 0 G, 1 G, ..., 999 G.
template <class G>
void expect_multiples_file(const std::string& group) {
  const auto compressed = read_shared("ark-" + group + "_compressed_valid_test_vectors.dat");
  const auto uncompressed = read_shared("ark-" + group + "_uncompressed_valid_test_vectors.dat");
  ASSERT_EQ(compressed.size(), 1000 * kCompressedBytes<G>);
  ASSERT_EQ(uncompressed.size(), 1000 * kUncompressedBytes<G>);
  auto expected = Xyzz<G>::identity();
  for (std::size_t i = 0; i < 1000; ++i) {
    const auto c = ByteSpan(compressed).subspan(i * kCompressedBytes<G>, kCompressedBytes<G>);
    const auto u = ByteSpan(uncompressed).subspan(i * kUncompressedBytes<G>, kUncompressedBytes<G>);
    const auto p = decode_compressed<G>(c, PointCheck::kSubgroup);
    ASSERT_TRUE(p) << p.error().message;
    ASSERT_EQ(Xyzz<G>::from_affine(*p), expected) << i;
    ASSERT_EQ(decode_uncompressed<G>(u, PointCheck::kSubgroup), *p) << i;
    ASSERT_TRUE(std::ranges::equal(encode_compressed(*p), c)) << i;
    ASSERT_TRUE(std::ranges::equal(encode_uncompressed(*p), u)) << i;
    expected += G::generator();
  }
}

TEST(PublishedPoints, ThousandMultiplesOfEachGenerator) {
  if (read_shared("ark-g1_compressed_valid_test_vectors.dat").empty()) {
    GTEST_SKIP() << "skipped: the arkworks point vectors are not beside this checkout";
  }
  expect_multiples_file<Bls12_381G1>("g1");
  expect_multiples_file<Bls12_381G2>("g2");
}

// The consensus specification's cases: "input: {pubkey: <hex>}" and "output: true" or "null".
struct DeserialisationCase {
  std::string name;
  std::string hex;
  bool accepted;
};

std::vector<DeserialisationCase> deserialisation_cases(const std::string& group) {
  std::vector<DeserialisationCase> cases;
  const std::filesystem::path folder =
      std::filesystem::path(CUZK_SHARED_DIR) / "inputs/filecoin/points";
  if (!std::filesystem::is_directory(folder)) return cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("gnark-deserialization_" + group)) continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto begin = text.find(": ", text.find('{')) + 2;
    std::string hex = text.substr(begin, text.find('}') - begin);
    std::erase_if(hex, [](char c) { return !std::isxdigit(static_cast<unsigned char>(c)); });
    cases.push_back({name, hex, text.find("output: true") != std::string::npos});
  }
  return cases;
}

template <class G>
void expect_deserialisation(const std::string& group) {
  const auto cases = deserialisation_cases(group);
  ASSERT_GE(cases.size(), 16u);
  for (const auto& c : cases) {
    const auto bytes = from_hex(c.hex);
    const bool ours = bytes && decode_compressed<G>(*bytes, PointCheck::kSubgroup).has_value();
    EXPECT_EQ(ours, c.accepted) << c.name;
  }
}

TEST(PublishedPoints, ConsensusDeserialisationCases) {
  if (deserialisation_cases("G1").empty()) {
    GTEST_SKIP() << "skipped: the deserialisation cases are not beside this checkout";
  }
  expect_deserialisation<Bls12_381G1>("G1");
  expect_deserialisation<Bls12_381G2>("G2");
}

}  // namespace
}  // namespace cuzk
