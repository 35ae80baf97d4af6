// Transforms against the reference, published vectors and each other.

#include "ntt/ntt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "ntt/ntt_reference.h"

namespace cuzk {
namespace {

template <class Fr>
class Ntt : public ::testing::Test {
 protected:
  Domain<Fr> domain(unsigned k) {
    auto d = Domain<Fr>::create(tasks, budget, k);
    if (!d) throw std::runtime_error(d.error().message);
    return std::move(*d);
  }
  std::vector<Fr> random_vector(std::size_t n) {
    std::vector<Fr> v(n);
    for (Fr& x : v) x = Fr::random(random);
    return v;
  }
  static std::size_t reverse(std::size_t i, unsigned k) {
    std::size_t r = 0;
    for (unsigned b = 0; b < k; ++b) r = r << 1 | (i >> b & 1);
    return r;
  }
  static std::vector<Fr> reversed(const std::vector<Fr>& v) {
    std::vector<Fr> out(v.size());
    for (std::size_t i = 0; i < v.size(); ++i)
      out[reverse(i, Domain<Fr>::log2_for(v.size()))] = v[i];
    return out;
  }
  // One, the odd shift and a shift of no special form.
  std::vector<Fr> shifts(const Domain<Fr>& d) {
    return {Fr::one(), d.odd_shift(), Fr::from_u64(Fr::Params::kGenerator), Fr::random(random)};
  }

  Tasks tasks;
  MemoryBudget budget{std::size_t{1} << 31};
  SeededRandom random{42};
};

using Fields = ::testing::Types<bls12_381::Fr, bn254::Fr>;
TYPED_TEST_SUITE(Ntt, Fields);

TYPED_TEST(Ntt, RootsHaveExactlyTheirOrder) {
  using Fr = TypeParam;
  for (unsigned k : {0u, 1u, 2u, 13u, 20u}) {
    const auto d = this->domain(k);
    EXPECT_TRUE(d.omega().pow(std::uint64_t{1} << k).is_one());
    if (k > 0) {
      EXPECT_EQ(d.omega().pow(std::uint64_t{1} << (k - 1)), -Fr::one());
    }
    EXPECT_EQ(d.odd_shift() * d.odd_shift(), d.omega());
    EXPECT_TRUE((d.omega() * d.omega_inverse()).is_one());
    EXPECT_TRUE((d.size_inverse() * Fr::from_u64(d.size())).is_one());
  }
}

// snarkjs takes the powers of 5 on both curves: the roots that the .zkey format is defined with.
TYPED_TEST(Ntt, DomainsOfAnotherGeneratorTransformToo) {
  using Fr = TypeParam;
  for (unsigned k : {0u, 1u, 5u, 13u}) {
    auto d = Domain<Fr>::create(this->tasks, this->budget, k, 5);
    ASSERT_TRUE(d) << d.error().message;
    EXPECT_TRUE(d->omega().pow(std::uint64_t{1} << k).is_one());
    EXPECT_EQ(d->odd_shift() * d->odd_shift(), d->omega());
    const auto f = this->random_vector(d->size());
    for (const Fr& shift : {Fr::one(), d->odd_shift(), Fr::from_u64(77)}) {
      auto v = f;
      forward_natural_to_reversed<Fr>(this->tasks, *d, v, shift);
      const std::size_t j = this->random.next_u64() % d->size();
      EXPECT_EQ(v[this->reverse(j, k)],
                reference::evaluate<Fr>(f, shift * d->omega().pow(std::uint64_t{j})));
      inverse_reversed_to_natural<Fr>(this->tasks, *d, v, shift);
      EXPECT_EQ(v, f) << k;
    }
  }
  const auto largest = [](std::uint64_t generator) {
    auto exponent = Fr::kModulus;
    exponent[0] -= 1;
    for (unsigned i = 0; i < Fr::Params::kTwoAdicity; ++i) shift_right_in_place(exponent, 1);
    return Fr::from_u64(generator).pow(exponent);
  };
  EXPECT_EQ(largest(5) == largest(Fr::Params::kGenerator), Fr::Params::kGenerator == 5);
}

TYPED_TEST(Ntt, DomainBeyondTwoAdicityIsRefused) {
  using Fr = TypeParam;
  const auto d = Domain<Fr>::create(this->tasks, this->budget, Fr::Params::kTwoAdicity + 1);
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error().code, ErrorCode::kInvalidArgument);
}

TYPED_TEST(Ntt, DomainWithoutMemoryIsOutOfBudget) {
  MemoryBudget small(1024);
  const auto d = Domain<TypeParam>::create(this->tasks, small, 10);
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error().code, ErrorCode::kOutOfBudget);
}

