#pragma once
// The plain sums that the tests compare with: double-and-add, one term after another.

#include <span>

#include "msm/msm.h"

namespace cuzk::reference {

template <class G>
Xyzz<G> msm(std::span<const ScalarFor<G>> scalars, std::span<const Affine<G>> bases) {
  Xyzz<G> sum = Xyzz<G>::identity();
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    sum += Xyzz<G>::from_affine(bases[i]).mul(scalars[i]);
  }
  return sum;
}

// Bit i of `bits` selects wire i; without a density wire i has base i, with one the dense wires
// have the bases in order.
template <class G>
Xyzz<G> bitmap_sum(std::span<const std::uint64_t> bits, std::size_t wires,
                   std::span<const Affine<G>> bases, std::span<const std::uint64_t> density = {}) {
  Xyzz<G> sum = Xyzz<G>::identity();
  std::size_t base = 0;
  for (std::size_t i = 0; i < wires; ++i) {
    const bool dense = density.empty() || (density[i / 64] >> (i % 64) & 1);
    if (!dense) continue;
    if (bits[i / 64] >> (i % 64) & 1) sum += bases[base];
    ++base;
  }
  return sum;
}

}  // namespace cuzk::reference
