// Sums against the plain sum, closed forms and published vectors, in all four groups.

#include "msm/msm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "curve/encoding.h"
#include "msm/fixed_base.h"
#include "msm/msm_cases.h"
#include "msm/msm_plan.h"
#include "msm/msm_reference.h"

namespace cuzk {
namespace {

template <class G>
class Msm : public ::testing::Test {
 protected:
  using Field = ScalarField<G>;
  using Scalar = ScalarFor<G>;

  Xyzz<G> run(const std::vector<Scalar>& scalars, const std::vector<Affine<G>>& bases,
              unsigned window_bits = 0) {
    auto r = msm<G>(tasks, budget, scalars, bases, {window_bits});
    if (!r) throw std::runtime_error(r.error().message);
    return *r;
  }
  // (sum of i s_i) G, what the sum over bases i G must be.
  static Xyzz<G> closed_form(const std::vector<Scalar>& scalars) {
    Field sum = Field::zero();
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      sum += Field::from_scalar(scalars[i]) * Field::from_u64(i + 1);
    }
    return Xyzz<G>::from_affine(G::generator()).mul(sum.to_scalar());
  }
  static Scalar small(std::uint64_t v) {
    Scalar s;
    s.limbs[0] = v;
    return s;
  }
  std::vector<std::uint64_t> random_words(std::size_t n) {
    std::vector<std::uint64_t> out(n);
    for (auto& w : out) w = random.next_u64();
    return out;
  }

  Tasks tasks;
  MemoryBudget budget{std::size_t{2} << 30};
  SeededRandom random{7};
};

using Groups = ::testing::Types<Bls12_381G1, Bls12_381G2, Bn254G1, Bn254G2>;
TYPED_TEST_SUITE(Msm, Groups);

TYPED_TEST(Msm, EmptySumIsTheIdentity) { EXPECT_TRUE(this->run({}, {}).is_identity()); }

TYPED_TEST(Msm, FewTermsEqualThePlainSum) {
  using G = TypeParam;
  for (std::size_t n : {1u, 2u, 3u, 5u, 31u, 33u, 100u}) {
    const auto bases = cases::multiples_of_generator<G>(n);
    const auto scalars = cases::uniform_scalars<G>(n, n);
    EXPECT_EQ(this->run(scalars, bases), reference::msm<G>(scalars, bases)) << n;
  }
}

TYPED_TEST(Msm, ManyTermsEqualTheClosedForm) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(20011);
  for (std::size_t n : {1000u, 4097u, 20011u}) {
    const auto scalars = cases::uniform_scalars<G>(n, n);
    const std::vector<Affine<G>> head(bases.begin(), bases.begin() + static_cast<long>(n));
    EXPECT_EQ(this->run(scalars, head), this->closed_form(scalars)) << n;
  }
}

TYPED_TEST(Msm, EveryWindowWidthAgrees) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(777);
  const auto scalars = cases::uniform_scalars<G>(777, 3);
  const auto want = this->closed_form(scalars);
  for (unsigned c = kMinWindowBits; c <= kMaxWindowBits; ++c) {
    if (c > 16 && c != kMaxWindowBits) continue;  // to save time
    EXPECT_EQ(this->run(scalars, bases, c), want) << c;
  }
}

TYPED_TEST(Msm, WindowWidthOutOfRangeIsInvalid) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(2);
  const auto scalars = cases::uniform_scalars<G>(2, 1);
  for (unsigned c : {1u, 3u, 23u}) {
    const auto r = msm<G>(this->tasks, this->budget, scalars, bases, {c});
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, ErrorCode::kInvalidArgument);
  }
}

TYPED_TEST(Msm, EdgeScalarsAndAwkwardBasesAreExact) {
  using G = TypeParam;
  using Fr = ScalarField<G>;
  auto bases = cases::multiples_of_generator<G>(1500);
  auto scalars = cases::uniform_scalars<G>(1500, 5);
  const auto minus_one = (-Fr::one()).to_scalar();
  for (std::size_t i = 0; i < bases.size(); ++i) {
    switch (i % 7) {
      case 0:
        bases[i] = Affine<G>::identity();
        break;
      case 1:
        bases[i] = bases[1];
        break;  // repeats
      case 2:
        bases[i] = -bases[i - 1];
        scalars[i] = scalars[i - 1];
        break;  // cancels
      case 3:
        scalars[i] = this->small(0);
        break;
      case 4:
        scalars[i] = this->small(1);
        break;
      case 5:
        scalars[i] = minus_one;
        break;
      default:
        break;
    }
  }
  EXPECT_EQ(this->run(scalars, bases), reference::msm<G>(scalars, bases));
}

