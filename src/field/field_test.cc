// Prime fields against GMP, towers against their algebra, and the committed golden vectors. ctest
// runs this binary once as the CPU would choose and once with CUZK_CPU=portable.

#include <gmpxx.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/cpu.h"
#include "field/batch_inverse.h"
#include "field/bls12_381.h"
#include "field/bn254.h"
#include "field/sqrt.h"

namespace cuzk {
namespace {

// The moduli, re-derived from the curves' seeds at compile time.
using Wide = Limbs<8>;
constexpr Wide wide(std::uint64_t v) { return {v}; }
constexpr Wide times(const Wide& a, std::uint64_t k) {
  Wide r{};
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    const u128 t = static_cast<u128>(a[i]) * k + carry;
    r[i] = static_cast<std::uint64_t>(t);
    carry = static_cast<std::uint64_t>(t >> 64);
  }
  return r;
}
constexpr Wide plus(Wide a, const Wide& b) {
  add_in_place(a, b);
  return a;
}
constexpr Wide minus(Wide a, const Wide& b) {
  sub_in_place(a, b);
  return a;
}
template <std::size_t N>
constexpr bool equals(const Wide& a, const Limbs<N>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != (i < N ? b[i] : 0)) return false;
  }
  return true;
}
template <std::size_t N>
constexpr Wide widened(const Limbs<N>& a) {
  Wide r{};
  for (std::size_t i = 0; i < N; ++i) r[i] = a[i];
  return r;
}

constexpr std::uint64_t kZ = bls12_381::kZAbs;  // z = -kZ
constexpr Wide kZ2 = times(wide(kZ), kZ);
constexpr Wide kZ4 = times(times(kZ2, kZ), kZ);
static_assert(equals(plus(minus(kZ4, kZ2), wide(1)), bls12_381::FrParams::kModulus));
constexpr Wide kBlsR = widened(bls12_381::FrParams::kModulus);
static_assert(times(widened(bls12_381::FqParams::kModulus), 3) ==
              minus(times(times(kBlsR, kZ + 1), kZ + 1), times(wide(kZ), 3)));

// c4 x^4 + c3 x^3 + c2 x^2 + c1 x + 1 for BN254's x.
constexpr Wide bn_polynomial(std::uint64_t c4, std::uint64_t c3, std::uint64_t c2,
                             std::uint64_t c1) {
  const std::uint64_t x = bn254::kX;
  Wide r = wide(c4);
  for (const std::uint64_t c : {c3, c2, c1, std::uint64_t{1}}) r = plus(times(r, x), wide(c));
  return r;
}
static_assert(equals(bn_polynomial(36, 36, 24, 6), bn254::FqParams::kModulus));
static_assert(equals(bn_polynomial(36, 36, 18, 6), bn254::FrParams::kModulus));

static_assert(bls12_381::Fr::kInv * bls12_381::FrParams::kModulus[0] == ~0ULL);
static_assert(bls12_381::Fq::kInv * bls12_381::FqParams::kModulus[0] == ~0ULL);
static_assert(bn254::Fr::kInv * bn254::FrParams::kModulus[0] == ~0ULL);
static_assert(bn254::Fq::kInv * bn254::FqParams::kModulus[0] == ~0ULL);
static_assert(bls12_381::Fr::kBits == 255 && bls12_381::Fq::kBits == 381);
static_assert(bn254::Fr::kBits == 254 && bn254::Fq::kBits == 254);
static_assert((bls12_381::FrParams::kModulus[0] - 1) % (1ULL << 32) == 0);
static_assert((bn254::FrParams::kModulus[0] - 1) % (1ULL << 28) == 0);

template <std::size_t N>
mpz_class to_mpz(const Limbs<N>& limbs) {
  mpz_class r;
  mpz_import(r.get_mpz_t(), N, -1, 8, 0, 0, limbs.data());
  return r;
}
template <std::size_t N>
Limbs<N> to_limbs(const mpz_class& v) {
  Limbs<N> r{};
  mpz_export(r.data(), nullptr, -1, 8, 0, 0, v.get_mpz_t());
  return r;
}

