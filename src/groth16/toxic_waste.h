#pragma once
// The secrets of a setup. Whoever knows them makes proofs of anything: outside tests and
// development they must never have existed in one place.
//
// Threads: values.

#include "base/random.h"
#include "curve/point.h"

namespace cuzk::groth16 {

template <class Curve>
struct ToxicWaste {
  using Fr = typename Curve::Fr;
  Affine<typename Curve::G1> g1;  // the bases of the key
  Affine<typename Curve::G2> g2;
  Fr alpha;
  Fr beta;
  Fr gamma;
  Fr delta;
  Fr tau;

  // The standard generators and five uniform non-zero scalars.
  static ToxicWaste draw(RandomSource& random) {
    ToxicWaste waste;
    waste.g1 = Curve::G1::generator();
    waste.g2 = Curve::G2::generator();
    for (Fr* v : {&waste.alpha, &waste.beta, &waste.gamma, &waste.delta, &waste.tau}) {
      do {
        *v = Fr::random(random);
      } while (v->is_zero());
    }
    return waste;
  }
};

}  // namespace cuzk::groth16
