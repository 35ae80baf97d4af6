#pragma once
// Many small products scalar times point, for halving vectors and rescaling keys.
//
// Every point has its own product, so the bucket method of msm/ does not apply; the endomorphisms
// do: a scalar is four digits of 64 bits (curve/z_digits.h), in G2 over P, psi(P), psi^2(P),
// psi^3(P), in G1 two by two over P and phi(P). Odd multiples are made affine, and results too,
// with one inversion for a chunk of points.
//
// Groups:  Bls12_381G1, Bls12_381G2; points in the subgroup, the identity allowed.
// Form:    affine in and out; scalars canonical.
// Cost:    G1 about 128 doublings and 52 additions a point, G2 64 and 52 (a plain double-and-add
//          takes 255 and 127).
// Time:    depends on the scalars (_vartime).
// Threads: uses `tasks` and has joined when it returns; a stop leaves the output without meaning.

#include <span>

#include "aggregate/proof.h"
#include "base/tasks.h"

namespace cuzk::aggregate {

// out[i] = scalars[i] * points[i]; out may be points.
template <class G>
void scale_points(Tasks& tasks, std::span<const Affine<G>> points,
                  std::span<const Fr::Scalar> scalars, std::span<Affine<G>> out);

// left[i] += x * right[i].
template <class G>
void fold_points(Tasks& tasks, std::span<Affine<G>> left, std::span<const Affine<G>> right,
                 const Fr::Scalar& x);

}  // namespace cuzk::aggregate
