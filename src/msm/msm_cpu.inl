// Sums on the CPU; included by one file for each group.
//
// Bucket method with signed digits (msm_plan.h). For each window the terms are sorted by bucket
// (counting sort of 32-bit entries), then tasks walk equal shares of the sorted list from the
// highest bucket down: a block of points that fits L2 is gathered, all its buckets are summed side
// by side by pairwise affine additions with shared inversions, and the finished buckets enter the
// running sum. Sorted order makes bucket conflicts impossible and a long bucket no special case: it
// is cut wherever a block or a task ends, because the weighted sum is linear.

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "msm/batch_affine.h"
#include "msm/msm.h"
#include "msm/msm_plan.h"

namespace cuzk {
namespace msm_internal {

inline constexpr std::size_t kBlockPoints = 2048;  // 192 KiB of G1 points of BLS12-381
inline constexpr std::size_t kPrefetch = 12;       // points ahead
inline constexpr std::size_t kGroupBytes = std::size_t{256} << 20;
inline constexpr std::uint32_t kSign = std::uint32_t{1} << 31;
inline constexpr std::size_t kMinTaskTerms = 4096;

template <class G>
inline void prefetch(const Affine<G>* p) {
  const char* bytes = reinterpret_cast<const char*>(p);
  for (std::size_t i = 0; i < sizeof(Affine<G>); i += 64) __builtin_prefetch(bytes + i);
}

// What a sum is taken over.
template <class G>
struct Terms {
  std::span<const ScalarFor<G>> scalars;
  const Affine<G>* bases;
  const std::uint32_t* indices;  // null: term i has base i

  const Affine<G>& base(std::uint32_t term) const { return bases[indices ? indices[term] : term]; }
};

// A window's terms ordered by bucket: bucket b (of digits of size b + 1) is entries[starts[b]] up
// to entries[starts[b + 1]]; an entry is a term with kSign for a negative digit.
struct SortedWindow {
  std::span<const std::uint32_t> entries;
  std::span<const std::uint32_t> starts;
};

// The share [begin, end) of a sorted window: sum of (b + 1) * P over its entries.
template <class G>
class BucketWalk {
 public:
  BucketWalk(const Terms<G>& terms, const SortedWindow& window)
      : terms_(terms), window_(window), points_(std::min(kBlockPoints, window.entries.size())) {
    lengths_.reserve(points_.size());
    buckets_.reserve(points_.size());
  }

  Xyzz<G> sum(std::size_t begin, std::size_t end) {
    if (begin == end) return Xyzz<G>::identity();
    const auto& starts = window_.starts;
    std::size_t bucket = static_cast<std::size_t>(
        std::upper_bound(starts.begin(), starts.end(), end - 1) - starts.begin() - 1);
    last_bucket_ = bucket + 1;
    std::size_t at = end;
    while (at > begin) {
      while (starts[bucket] >= at) --bucket;
      const std::size_t low = std::max<std::size_t>(begin, starts[bucket]);
      const std::size_t take = std::min(at - low, kBlockPoints - used_);
      gather(at - take, take, bucket);
      at -= take;
      if (used_ == kBlockPoints) flush();
    }
    flush();
    enter(Affine<G>{}, 0);  // the empty buckets below
    return total_;
  }

 private:
  void gather(std::size_t from, std::size_t count, std::size_t bucket) {
    const auto& entries = window_.entries;
    for (std::size_t i = from; i < from + count; ++i) {
      if (i + kPrefetch < from + count) {
        prefetch(&terms_.base(entries[i + kPrefetch] & ~kSign));
      } else if (const std::size_t below = from - 1 - (i + kPrefetch - from - count);
                 below < from) {
        prefetch(&terms_.base(entries[below] & ~kSign));
      }
      const Affine<G>& p = terms_.base(entries[i] & ~kSign);
      points_[used_++] = entries[i] & kSign ? -p : p;
    }
    if (!buckets_.empty() && buckets_.back() == bucket) {
      lengths_.back() += static_cast<std::uint32_t>(count);
    } else {
      buckets_.push_back(bucket);
      lengths_.push_back(static_cast<std::uint32_t>(count));
    }
  }

