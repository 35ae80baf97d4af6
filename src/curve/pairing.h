#pragma once
// The optimal ate pairing e: G1 x G2 -> GT of BLS12-381 and BN254.
//
// A pairing is a Miller loop and a final exponentiation. Products of pairings share both: one
// squaring a step for all terms, one final exponentiation. The lines of a point of G2 depend on it
// alone and are kept in G2Prepared, so that a verifying key pays for them once.
//
// Value:   BLS12-381: the exponent of the final exponentiation is 3 (q^12 - 1) / r, as in blst, so
//          that e is the cube of the textbook's; BN254: 2 x (6 x^2 + 3 x + 1) (q^12 - 1) / r. Both
//          extra factors are coprime to r: the map is bilinear and non-degenerate all the same.
// Form:    points affine, in the subgroups (not checked here); an identity on either side gives 1.
// Curves:  instantiated for Bls12_381 and Bn254.
// Threads: pure functions; a G2Prepared is immutable.
// Source:  Vercauteren 2010 (optimal ate); Costello, Lange, Naehrig 2010 (line formulas);
//          Hayashida, Hayasaka, Teruya 2020 (final exponentiation for BLS12);
//          Fuentes-Castaneda, Knapp, Rodriguez-Henriquez 2011 (for BN).

#include <span>
#include <utility>
#include <vector>

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "curve/point.h"

namespace cuzk {

// An element of GT, the subgroup of order r of Fq12's units (or any value of Fq12 on the way).
template <class Curve>
using Gt = typename Curve::Fq12;

// The lines of the Miller loop of a point of G2, in the order in which the loop meets them.
template <class Curve>
class G2Prepared {
 public:
  using F2 = typename Curve::Fq2;
  // constant + x_coefficient x_P + y_coefficient y_P, up to a factor that the final exponentiation
  // removes; curve/pairing.cc places the three in Fq12.
  struct Line {
    F2 constant;
    F2 x_coefficient;
    F2 y_coefficient;
  };

  explicit G2Prepared(const Affine<typename Curve::G2>& q);

  bool is_identity() const { return lines_.empty(); }
  std::span<const Line> lines() const { return lines_; }

 private:
  std::vector<Line> lines_;  // empty for the identity
};

template <class Curve>
struct PairingTerm {
  Affine<typename Curve::G1> p;
  const G2Prepared<Curve>* q;  // not owned, not null
};

// The product of the terms' Miller functions; 1 for no terms.
template <class Curve>
Gt<Curve> miller_loop(std::span<const PairingTerm<Curve>> terms);

// f^((q^12 - 1) / r) to the fixed power above; zero for zero.
template <class Curve>
Gt<Curve> final_exponentiation(const Gt<Curve>& f);

template <class Curve>
Gt<Curve> pairing(const Affine<typename Curve::G1>& p, const Affine<typename Curve::G2>& q);

// Is the product of e(p, q) over the terms 1?
template <class Curve>
bool pairing_product_is_one(std::span<const PairingTerm<Curve>> terms);
template <class Curve>
bool pairing_product_is_one(
    std::span<const std::pair<Affine<typename Curve::G1>, Affine<typename Curve::G2>>> pairs);

}  // namespace cuzk
