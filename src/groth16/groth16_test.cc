// Setup, prover and verifier against school arithmetic, on both curves, and against bellman's MiMC
// key and proof.

#include <gtest/gtest.h>

#include <stop_token>

#include "groth16/key_check.h"
#include "groth16/prover.h"
#include "groth16/quotient.h"
#include "groth16/reference.h"
#include "groth16/setup.h"
#include "groth16/test_circuits.h"
#include "groth16/test_golden.h"
#include "groth16/verifier.h"
#include "r1cs/digest.h"

namespace cuzk::groth16 {
namespace {

using testing::CircuitBuilder;
using testing::CircuitCase;
using testing::random_circuit;
using testing::RandomCircuitShape;

// What a call needs, and a place for its numbers.
struct Desk {
  Tasks tasks;
  MemoryBudget memory{std::size_t{1} << 32};
  Timeline timeline;
  Context context{tasks, memory, timeline};
};

template <class T>
const T& value(const Result<T>& result) {
  EXPECT_TRUE(result) << result.error().message;
  return *result;
}

template <class Curve>
struct Proved {
  CircuitCase<typename Curve::Fr> circuit;
  Density density;
  ProvingKey<Curve> key;
  Proof<Curve> proof;
  ProofParts<Curve> parts;

  std::vector<typename Curve::Fr> public_inputs() const {
    return {circuit.witness.inputs.begin() + 1, circuit.witness.inputs.end()};
  }
};

template <class Curve>
Proved<Curve> prove_case(Desk& desk, CircuitCase<typename Curve::Fr> circuit,
                         const ToxicWaste<Curve>& waste) {
  Proved<Curve> out;
  out.circuit = std::move(circuit);
  out.density = compute_density(out.circuit.r1cs);
  auto key = insecure_dev_setup(desk.context, out.circuit.r1cs, out.density, waste);
  EXPECT_TRUE(key) << key.error().message;
  out.key = std::move(*key);
  const auto backend = make_cpu_backend<Curve>();
  auto pending =
      start_proof(*backend, desk.context,
                  ProveInput<Curve>{out.circuit.r1cs, out.density, out.circuit.witness, out.key});
  EXPECT_TRUE(pending) << pending.error().message;
  out.proof = value(pending->finish());
  out.parts = pending->parts();
  return out;
}

// The points of a reference query that a bellman key keeps.
template <class Point>
std::vector<Point> kept(const std::vector<Point>& all, const VariableSet* inputs,
                        std::size_t num_inputs, const VariableSet& aux) {
  std::vector<Point> out;
  for (std::size_t v = 0; v < all.size(); ++v) {
    const bool keep =
        v < num_inputs ? !inputs || inputs->contains(v) : aux.contains(v - num_inputs);
    if (keep) {
      EXPECT_FALSE(all[v].is_identity());
      out.push_back(all[v]);
    } else {
      EXPECT_TRUE(all[v].is_identity());
    }
  }
  return out;
}

template <class Point>
std::vector<Point> points(const Buffer<Point>& buffer) {
  return {buffer.begin(), buffer.end()};
}

template <class Curve>
void expect_equal_keys(const ProvingKey<Curve>& key, const reference::Key<Curve>& expected,
                       const Proved<Curve>& p) {
  const std::size_t n = p.circuit.r1cs.num_inputs;
  EXPECT_EQ(key.vk.alpha_g1, expected.vk.alpha_g1);
  EXPECT_EQ(key.vk.beta_g1, expected.vk.beta_g1);
  EXPECT_EQ(key.vk.beta_g2, expected.vk.beta_g2);
  EXPECT_EQ(key.vk.gamma_g2, expected.vk.gamma_g2);
  EXPECT_EQ(key.vk.delta_g1, expected.vk.delta_g1);
  EXPECT_EQ(key.vk.delta_g2, expected.vk.delta_g2);
  EXPECT_EQ(key.vk.ic, expected.vk.ic);
  EXPECT_EQ(points(key.h_query), expected.h);
  EXPECT_EQ(points(key.l_query), expected.l);
  EXPECT_EQ(points(key.a_query), kept(expected.a, nullptr, n, p.density.a_aux));
  EXPECT_EQ(points(key.b_g1_query), kept(expected.b_g1, &p.density.b_input, n, p.density.b_aux));
  EXPECT_EQ(points(key.b_g2_query), kept(expected.b_g2, &p.density.b_input, n, p.density.b_aux));
}

template <class Curve>
class Groth16 : public ::testing::Test {
 public:
  ToxicWaste<Curve> secrets(std::uint64_t seed) {
    SeededRandom random(seed);
    return ToxicWaste<Curve>::draw(random);
  }
  CircuitCase<typename Curve::Fr> circuit(std::uint64_t seed, const RandomCircuitShape& shape) {
    SeededRandom random(seed);
    return random_circuit<typename Curve::Fr>(random, shape);
  }
  // Key, sums, proof and verdict of one circuit against the reference.
  void check(CircuitCase<typename Curve::Fr> c, std::uint64_t seed) {
    const auto waste = secrets(seed);
    const Proved<Curve> p = prove_case<Curve>(desk_, std::move(c), waste);
    const auto reference_key = reference::setup(p.circuit.r1cs, waste);
    expect_equal_keys(p.key, reference_key, p);
    EXPECT_TRUE(p.parts ==
                reference::proof_parts(p.circuit.r1cs, reference_key, p.circuit.witness));
    const PreparedVerifyingKey<Curve> vk(p.key.vk);
    const auto verified = verify(desk_.tasks, vk, Claim<Curve>{p.proof, p.public_inputs()});
    ASSERT_TRUE(verified) << verified.error().message;
    EXPECT_EQ(verified->proof(), p.proof);
    for (std::size_t i = 0; i < p.public_inputs().size(); ++i) {
      auto changed = p.public_inputs();
      changed[i] += Curve::Fr::one();
      const auto refused = verify(desk_.tasks, vk, Claim<Curve>{p.proof, changed});
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::kInvalidProof);
    }
  }

