#pragma once
// The five products of pairings that a commitment or a half of a round consists of.
//
//   ab.t = prod e(a_i, v1_i) e(w1_i, b_i)      c.t = prod e(c_i, v1_i)
//   ab.u = prod e(a_i, v2_i) e(w2_i, b_i)      c.u = prod e(c_i, v2_i)
//   z    = prod e(a_i, b_i)
//
// Each point of G2 is prepared once for all products it is in, chunk by chunk, so that the lines
// never leave the cache; each product has one final exponentiation.
//
// Form:    points affine, in the subgroups.
// Cost:    for each i 7 Miller functions (6 without z) and 3 preparations.
// Threads: uses `tasks` and has joined when it returns; a stop leaves values without meaning.

#include <array>
#include <span>

#include "aggregate/proof.h"
#include "base/tasks.h"

namespace cuzk::aggregate {

// All of one length.
struct PairingColumns {
  std::span<const G1Affine> a;
  std::span<const G1Affine> c;
  std::span<const G1Affine> w1;
  std::span<const G1Affine> w2;
  std::span<const G2Affine> b;
  std::span<const G2Affine> v1;
  std::span<const G2Affine> v2;
  bool with_z = true;  // false: z is not wanted, it comes out as 1
};

struct PairingProducts {
  Commitment ab;
  Commitment c;
  GtElement z;
};

PairingProducts pairing_products(Tasks& tasks, const PairingColumns& columns);

// The two crossings of a round, at once.
std::array<PairingProducts, 2> pairing_products(Tasks& tasks,
                                                const std::array<PairingColumns, 2>& columns);

// prod e(a_i, b_i).
GtElement inner_product(Tasks& tasks, std::span<const G1Affine> a, std::span<const G2Affine> b);

}  // namespace cuzk::aggregate