  void flush() {
    adder_.sum_runs(std::span(points_).first(used_), lengths_);
    std::size_t start = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      enter(points_[start], buckets_[i] + 1);
      start += lengths_[i];
    }
    used_ = 0;
    buckets_.clear();
    lengths_.clear();
  }

  // Adds a sum of weight `weight`; weights come in descending order.
  void enter(const Affine<G>& p, std::size_t weight) {
    // total += running for every step down from the last weight.
    const std::size_t steps = last_bucket_ - weight;
    if (steps < 16) {
      for (std::size_t i = 0; i < steps; ++i) total_ += running_;
    } else {
      const std::uint64_t k = steps;
      total_ += running_.mul(std::span<const std::uint64_t>(&k, 1).first(1));
    }
    last_bucket_ = weight;
    running_ += p;
  }

  const Terms<G>& terms_;
  const SortedWindow& window_;
  BatchAdder<G> adder_;
  std::vector<Affine<G>> points_;
  std::vector<std::uint32_t> lengths_;
  std::vector<std::size_t> buckets_;
  std::size_t used_ = 0;
  std::size_t last_bucket_ = 0;
  Xyzz<G> running_ = Xyzz<G>::identity();
  Xyzz<G> total_ = Xyzz<G>::identity();
};

// Several windows of one sum at a time: digits, counting sort, buckets.
template <class G>
class WindowGroup {
  using Fr = ScalarField<G>;

 public:
  static Result<WindowGroup> create(Tasks& tasks, MemoryBudget& budget, const Terms<G>& terms,
                                    unsigned window_bits) {
    WindowGroup g(terms, window_bits);
    const std::size_t n = terms.scalars.size();
    const auto threads = static_cast<std::size_t>(tasks.threads());
    g.size_ = static_cast<unsigned>(std::clamp<std::size_t>(kGroupBytes / (4 * n), 1, g.windows_));
    g.ranges_ = std::clamp<std::size_t>((2 * threads + g.size_ - 1) / g.size_, 1,
                                        std::max<std::size_t>(1, n / kMinTaskTerms));
    CUZK_TRY(g.entries_, Buffer<std::uint32_t>::allocate(budget, "msm: sorted terms", g.size_ * n));
    CUZK_TRY(g.cursors_,
             Buffer<std::uint32_t>::allocate(budget, "msm: bucket counts",
                                             g.size_ * g.ranges_ * bucket_count(window_bits)));
    CUZK_TRY(g.starts_, Buffer<std::uint32_t>::allocate(budget, "msm: bucket starts",
                                                        g.size_ * (bucket_count(window_bits) + 1)));
    const std::size_t block_bytes = kBlockPoints * (sizeof(Affine<G>) * 2 + 32);
    CUZK_TRY(g.blocks_, budget.reserve("msm: blocks", threads * block_bytes));
    return g;
  }

  unsigned windows() const { return windows_; }
  unsigned size() const { return size_; }

