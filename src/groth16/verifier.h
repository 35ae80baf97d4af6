#pragma once
// Verification of Groth16 proofs, one or many at once.
//
// A proof (A, B, C) for public inputs x holds when
//   e(A, B) = e(alpha, beta) e(ic[0] + sum x_i ic[i + 1], gamma) e(C, delta).
// Many proofs of one key are checked by one product of pairings: each equation is raised to its own
// random power of 128 bits, so that a wrong one passes with a chance of 2^-128.
//
// Checks:  A, B, C lie on the curve and in the subgroup, whatever made them. The verifying key is
//          the caller's to trust (format/ checks its points, check_verifying_key its setup).
// Form:    public inputs without the leading one, Montgomery.
// Threads: a PreparedVerifyingKey is immutable; calls use `tasks`.
// Source:  Groth 2016; Bellare, Garay, Rabin 1998 (small exponents).

#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/tasks.h"
#include "curve/pairing.h"
#include "groth16/keys.h"

namespace cuzk::groth16 {

template <class Curve>
class PreparedVerifyingKey {
 public:
  explicit PreparedVerifyingKey(VerifyingKey<Curve> vk)
      : vk_(std::move(vk)), beta_(vk_.beta_g2), gamma_(vk_.gamma_g2), delta_(vk_.delta_g2) {}

  const VerifyingKey<Curve>& vk() const { return vk_; }
  const G2Prepared<Curve>& beta() const { return beta_; }
  const G2Prepared<Curve>& gamma() const { return gamma_; }
  const G2Prepared<Curve>& delta() const { return delta_; }
  std::size_t num_public_inputs() const { return vk_.ic.empty() ? 0 : vk_.ic.size() - 1; }

 private:
  VerifyingKey<Curve> vk_;
  G2Prepared<Curve> beta_;
  G2Prepared<Curve> gamma_;
  G2Prepared<Curve> delta_;
};

// A proof and what it claims.
template <class Curve>
struct Claim {
  Proof<Curve> proof;
  std::vector<typename Curve::Fr> public_inputs;
};

// A claim that was checked. Nothing but verify and verify_batch makes one, and replies are made of
// nothing else.
template <class Curve>
class VerifiedProof {
 public:
  const Proof<Curve>& proof() const { return claim_.proof; }
  std::span<const typename Curve::Fr> public_inputs() const { return claim_.public_inputs; }

 private:
  template <class C>
  friend class VerifiedProofMaker;  // verifier.cc
  explicit VerifiedProof(Claim<Curve> claim) : claim_(std::move(claim)) {}
  Claim<Curve> claim_;
};

// Errors: kMismatch when the number of public inputs is not the key's; kInvalidProof when the proof
//         does not hold for them, or an element is outside its group; kCancelled.
template <class Curve>
Result<VerifiedProof<Curve>> verify(Tasks& tasks, const PreparedVerifyingKey<Curve>& key,
                                    Claim<Curve> claim);

// All or none; no claims verify as an empty list.
// Cost:    one Miller loop for each proof, three for all, one final exponentiation.
// Errors:  as above; kInvalidProof names each proof that fails (the claims are then checked one by
//          one).
template <class Curve>
Result<std::vector<VerifiedProof<Curve>>> verify_batch(Tasks& tasks,
                                                       const PreparedVerifyingKey<Curve>& key,
                                                       std::vector<Claim<Curve>> claims);

}  // namespace cuzk::groth16
