#pragma once
// Groth16 proofs that hold, made from known secrets of a key without any circuit; and the key.

#include <vector>

#include "aggregate/proof.h"
#include "base/random.h"
#include "groth16/verifier.h"

namespace cuzk::aggregate::testing {

// With the key's secrets in hand, C is what the equation leaves:
//   a b = alpha beta + gamma ic(inputs) + delta c.
class ClaimMaker {
 public:
  ClaimMaker(std::uint64_t seed, std::size_t inputs) : random_(seed), ic_(inputs + 1) {
    for (Fr* v : {&alpha_, &beta_, &gamma_, &delta_}) *v = Fr::random(random_);
    for (Fr& v : ic_) v = Fr::random(random_);
  }

  VerifyingKey<Curve> key() const {
    VerifyingKey<Curve> vk;
    vk.alpha_g1 = g1(alpha_);
    vk.beta_g1 = g1(beta_);
    vk.beta_g2 = g2(beta_);
    vk.gamma_g2 = g2(gamma_);
    vk.delta_g1 = g1(delta_);
    vk.delta_g2 = g2(delta_);
    for (const Fr& v : ic_) vk.ic.push_back(g1(v));
    return vk;
  }

  groth16::Claim<Curve> make() {
    std::vector<Fr> inputs;
    while (inputs.size() + 1 < ic_.size()) inputs.push_back(Fr::random(random_));
    return make(std::move(inputs));
  }
  // Of these public inputs, as many as the key has.
  groth16::Claim<Curve> make(std::vector<Fr> inputs) {
    groth16::Claim<Curve> claim;
    claim.public_inputs = std::move(inputs);
    Fr ic = ic_[0];
    for (std::size_t i = 1; i < ic_.size(); ++i) ic += ic_[i] * claim.public_inputs[i - 1];
    const Fr a = Fr::random(random_);
    const Fr b = Fr::random(random_);
    claim.proof = {g1(a), g2(b), g1((a * b - alpha_ * beta_ - gamma_ * ic) * delta_.inverse())};
    return claim;
  }

 private:
  static G1Affine g1(const Fr& k) {
    return Xyzz<Bls12_381G1>::from_affine(Bls12_381G1::generator()).mul(k.to_scalar()).to_affine();
  }
  static G2Affine g2(const Fr& k) {
    return Xyzz<Bls12_381G2>::from_affine(Bls12_381G2::generator()).mul(k.to_scalar()).to_affine();
  }

  SeededRandom random_;
  Fr alpha_, beta_, gamma_, delta_;
  std::vector<Fr> ic_;
};

// `count` claims, apart for the prover and the verifier.
struct Claims {
  VerifyingKey<Curve> key;
  std::vector<Groth16Proof> proofs;
  std::vector<std::vector<Fr>> statements;
};
inline Claims make_claims(std::uint64_t seed, std::size_t count, std::size_t inputs) {
  ClaimMaker maker(seed, inputs);
  Claims out;
  out.key = maker.key();
  for (std::size_t i = 0; i < count; ++i) {
    auto claim = maker.make();
    out.proofs.push_back(claim.proof);
    out.statements.push_back(std::move(claim.public_inputs));
  }
  return out;
}

}  // namespace cuzk::aggregate::testing