  // Sums of the windows [first, first + count), count <= size().
  std::vector<Xyzz<G>> sums(Tasks& tasks, unsigned first, unsigned count) {
    sort(tasks, first, count);
    const std::size_t n = terms_.scalars.size();
    const auto threads = static_cast<std::size_t>(tasks.threads());
    const std::size_t shares = std::clamp<std::size_t>((6 * threads + count - 1) / count, 1,
                                                       std::max<std::size_t>(1, n / kMinTaskTerms));
    std::vector<Xyzz<G>> parts(count * shares, Xyzz<G>::identity());
    tasks.parallel_for(parts.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const SortedWindow window = sorted(static_cast<unsigned>(i / shares));
        const std::size_t total = window.starts.back();
        const std::size_t share = i % shares;
        BucketWalk<G> walk(terms_, window);
        parts[i] = walk.sum(total * share / shares, total * (share + 1) / shares);
      }
    });
    std::vector<Xyzz<G>> out(count, Xyzz<G>::identity());
    for (std::size_t i = 0; i < parts.size(); ++i) out[i / shares] += parts[i];
    return out;
  }

 private:
  WindowGroup(const Terms<G>& terms, unsigned window_bits)
      : terms_(terms),
        buckets_(bucket_count(window_bits)),
        windows_(window_count(Fr::kBits, window_bits)),
        reader_(window_bits, windows_) {}

  SortedWindow sorted(unsigned slot) const {
    const std::size_t n = terms_.scalars.size();
    return {entries_.span().subspan(slot * n, n),
            starts_.span().subspan(slot * (buckets_ + 1), buckets_ + 1)};
  }

  // fn(term, digit) for the non-zero digits of a range of the terms.
  template <class F>
  void for_digits(unsigned window, std::size_t range, F&& fn) const {
    const std::size_t n = terms_.scalars.size();
    for (std::size_t i = n * range / ranges_; i < n * (range + 1) / ranges_; ++i) {
      const std::int32_t d = reader_.digit(terms_.scalars[i].limbs, window);
      if (d != 0) fn(static_cast<std::uint32_t>(i), d);
    }
  }

  void sort(Tasks& tasks, unsigned first, unsigned count) {
    const auto cursors = [&](std::size_t slot, std::size_t range) {
      return cursors_.data() + (slot * ranges_ + range) * buckets_;
    };
    tasks.parallel_for(count * ranges_, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        std::uint32_t* counts = cursors(i / ranges_, i % ranges_);
        std::fill_n(counts, buckets_, 0u);
        for_digits(first + static_cast<unsigned>(i / ranges_), i % ranges_,
                   [&](std::uint32_t, std::int32_t d) { ++counts[std::abs(d) - 1]; });
      }
    });
    tasks.parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t slot = begin; slot < end; ++slot) {
        std::uint32_t* starts = starts_.data() + slot * (buckets_ + 1);
        std::uint32_t at = 0;
        for (std::size_t b = 0; b < buckets_; ++b) {
          starts[b] = at;
          for (std::size_t r = 0; r < ranges_; ++r) at += std::exchange(cursors(slot, r)[b], at);
        }
        starts[buckets_] = at;
      }
    });
    const std::size_t n = terms_.scalars.size();
    tasks.parallel_for(count * ranges_, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        std::uint32_t* cursor = cursors(i / ranges_, i % ranges_);
        std::uint32_t* out = entries_.data() + i / ranges_ * n;
        for_digits(first + static_cast<unsigned>(i / ranges_), i % ranges_,
                   [&](std::uint32_t term, std::int32_t d) {
                     out[cursor[std::abs(d) - 1]++] = d < 0 ? term | kSign : term;
                   });
      }
    });
  }

  Terms<G> terms_;
  std::size_t buckets_;
  unsigned windows_;
  DigitReader<Fr::kLimbs> reader_;
  unsigned size_ = 0;
  std::size_t ranges_ = 1;
  Buffer<std::uint32_t> entries_;
  Buffer<std::uint32_t> cursors_;
  Buffer<std::uint32_t> starts_;
  Reservation blocks_;
};

template <class G>
Result<Xyzz<G>> bucket_sum(Tasks& tasks, MemoryBudget& budget, const Terms<G>& terms,
                           const MsmOptions& options) {
  const std::size_t n = terms.scalars.size();
  if (n == 0) return Xyzz<G>::identity();
  if (n >= kSign) {
    return fail(ErrorCode::kInvalidArgument, "msm: {} terms, at most 2^31 - 1 are supported", n);
  }
  const unsigned c =
      options.window_bits ? options.window_bits : best_window_bits(ScalarField<G>::kBits, n);
  if (c < kMinWindowBits || c > kMaxWindowBits) {
    return fail(ErrorCode::kInvalidArgument, "msm: windows of {} bits, expected {} to {}", c,
                kMinWindowBits, kMaxWindowBits);
  }
  CUZK_TRY(WindowGroup<G> group, WindowGroup<G>::create(tasks, budget, terms, c));
  Xyzz<G> total = Xyzz<G>::identity();
  for (unsigned top = group.windows(); top > 0;) {
    const unsigned count = std::min(top, group.size());
    top -= count;
    const std::vector<Xyzz<G>> sums = group.sums(tasks, top, count);
    if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "msm: asked to stop");
    for (unsigned w = count; w-- > 0;) {
      for (unsigned i = 0; i < c && !total.is_identity(); ++i) total = total.dbl();
      total += sums[w];
    }
  }
  return total;
}

