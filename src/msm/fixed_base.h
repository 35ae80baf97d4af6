#pragma once
// Many multiples of one base: k_i * B for a table of B's multiples. For set-ups.
//
// Form:    scalars canonical; results affine and exact, the identity for scalar 0.
// Time:    depends on the scalars (_vartime).
// Threads: a table is immutable; fixed_base_mul_batch uses `tasks` and has joined when it returns.
// Source:  windowed method with signed digits; additions share inversions (README.md).

#include <cstddef>
#include <span>

#include "base/error.h"
#include "base/memory.h"
#include "base/tasks.h"
#include "msm/msm.h"

namespace cuzk {

template <class G>
class FixedBaseTable {
 public:
  // A good window for `count` products.
  static unsigned window_bits_for(std::size_t count);

  // window_bits in 4..22; kInvalidArgument, kOutOfBudget.
  static Result<FixedBaseTable> create(Tasks& tasks, MemoryBudget& budget, const Affine<G>& base,
                                       unsigned window_bits);

  unsigned window_bits() const { return window_bits_; }
  unsigned windows() const { return windows_; }
  // d * 2^(window_bits * window) * B, d in 1..2^(window_bits - 1).
  const Affine<G>& multiple(unsigned window, std::size_t d) const {
    return table_[(std::size_t{window} << (window_bits_ - 1)) + d - 1];
  }

 private:
  unsigned window_bits_ = 0;
  unsigned windows_ = 0;
  Buffer<Affine<G>> table_;
};

// out[i] = scalars[i] * base of the table. kInvalidArgument when the lengths differ; kCancelled.
template <class G>
Status fixed_base_mul_batch(Tasks& tasks, const FixedBaseTable<G>& table,
                            std::span<const ScalarFor<G>> scalars, std::span<Affine<G>> out);

}  // namespace cuzk
