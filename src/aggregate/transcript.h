#pragma once
// The Fiat-Shamir challenges of an aggregate, in the order in which the messages appear. Prover and
// verifier walk through the same object.
//
// A challenge is the SHA-256 of "snarkpack-v1", a label and the items, nothing between them, read
// as a little-endian number of 255 bits. A value that is 0, 1 or not below r is drawn again with
// the next counter appended (README.md).
//
// Threads: a Transcript belongs to one caller.
// Source:  bellperson 0.27.0, groth16/aggregate; docs/formats/snarkpack.md.

#include <string_view>
#include <vector>

#include "aggregate/proof.h"
#include "base/bytes.h"

namespace cuzk::aggregate {

class Transcript {
 public:
  // binding: what the application ties the aggregate to; hashed with its length. Copied.
  Transcript(Version version, ByteSpan binding);

  // r, which combines the proofs. First.
  Fr combine(const Commitment& com_ab, const Commitment& com_c);
  // Before the first round.
  void begin_rounds(const GtElement& ip_ab, const G1Affine& agg_c);
  // The INVERSE of the round's challenge x. In the rounds' order.
  Fr round(const Round& round);
  // z, where the commitment keys are opened. After the last round.
  Fr open(const AggregateProof& proof);

  // For tests: values on the way.
  const Fr& commitments_hash() const { return commitments_hash_; }
  const Fr& first_hash() const { return first_; }
  const Fr& extra_link() const { return extra_; }

 private:
  Version version_;
  std::vector<std::uint8_t> binding_;
  Fr commitments_hash_;
  Fr r_;
  Fr first_;                               // y
  std::vector<Fr> x_inverse_;              // of the rounds so far
  std::vector<std::uint8_t> round_bytes_;  // the last round's messages
  Fr extra_;
};

// Every challenge of a complete aggregate.
struct Challenges {
  Fr r;
  std::vector<Fr> x;
  std::vector<Fr> x_inverse;
  Fr z;
};
Challenges derive_challenges(Version version, ByteSpan binding, const AggregateProof& proof);

}  // namespace cuzk::aggregate
