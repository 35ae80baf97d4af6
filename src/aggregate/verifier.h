#pragma once
// Verifies aggregates: do all n Groth16 proofs, which are not there any more, hold for these
// statements under this key?
//
// Eleven equations, ten of them products of pairings (README.md). They are checked as one product,
// each but the first raised to its own random power of 128 bits, so that a wrong one passes with a
// chance of 2^-128; when the product fails, each is checked for itself and those that do not hold
// are named.
//
// Needs:   an aggregate whose elements are in their groups, as the reader of format/aggregate.h and
//          create() guarantee; a string and a key that the caller trusts.
// Form:    public inputs without the leading one, Montgomery.
// Cost:    11 Miller functions, one final exponentiation, 10 log2(n) + 6 powers in GT, one product
//          in Fr for each public input (README.md).
// Threads: uses `tasks` and has joined when it returns.
// Source:  Gailly, Maller, Nitulescu 2021, section 5; bellperson 0.27.0 for the transcript.

#include <span>
#include <vector>

#include "aggregate/proof.h"
#include "aggregate/srs.h"
#include "base/bytes.h"
#include "groth16/verifier.h"

namespace cuzk::aggregate {

// An aggregate that was checked. Nothing but verify makes one, and replies are made of nothing
// else.
class VerifiedAggregate {
 public:
  const AggregateProof& proof() const { return proof_; }

 private:
  friend class Verification;  // verifier.cc
  explicit VerifiedAggregate(AggregateProof proof) : proof_(std::move(proof)) {}
  AggregateProof proof_;
};

// What the proofs claim, and what the application ties the aggregate to.
struct AggregateClaim {
  Version version = Version::kV2;
  ByteSpan binding;
  // Of each proof, in order, at least one; where the aggregate has more proofs, the last one is
  // repeated, as pad_proofs repeats the last proof. How much padding is right is the caller's rule.
  std::span<const std::vector<Fr>> statements;
};

// Errors: kMismatch when there are no statements or more than the aggregate's proofs, or one has
// not
//         the key's number of inputs; kInvalidProof names the equations that do not
//         hold; kCancelled; kOutOfBudget.
Result<VerifiedAggregate> verify(Tasks& tasks, const VerifierSrs& srs,
                                 const groth16::PreparedVerifyingKey<Curve>& key,
                                 const AggregateClaim& claim, AggregateProof proof);

}  // namespace cuzk::aggregate