TYPED_TEST(Ntt, SmallSizesEqualEvaluationInEveryOrder) {
  using Fr = TypeParam;
  for (unsigned k = 0; k <= 9; ++k) {
    const auto d = this->domain(k);
    const auto f = this->random_vector(d.size());
    for (const Fr& shift : this->shifts(d)) {
      const auto want = reference::values<Fr>(f, k, shift);
      auto v = f;
      forward_natural_to_reversed<Fr>(this->tasks, d, v, shift);
      EXPECT_EQ(v, this->reversed(want)) << k;
      inverse_reversed_to_natural<Fr>(this->tasks, d, v, shift);
      EXPECT_EQ(v, f) << k;

      v = this->reversed(f);
      forward_reversed_to_natural<Fr>(this->tasks, d, v, shift);
      EXPECT_EQ(v, want) << k;
      inverse_natural_to_reversed<Fr>(this->tasks, d, v, shift);
      EXPECT_EQ(v, this->reversed(f)) << k;
    }
  }
}

TYPED_TEST(Ntt, LargeSizesRoundTripAndAgreeWithHorner) {
  using Fr = TypeParam;
  // 13 and 14: one narrow pass above the leaves; 21 and 22: two passes; 22: twiddles of two tables.
  for (unsigned k : {12u, 13u, 14u, 17u, 21u, 22u}) {
    const auto d = this->domain(k);
    const auto f = this->random_vector(d.size());
    for (const Fr& shift : {d.odd_shift(), Fr::one(), Fr::from_u64(77)}) {
      if (k > 20 && shift != d.odd_shift()) continue;  // to save time
      auto v = f;
      forward_natural_to_reversed<Fr>(this->tasks, d, v, shift);
      for (int i = 0; i < 2; ++i) {
        const std::size_t j = this->random.next_u64() % d.size();
        EXPECT_EQ(v[this->reverse(j, k)],
                  reference::evaluate<Fr>(f, shift * d.omega().pow(std::uint64_t{j})));
      }
      inverse_reversed_to_natural<Fr>(this->tasks, d, v, shift);
      EXPECT_TRUE(v == f) << k;
      if (k > 20) continue;
      v = this->reversed(f);
      forward_reversed_to_natural<Fr>(this->tasks, d, v, shift);
      const std::size_t j = this->random.next_u64() % d.size();
      EXPECT_EQ(v[j], reference::evaluate<Fr>(f, shift * d.omega().pow(std::uint64_t{j})));
      inverse_natural_to_reversed<Fr>(this->tasks, d, v, shift);
      EXPECT_TRUE(v == this->reversed(f)) << k;
    }
  }
}

TYPED_TEST(Ntt, IsLinear) {
  using Fr = TypeParam;
  const auto d = this->domain(13);
  const auto f = this->random_vector(d.size());
  const auto g = this->random_vector(d.size());
  const Fr s = Fr::random(this->random);
  auto sum = f, tf = f, tg = g;
  for (std::size_t i = 0; i < f.size(); ++i) sum[i] = f[i] + s * g[i];
  for (auto* v : {&sum, &tf, &tg}) forward_natural_to_reversed<Fr>(this->tasks, d, *v);
  for (std::size_t i = 0; i < f.size(); ++i) ASSERT_EQ(sum[i], tf[i] + s * tg[i]);
}

TYPED_TEST(Ntt, BitReverseExchangesReversedIndices) {
  for (unsigned k = 0; k <= 15; ++k) {
    auto v = this->random_vector(std::size_t{1} << k);
    const auto want = this->reversed(v);
    bit_reverse<TypeParam>(this->tasks, v);
    EXPECT_TRUE(v == want) << k;
  }
}

TYPED_TEST(Ntt, QuotientEqualsBellmansRecipe) {
  using Fr = TypeParam;
  for (unsigned k = 0; k <= 9; ++k) {
    const auto d = this->domain(k);
    auto a = this->random_vector(d.size());
    auto b = this->random_vector(d.size());
    auto c = a;
    for (std::size_t i = 0; i < c.size(); ++i) c[i] *= b[i];
    const auto want = reference::quotient<Fr>(a, b, c, k);
    const auto h = quotient<Fr>(this->tasks, d, a, b, c);
    ASSERT_TRUE(h);
    ASSERT_EQ(h->size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(Fr::from_scalar((*h)[i]), want[i]) << k << " " << i;
    }
  }
}

TYPED_TEST(Ntt, QuotientSatisfiesItsEquationAtARandomPoint) {
  using Fr = TypeParam;
  const unsigned k = 16;
  const auto d = this->domain(k);
  auto a = this->random_vector(d.size());
  auto b = this->random_vector(d.size());
  for (std::size_t i = 50000; i < d.size(); ++i) a[i] = b[i] = Fr::zero();  // padding
  auto c = a;
  for (std::size_t i = 0; i < c.size(); ++i) c[i] *= b[i];
  std::vector<std::vector<Fr>> f{a, b, c};
  for (auto& v : f) {
    bit_reverse<Fr>(this->tasks, v);
    inverse_reversed_to_natural<Fr>(this->tasks, d, v);
  }
  const auto h = quotient<Fr>(this->tasks, d, a, b, c);
  ASSERT_TRUE(h);
  std::vector<Fr> hf;
  for (const auto& s : *h) hf.push_back(Fr::from_scalar(s));
  const Fr x = Fr::random(this->random);
  const auto at = [&](const std::vector<Fr>& v) { return reference::evaluate<Fr>(v, x); };
  EXPECT_EQ(at(f[0]) * at(f[1]) - at(f[2]), at(hf) * (x.pow(d.size()) - Fr::one()));
}