TYPED_TEST(Msm, OneBucketForAllTermsIsExact) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(9000);
  for (const auto& s : {this->small(1), this->small(5), cases::uniform_scalars<G>(1, 1)[0]}) {
    const std::vector<ScalarFor<G>> scalars(bases.size(), s);
    EXPECT_EQ(this->run(scalars, bases), this->closed_form(scalars));
  }
}

TYPED_TEST(Msm, EqualBasesDoubleAndOppositeBasesVanish) {
  using G = TypeParam;
  std::vector<Affine<G>> bases(5000, G::generator());
  const std::vector<ScalarFor<G>> scalars(5000, cases::uniform_scalars<G>(1, 9)[0]);
  EXPECT_EQ(this->run(scalars, bases), reference::msm<G>(scalars, bases));
  for (std::size_t i = 0; i < bases.size(); i += 2) bases[i] = -bases[i];
  EXPECT_TRUE(this->run(scalars, bases).is_identity());
}

TYPED_TEST(Msm, IdentityBasesContributeNothing) {
  using G = TypeParam;
  const std::vector<Affine<G>> bases(300);
  EXPECT_TRUE(this->run(cases::uniform_scalars<G>(300, 1), bases).is_identity());
}

TYPED_TEST(Msm, ThreadsDoNotChangeTheResult) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(9001);
  const auto scalars = cases::uniform_scalars<G>(9001, 2);
  const auto want = this->closed_form(scalars);
  for (int threads : {1, 2, 16, 40}) {
    Tasks t(threads);
    const auto r = msm<G>(t, this->budget, scalars, bases);
    ASSERT_TRUE(r);
    EXPECT_EQ(*r, want) << threads;
  }
}

TYPED_TEST(Msm, IndexedTermsTakeTheirOwnBases) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(500);
  const auto scalars = cases::uniform_scalars<G>(700, 2);
  std::vector<std::uint32_t> indices;
  std::vector<Affine<G>> picked;
  for (std::size_t i = 0; i < 700; ++i) {
    indices.push_back(static_cast<std::uint32_t>(this->random.next_u64() % 500));
    picked.push_back(bases[indices.back()]);
  }
  auto r = msm_indexed<G>(this->tasks, this->budget, scalars, indices, bases);
  ASSERT_TRUE(r);
  EXPECT_EQ(*r, reference::msm<G>(scalars, picked));
  indices[3] = 500;
  r = msm_indexed<G>(this->tasks, this->budget, scalars, indices, bases);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kInvalidArgument);
}

TYPED_TEST(Msm, LengthsThatDifferAreInvalid) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(3);
  const auto r = msm<G>(this->tasks, this->budget, cases::uniform_scalars<G>(2, 1), bases);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kInvalidArgument);
}

TYPED_TEST(Msm, NoMemoryIsOutOfBudgetAndStopIsCancelled) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(2000);
  const auto scalars = cases::uniform_scalars<G>(2000, 1);
  MemoryBudget small(1000);
  auto r = msm<G>(this->tasks, small, scalars, bases);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kOutOfBudget);
  std::stop_source stop;
  stop.request_stop();
  Tasks stopped(2, stop.get_token());
  r = msm<G>(stopped, this->budget, scalars, bases);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(this->budget.used_bytes(), 0u);
}

TYPED_TEST(Msm, BitmapSumsEqualThePlainSum) {
  using G = TypeParam;
  const auto all = cases::multiples_of_generator<G>(70000);
  for (std::size_t n : {0u, 1u, 63u, 64u, 65u, 1000u, 5001u, 70000u}) {
    const std::span<const Affine<G>> bases(all.data(), n);
    auto bits = this->random_words(n / 64 + 1);  // bits past the end must not matter
    for (int kind = 0; kind < 3; ++kind) {
      if (kind > 0) std::fill(bits.begin(), bits.end(), kind == 1 ? 0 : ~std::uint64_t{0});
      const auto r = bitmap_sum<G>(this->tasks, this->budget, bits, bases);
      ASSERT_TRUE(r);
      EXPECT_EQ(*r, reference::bitmap_sum<G>(bits, n, bases)) << n;
    }
  }
}

