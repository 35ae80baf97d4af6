// SnarkPack: equal to its plain definition, sound against each wrong proof, exact in its counts.

#include <gtest/gtest.h>

#include "aggregate/fold.h"
#include "aggregate/pairing_products.h"
#include "aggregate/polynomials.h"
#include "aggregate/prover.h"
#include "aggregate/reference.h"
#include "aggregate/test_claims.h"
#include "aggregate/verifier.h"

namespace cuzk::aggregate {
namespace {

using testing::Claims;
using testing::make_claims;

const std::vector<std::uint8_t> kBinding = {1, 2, 3};

SrsSecrets secrets() {
  SeededRandom random(81);
  return SrsSecrets::draw(random);
}
Srs dev_srs(std::size_t n) {
  Tasks tasks(2);
  return insecure_dev_srs(tasks, MemoryBudget::process(), secrets(), srs_powers_for(n)).value();
}

Result<AggregateProof> aggregate_of(const Srs& srs, Version version,
                                    const std::vector<Groth16Proof>& proofs, int threads = 2) {
  Tasks tasks(threads);
  Timeline timeline;
  return create({tasks, MemoryBudget::process(), timeline}, srs, version, kBinding, proofs);
}
Status verdict(const Srs& srs, const Claims& claims, Version version, const AggregateProof& proof) {
  Tasks tasks(2);
  const groth16::PreparedVerifyingKey<Curve> key(claims.key);
  const auto verified =
      verify(tasks, verifier_srs(srs).value(), key, {version, kBinding, claims.statements}, proof);
  if (!verified) return fail(verified.error());
  return {};
}

TEST(Aggregate, EqualsThePlainDefinition) {
  for (const std::size_t n : {2, 4, 8}) {
    const Srs srs = dev_srs(n);
    const Claims claims = make_claims(n, n, 2);
    for (const Version version : {Version::kV1, Version::kV2}) {
      const auto proof = aggregate_of(srs, version, claims.proofs);
      ASSERT_TRUE(proof) << proof.error().message;
      EXPECT_EQ(*proof, reference::create(secrets(), version, kBinding, claims.proofs));
    }
  }
}

TEST(Aggregate, DoesNotDependOnThreads) {
  const Srs srs = dev_srs(64);
  const Claims claims = make_claims(5, 64, 1);
  EXPECT_EQ(aggregate_of(srs, Version::kV2, claims.proofs, 1).value(),
            aggregate_of(srs, Version::kV2, claims.proofs, 3).value());
}

TEST(Aggregate, HoldsForAnyCountWithPadding) {
  const Srs srs = dev_srs(128);
  for (const std::size_t count : {1, 2, 3, 5, 13, 16, 17, 70, 126}) {
    SCOPED_TRACE(count);
    const Claims claims = make_claims(count, count, 3);
    const auto padded = pad_proofs(claims.proofs);
    EXPECT_EQ(padded.size(), padded_count(count));
    const auto proof = aggregate_of(srs, Version::kV2, padded);
    ASSERT_TRUE(proof) << proof.error().message;
    const Status status = verdict(srs, claims, Version::kV2, *proof);
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_FALSE(verdict(srs, claims, Version::kV1, *proof));
  }
}

TEST(Aggregate, PaddingIsToThePowerOfTwo) {
  EXPECT_EQ(padded_count(0), 0u);
  EXPECT_EQ(padded_count(1), 2u);
  EXPECT_EQ(padded_count(2), 2u);
  EXPECT_EQ(padded_count(70), 128u);
  EXPECT_EQ(padded_count(1360), 2048u);
  EXPECT_TRUE(pad_proofs({}).empty());
}

TEST(Aggregate, OneWrongProofAnywhereIsRefused) {
  const Srs srs = dev_srs(8);
  const Claims good = make_claims(7, 8, 1);
  const auto g1 = Bls12_381G1::generator();
  for (std::size_t i = 0; i < 8; ++i) {
    for (int element = 0; element < 3; ++element) {
      Claims bad = good;
      Groth16Proof& p = bad.proofs[i];
      if (element == 0) p.a = (Xyzz<Bls12_381G1>::from_affine(p.a) + g1).to_affine();
      if (element == 1) p.b = -p.b;
      if (element == 2) p.c = (Xyzz<Bls12_381G1>::from_affine(p.c) + g1).to_affine();
      const auto proof = aggregate_of(srs, Version::kV2, bad.proofs);
      const Status status = verdict(srs, good, Version::kV2, *proof);
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().code, ErrorCode::kInvalidProof);
      // The prover was honest about wrong proofs: nothing but Groth16's equation fails.
      EXPECT_EQ(status.error().message,
                "the aggregate does not hold: the combined Groth16 equation of the statements");
    }
  }
}

// Two errors that cancel in a plain product must not cancel under powers of r.
TEST(Aggregate, WrongProofsThatCancelAreRefused) {
  const Srs srs = dev_srs(2);
  Claims claims = make_claims(9, 2, 1);
  const auto g1 = Bls12_381G1::generator();
  claims.proofs[0].c = (Xyzz<Bls12_381G1>::from_affine(claims.proofs[0].c) + g1).to_affine();
  claims.proofs[1].c = (Xyzz<Bls12_381G1>::from_affine(claims.proofs[1].c) + -g1).to_affine();
  const auto proof = aggregate_of(srs, Version::kV2, claims.proofs);
  EXPECT_FALSE(verdict(srs, claims, Version::kV2, *proof));
}

TEST(Aggregate, AnotherKeyOrStringIsRefused) {
  const Srs srs = dev_srs(4);
  const Claims claims = make_claims(10, 4, 1);
  const auto proof = aggregate_of(srs, Version::kV2, claims.proofs).value();
  Claims other = claims;
  other.key = make_claims(11, 1, 1).key;
  EXPECT_EQ(verdict(srs, other, Version::kV2, proof).error().code, ErrorCode::kInvalidProof);
  Tasks tasks(2);
  SeededRandom random(82);
  const Srs other_srs =
      insecure_dev_srs(tasks, MemoryBudget::process(), SrsSecrets::draw(random), 8).value();
  const Status status = verdict(other_srs, claims, Version::kV2, proof);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("opening"), std::string::npos);
}

