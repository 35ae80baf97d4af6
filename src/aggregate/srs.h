#pragma once
// The structured reference string of the inner-product argument: the powers of two secrets.
//
//   g_alpha[i] = alpha^i G, g_beta[i] = beta^i G  (G1)
//   h_alpha[i] = alpha^i H, h_beta[i] = beta^i H  (G2)
//
// One string serves every number of proofs up to its capacity: for n proofs the commitment keys are
//   v1 = h_alpha[0, n), v2 = h_beta[0, n), w1 = g_alpha[n, 2n), w2 = g_beta[n, 2n),
// and the openings need g[0, 2n) and h[0, n). A verifier needs the first two powers of each alone.
//
// Threads: immutable once built.
// Source:  Gailly, Maller, Nitulescu 2021, section 3 (keys from two powers-of-tau ceremonies).

#include "aggregate/proof.h"
#include "base/memory.h"
#include "base/tasks.h"

namespace cuzk::aggregate {

struct Srs {
  Buffer<G1Affine> g_alpha;
  Buffer<G1Affine> g_beta;
  Buffer<G2Affine> h_alpha;
  Buffer<G2Affine> h_beta;

  // The largest power of two of proofs that fits; 0 for none.
  std::size_t capacity() const;
  std::span<const G2Affine> v1(std::size_t n) const { return h_alpha.span().first(n); }
  std::span<const G2Affine> v2(std::size_t n) const { return h_beta.span().first(n); }
  std::span<const G1Affine> w1(std::size_t n) const { return g_alpha.span().subspan(n, n); }
  std::span<const G1Affine> w2(std::size_t n) const { return g_beta.span().subspan(n, n); }
};

// Powers of each vector that n proofs need.
constexpr std::size_t srs_powers_for(std::size_t n) { return 2 * n; }

struct VerifierSrs {
  G1Affine g;
  G1Affine g_alpha;
  G1Affine g_beta;
  G2Affine h;
  G2Affine h_alpha;
  G2Affine h_beta;
};
// kInvalidArgument when a vector has less than two powers.
Result<VerifierSrs> verifier_srs(const Srs& srs);

// Whoever knows these makes aggregates of anything.
struct SrsSecrets {
  Fr alpha;
  Fr beta;
  static SrsSecrets draw(RandomSource& random);
};

// A string from known secrets: for tests and development only. `powers` entries in each vector.
// Errors: kInvalidArgument for less than two powers or a secret that is 0, 1 or both equal;
//         kOutOfBudget; kCancelled.
Result<Srs> insecure_dev_srs(Tasks& tasks, MemoryBudget& memory, const SrsSecrets& secrets,
                             std::size_t powers);

// Are the vectors powers of one secret each, the same in G1 and G2, over the standard generators?
// Each relation is checked for all entries at once with random weights of 128 bits.
// Errors: kInsecureKey when the relations hold for a string that anyone knows (a secret of 0 or 1);
//         kCorruptInput names the vector; kOutOfBudget; kCancelled.
Status check_srs(Tasks& tasks, MemoryBudget& memory, const Srs& srs);

}  // namespace cuzk::aggregate