TYPED_TEST(Ntt, OddCosetValuesAreThoseOfThePolynomial) {
  using Fr = TypeParam;
  for (unsigned k : {0u, 1u, 5u, 8u}) {
    const auto d = this->domain(k);
    auto a = this->random_vector(d.size());
    auto b = this->random_vector(d.size());
    auto c = this->random_vector(d.size());
    std::vector<std::vector<Fr>> on_coset;
    for (const auto& v : {a, b, c}) {
      const auto f = reference::coefficients<Fr>(v, k);
      on_coset.push_back(reference::values<Fr>(f, k, d.odd_shift()));
    }
    const auto got = odd_coset_values<Fr>(this->tasks, d, a, b, c);
    ASSERT_TRUE(got);
    ASSERT_EQ(got->size(), d.size());
    for (std::size_t i = 0; i < d.size(); ++i) {
      EXPECT_EQ(Fr::from_scalar((*got)[i]), on_coset[0][i] * on_coset[1][i] - on_coset[2][i]);
    }
  }
}

TYPED_TEST(Ntt, QuotientRefusesAWrongLength) {
  const auto d = this->domain(4);
  auto a = this->random_vector(16), b = a, c = this->random_vector(15);
  const auto h = quotient<TypeParam>(this->tasks, d, a, b, c);
  ASSERT_FALSE(h);
  EXPECT_EQ(h.error().code, ErrorCode::kInvalidArgument);
}

TYPED_TEST(Ntt, ThreadsDoNotChangeTheResult) {
  using Fr = TypeParam;
  const auto d = this->domain(15);
  const auto f = this->random_vector(d.size());
  Tasks one(1), four(4);
  auto v = f, w = f;
  forward_natural_to_reversed<Fr>(one, d, v);
  forward_natural_to_reversed<Fr>(four, d, w);
  EXPECT_TRUE(v == w);
}

TYPED_TEST(Ntt, StopIsCancelled) {
  std::stop_source stop;
  stop.request_stop();
  Tasks stopped(2, stop.get_token());
  const auto d = this->domain(4);
  auto a = this->random_vector(16), b = a, c = a;
  const auto h = quotient<TypeParam>(stopped, d, a, b, c);
  ASSERT_FALSE(h);
  EXPECT_EQ(h.error().code, ErrorCode::kCancelled);
}

// bellperson's EvaluationDomain, which testdata/PROVENANCE.md describes.
TEST(NttGolden, EqualsBellpersonsTransforms) {
  using Fr = bls12_381::Fr;
  std::ifstream file(std::string(CUZK_TESTDATA_DIR) + "/golden/unit/fft.json");
  ASSERT_TRUE(file) << "testdata/golden/unit/fft.json is missing";
  const auto cases = nlohmann::json::parse(file);
  ASSERT_GE(cases.size(), 6u);
  const auto parse = [](const nlohmann::json& list) {
    std::vector<Fr> out;
    for (const auto& text : list) {
      const auto hex = text.get<std::string>();
      std::array<std::uint8_t, 32> bytes{};
      for (std::size_t i = 0; i < 32; ++i) {
        bytes[i] = static_cast<std::uint8_t>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
      }
      out.push_back(Fr::from_bytes_le(bytes).value());
    }
    return out;
  };
  Tasks tasks;
  MemoryBudget budget(1 << 20);
  const Fr seven = Fr::from_u64(7);
  for (const auto& c : cases) {
    const auto d = Domain<Fr>::create(tasks, budget, c.at("log2_n").get<unsigned>());
    ASSERT_TRUE(d);
    const auto check = [&](const char* name, auto&& transform) {
      auto v = parse(c.at("input"));
      transform(v);
      EXPECT_EQ(v, parse(c.at(name))) << name << " of 2^" << d->log2_size();
    };
    check("fft", [&](auto& v) {
      forward_natural_to_reversed<Fr>(tasks, *d, v);
      bit_reverse<Fr>(tasks, v);
    });
    check("ifft", [&](auto& v) {
      bit_reverse<Fr>(tasks, v);
      inverse_reversed_to_natural<Fr>(tasks, *d, v);
    });
    check("coset_fft", [&](auto& v) {
      bit_reverse<Fr>(tasks, v);
      forward_reversed_to_natural<Fr>(tasks, *d, v, seven);
    });
    check("icoset_fft", [&](auto& v) {
      inverse_natural_to_reversed<Fr>(tasks, *d, v, seven);
      bit_reverse<Fr>(tasks, v);
    });
  }
}

}  // namespace
}  // namespace cuzk