// Bits of `bits` at the set positions of `density`, moved together to the low end.
inline std::uint64_t compact_bits(std::uint64_t bits, std::uint64_t density) {
  std::uint64_t out = 0;
  for (bits &= density; bits; bits &= bits - 1) {
    const std::uint64_t below = (bits & -bits) - 1;
    out |= std::uint64_t{1} << std::popcount(density & below);
  }
  return out;
}

// Adds points to kLanes affine accumulators, a full batch at a time.
template <class G>
class LaneSum {
 public:
  static constexpr std::size_t kLanes = 1024;
  LaneSum() : lanes_(kLanes) { pending_.reserve(kLanes); }

  void push(const Affine<G>* p) {
    prefetch(p);
    pending_.push_back(p);
    if (pending_.size() == kLanes) flush();
  }
  Xyzz<G> total() {
    flush();
    const std::uint32_t used = static_cast<std::uint32_t>(used_);
    if (used == 0) return Xyzz<G>::identity();
    adder_.sum_runs(std::span(lanes_).first(used), std::span(&used, 1));
    return Xyzz<G>::from_affine(lanes_[0]);
  }

 private:
  void flush() {
    adder_.add(
        pending_.size(), [&](std::size_t i) -> const Affine<G>& { return lanes_[i]; },
        [&](std::size_t i) -> const Affine<G>& { return *pending_[i]; },
        [&](std::size_t i, const Affine<G>& sum) { lanes_[i] = sum; });
    used_ = std::max(used_, pending_.size());
    pending_.clear();
  }

  BatchAdder<G> adder_;
  std::vector<Affine<G>> lanes_;
  std::vector<const Affine<G>*> pending_;
  std::size_t used_ = 0;
};

inline constexpr std::size_t kShareWords = 512;  // the least work of a bitmap task

template <class G>
Result<Reservation> reserve_lanes(Tasks& tasks, MemoryBudget& budget) {
  const std::size_t bytes = LaneSum<G>::kLanes * (2 * sizeof(Affine<G>) + 64);
  return budget.reserve("bitmap sum: lanes", static_cast<std::size_t>(tasks.threads()) * bytes);
}

inline std::uint64_t masked_word(std::span<const std::uint64_t> words, std::size_t w,
                                 std::size_t bits_count) {
  const std::size_t left = bits_count - 64 * w;
  return left >= 64 ? words[w] : words[w] & ((std::uint64_t{1} << left) - 1);
}

// Sum over the wires < wires_count of `bits`; lengths are checked.
template <class G>
Xyzz<G> sum_bits(Tasks& tasks, std::span<const std::uint64_t> bits, std::size_t wires_count,
                 std::span<const Affine<G>> bases, std::span<const std::uint64_t> density) {
  const std::size_t words = (wires_count + 63) / 64;
  const auto threads = static_cast<std::size_t>(tasks.threads());
  const std::size_t shares =
      std::clamp<std::size_t>(words / kShareWords, 1, threads == 1 ? 1 : 8 * threads);
  std::vector<std::size_t> first_base(shares);
  std::size_t rank = 0;
  for (std::size_t s = 0; s < shares; ++s) {
    const std::size_t begin = words * s / shares, end = words * (s + 1) / shares;
    first_base[s] = density.empty() ? 64 * begin : rank;
    for (std::size_t w = begin; w < end && !density.empty(); ++w) {
      rank += static_cast<std::size_t>(std::popcount(masked_word(density, w, wires_count)));
    }
  }
  std::vector<Xyzz<G>> parts(shares, Xyzz<G>::identity());
  tasks.parallel_for(shares, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      LaneSum<G> lanes;
      const Affine<G>* base = bases.data() + first_base[s];
      for (std::size_t w = words * s / shares; w < words * (s + 1) / shares; ++w) {
        std::uint64_t selected = masked_word(bits, w, wires_count);
        unsigned advance = 64;
        if (!density.empty()) {
          const std::uint64_t dense = masked_word(density, w, wires_count);
          selected = compact_bits(selected, dense);
          advance = static_cast<unsigned>(std::popcount(dense));
        }
        for (; selected; selected &= selected - 1) lanes.push(base + std::countr_zero(selected));
        base += advance;
      }
      parts[s] = lanes.total();
    }
  });
  Xyzz<G> total = Xyzz<G>::identity();
  for (const Xyzz<G>& p : parts) total += p;
  return total;
}