  Desk desk_;
};

using Curves = ::testing::Types<Bls12_381, Bn254>;
TYPED_TEST_SUITE(Groth16, Curves);

TYPED_TEST(Groth16, RandomCircuitsEqualTheReference) {
  const RandomCircuitShape shapes[] = {
      {.inputs = 3, .aux = 20, .extra_rows = 5},
      {.inputs = 1, .aux = 1, .extra_rows = 0},
      {.inputs = 0, .aux = 9, .extra_rows = 6},
      {.inputs = 7, .aux = 3, .extra_rows = 0, .bits_percent = 0},
      {.inputs = 2, .aux = 40, .extra_rows = 1, .bits_percent = 100},
      {.inputs = 5, .aux = 70, .extra_rows = 9, .bits_percent = 80, .terms = 6},
  };
  std::uint64_t seed = 100;
  for (const RandomCircuitShape& shape : shapes) {
    SCOPED_TRACE(::testing::Message() << "inputs " << shape.inputs << ", aux " << shape.aux);
    this->check(this->circuit(seed, shape), seed + 1);
    seed += 2;
  }
}

TYPED_TEST(Groth16, CircuitsWithoutRowsOrAuxiliaries) {
  using Fr = typename TypeParam::Fr;
  // Rows are the appended ones only: domains of 1, 2, 4 and 4 points.
  for (const std::size_t inputs : {0, 1, 2, 3}) {
    SCOPED_TRACE(inputs);
    CircuitBuilder<Fr> cs;
    for (std::size_t i = 0; i < inputs; ++i) cs.input(Fr::from_u64(7 * i));
    this->check(cs.finish(), 40 + inputs);
  }
}

TYPED_TEST(Groth16, OneRowWithoutPublicInputs) {
  using Fr = typename TypeParam::Fr;
  CircuitBuilder<Fr> cs;
  const auto x = cs.aux(Fr::from_u64(5));
  cs.row({{x, Fr::one()}}, {{cs.one(), Fr::from_u64(2)}}, {{cs.one(), Fr::from_u64(10)}});
  this->check(cs.finish(), 50);
}

TYPED_TEST(Groth16, AFreeVariableHasNoKey) {
  using Fr = typename TypeParam::Fr;
  CircuitBuilder<Fr> cs;
  const auto x = cs.aux(Fr::from_u64(5));
  cs.aux(Fr::from_u64(6));
  cs.row({{x, Fr::one()}}, {{cs.one(), Fr::one()}}, {{cs.one(), Fr::from_u64(5)}});
  const auto c = cs.finish();
  const auto key =
      insecure_dev_setup(this->desk_.context, c.r1cs, compute_density(c.r1cs), this->secrets(1));
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(key.error().message.find("auxiliary 1 of 2 occurs in no row"), std::string::npos)
      << key.error().message;
}

TYPED_TEST(Groth16, SecretsThatMakeNoKeyAreRefused) {
  using Fr = typename TypeParam::Fr;
  const auto c = this->circuit(3, {.inputs = 2, .aux = 10});
  const auto density = compute_density(c.r1cs);
  const auto expect_refused = [&](const ToxicWaste<TypeParam>& waste, std::string_view name) {
    const auto key = insecure_dev_setup(this->desk_.context, c.r1cs, density, waste);
    ASSERT_FALSE(key) << name;
    EXPECT_EQ(key.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(key.error().message.find(name), std::string::npos) << key.error().message;
  };
  auto waste = this->secrets(4);
  waste.delta = Fr::zero();
  expect_refused(waste, "delta");
  waste = this->secrets(4);
  waste.gamma = Fr::zero();
  expect_refused(waste, "gamma");
  waste = this->secrets(4);
  waste.g2 = {};
  expect_refused(waste, "g2");
  waste = this->secrets(4);
  waste.tau = Fr::one();  // a point of every domain
  expect_refused(waste, "tau");
}

TYPED_TEST(Groth16, AnUnsatisfiedRowIsNamed) {
  using Fr = typename TypeParam::Fr;
  const auto make = [](std::uint64_t y) {
    CircuitBuilder<Fr> cs;
    const auto x = cs.aux(Fr::from_u64(5));
    const auto square = cs.aux(Fr::from_u64(y));
    cs.row({{x, Fr::one()}}, {{cs.one(), Fr::one()}}, {{x, Fr::one()}});
    cs.row({{x, Fr::one()}}, {{x, Fr::one()}}, {{square, Fr::one()}});
    return cs.finish();
  };
  const Proved<TypeParam> good = prove_case<TypeParam>(this->desk_, make(25), this->secrets(5));
  const auto bad = make(26);
  const auto proof =
      prove(this->desk_.context,
            ProveInput<TypeParam>{good.circuit.r1cs, good.density, bad.witness, good.key});
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, ErrorCode::kUnsatisfied);
  EXPECT_NE(proof.error().message.find("row 1"), std::string::npos) << proof.error().message;
}

TYPED_TEST(Groth16, AKeyOfAnotherCircuitIsAMismatch) {
  const Proved<TypeParam> p = prove_case<TypeParam>(
      this->desk_, this->circuit(6, {.inputs = 2, .aux = 10}), this->secrets(6));
  const auto other = this->circuit(7, {.inputs = 2, .aux = 11});
  const auto proof =
      prove(this->desk_.context,
            ProveInput<TypeParam>{other.r1cs, compute_density(other.r1cs), other.witness, p.key});
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, ErrorCode::kMismatch);
  EXPECT_NE(proof.error().message.find("l has 10 points"), std::string::npos)
      << proof.error().message;
  const auto wrong_witness = prove(
      this->desk_.context, ProveInput<TypeParam>{p.circuit.r1cs, p.density, other.witness, p.key});
  ASSERT_FALSE(wrong_witness);
  EXPECT_EQ(wrong_witness.error().code, ErrorCode::kMismatch);
  EXPECT_NE(wrong_witness.error().message.find("11 auxiliaries"), std::string::npos)
      << wrong_witness.error().message;
}

