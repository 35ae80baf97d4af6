#pragma once
// Sums of scalar times base in G1 and G2 of both curves.
//
// Groups:  Bls12_381G1, Bls12_381G2, Bn254G1, Bn254G2 (explicit instantiations); G is given
//          explicitly: msm<Curve::G1>(...).
// Form:    scalars canonical unless the name of the type is Fr; bases affine, the identity allowed,
//          equal, opposite and repeated bases too; results in XYZZ form.
// Time:    depends on the scalars (_vartime).
// Errors:  kInvalidArgument for lengths that do not belong together, kOutOfBudget, kCancelled.
// Threads: uses `tasks`; every task it started has ended when it returns. Results do not depend on
//          the number of threads.
// Source:  see README.md.

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/memory.h"
#include "base/tasks.h"
#include "curve/bls12_381.h"
#include "curve/bn254.h"

namespace cuzk {

// The field of the scalars that act on a group.
template <class G>
struct ScalarFieldOf;
template <>
struct ScalarFieldOf<Bls12_381G1> {
  using Type = bls12_381::Fr;
};
template <>
struct ScalarFieldOf<Bls12_381G2> {
  using Type = bls12_381::Fr;
};
template <>
struct ScalarFieldOf<Bn254G1> {
  using Type = bn254::Fr;
};
template <>
struct ScalarFieldOf<Bn254G2> {
  using Type = bn254::Fr;
};
template <class G>
using ScalarField = typename ScalarFieldOf<G>::Type;
template <class G>
using ScalarFor = typename ScalarField<G>::Scalar;

struct MsmOptions {
  unsigned window_bits = 0;  // 0: the cost model of msm_plan.h chooses
};

// Sum of scalars[i] * bases[i]; n == 0 gives the identity.
//
// Shape:   scalars.size() == bases.size() == n < 2^31.
template <class G>
Result<Xyzz<G>> msm(Tasks& tasks, MemoryBudget& budget, std::span<const ScalarFor<G>> scalars,
                    std::span<const Affine<G>> bases, const MsmOptions& options = {});

// Sum of scalars[i] * bases[indices[i]]; the bases are not copied.
template <class G>
Result<Xyzz<G>> msm_indexed(Tasks& tasks, MemoryBudget& budget,
                            std::span<const ScalarFor<G>> scalars,
                            std::span<const std::uint32_t> indices,
                            std::span<const Affine<G>> bases, const MsmOptions& options = {});

// Sum of the bases whose bit is set in `bits` (bit i is bit i % 64 of word i / 64).
//
// Without a density, base i belongs to bit i: bases.size() bits are looked at. With a density of
// the same number of words, base k belongs to the k-th set bit of `density`, whose set bits must be
// bases.size() in number; bits outside the density contribute nothing.
template <class G>
Result<Xyzz<G>> bitmap_sum(Tasks& tasks, MemoryBudget& budget, std::span<const std::uint64_t> bits,
                           std::span<const Affine<G>> bases,
                           std::span<const std::uint64_t> density = {});

// A compact assignment (r1cs/witness.h) as spans: wire i is 1 where `ones` has bit i, a full scalar
// where `full` has it (full_values in ascending order of index, Montgomery form), else 0.
template <class Fr>
struct WitnessView {
  std::size_t wires = 0;
  std::span<const std::uint64_t> ones;
  std::span<const std::uint64_t> full;
  std::span<const Fr> full_values;
};

// Sum of z_i * base_i over a compact assignment: a bitmap sum over the ones and an MSM over the
// full scalars, whose bases are addressed in place.
//
// Shape:   without a density bases.size() == witness.wires; with one, bases.size() is its number of
//          set bits among the wires, as in bitmap_sum.
template <class G>
Result<Xyzz<G>> witness_msm(Tasks& tasks, MemoryBudget& budget,
                            const WitnessView<ScalarField<G>>& witness,
                            std::span<const Affine<G>> bases,
                            std::span<const std::uint64_t> density = {},
                            const MsmOptions& options = {});

}  // namespace cuzk
