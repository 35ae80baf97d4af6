#pragma once
// A SnarkPack aggregate: one proof of logarithmic size that n Groth16 proofs of one key hold.
//
// Notation: README.md, after Gailly, Maller, Nitulescu 2021. n = 2^rounds.size() proofs (A_i, B_i,
//          C_i); a pair (t, u) is a commitment under the two keys (alpha's and beta's half).
// Form:    points affine and in their subgroups, Gt elements in GT: format/aggregate.h checks both
//          on reading, create() makes nothing else.
// Threads: values.

#include <array>
#include <string_view>
#include <vector>

#include "curve/bls12_381.h"
#include "curve/pairing.h"
#include "groth16/keys.h"

namespace cuzk::aggregate {

using Curve = Bls12_381;
using Fr = bls12_381::Fr;
using G1Affine = Affine<Bls12_381G1>;
using G2Affine = Affine<Bls12_381G2>;
using GtElement = Gt<Bls12_381>;
using Groth16Proof = Proof<Bls12_381>;

// The transcript's version; nothing in the bytes of an aggregate tells it. V2 binds the first
// round's messages and the folded elements, V1 does not (it stands for what was made before V2).
enum class Version { kV1, kV2 };
std::string_view version_name(Version version);  // "v1"

inline constexpr std::size_t kMinProofs = 2;
inline constexpr std::size_t kMaxProofs = std::size_t{1} << 20;

struct Commitment {
  GtElement t;
  GtElement u;
  friend bool operator==(const Commitment&, const Commitment&) = default;
};

// What one halving says: each value with the halves crossed one way (left) and the other (right).
struct Round {
  Commitment ab_left;
  Commitment ab_right;
  Commitment c_left;
  Commitment c_right;
  GtElement z_ab_left;
  GtElement z_ab_right;
  G1Affine z_c_left;
  G1Affine z_c_right;
  friend bool operator==(const Round&, const Round&) = default;
};

struct AggregateProof {
  Commitment com_ab;
  Commitment com_c;
  GtElement ip_ab;  // product of e(A_i, B_i)^(r^i)
  G1Affine agg_c;   // sum of r^i C_i
  std::vector<Round> rounds;
  G1Affine final_a;
  G2Affine final_b;
  G1Affine final_c;
  std::array<G2Affine, 2> final_v;    // folded commitment keys, alpha's and beta's half
  std::array<G1Affine, 2> final_w;    // likewise, of the rescaled keys
  std::array<G2Affine, 2> opening_v;  // of final_v as polynomials at z
  std::array<G1Affine, 2> opening_w;

  std::size_t num_proofs() const { return std::size_t{1} << rounds.size(); }
  friend bool operator==(const AggregateProof&, const AggregateProof&) = default;
};

}  // namespace cuzk::aggregate