TYPED_TEST(Groth16, ProofsOfOneWitnessDiffer) {
  const auto c = this->circuit(8, {});
  const auto one = prove_case<TypeParam>(this->desk_, c, this->secrets(8));
  const auto two = prove_case<TypeParam>(this->desk_, c, this->secrets(8));
  EXPECT_TRUE(one.parts == two.parts);
  EXPECT_NE(one.proof.a, two.proof.a);
  EXPECT_NE(one.proof.b, two.proof.b);
  EXPECT_NE(one.proof.c, two.proof.c);
}

TYPED_TEST(Groth16, StoppedCallsSaySo) {
  std::stop_source stop;
  stop.request_stop();
  Tasks tasks(1, stop.get_token());
  Context context{tasks, this->desk_.memory, this->desk_.timeline};
  const Proved<TypeParam> p =
      prove_case<TypeParam>(this->desk_, this->circuit(9, {}), this->secrets(9));
  const auto key = insecure_dev_setup(context, p.circuit.r1cs, p.density, this->secrets(9));
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().code, ErrorCode::kCancelled);
  const auto proof =
      prove(context, ProveInput<TypeParam>{p.circuit.r1cs, p.density, p.circuit.witness, p.key});
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, ErrorCode::kCancelled);
  const auto verified = verify(tasks, PreparedVerifyingKey<TypeParam>(p.key.vk),
                               Claim<TypeParam>{p.proof, p.public_inputs()});
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, ErrorCode::kCancelled);
}