TEST(Aggregate, CountsThatCannotBeAreRefused) {
  const Srs srs = dev_srs(4);
  const Claims claims = make_claims(12, 8, 1);
  for (const std::size_t count : {0, 1, 3, 5, 8}) {
    const std::vector<Groth16Proof> some(claims.proofs.begin(),
                                         claims.proofs.begin() + static_cast<long>(count));
    const auto proof = aggregate_of(srs, Version::kV2, some);
    ASSERT_FALSE(proof) << count;
    EXPECT_EQ(proof.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(Aggregate, StopsWhenAsked) {
  const Srs srs = dev_srs(8);
  const Claims claims = make_claims(13, 8, 1);
  std::stop_source stop;
  stop.request_stop();
  Tasks tasks(2, stop.get_token());
  Timeline timeline;
  const auto proof = create({tasks, MemoryBudget::process(), timeline}, srs, Version::kV2, kBinding,
                            claims.proofs);
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, ErrorCode::kCancelled);
}

TEST(Aggregate, MemoryBeyondTheBudgetIsRefused) {
  const Srs srs = dev_srs(8);
  const Claims claims = make_claims(14, 8, 1);
  Tasks tasks(1);
  MemoryBudget small(4096);
  Timeline timeline;
  const auto proof = create({tasks, small, timeline}, srs, Version::kV2, kBinding, claims.proofs);
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, ErrorCode::kOutOfBudget);
}

template <class G>
std::vector<Affine<G>> random_points(SeededRandom& random, std::size_t count) {
  std::vector<Affine<G>> out;
  for (std::size_t i = 0; i < count; ++i) {
    out.push_back(reference::times(G::generator(), Fr::random(random)).to_affine());
  }
  return out;
}

template <class G>
void check_scaling() {
  SeededRandom random(83);
  const Fr z = Fr::from_u64(bls12_381::kZAbs);
  std::vector<Fr> values = {Fr::zero(),
                            Fr::one(),
                            -Fr::one(),
                            Fr::from_u64(2),
                            z,
                            -z,
                            z.square(),
                            z.square() - Fr::one(),
                            z.square() * z,
                            Fr::from_u64(15)};
  while (values.size() < 150) values.push_back(Fr::random(random));
  auto points = random_points<G>(random, values.size());
  points[20] = Affine<G>::identity();
  std::vector<Fr::Scalar> scalars;
  for (const Fr& v : values) scalars.push_back(v.to_scalar());
  Tasks tasks(3);
  auto out = points;
  scale_points<G>(tasks, out, scalars, out);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(out[i], reference::times(points[i], values[i]).to_affine()) << i;
  }
  // Folding: also where the sum meets its own, its opposite or the identity.
  for (const Fr& x : {values[2], values[30], Fr::one(), Fr::zero()}) {
    auto left = random_points<G>(random, points.size());
    left[0] = points[0];
    left[1] = -points[1];
    left[2] = Affine<G>::identity();
    const auto before = left;
    fold_points<G>(tasks, left, points, x.to_scalar());
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(left[i], (reference::times(points[i], x) + before[i]).to_affine()) << i;
    }
  }
}
TEST(Fold, ProductsInG1EqualThePlainOnes) { check_scaling<Bls12_381G1>(); }
TEST(Fold, ProductsInG2EqualThePlainOnes) { check_scaling<Bls12_381G2>(); }