template <class F>
mpz_class modulus() {
  return to_mpz(F::kModulus);
}
template <class F>
mpz_class value(const F& x) {
  return to_mpz(x.to_scalar().limbs);
}
template <class F>
mpz_class reduced(const mpz_class& v) {
  mpz_class r;
  const mpz_class p = modulus<F>();
  mpz_mod(r.get_mpz_t(), v.get_mpz_t(), p.get_mpz_t());
  return r;
}
template <class F>
F element(const mpz_class& v) {
  typename F::Scalar s;
  s.limbs = to_limbs<F::kLimbs>(reduced<F>(v));
  return F::from_scalar(s);
}
mpz_class power_of_two(unsigned long bits) { return mpz_class(1) << bits; }

// Values where carries and reductions happen, each both as the value and as the Montgomery limbs.
template <class F>
std::vector<F> edge_elements() {
  const mpz_class p = modulus<F>();
  std::vector<mpz_class> v = {0, 1, 2, 3, p - 1, p - 2, (p - 1) / 2, (p + 1) / 2};
  for (unsigned long bits = 1; bits<F::kBits; bits += bits % 64> 61 || bits % 64 < 2 ? 1 : 7) {
    v.push_back(power_of_two(bits));
    v.push_back(p - power_of_two(bits));
    v.push_back(power_of_two(bits) - 1);
  }
  v.push_back(power_of_two(64 * F::kLimbs));      // R
  v.push_back(power_of_two(64 * F::kLimbs) - 1);  // all-ones limbs
  std::vector<F> out;
  for (const auto& x : v) {
    out.push_back(element<F>(x));
    out.push_back(F{to_limbs<F::kLimbs>(reduced<F>(x))});
  }
  return out;
}

template <class F>
class PrimeField : public ::testing::Test {};
using PrimeFields = ::testing::Types<bls12_381::Fr, bls12_381::Fq, bn254::Fr, bn254::Fq>;
TYPED_TEST_SUITE(PrimeField, PrimeFields);

template <class F>
void expect_ring_operations_match_gmp(const F& a, const F& b) {
  const mpz_class x = value(a), y = value(b);
  ASSERT_EQ(value(a + b), reduced<F>(x + y)) << x << " + " << y;
  ASSERT_EQ(value(a - b), reduced<F>(x - y)) << x << " - " << y;
  ASSERT_EQ(value(a * b), reduced<F>(x * y)) << x << " * " << y;
  ASSERT_EQ(value(a.square()), reduced<F>(x * x)) << x;
  ASSERT_EQ(value(a.dbl()), reduced<F>(2 * x)) << x;
  ASSERT_EQ(value(-a), reduced<F>(-x)) << x;
  for (const F& r : {a + b, a - b, a * b, a.square(), a.dbl(), -a}) {
    ASSERT_LT(compare(r.limbs, F::kModulus), 0) << "not reduced";
  }
}