inline Status check_bitmap(std::string_view what, std::size_t words, std::size_t wires_count) {
  if (words * 64 >= wires_count) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: {} words of bits for {} wires", what, words,
              wires_count);
}

inline Status check_density(std::span<const std::uint64_t> density, std::size_t wires_count,
                            std::size_t bases_count) {
  std::size_t dense = 0;
  for (std::size_t w = 0; w < (wires_count + 63) / 64; ++w) {
    dense += static_cast<std::size_t>(std::popcount(masked_word(density, w, wires_count)));
  }
  if (dense == bases_count) return {};
  return fail(ErrorCode::kInvalidArgument, "density: {} wires are dense, there are {} bases", dense,
              bases_count);
}

// The full scalars of a witness that have a base: canonical scalars and the places of their bases.
template <class G>
struct FullTerms {
  Buffer<ScalarFor<G>> scalars;
  Buffer<std::uint32_t> indices;
  std::size_t count = 0;
};

template <class G>
Result<FullTerms<G>> full_terms(Tasks& tasks, MemoryBudget& budget,
                                const WitnessView<ScalarField<G>>& witness,
                                std::span<const std::uint64_t> density) {
  const std::size_t most = witness.full_values.size();
  FullTerms<G> out;
  CUZK_TRY(auto places, Buffer<std::uint32_t>::allocate(budget, "witness msm: places", most));
  CUZK_TRY(out.indices, Buffer<std::uint32_t>::allocate(budget, "witness msm: indices", most));
  std::size_t value = 0, base = 0;
  for (std::size_t w = 0; w < (witness.wires + 63) / 64; ++w) {
    const std::uint64_t full = masked_word(witness.full, w, witness.wires);
    const std::uint64_t dense =
        density.empty() ? ~std::uint64_t{0} : masked_word(density, w, witness.wires);
    for (std::uint64_t rest = full; rest; rest &= rest - 1, ++value) {
      const std::uint64_t bit = rest & -rest;
      if (value >= most || !(dense & bit)) continue;
      places[out.count] = static_cast<std::uint32_t>(value);
      out.indices[out.count++] = static_cast<std::uint32_t>(
          base + static_cast<std::size_t>(std::popcount(dense & (bit - 1))));
    }
    base += static_cast<std::size_t>(std::popcount(dense));
  }
  if (value != most) {
    return fail(ErrorCode::kInvalidArgument, "witness: {} full wires, there are {} full values",
                value, most);
  }
  CUZK_TRY(out.scalars, Buffer<ScalarFor<G>>::allocate(budget, "witness msm: scalars", out.count));
  tasks.parallel_for(out.count, 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out.scalars[i] = witness.full_values[places[i]].to_scalar();
    }
  });
  return out;
}

}  // namespace msm_internal

template <class G>
Result<Xyzz<G>> msm(Tasks& tasks, MemoryBudget& budget, std::span<const ScalarFor<G>> scalars,
                    std::span<const Affine<G>> bases, const MsmOptions& options) {
  if (scalars.size() != bases.size()) {
    return fail(ErrorCode::kInvalidArgument, "msm: {} scalars for {} bases", scalars.size(),
                bases.size());
  }
  return msm_internal::bucket_sum<G>(tasks, budget, {scalars, bases.data(), nullptr}, options);
}