TYPED_TEST(Msm, BitmapSumsOfEqualAndOppositeBasesAreExact) {
  using G = TypeParam;
  std::vector<Affine<G>> bases(5000, G::generator());
  const std::vector<std::uint64_t> bits(79, ~std::uint64_t{0});
  auto r = bitmap_sum<G>(this->tasks, this->budget, bits, bases);
  ASSERT_TRUE(r);
  EXPECT_EQ(*r, Xyzz<G>::from_affine(G::generator()).mul(this->small(5000)));
  for (std::size_t i = 0; i < 2500; ++i) bases[i] = -bases[i];
  r = bitmap_sum<G>(this->tasks, this->budget, bits, bases);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->is_identity());
}

TYPED_TEST(Msm, BitmapSumsFollowADensity) {
  using G = TypeParam;
  const auto all = cases::multiples_of_generator<G>(64000);
  for (std::size_t words : {1u, 2u, 40u, 1500u}) {
    const auto bits = this->random_words(words);
    auto density = this->random_words(words);
    std::size_t dense = 0;
    for (auto& w : density) {
      if (words == 1500) w |= this->random.next_u64() & this->random.next_u64();
      dense += static_cast<std::size_t>(std::popcount(w));
    }
    ASSERT_LE(dense, all.size());
    const std::span<const Affine<G>> bases(all.data(), dense);
    auto r = bitmap_sum<G>(this->tasks, this->budget, bits, bases, density);
    ASSERT_TRUE(r);
    EXPECT_EQ(*r, reference::bitmap_sum<G>(bits, 64 * words, bases, density)) << words;
    r = bitmap_sum<G>(this->tasks, this->budget, bits, bases.first(dense - 1), density);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, ErrorCode::kInvalidArgument);
  }
}

TYPED_TEST(Msm, WitnessSumsEqualTheClosedForm) {
  using G = TypeParam;
  for (std::size_t wires : {0u, 1u, 64u, 333u, 40001u}) {
    const auto w = cases::witness<G>(wires, wires + 1);
    const auto bases = cases::multiples_of_generator<G>(wires);
    const auto r = witness_msm<G>(this->tasks, this->budget, w.view(), bases);
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_EQ(*r, this->closed_form(w.scalars)) << wires;
  }
}

TYPED_TEST(Msm, WitnessSumsFollowADensity) {
  using G = TypeParam;
  const std::size_t wires = 30011;
  const auto w = cases::witness<G>(wires, 4);
  auto density = this->random_words((wires + 63) / 64);  // bits past the end must not matter
  std::vector<ScalarFor<G>> dense_scalars;
  for (std::size_t i = 0; i < wires; ++i) {
    if (density[i / 64] >> (i % 64) & 1) dense_scalars.push_back(w.scalars[i]);
  }
  const auto bases = cases::multiples_of_generator<G>(dense_scalars.size());
  const auto r = witness_msm<G>(this->tasks, this->budget, w.view(), bases, density);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(*r, this->closed_form(dense_scalars));
}

TYPED_TEST(Msm, WitnessWithMissingFullValuesIsInvalid) {
  using G = TypeParam;
  auto w = cases::witness<G>(1000, 4);
  w.full_values.pop_back();
  const auto bases = cases::multiples_of_generator<G>(1000);
  const auto r = witness_msm<G>(this->tasks, this->budget, w.view(), bases);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kInvalidArgument);
}

TYPED_TEST(Msm, FixedBaseMultiplesAreExact) {
  using G = TypeParam;
  using Fr = ScalarField<G>;
  auto scalars = cases::uniform_scalars<G>(1100, 8);
  scalars[0] = this->small(0);
  scalars[1] = this->small(1);
  scalars[2] = (-Fr::one()).to_scalar();
  scalars[1030] = this->small(0);
  const auto base = Xyzz<G>::from_affine(G::generator()).mul(this->small(77)).to_affine();
  for (unsigned c : {4u, 7u, 12u}) {
    const auto table = FixedBaseTable<G>::create(this->tasks, this->budget, base, c);
    ASSERT_TRUE(table);
    std::vector<Affine<G>> out(scalars.size());
    ASSERT_TRUE(fixed_base_mul_batch<G>(this->tasks, *table, scalars, out));
    for (std::size_t i = 0; i < out.size(); i += i < 4 ? 1 : 27) {
      ASSERT_EQ(out[i], Xyzz<G>::from_affine(base).mul(scalars[i]).to_affine()) << c << " " << i;
    }
    EXPECT_TRUE(out[1030].is_identity());
  }
}