TYPED_TEST(Groth16, ASmallBudgetIsAnErrorAndEverythingIsGivenBack) {
  const Proved<TypeParam> p =
      prove_case<TypeParam>(this->desk_, this->circuit(10, {}), this->secrets(10));
  MemoryBudget small(3000);  // less than three vectors of 32 elements
  Context context{this->desk_.tasks, small, this->desk_.timeline};
  const auto proof =
      prove(context, ProveInput<TypeParam>{p.circuit.r1cs, p.density, p.circuit.witness, p.key});
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, ErrorCode::kOutOfBudget);
  EXPECT_EQ(small.used_bytes(), 0u);
}

TYPED_TEST(Groth16, SpansOfAProof) {
  prove_case<TypeParam>(this->desk_, this->circuit(11, {}), this->secrets(11));
  for (const char* name : {"matvec", "ntt", "h_msm", "l_msm", "a_msm", "b_g1_msm", "b_g2_msm",
                           "finish", "qap", "h_query"}) {
    EXPECT_GE(
        std::ranges::count(this->desk_.timeline.records(), std::string(name), &SpanRecord::name), 1)
        << name;
  }
}

TYPED_TEST(Groth16, ABatchNamesTheProofsThatFail) {
  using Fr = typename TypeParam::Fr;
  const auto c = this->circuit(12, {.inputs = 2, .aux = 12});
  const Proved<TypeParam> p = prove_case<TypeParam>(this->desk_, c, this->secrets(12));
  const PreparedVerifyingKey<TypeParam> vk(p.key.vk);
  std::vector<Claim<TypeParam>> claims;
  for (int i = 0; i < 5; ++i) {
    const auto proof = prove(this->desk_.context, ProveInput<TypeParam>{p.circuit.r1cs, p.density,
                                                                        p.circuit.witness, p.key});
    claims.push_back({value(proof), p.public_inputs()});
  }
  const auto all = verify_batch(this->desk_.tasks, vk, claims);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 5u);
  EXPECT_TRUE(verify_batch(this->desk_.tasks, vk, std::vector<Claim<TypeParam>>{}));

  auto changed = claims;
  changed[1].public_inputs[0] += Fr::one();
  changed[4].proof.c = changed[3].proof.c;
  const auto refused = verify_batch(this->desk_.tasks, vk, changed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidProof);
  EXPECT_NE(refused.error().message.find(": 2, 5"), std::string::npos) << refused.error().message;

  // Errors of two proofs that cancel each other do not pass: each has its own power.
  auto swapped = claims;
  std::swap(swapped[0].proof.c, swapped[1].proof.c);
  EXPECT_FALSE(verify_batch(this->desk_.tasks, vk, swapped));

  auto short_inputs = claims;
  short_inputs[2].public_inputs.pop_back();
  const auto mismatch = verify_batch(this->desk_.tasks, vk, short_inputs);
  ASSERT_FALSE(mismatch);
  EXPECT_EQ(mismatch.error().code, ErrorCode::kMismatch);
  EXPECT_NE(mismatch.error().message.find("proof 3 of 5"), std::string::npos);
}

