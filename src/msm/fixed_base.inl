// Multiples of one base; included by one file for each group.

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "msm/batch_affine.h"
#include "msm/fixed_base.h"
#include "msm/msm_plan.h"

namespace cuzk {
namespace fixed_base_internal {

inline constexpr std::size_t kBatch = 1024;

// multiples[d - 1] = d * multiples[0]: the known m multiples plus the m-th give the next m.
template <class G>
void fill_multiples(std::span<Affine<G>> multiples) {
  BatchAdder<G> adder;
  for (std::size_t known = 1; known < multiples.size(); known *= 2) {
    const Affine<G> step = multiples[known - 1];
    const std::size_t next = std::min(known, multiples.size() - known);
    for (std::size_t from = 0; from < next; from += kBatch) {
      adder.add(
          std::min(kBatch, next - from),
          [&](std::size_t i) -> const Affine<G>& { return multiples[from + i]; },
          [&](std::size_t) -> const Affine<G>& { return step; },
          [&](std::size_t i, const Affine<G>& sum) { multiples[known + from + i] = sum; });
    }
  }
}

}  // namespace fixed_base_internal

template <class G>
unsigned FixedBaseTable<G>::window_bits_for(std::size_t count) {
  // A table entry and an addition cost about the same; beyond 2^19 entries a window the table
  // leaves the caches by far.
  constexpr std::size_t kBits = ScalarField<G>::kBits;
  const auto cost = [&](unsigned c) {
    return static_cast<double>(window_count(kBits, c)) *
           (static_cast<double>(count) + static_cast<double>(bucket_count(c)));
  };
  unsigned best = kMinWindowBits;
  for (unsigned c = kMinWindowBits; c <= 18; ++c) {
    if (cost(c) < cost(best)) best = c;
  }
  return best;
}

template <class G>
Result<FixedBaseTable<G>> FixedBaseTable<G>::create(Tasks& tasks, MemoryBudget& budget,
                                                    const Affine<G>& base, unsigned window_bits) {
  if (window_bits < kMinWindowBits || window_bits > kMaxWindowBits) {
    return fail(ErrorCode::kInvalidArgument, "fixed base: windows of {} bits, expected {} to {}",
                window_bits, kMinWindowBits, kMaxWindowBits);
  }
  FixedBaseTable t;
  t.window_bits_ = window_bits;
  t.windows_ = window_count(ScalarField<G>::kBits, window_bits);
  const std::size_t each = bucket_count(window_bits);
  CUZK_TRY(t.table_,
           Buffer<Affine<G>>::allocate(budget, "fixed base: multiples", t.windows_ * each));
  Xyzz<G> power = Xyzz<G>::from_affine(base);
  for (unsigned w = 0; w < t.windows_; ++w) {
    t.table_[w * each] = power.to_affine();
    for (unsigned i = 0; i < window_bits; ++i) power = power.dbl();
  }
  tasks.parallel_for(t.windows_, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t w = begin; w < end; ++w) {
      fixed_base_internal::fill_multiples<G>(t.table_.span().subspan(w * each, each));
    }
  });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "fixed base: asked to stop");
  return t;
}

template <class G>
Status fixed_base_mul_batch(Tasks& tasks, const FixedBaseTable<G>& table,
                            std::span<const ScalarFor<G>> scalars, std::span<Affine<G>> out) {
  using fixed_base_internal::kBatch;
  if (scalars.size() != out.size()) {
    return fail(ErrorCode::kInvalidArgument, "fixed base: {} scalars for {} results",
                scalars.size(), out.size());
  }
  const DigitReader<ScalarField<G>::kLimbs> reader(table.window_bits(), table.windows());
  const std::size_t batches = (scalars.size() + kBatch - 1) / kBatch;
  tasks.parallel_for(batches, 1, [&](std::size_t begin, std::size_t end) {
    BatchAdder<G> adder;
    std::vector<std::int32_t> digits(kBatch);
    for (std::size_t batch = begin; batch < end; ++batch) {
      const std::size_t first = batch * kBatch;
      const std::size_t count = std::min(kBatch, scalars.size() - first);
      const auto results = out.subspan(first, count);
      std::fill(results.begin(), results.end(), Affine<G>{});
      for (unsigned w = 0; w < table.windows(); ++w) {
        for (std::size_t i = 0; i < count; ++i) {
          digits[i] = reader.digit(scalars[first + i].limbs, w);
        }
        const auto multiple = [&](std::size_t i) {
          if (digits[i] == 0) return Affine<G>{};
          const Affine<G>& p = table.multiple(w, static_cast<std::size_t>(std::abs(digits[i])));
          return digits[i] < 0 ? -p : p;
        };
        for (std::size_t i = 0; i < count; ++i) {
          if (digits[i] == 0) continue;
          const auto* p = reinterpret_cast<const char*>(
              &table.multiple(w, static_cast<std::size_t>(std::abs(digits[i]))));
          for (std::size_t b = 0; b < sizeof(Affine<G>); b += 64) __builtin_prefetch(p + b);
        }
        adder.add(
            count, [&](std::size_t i) -> const Affine<G>& { return results[i]; }, multiple,
            [&](std::size_t i, const Affine<G>& sum) { results[i] = sum; });
      }
    }
  });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "fixed base: asked to stop");
  return {};
}

#define CUZK_FIXED_BASE_INSTANTIATE(G)                                      \
  template class FixedBaseTable<G>;                                         \
  template Status fixed_base_mul_batch<G>(Tasks&, const FixedBaseTable<G>&, \
                                          std::span<const ScalarFor<G>>, std::span<Affine<G>>)

}  // namespace cuzk