TYPED_TEST(PrimeField, RingOperationsMatchGmpOnEdgeValues) {
  const auto edges = edge_elements<TypeParam>();
  for (const auto& a : edges) {
    for (const auto& b : edges) expect_ring_operations_match_gmp(a, b);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(PrimeField, RingOperationsMatchGmpOnRandomValues) {
  SeededRandom random(11);
  for (int i = 0; i < 20000; ++i) {
    const auto a = TypeParam::random(random);
    expect_ring_operations_match_gmp(a, TypeParam::random(random));
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(PrimeField, ChosenKernelsEqualThePortableOnes) {
  using P = typename TypeParam::Params;
  auto values = edge_elements<TypeParam>();
  SeededRandom random(12);
  for (int i = 0; i < 200; ++i) values.push_back(TypeParam::random(random));
  for (const auto& a : values) {
    for (const auto& b : values) {
      TypeParam r;
      kernels::portable::mul<P>(r.limbs, a.limbs, b.limbs);
      ASSERT_EQ(r, a * b);
      kernels::portable::add<P>(r.limbs, a.limbs, b.limbs);
      ASSERT_EQ(r, a + b);
      kernels::portable::sub<P>(r.limbs, a.limbs, b.limbs);
      ASSERT_EQ(r, a - b);
    }
    TypeParam r;
    kernels::portable::mul<P>(r.limbs, a.limbs, a.limbs);
    ASSERT_EQ(r, a.square());
  }
}

TYPED_TEST(PrimeField, ResultsMayOverwriteOperands) {
  SeededRandom random(13);
  for (int i = 0; i < 200; ++i) {
    const auto a = TypeParam::random(random), b = TypeParam::random(random);
    auto r = a;
    EXPECT_EQ(r += b, a + b);
    r = a;
    EXPECT_EQ(r -= b, a - b);
    r = a;
    EXPECT_EQ(r *= b, a * b);
    r = a;
    EXPECT_EQ(r += r, a.dbl());
    r = a;
    EXPECT_EQ(r -= r, TypeParam::zero());
    r = a;
    EXPECT_EQ(r *= r, a.square());
    r = b;  // the result over the second operand
    kernels::mul<typename TypeParam::Params>(r.limbs, a.limbs, r.limbs);
    EXPECT_EQ(r, a * b);
    r = b;
    kernels::sub<typename TypeParam::Params>(r.limbs, a.limbs, r.limbs);
    EXPECT_EQ(r, a - b);
  }
}

TYPED_TEST(PrimeField, InverseMatchesGmp) {
  auto values = edge_elements<TypeParam>();
  SeededRandom random(14);
  for (int i = 0; i < 500; ++i) values.push_back(TypeParam::random(random));
  const mpz_class p = modulus<TypeParam>();
  for (const auto& a : values) {
    if (a.is_zero()) {
      EXPECT_TRUE(a.inverse().is_zero());
      continue;
    }
    mpz_class expected;
    const mpz_class x = value(a);
    ASSERT_NE(mpz_invert(expected.get_mpz_t(), x.get_mpz_t(), p.get_mpz_t()), 0);
    ASSERT_EQ(value(a.inverse()), expected) << x;
    ASSERT_EQ(a.inverse_fermat(), a.inverse());
  }
}

TYPED_TEST(PrimeField, PowMatchesGmp) {
  SeededRandom random(15);
  const mpz_class p = modulus<TypeParam>();
  for (int i = 0; i < 50; ++i) {
    const auto a = TypeParam::random(random), e = TypeParam::random(random);
    mpz_class expected;
    const mpz_class x = value(a), exponent = value(e);
    mpz_powm(expected.get_mpz_t(), x.get_mpz_t(), exponent.get_mpz_t(), p.get_mpz_t());
    EXPECT_EQ(value(a.pow(e.to_scalar().limbs)), expected);
    EXPECT_TRUE(a.pow(0).is_one());
    EXPECT_EQ(a.pow(1), a);
    EXPECT_EQ(a.pow(5), a * a * a * a * a);
  }
}

TYPED_TEST(PrimeField, BytesRoundTripAndValuesFromTheModulusOnAreRefused) {
  using F = TypeParam;
  for (const F& a : edge_elements<F>()) {
    EXPECT_EQ(F::from_bytes_le(a.to_bytes_le()), a);
    EXPECT_EQ(F::from_bytes_be(a.to_bytes_be()), a);
  }
  for (const mpz_class& v :
       {modulus<F>(), mpz_class(modulus<F>() + 1), mpz_class(power_of_two(64 * F::kLimbs) - 1)}) {
    const auto limbs = to_limbs<F::kLimbs>(v);
    std::array<std::uint8_t, F::kBytes> le, be;
    std::memcpy(le.data(), limbs.data(), F::kBytes);
    std::copy(le.rbegin(), le.rend(), be.begin());
    EXPECT_FALSE(F::from_bytes_le(le));
    EXPECT_FALSE(F::from_bytes_be(be));
  }
}

TYPED_TEST(PrimeField, BatchInverseEqualsSingleInversesAndKeepsZeros) {
  SeededRandom random(16);
  for (const std::size_t n : {0, 1, 2, 3, 100}) {
    std::vector<TypeParam> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = i % 3 == 1 ? TypeParam::zero() : TypeParam::random(random);
    }
    auto inverses = values;
    batch_inverse(std::span(inverses));
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(inverses[i], values[i].inverse());
  }
}

template <class F>
class SquareRoot : public ::testing::Test {};
using RootFields = ::testing::Types<bls12_381::Fq, bn254::Fq, bls12_381::Fq2, bn254::Fq2>;
TYPED_TEST_SUITE(SquareRoot, RootFields);

TYPED_TEST(SquareRoot, OfASquareIsPlusOrMinusAndOfANonSquareIsAbsent) {
  SeededRandom random(17);
  int squares = 0;
  for (int i = 0; i < 200; ++i) {
    const auto a = TypeParam::random(random);
    const auto root = sqrt(a.square());
    ASSERT_TRUE(root);
    EXPECT_TRUE(*root == a || *root == -a);
    if (const auto r = sqrt(a)) {
      ++squares;
      EXPECT_EQ(r->square(), a);
    }
  }
  EXPECT_GT(squares, 60);  // about half
  EXPECT_LT(squares, 140);
  EXPECT_TRUE(sqrt(TypeParam::zero())->is_zero());
}

TEST(SquareRootFq2, OfElementsOfTheBaseFieldAlwaysExists) {
  using Fq2 = bls12_381::Fq2;
  for (std::uint64_t i = 1; i < 50; ++i) {
    for (const Fq2& a : {Fq2{bls12_381::Fq::from_u64(i), {}}, -Fq2{bls12_381::Fq::from_u64(i), {}},
                         Fq2{{}, bls12_381::Fq::from_u64(i)}.square()}) {
      const auto root = sqrt(a);
      ASSERT_TRUE(root) << i;
      EXPECT_EQ(root->square(), a);
    }
  }
}

template <class T>
class TowerField : public ::testing::Test {};
using Towers = ::testing::Types<bls12_381::Tower, bn254::Tower>;
TYPED_TEST_SUITE(TowerField, Towers);

template <class E>
void expect_field_axioms(std::uint64_t seed) {
  SeededRandom random(seed);
  for (int i = 0; i < 100; ++i) {
    const E a = E::random(random), b = E::random(random), c = E::random(random);
    EXPECT_EQ((a + b) - b, a);
    EXPECT_EQ(a * b, b * a);
    EXPECT_EQ((a * b) * c, a * (b * c));
    EXPECT_EQ(a * (b + c), a * b + a * c);
    EXPECT_EQ(a.square(), a * a);
    EXPECT_EQ(a * E::one(), a);
    EXPECT_EQ(a * a.inverse(), E::one());
  }
}

TYPED_TEST(TowerField, EveryStoreyIsAField) {
  expect_field_axioms<typename TypeParam::Fq2>(21);
  expect_field_axioms<Fp6<TypeParam>>(22);
  expect_field_axioms<Fp12<TypeParam>>(23);
}

TYPED_TEST(TowerField, Fq2ProductEqualsTheSchoolbookOne) {
  using F2 = typename TypeParam::Fq2;
  using F = typename F2::Base;
  std::vector<F> edges = edge_elements<F>();
  SeededRandom random(24);
  for (int i = 0; i < 40; ++i) edges.push_back(F::random(random));
  for (int i = 0; i < 20000; ++i) {
    const auto pick = [&] { return edges[random.next_u64() % edges.size()]; };
    const F2 a{pick(), pick()}, b{pick(), pick()};
    const F2 expected{a.c0 * b.c0 - a.c1 * b.c1, a.c0 * b.c1 + a.c1 * b.c0};
    ASSERT_EQ(a * b, expected);
    ASSERT_EQ(F2::mul_reference(a, b), expected);
    ASSERT_EQ(a.square(), a * a);
    F2 r = a;
    r *= b;
    ASSERT_EQ(r, expected);
    r = a;
    r *= r;
    ASSERT_EQ(r, a.square());
  }
}

TYPED_TEST(TowerField, NonResiduesAreWhatTheTowerSays) {
  using F2 = typename TypeParam::Fq2;
  using F6 = Fp6<TypeParam>;
  using F12 = Fp12<TypeParam>;
  SeededRandom random(25);
  const F2 a = F2::random(random);
  EXPECT_EQ(TypeParam::mul_xi(a), a * TypeParam::xi());
  EXPECT_FALSE(sqrt(TypeParam::xi()));
  const F6 v{F2::zero(), F2::one(), F2::zero()};
  EXPECT_EQ(v * v * v, (F6{TypeParam::xi(), F2::zero(), F2::zero()}));
  const F6 b = F6::random(random);
  EXPECT_EQ(b.mul_v(), b * v);
  const F12 w{F6::zero(), F6::one()};
  EXPECT_EQ(w * w, (F12{v, F6::zero()}));
}

TYPED_TEST(TowerField, SparseProductsEqualFullOnes) {
  using F2 = typename TypeParam::Fq2;
  using F6 = Fp6<TypeParam>;
  using F12 = Fp12<TypeParam>;
  SeededRandom random(26);
  const F12 f = F12::random(random);
  const F2 a = F2::random(random), b = F2::random(random), c = F2::random(random);
  const F2 o = F2::zero();
  EXPECT_EQ(f.c0.mul_by_01(a, b), f.c0 * (F6{a, b, o}));
  EXPECT_EQ(f.c0.mul_by_1(b), f.c0 * (F6{o, b, o}));
  EXPECT_EQ(f.mul_by_023(a, b, c), f * (F12{{a, b, o}, {o, c, o}}));
  EXPECT_EQ(f.mul_by_013(a, b, c), f * (F12{{a, o, o}, {b, c, o}}));
}

TYPED_TEST(TowerField, FrobeniusIsThePowerQ) {
  using F12 = Fp12<TypeParam>;
  SeededRandom random(27);
  const F12 f = F12::random(random);
  EXPECT_EQ(f.frobenius(), f.pow(TypeParam::Fq2::Base::kModulus));
  EXPECT_EQ(f.frobenius(2), f.frobenius().frobenius());
  EXPECT_EQ(f.frobenius(3), f.frobenius(2).frobenius());
  EXPECT_EQ(f.frobenius(6), f.conjugate());
  EXPECT_EQ(f.frobenius(12), f);
}

TYPED_TEST(TowerField, CyclotomicSquareIsTheSquareInTheSubgroup) {
  using F12 = Fp12<TypeParam>;
  SeededRandom random(28);
  F12 f = F12::random(random);
  f = f.conjugate() * f.inverse();
  f = f.frobenius(2) * f;
  EXPECT_EQ(f.cyclotomic_square(), f * f);
  EXPECT_EQ(f * f.conjugate(), F12::one());
  const std::uint64_t e = 0xd201000000010000;
  EXPECT_EQ(f.cyclotomic_pow(e), f.pow(std::span(&e, 1)));
  EXPECT_EQ(f.cyclotomic_pow(0), F12::one());
  EXPECT_EQ(f.cyclotomic_pow(1), f);
}

bls12_381::Fr fr_from_hex(const nlohmann::json& text) {
  const auto bytes = from_hex(text.get<std::string>());
  return *bls12_381::Fr::from_bytes_le(std::span<const std::uint8_t, 32>(*bytes));
}

TEST(GoldenFr, OperationsAndConstantsEqualTheReference) {
  std::ifstream file(CUZK_TESTDATA_DIR "/golden/unit/fr.json");
  ASSERT_TRUE(file) << "testdata/golden/unit/fr.json is missing";
  const auto json = nlohmann::json::parse(file);
  ASSERT_EQ(json["ops"].size(), 8u);
  for (const auto& op : json["ops"]) {
    const auto a = fr_from_hex(op["a"]), b = fr_from_hex(op["b"]);
    EXPECT_EQ(a + b, fr_from_hex(op["add"]));
    EXPECT_EQ(a - b, fr_from_hex(op["sub"]));
    EXPECT_EQ(a * b, fr_from_hex(op["mul"]));
    EXPECT_EQ(-a, fr_from_hex(op["neg_a"]));
    EXPECT_EQ(a.inverse(), fr_from_hex(op["a_inv"]));
    EXPECT_EQ(a.square(), fr_from_hex(op["a_square"]));
    EXPECT_EQ(a.dbl(), fr_from_hex(op["a_double"]));
    EXPECT_EQ(a.pow(5), fr_from_hex(op["a_pow5"]));
  }
  using Fr = bls12_381::Fr;
  EXPECT_EQ(Fr::from_u64(bls12_381::FrParams::kGenerator),
            fr_from_hex(json["multiplicative_generator"]));
  EXPECT_EQ(-Fr::one(), fr_from_hex(json["minus_one"]));
  EXPECT_EQ(Fr::from_u64(2).inverse(), fr_from_hex(json["two_inv"]));
  Limbs<4> e = Fr::kModulus;  // (r - 1) / 2^32
  for (int i = 0; i < 32; ++i) shift_right_in_place(e, 1);
  EXPECT_EQ(Fr::from_u64(7).pow(e), fr_from_hex(json["root_of_unity"]));
}

TEST(GoldenFr, RandomIsBelowTheModulusAndReproducible) {
  SeededRandom a(5), b(5);
  for (int i = 0; i < 100; ++i) {
    const auto x = bls12_381::Fr::random(a);
    EXPECT_EQ(x, bls12_381::Fr::random(b));
    EXPECT_LT(compare(x.limbs, bls12_381::Fr::kModulus), 0);
  }
}

}  // namespace
}  // namespace cuzk