TYPED_TEST(Groth16, ElementsOffTheCurveOrOutsideTheSubgroupAreRefused) {
  const Proved<TypeParam> p =
      prove_case<TypeParam>(this->desk_, this->circuit(13, {}), this->secrets(13));
  const PreparedVerifyingKey<TypeParam> vk(p.key.vk);
  auto off = p.proof;
  off.a.x += TypeParam::Fq::one();
  const auto refused = verify(this->desk_.tasks, vk, Claim<TypeParam>{off, p.public_inputs()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidProof);
  EXPECT_NE(refused.error().message.find("A does not lie on the curve"), std::string::npos);
  auto off_b = p.proof;
  off_b.b.y = off_b.b.y + TypeParam::Fq2::one();
  EXPECT_FALSE(verify(this->desk_.tasks, vk, Claim<TypeParam>{off_b, p.public_inputs()}));
}

// A forgeable key proves it: with gamma = delta a proof's C absorbs any change of the inputs.
TYPED_TEST(Groth16, KeysThatCanBeForgedAreRefused) {
  using Fr = typename TypeParam::Fr;
  const auto c = this->circuit(14, {.inputs = 2, .aux = 8});
  const auto vk_of = [&](const ToxicWaste<TypeParam>& waste) {
    return prove_case<TypeParam>(this->desk_, c, waste).key.vk;
  };
  const auto expect_insecure = [&](const VerifyingKey<TypeParam>& vk, std::string_view word) {
    const auto status = check_verifying_key(vk, "key");
    ASSERT_FALSE(status) << word;
    EXPECT_EQ(status.error().code, ErrorCode::kInsecureKey) << status.error().message;
    EXPECT_NE(status.error().message.find(word), std::string::npos) << status.error().message;
  };
  const auto good = vk_of(this->secrets(14));
  const auto status = check_verifying_key(good, "key");
  EXPECT_TRUE(status) << status.error().message;

  auto waste = this->secrets(14);
  waste.gamma = Fr::one();  // what ceremonies do
  EXPECT_TRUE(check_verifying_key(vk_of(waste), "key"));

  waste = this->secrets(14);
  waste.gamma = waste.delta;
  const auto weak = vk_of(waste);
  expect_insecure(weak, "gamma_g2 equals delta_g2");
  const Proved<TypeParam> p = prove_case<TypeParam>(this->desk_, c, waste);
  auto inputs = p.public_inputs();
  auto forged = p.proof;
  inputs[0] += Fr::one();
  using G1 = Xyzz<typename TypeParam::G1>;
  forged.c = (G1::from_affine(forged.c) - p.key.vk.ic[1]).to_affine();
  EXPECT_TRUE(verify(this->desk_.tasks, PreparedVerifyingKey<TypeParam>(p.key.vk),
                     Claim<TypeParam>{forged, inputs}));

  waste = this->secrets(14);
  waste.delta = Fr::one();
  expect_insecure(vk_of(waste), "delta_g2 is the generator");
  waste = this->secrets(14);
  waste.alpha = Fr::one();
  expect_insecure(vk_of(waste), "alpha_g1 is the generator");
  waste = this->secrets(14);
  waste.beta = Fr::one();
  expect_insecure(vk_of(waste), "beta_g2 is the generator");
  for (auto field : {&VerifyingKey<TypeParam>::alpha_g1, &VerifyingKey<TypeParam>::beta_g1,
                     &VerifyingKey<TypeParam>::delta_g1}) {
    auto vk = good;
    vk.*field = {};
    expect_insecure(vk, "is the identity");
  }
  for (auto field : {&VerifyingKey<TypeParam>::beta_g2, &VerifyingKey<TypeParam>::gamma_g2,
                     &VerifyingKey<TypeParam>::delta_g2}) {
    auto vk = good;
    vk.*field = {};
    expect_insecure(vk, "is the identity");
  }
  auto torn = good;
  torn.delta_g1 = good.alpha_g1;
  const auto corrupt = check_verifying_key(torn, "key");
  ASSERT_FALSE(corrupt);
  EXPECT_EQ(corrupt.error().code, ErrorCode::kCorruptInput);
}

TEST(Names, InsecureKeysAreMarked) {
  EXPECT_EQ(insecure_dev_name("v28-x"), "insecure-dev-v28-x");
  EXPECT_TRUE(is_insecure_dev_name(insecure_dev_name("v28-x.params")));
  EXPECT_FALSE(is_insecure_dev_name("v28-x.params"));
}

// Structure against the witness of a thousand wires: the word borders of the bitmaps matter.
TEST(Groth16Sizes, WitnessesAcrossWordBordersProve) {
  Desk desk;
  for (const std::size_t aux : {63, 64, 65, 127, 128, 129, 512, 1000}) {
    SCOPED_TRACE(aux);
    SeededRandom random(aux);
    auto c = random_circuit<bls12_381::Fr>(random, {.inputs = 4, .aux = aux, .extra_rows = 3});
    const auto p = prove_case<Bls12_381>(desk, std::move(c), ToxicWaste<Bls12_381>::draw(random));
    const auto verified = verify(desk.tasks, PreparedVerifyingKey<Bls12_381>(p.key.vk),
                                 Claim<Bls12_381>{p.proof, p.public_inputs()});
    EXPECT_TRUE(verified) << verified.error().message;
  }
}

class GoldenMimc : public ::testing::Test {
 protected:
  const std::string directory_ = CUZK_TESTDATA_DIR "/golden/mimc/";
  const nlohmann::json inputs_ = testing::read_json(directory_ + "inputs.json");
  const nlohmann::json digests_ = testing::read_json(directory_ + "mimc16.circuit.json");
  const testing::GoldenProof golden_ =
      testing::golden_proof(testing::read_json(directory_ + "mimc16.proof.json")["partitions"][0]);
  const CircuitCase<bls12_381::Fr> circuit_ = testing::golden_mimc(inputs_);
  Desk desk_;
};

TEST_F(GoldenMimc, CircuitAndWitnessAreTheReferences) {
  EXPECT_EQ(to_hex(r1cs_digest(circuit_.r1cs)), digests_["r1cs_blake2b256"]);
  EXPECT_EQ(to_hex(witness_digest(circuit_.witness)), digests_["witness_blake2b256"]);
}

TEST_F(GoldenMimc, QuotientIsTheReferences) {
  const auto h = compute_quotient(desk_.context, circuit_.r1cs, circuit_.witness);
  ASSERT_TRUE(h) << h.error().message;
  ASSERT_EQ(h->coefficients.size(), digests_["h_coeffs_count"]);
  const ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(h->coefficients.data()),
                       h->coefficients.size_bytes());
  EXPECT_EQ(to_hex(blake2b_256(bytes)), digests_["h_coeffs_blake2b256"]);
}