TEST(PairingProducts, EqualThePlainProducts) {
  SeededRandom random(84);
  Tasks tasks(2);
  for (const std::size_t n : {1, 7, 8, 9, 20}) {
    reference::Vectors x;
    x.a = random_points<Bls12_381G1>(random, n);
    x.c = random_points<Bls12_381G1>(random, n);
    x.b = random_points<Bls12_381G2>(random, n);
    for (std::size_t k = 0; k < 2; ++k) {
      x.v[k] = random_points<Bls12_381G2>(random, n);
      x.w[k] = random_points<Bls12_381G1>(random, n);
    }
    PairingColumns columns{x.a, x.c, x.w[0], x.w[1], x.b, x.v[0], x.v[1]};
    const PairingProducts got = pairing_products(tasks, columns);
    EXPECT_EQ(got.ab, reference::commit_ab(x, x));
    EXPECT_EQ(got.c, reference::commit_c(x, x));
    EXPECT_EQ(got.z, reference::inner(x.a, x.b));
    EXPECT_EQ(inner_product(tasks, x.a, x.b), got.z);
    columns.with_z = false;
    EXPECT_TRUE(pairing_products(tasks, columns).z.is_one());
  }
}

TEST(Polynomials, CoefficientsAndProductsAgree) {
  SeededRandom random(85);
  for (std::size_t rounds : {1, 2, 5}) {
    std::vector<Fr> x;
    for (std::size_t i = 0; i < rounds; ++i) x.push_back(Fr::random(random));
    const Fr r = Fr::random(random), at = Fr::random(random), other = Fr::random(random);
    const auto horner = [](const std::vector<Fr>& f, const Fr& v) {
      Fr value = Fr::zero();
      for (std::size_t i = f.size(); i-- > 0;) value = value * v + f[i];
      return value;
    };
    const std::vector<Fr> v = coefficients_v(x);
    const std::vector<Fr> w = coefficients_w(x, r);
    EXPECT_EQ(v.size(), std::size_t{1} << rounds);
    EXPECT_EQ(w.size(), std::size_t{2} << rounds);
    EXPECT_EQ(horner(v, at), evaluate_v(x, at));
    EXPECT_EQ(horner(w, at), evaluate_w(x, r, at));
    for (const auto& f : {v, w}) {
      const std::vector<Fr> q = divide_by_root(f, at);
      EXPECT_EQ(q.size(), f.size() - 1);
      EXPECT_EQ(horner(q, other) * (other - at), horner(f, other) - horner(f, at));
    }
  }
}

TEST(Srs, StringsThatAnyoneKnowsAreRefused) {
  Tasks tasks(2);
  MemoryBudget& memory = MemoryBudget::process();
  const Fr a = Fr::from_u64(5);
  for (const SrsSecrets& s :
       {SrsSecrets{Fr::zero(), a}, SrsSecrets{a, Fr::one()}, SrsSecrets{a, a}}) {
    EXPECT_EQ(insecure_dev_srs(tasks, memory, s, 8).error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(insecure_dev_srs(tasks, memory, secrets(), 1).error().code,
            ErrorCode::kInvalidArgument);
  Srs srs = dev_srs(4);
  EXPECT_TRUE(check_srs(tasks, memory, srs));
  for (auto& p : srs.g_beta) p = Bls12_381G1::generator();
  for (auto& p : srs.h_beta) p = Bls12_381G2::generator();
  EXPECT_EQ(check_srs(tasks, memory, srs).error().code, ErrorCode::kInsecureKey);
}

TEST(Srs, ExchangedVectorsAreNamed) {
  Tasks tasks(2);
  Srs srs = dev_srs(4);
  std::swap(srs.h_alpha, srs.h_beta);
  const Status status = check_srs(tasks, MemoryBudget::process(), srs);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCorruptInput);
  EXPECT_NE(status.error().message.find("g_alpha"), std::string::npos);
  Srs cut = dev_srs(4);
  cut.g_alpha[3] = cut.g_alpha[2];
  EXPECT_FALSE(check_srs(tasks, MemoryBudget::process(), cut));
}

}  // namespace
}  // namespace cuzk::aggregate
