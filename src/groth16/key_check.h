#pragma once
// Does a key belong to a circuit, and can its setup be forged?
//
// Threads: pure functions.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"
#include "groth16/keys.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/density.h"

namespace cuzk::groth16 {

// How many points each list of a key has.
struct KeyCounts {
  std::size_t ic = 0;
  std::size_t h = 0;
  std::size_t l = 0;
  std::size_t a = 0;
  std::size_t b_g1 = 0;
  std::size_t b_g2 = 0;
  friend bool operator==(const KeyCounts&, const KeyCounts&) = default;
};

template <class Curve>
KeyCounts key_counts(const ProvingKey<Curve>& key) {
  return {key.vk.ic.size(),   key.h_query.size(),    key.l_query.size(),
          key.a_query.size(), key.b_g1_query.size(), key.b_g2_query.size()};
}

// What a key for the circuit must have: h one less than the domain, l all auxiliaries, a the inputs
// and the auxiliaries dense in A, b the inputs and auxiliaries dense in B.
template <class Fr>
KeyCounts expected_key_counts(const CompactR1cs<Fr>& r1cs, const Density& density) {
  const std::size_t b = density.b_input.count + density.b_aux.count;
  return {r1cs.num_inputs,
          (std::size_t{1} << r1cs.domain_log2()) - 1,
          r1cs.num_aux,
          r1cs.num_inputs + density.a_aux.count,
          b,
          b};
}

// kMismatch names the first list that differs, with both numbers. `what` names the key.
Status check_key_counts(const KeyCounts& found, const KeyCounts& expected, std::string_view what,
                        std::string_view circuit);

// Refuses a verifying key whose proofs anybody can forge, or that no setup can have made:
// kInsecureKey for an identity, gamma equal to delta, alpha, beta or delta equal to a generator (no
// contribution was made); kCorruptInput when beta or delta differ between the two groups.
// gamma may be the generator: ceremonies fix gamma = 1, and nothing rests on it as long as delta is
// unknown.
//
// Cost:    two pairings.
// Source:  instantiated for Bls12_381 and Bn254.
template <class Curve>
Status check_verifying_key(const VerifyingKey<Curve>& vk, std::string_view what);

// The same for a key as snarkjs publishes it, without beta_g1 and delta_g1: no pairing.
template <class Curve>
Status check_published_key(const VerifyingKey<Curve>& vk, std::string_view what);

// The name of a locally made key: "insecure-dev-" before the official one, so that no other
// software takes it for the ceremony's.
std::string insecure_dev_name(std::string_view stem);
bool is_insecure_dev_name(std::string_view file_name);

}  // namespace cuzk::groth16