template <class G>
Result<Xyzz<G>> msm_indexed(Tasks& tasks, MemoryBudget& budget,
                            std::span<const ScalarFor<G>> scalars,
                            std::span<const std::uint32_t> indices,
                            std::span<const Affine<G>> bases, const MsmOptions& options) {
  if (scalars.size() != indices.size()) {
    return fail(ErrorCode::kInvalidArgument, "msm: {} scalars for {} indices", scalars.size(),
                indices.size());
  }
  for (std::uint32_t index : indices) {
    if (index >= bases.size()) {
      return fail(ErrorCode::kInvalidArgument, "msm: index {} of a base, there are {}", index,
                  bases.size());
    }
  }
  return msm_internal::bucket_sum<G>(tasks, budget, {scalars, bases.data(), indices.data()},
                                     options);
}

template <class G>
Result<Xyzz<G>> bitmap_sum(Tasks& tasks, MemoryBudget& budget, std::span<const std::uint64_t> bits,
                           std::span<const Affine<G>> bases,
                           std::span<const std::uint64_t> density) {
  using namespace msm_internal;
  const std::size_t wires_count = density.empty() ? bases.size() : 64 * density.size();
  CUZK_TRY_VOID(check_bitmap("bitmap sum", bits.size(), wires_count));
  if (!density.empty()) CUZK_TRY_VOID(check_density(density, wires_count, bases.size()));
  CUZK_TRY(Reservation lanes, reserve_lanes<G>(tasks, budget));
  const Xyzz<G> total = sum_bits<G>(tasks, bits, wires_count, bases, density);
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "bitmap sum: asked to stop");
  return total;
}

template <class G>
Result<Xyzz<G>> witness_msm(Tasks& tasks, MemoryBudget& budget,
                            const WitnessView<ScalarField<G>>& witness,
                            std::span<const Affine<G>> bases,
                            std::span<const std::uint64_t> density, const MsmOptions& options) {
  using namespace msm_internal;
  CUZK_TRY_VOID(check_bitmap("witness: ones", witness.ones.size(), witness.wires));
  CUZK_TRY_VOID(check_bitmap("witness: full", witness.full.size(), witness.wires));
  if (witness.wires >= kSign) {
    return fail(ErrorCode::kInvalidArgument, "witness: {} wires, at most 2^31 - 1 are supported",
                witness.wires);
  }
  if (density.empty() && bases.size() != witness.wires) {
    return fail(ErrorCode::kInvalidArgument, "witness: {} wires, there are {} bases", witness.wires,
                bases.size());
  }
  if (!density.empty()) {
    CUZK_TRY_VOID(check_bitmap("witness: density", density.size(), witness.wires));
    CUZK_TRY_VOID(check_density(density, witness.wires, bases.size()));
  }
  CUZK_TRY(FullTerms<G> full, full_terms<G>(tasks, budget, witness, density));
  CUZK_TRY(Xyzz<G> total, bucket_sum<G>(tasks, budget,
                                        {std::as_const(full.scalars).span().first(full.count),
                                         bases.data(), full.indices.data()},
                                        options));
  CUZK_TRY(Reservation lanes, reserve_lanes<G>(tasks, budget));
  total += sum_bits<G>(tasks, witness.ones, witness.wires, bases, density);
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "witness msm: asked to stop");
  return total;
}

#define CUZK_MSM_INSTANTIATE(G)                                                                 \
  template Result<Xyzz<G>> msm<G>(Tasks&, MemoryBudget&, std::span<const ScalarFor<G>>,         \
                                  std::span<const Affine<G>>, const MsmOptions&);               \
  template Result<Xyzz<G>> msm_indexed<G>(Tasks&, MemoryBudget&, std::span<const ScalarFor<G>>, \
                                          std::span<const std::uint32_t>,                       \
                                          std::span<const Affine<G>>, const MsmOptions&);       \
  template Result<Xyzz<G>> bitmap_sum<G>(Tasks&, MemoryBudget&, std::span<const std::uint64_t>, \
                                         std::span<const Affine<G>>,                            \
                                         std::span<const std::uint64_t>);                       \
  template Result<Xyzz<G>> witness_msm<G>(                                                      \
      Tasks&, MemoryBudget&, const WitnessView<ScalarField<G>>&, std::span<const Affine<G>>,    \
      std::span<const std::uint64_t>, const MsmOptions&)

}  // namespace cuzk