TYPED_TEST(Msm, FixedBaseRefusesWhatDoesNotFit) {
  using G = TypeParam;
  const auto bad = FixedBaseTable<G>::create(this->tasks, this->budget, G::generator(), 3);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  const auto table = FixedBaseTable<G>::create(this->tasks, this->budget, G::generator(), 4);
  ASSERT_TRUE(table);
  std::vector<Affine<G>> out(3);
  const auto scalars = cases::uniform_scalars<G>(2, 8);
  EXPECT_FALSE(fixed_base_mul_batch<G>(this->tasks, *table, scalars, out));
}

TEST(MsmPlan, DigitsAddUpToTheScalar) {
  using Fr = bls12_381::Fr;
  SeededRandom random(3);
  std::vector<Fr> values{Fr::zero(), Fr::one(), -Fr::one(), Fr::from_u64(1 << 20)};
  for (int i = 0; i < 50; ++i) values.push_back(Fr::random(random));
  for (unsigned c = kMinWindowBits; c <= kMaxWindowBits; ++c) {
    const unsigned windows = window_count(Fr::kBits, c);
    const DigitReader<4> reader(c, windows);
    for (const Fr& v : values) {
      Fr sum = Fr::zero();
      for (unsigned w = windows; w-- > 0;) {
        for (unsigned i = 0; i < c; ++i) sum = sum.dbl();
        const std::int32_t d = reader.digit(v.to_scalar().limbs, w);
        EXPECT_LE(std::abs(d), std::int32_t{1} << (c - 1));
        const Fr size = Fr::from_u64(static_cast<std::uint64_t>(std::abs(d)));
        sum += d < 0 ? -size : size;
      }
      EXPECT_EQ(sum, v) << c;
    }
  }
}

TEST(MsmPlan, WindowsGrowWithTheNumberOfTerms) {
  unsigned last = 0;
  for (std::size_t n = 1; n <= std::size_t{1} << 27; n *= 2) {
    const unsigned c = best_window_bits(255, n);
    EXPECT_GE(c + 1, last);
    last = c;
  }
  EXPECT_GE(last, 20u);
  EXPECT_EQ(best_window_bits(255, 1), kMinWindowBits);
}

// Made with blstrs, see testdata/PROVENANCE.md.
template <class G>
void check_golden(const char* field) {
  using Fr = ScalarField<G>;
  std::ifstream file(std::string(CUZK_TESTDATA_DIR) + "/golden/unit/msm.json");
  ASSERT_TRUE(file) << "testdata/golden/unit/msm.json is missing";
  const auto list = nlohmann::json::parse(file);
  ASSERT_GE(list.size(), 6u);
  const auto scalar = [](const std::string& hex) {
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = 0; i < 32; ++i) {
      bytes[i] = static_cast<std::uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
    }
    return Fr::from_bytes_le(bytes).value().to_scalar();
  };
  Tasks tasks;
  MemoryBudget budget(std::size_t{1} << 28);
  for (const auto& c : list) {
    std::vector<ScalarFor<G>> scalars;
    std::vector<Affine<G>> bases;
    for (const auto& s : c.at("scalars")) scalars.push_back(scalar(s.get<std::string>()));
    for (const auto& s : c.at("base_scalars")) {
      bases.push_back(
          Xyzz<G>::from_affine(G::generator()).mul(scalar(s.get<std::string>())).to_affine());
    }
    const auto r = msm<G>(tasks, budget, scalars, bases);
    ASSERT_TRUE(r);
    std::string hex;
    for (std::uint8_t b : encode_compressed<G>(r->to_affine())) hex += fmt::format("{:02x}", b);
    EXPECT_EQ(hex, c.at(field).get<std::string>()) << "n = " << c.at("n");
  }
}
TEST(MsmGolden, EqualsBlstrsInG1) { check_golden<Bls12_381G1>("g1"); }
TEST(MsmGolden, EqualsBlstrsInG2) { check_golden<Bls12_381G2>("g2"); }

}  // namespace
}  // namespace cuzk