TEST_F(GoldenMimc, EverySumAndTheProofAreBellmans) {
  const auto density = compute_density(circuit_.r1cs);
  auto key = insecure_dev_setup(desk_.context, circuit_.r1cs, density,
                                testing::golden_toxic_waste(inputs_["toxic_waste"]));
  ASSERT_TRUE(key) << key.error().message;
  const auto backend = make_cpu_backend<Bls12_381>();
  auto pending = start_proof_with_blinding(
      *backend, desk_.context,
      ProveInput<Bls12_381>{circuit_.r1cs, density, circuit_.witness, *key},
      Blinding<Bls12_381>::insecure_fixed_for_tests(golden_.r, golden_.s));
  ASSERT_TRUE(pending) << pending.error().message;
  const auto proof = pending->finish();
  ASSERT_TRUE(proof) << proof.error().message;
  EXPECT_EQ(pending->parts().h, golden_.parts.h);
  EXPECT_EQ(pending->parts().l, golden_.parts.l);
  EXPECT_EQ(pending->parts().a_inputs, golden_.parts.a_inputs);
  EXPECT_EQ(pending->parts().a_aux, golden_.parts.a_aux);
  EXPECT_EQ(pending->parts().b_g1_inputs, golden_.parts.b_g1_inputs);
  EXPECT_EQ(pending->parts().b_g1_aux, golden_.parts.b_g1_aux);
  EXPECT_EQ(pending->parts().b_g2_inputs, golden_.parts.b_g2_inputs);
  EXPECT_EQ(pending->parts().b_g2_aux, golden_.parts.b_g2_aux);
  EXPECT_EQ(*proof, golden_.proof);
  const auto verified = verify(desk_.tasks, PreparedVerifyingKey<Bls12_381>(key->vk),
                               Claim<Bls12_381>{*proof, golden_.public_inputs});
  EXPECT_TRUE(verified) << verified.error().message;
}

}  // namespace
}  // namespace cuzk::groth16
