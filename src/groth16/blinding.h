#pragma once
// The two blinding scalars of a proof. Whoever knows r or s of a proof can learn about its witness.
//
// Threads: values.

#include "base/random.h"

namespace cuzk::groth16 {

template <class Curve>
class Blinding {
 public:
  using Fr = typename Curve::Fr;

  // Uniform, from the system's randomness: the only kind for proofs that leave the machine.
  static Blinding draw() {
    SystemRandom random;
    const Fr r = Fr::random(random);
    return Blinding(r, Fr::random(random));
  }
  // Fixed, for comparison with another implementation's proofs. Such a proof hides nothing.
  static Blinding insecure_fixed_for_tests(const Fr& r, const Fr& s) { return Blinding(r, s); }

  const Fr& r() const { return r_; }
  const Fr& s() const { return s_; }

 private:
  Blinding(const Fr& r, const Fr& s) : r_(r), s_(s) {}
  Fr r_;
  Fr s_;
};

}  // namespace cuzk::groth16
