#pragma once
// Inputs that every variant's tests and benches share.

#include <vector>

#include "base/random.h"
#include "msm/msm.h"

namespace cuzk::cases {

// i * G for i = 1 .. n, so that the sum of s_i (i G) is (sum of i s_i) G.
template <class G>
std::vector<Affine<G>> multiples_of_generator(std::size_t n) {
  std::vector<Xyzz<G>> points;
  Xyzz<G> p = Xyzz<G>::identity();
  for (std::size_t i = 0; i < n; ++i) points.push_back(p += G::generator());
  // To affine form with one inversion: products of all zzz before each.
  using F = typename G::Field;
  std::vector<F> before(n);
  F product = F::one();
  for (std::size_t i = 0; i < n; ++i) {
    before[i] = product;
    product *= points[i].zzz;
  }
  F inverse = product.inverse();
  std::vector<Affine<G>> out(n);
  for (std::size_t i = n; i-- > 0;) {
    const F zzz = inverse * before[i];
    inverse *= points[i].zzz;
    out[i] = {points[i].x * (zzz * points[i].zz).square(), points[i].y * zzz};
  }
  return out;
}

template <class G>
std::vector<ScalarFor<G>> uniform_scalars(std::size_t n, std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<ScalarFor<G>> out;
  for (std::size_t i = 0; i < n; ++i) out.push_back(ScalarField<G>::random(random).to_scalar());
  return out;
}

// A compact assignment with the shares of a PoRep partition: 63 % zeros, 33 % ones, the rest full.
template <class G>
struct Witness {
  std::size_t wires = 0;
  std::vector<std::uint64_t> ones, full;
  std::vector<ScalarField<G>> full_values;
  std::vector<ScalarFor<G>> scalars;  // the same, wire by wire

  WitnessView<ScalarField<G>> view() const { return {wires, ones, full, full_values}; }
};

template <class G>
Witness<G> witness(std::size_t wires, std::uint64_t seed) {
  using Fr = ScalarField<G>;
  SeededRandom random(seed);
  Witness<G> w;
  w.wires = wires;
  w.ones.resize((wires + 63) / 64);
  w.full.resize((wires + 63) / 64);
  for (std::size_t i = 0; i < wires; ++i) {
    const std::uint64_t percent = random.next_u64() % 100;
    Fr value = Fr::zero();
    if (percent >= 96) {
      value = Fr::random(random);
      w.full[i / 64] |= std::uint64_t{1} << (i % 64);
      w.full_values.push_back(value);
    } else if (percent >= 63) {
      value = Fr::one();
      w.ones[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    w.scalars.push_back(value.to_scalar());
  }
  return w;
}

}  // namespace cuzk::cases
