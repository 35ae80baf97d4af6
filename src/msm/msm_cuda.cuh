#pragma once
// The bucket method on the device; included by one file for each group.
//
// Steps, for as many windows at once as a batch holds:
//   1. every scalar's signed digits become pairs (bucket, index with sign);
//   2. the pairs are sorted by bucket, each bucket's range is found;
//   3. the buckets are ordered by length, so that the threads of a warp end together;
//   4. a thread for each bucket adds its bases; long buckets are cut into pieces, a warp each;
//   5. a thread for each run of buckets makes its sum and its weighted sum.
// After the last batch the runs of all windows are folded to one point a window.
// Where bases come with their multiples, the windows of a batch share their buckets; what is a
// window's above is then a batch's.
//
// Digits: the constant with 2^(width - 1) in every window is added to the scalar first, so that
// each
//         digit is a plain bit field minus 2^(width - 1) (msm_plan.h). The widths sum to one bit
//         more than the scalar has, which leaves no carry and no nearly empty top window.

#include <cuda_pipeline.h>

#include <algorithm>

#include "curve/point_cuda.cuh"
#include "gpu/launch_cuda.h"
#include "msm/chains_cuda.cuh"
#include "msm/msm_cuda.h"
#include "msm/msm_cuda_sort.h"
#include "msm/to_affine_cuda.cuh"

namespace cuzk {
namespace msm_cuda_internal {

using device::DeviceAffine;
using device::DeviceXyzz;
using device::u32;

inline constexpr unsigned kThreads = 128;
inline constexpr unsigned kRunLog = 4;      // buckets of a run in step 5
inline constexpr unsigned kFoldLog = 3;     // runs folded at a time afterwards
inline constexpr unsigned kPieceLog = 11;   // bases of a piece of a long bucket
inline constexpr unsigned kLongFactor = 8;  // a bucket is long from so many times the mean
inline constexpr unsigned kLongMinimum = 256;
inline constexpr std::size_t kBucketsPerBatch = std::size_t{1} << 23;  // 24 bits to sort by
inline constexpr u32 kSign = chains_cuda::kSign;
// Parts of chains a thread needs for affine additions to win; below, inversions are shared by too
// few. With coordinates of 8 words products are so fast that the traffic of affine additions costs
// more.
inline constexpr std::size_t kAffineRows = 56;
template <class F>
inline constexpr bool kAffineWins = sizeof(F) > 32;
inline constexpr unsigned kMaxWindows = 64;
inline constexpr unsigned kMaxWindowBits = 24;

struct WindowTable {
  unsigned first_bit[kMaxWindows];
  unsigned width[kMaxWindows];
};

// Scalar plus offset, as words; one word more than the scalar.
struct Offset {
  u32 word[9];
};

// Where window w of a batch has its buckets and its bases: w times the step of each.
struct WindowSteps {
  u32 buckets;
  u32 bases;
  u32 first_base;
  u32 no_bucket;  // the bucket of digit 0
};

static __global__ void split_digits(const uint4* __restrict__ scalars, u32 count, Offset offset,
                                    WindowTable windows, unsigned first, unsigned windows_now,
                                    WindowSteps steps, u32* __restrict__ keys,
                                    u32* __restrict__ values) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const uint4 low = scalars[2 * static_cast<std::size_t>(i)];
  const uint4 high = scalars[2 * static_cast<std::size_t>(i) + 1];
  u32 s[10] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w, 0, 0};
  s[0] = device::add_cc(s[0], offset.word[0]);
#pragma unroll
  for (int k = 1; k < 9; ++k) s[k] = device::addc_cc(s[k], offset.word[k]);
  __shared__ u32 staged[10][256];
#pragma unroll
  for (int k = 0; k < 10; ++k) staged[k][threadIdx.x] = s[k];
  for (unsigned w = 0; w < windows_now; ++w) {
    const unsigned bit = windows.first_bit[first + w];
    const unsigned width = windows.width[first + w];
    const u32 field = __funnelshift_r(staged[bit / 32][threadIdx.x],
                                      staged[bit / 32 + 1][threadIdx.x], bit % 32) &
                      ((1u << width) - 1);
    const int digit = static_cast<int>(field) - (1 << (width - 1));
    const u32 magnitude = static_cast<u32>(digit < 0 ? -digit : digit);
    const std::size_t at = static_cast<std::size_t>(w) * count + i;
    keys[at] = magnitude ? w * steps.buckets + magnitude - 1 : steps.no_bucket;
    values[at] = (steps.first_base + w * steps.bases + i) | (digit < 0 ? kSign : 0);
  }
}

// begin[b], end[b] of every bucket that occurs; the others keep the zeros they start with.
static __global__ void find_ranges(const u32* __restrict__ keys, u32 pairs, u32 buckets,
                                   u32* __restrict__ begin, u32* __restrict__ end) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  const u32 key = keys[i];
  if (key >= buckets) return;
  if (i == 0 || keys[i - 1] != key) begin[key] = i;
  if (i + 1 == pairs || keys[i + 1] != key) end[key] = i + 1;
}

// A long bucket and where its pieces are; `bucket` and number of a piece.
struct LongBucket {
  u32 bucket;
  u32 first_piece;
  u32 pieces;
};
struct Piece {
  u32 bucket;
  u32 number;
};
struct LongCounts {
  u32 buckets;
  u32 pieces;
};

// The class of a bucket by which step 3 sorts, longest first; empty and long buckets go last.
static __global__ void classify(const u32* __restrict__ begin, const u32* __restrict__ end,
                                u32 buckets, u32 long_from, u32 scale_log,
                                std::uint8_t* __restrict__ classes, u32* __restrict__ order,
                                LongCounts* counts, LongBucket* long_buckets, Piece* pieces) {
  const u32 b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= buckets) return;
  const u32 length = end[b] - begin[b];
  order[b] = b;
  u32 size_class = length >> scale_log;
  size_class = size_class > 254 ? 254 : size_class;
  classes[b] = static_cast<std::uint8_t>(length == 0 ? 255 : 254 - size_class);
  if (length < long_from) return;
  classes[b] = 255;
  const u32 mine = (length + (1u << kPieceLog) - 1) >> kPieceLog;
  const u32 first = atomicAdd(&counts->pieces, mine);
  const u32 slot = atomicAdd(&counts->buckets, 1u);
  long_buckets[slot] = {b, first, mine};
  for (u32 k = 0; k < mine; ++k) pieces[first + k] = {b, k};
}

template <class F>
__device__ __forceinline__ void add_signed(DeviceXyzz<F>& sum, const DeviceAffine<F>* bases,
                                           u32 value) {
  DeviceAffine<F> p = device::load_wide(bases + (value & ~kSign));
  if (value & kSign) p.y = -p.y;
  sum.add(p);
}

template <class F>
__global__ void __launch_bounds__(kThreads, sizeof(F) > 48 ? 2 : 3)
    accumulate(const DeviceAffine<F>* __restrict__ bases, const u32* __restrict__ values,
               const u32* __restrict__ begin, const u32* __restrict__ end,
               const u32* __restrict__ order, u32 buckets, u32 long_from,
               DeviceXyzz<F>* __restrict__ sums) {
  const u32 t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= buckets) return;
  const u32 b = order[t];
  const u32 from = begin[b];
  const u32 to = end[b];
  if (to - from >= long_from) return;
  // The next point is on its way to shared memory while one is added. A thread reads only what it
  // has fetched itself, so no barrier is needed.
  __shared__ uint4 fetched[2][sizeof(DeviceAffine<F>) / 16][kThreads];
  const auto fetch = [&](u32 value, unsigned half) {
    const uint4* source = reinterpret_cast<const uint4*>(bases + (value & ~kSign));
#pragma unroll
    for (unsigned c = 0; c < sizeof(DeviceAffine<F>) / 16; ++c) {
      __pipeline_memcpy_async(&fetched[half][c][threadIdx.x], source + c, 16);
    }
  };
  DeviceXyzz<F> sum = DeviceXyzz<F>::identity();
  u32 value = from < to ? values[from] : 0;
  u32 next = from + 1 < to ? values[from + 1] : 0;
  if (from < to) fetch(value, 0);
  __pipeline_commit();
#pragma unroll 1
  for (u32 i = from; i < to; ++i) {
    const unsigned half = (i - from) & 1;
    if (i + 1 < to) fetch(next, half ^ 1);
    __pipeline_commit();
    const u32 after = i + 2 < to ? values[i + 2] : 0;
    __pipeline_wait_prior(1);
    DeviceAffine<F> p;
#pragma unroll
    for (unsigned c = 0; c < sizeof(DeviceAffine<F>) / 16; ++c) {
      reinterpret_cast<uint4*>(&p)[c] = fetched[half][c][threadIdx.x];
    }
    if (value & kSign) p.y = -p.y;
    sum.add(p);
    value = next;
    next = after;
  }
  sums[b] = sum;
}

// The chains of step 4 where they are affine: buckets by length, without the long ones.
template <class F>
struct BucketChains {
  const u32* order;
  const u32* begin;
  const u32* end;
  u32 long_from;
  DeviceAffine<F>* sums;

  __device__ __forceinline__ static constexpr u32 stride() { return 1; }
  __device__ __forceinline__ chains_cuda::Span span(u32 chain) const {
    const u32 b = order[chain];
    const u32 length = end[b] - begin[b];
    return {begin[b], length < long_from ? length : 0};
  }
  __device__ __forceinline__ void store(u32 chain, const DeviceAffine<F>& sum) const {
    const u32 b = order[chain];
    if (end[b] - begin[b] < long_from) sums[b] = sum;
  }
};

template <class F>
__device__ __forceinline__ DeviceXyzz<F> shuffle_down(const DeviceXyzz<F>& p, unsigned distance) {
  DeviceXyzz<F> r;
  const u32* from = reinterpret_cast<const u32*>(&p);
  u32* to = reinterpret_cast<u32*>(&r);
#pragma unroll
  for (unsigned i = 0; i < sizeof(p) / 4; ++i) to[i] = __shfl_down_sync(~0u, from[i], distance);
  return r;
}

// The sum over the lanes of a warp, in lane 0.
template <class F>
__device__ __forceinline__ void sum_over_warp(DeviceXyzz<F>& sum) {
#pragma unroll 1
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    const DeviceXyzz<F> other = shuffle_down(sum, distance);
    sum.add(other);
  }
}

template <class F>
__global__ void __launch_bounds__(kThreads)
    sum_pieces(const DeviceAffine<F>* __restrict__ bases, const u32* __restrict__ values,
               const u32* __restrict__ begin, const u32* __restrict__ end, const LongCounts* counts,
               const Piece* __restrict__ pieces, DeviceXyzz<F>* __restrict__ piece_sums) {
  const u32 warps = gridDim.x * (kThreads / 32);
  const u32 lane = threadIdx.x % 32;
  for (u32 k = (blockIdx.x * kThreads + threadIdx.x) / 32; k < counts->pieces; k += warps) {
    const Piece piece = pieces[k];
    const u32 from = begin[piece.bucket] + (piece.number << kPieceLog);
    const u32 to = min(from + (1u << kPieceLog), end[piece.bucket]);
    DeviceXyzz<F> sum = DeviceXyzz<F>::identity();
    for (u32 i = from + lane; i < to; i += 32) add_signed(sum, bases, values[i]);
    __syncwarp();
    sum_over_warp(sum);
    if (lane == 0) piece_sums[k] = sum;
  }
}

template <class F>
__device__ __forceinline__ void store_sum(const DeviceXyzz<F>& sum, DeviceXyzz<F>* to) {
  *to = sum;
}
// Long buckets are few, an inversion for each does not matter.
template <class F>
__device__ __noinline__ void store_sum(const DeviceXyzz<F>& sum, DeviceAffine<F>* to) {
  if (sum.is_identity()) {
    *to = {F::zero(), F::zero()};
    return;
  }
  const F z = device::inverse(sum.zzz);
  *to = {sum.x * (z * sum.zz).square(), sum.y * z};
}

template <class F, class Point>
__global__ void __launch_bounds__(kThreads)
    join_pieces(const LongCounts* counts, const LongBucket* __restrict__ long_buckets,
                const DeviceXyzz<F>* __restrict__ piece_sums, Point* __restrict__ sums) {
  const u32 warps = gridDim.x * (kThreads / 32);
  const u32 lane = threadIdx.x % 32;
  for (u32 k = (blockIdx.x * kThreads + threadIdx.x) / 32; k < counts->buckets; k += warps) {
    const LongBucket bucket = long_buckets[k];
    DeviceXyzz<F> sum = DeviceXyzz<F>::identity();
    for (u32 i = lane; i < bucket.pieces; i += 32) sum.add(piece_sums[bucket.first_piece + i]);
    __syncwarp();
    sum_over_warp(sum);
    if (lane == 0) store_sum(sum, sums + bucket.bucket);
  }
}

// A run: the plain sum of its points and the sum weighted with their numbers in it.
template <class F>
struct Run {
  DeviceXyzz<F> sum;
  DeviceXyzz<F> weighted;
};

// Run k of 2^run_log buckets, weights 1, 2, ...
template <class F, class Point>
__global__ void __launch_bounds__(kThreads) make_runs(const Point* __restrict__ sums, u32 runs,
                                                      unsigned run_log, Run<F>* __restrict__ out) {
  const u32 k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= runs) return;
  DeviceXyzz<F> sum = DeviceXyzz<F>::identity();
  DeviceXyzz<F> weighted = DeviceXyzz<F>::identity();
#pragma unroll 1
  for (u32 j = 1u << run_log; j-- > 0;) {
    sum.add(device::load_wide(sums + ((static_cast<std::size_t>(k) << run_log) + j)));
    weighted.add(sum);
  }
  out[k].sum = sum;
  out[k].weighted = weighted;
}

// Folds 2^fold_log neighbouring runs, each of 2^run_log points, to one.
template <class F>
__global__ void __launch_bounds__(kThreads)
    fold_runs(const Run<F>* __restrict__ in, u32 runs, unsigned run_log, unsigned fold_log,
              Run<F>* __restrict__ out) {
  const u32 k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= runs) return;
  const Run<F>* mine = in + (static_cast<std::size_t>(k) << fold_log);
  DeviceXyzz<F> sum = DeviceXyzz<F>::identity();
  DeviceXyzz<F> shifted = DeviceXyzz<F>::identity();
#pragma unroll 1
  for (u32 j = (1u << fold_log) - 1; j > 0; --j) {
    sum.add(mine[j].sum);
    shifted.add(sum);
  }
  sum.add(mine[0].sum);
  out[k].sum = sum;
#pragma unroll 1
  for (unsigned i = 0; i < run_log; ++i) shifted = DeviceXyzz<F>::doubled(shifted);
#pragma unroll 1
  for (u32 j = 0; j < 1u << fold_log; ++j) shifted.add(mine[j].weighted);
  out[k].weighted = shifted;
}

template <class F>
__global__ void take_weighted(const Run<F>* __restrict__ windows, unsigned count,
                              DeviceXyzz<F>* __restrict__ out) {
  if (threadIdx.x < count) out[threadIdx.x] = windows[threadIdx.x].weighted;
}

// Where everything lies in the scratch block.
struct Layout {
  std::size_t keys[2], values[2], sort, begin, end, classes[2], order[2], counts, long_buckets,
      pieces, piece_sums, sums, chains, runs[2], total;
};

// Sizes of one batch of `windows_now` windows of `count` terms.
struct BatchSizes {
  std::size_t pairs;
  std::size_t buckets;
  std::size_t long_from;
  std::size_t max_pieces;
};
inline BatchSizes batch_sizes(const MsmCudaPlan& plan, std::size_t count, unsigned windows_now) {
  BatchSizes s;
  s.pairs = count * windows_now;
  s.buckets = std::size_t{plan.multiples ? 1 : windows_now} << plan.bucket_log();
  s.long_from = std::max<std::size_t>(kLongMinimum, kLongFactor * s.pairs / s.buckets);
  s.max_pieces = s.pairs / s.long_from + (s.pairs >> kPieceLog) + 1;
  return s;
}

// Buckets of a first run: fewer when there are few buckets, so that there are enough threads.
inline unsigned run_log(const MsmCudaPlan& plan) {
  return std::min(kRunLog, plan.bucket_log() > 12 ? plan.bucket_log() - 11 : 1u);
}

template <class F>
Layout layout_of(const MsmCudaPlan& plan) {
  const BatchSizes s = batch_sizes(plan, plan.count, plan.windows_per_batch);
  // A smaller count may call for more pieces, because its buckets count as long earlier.
  const std::size_t max_pieces = s.pairs / kLongMinimum + (s.pairs >> kPieceLog) + 1;
  Layout l{};
  std::size_t at = 0;
  const auto take = [&](std::size_t bytes) {
    const std::size_t start = at;
    at = (at + bytes + 255) / 256 * 256;
    return start;
  };
  for (int i = 0; i < 2; ++i) {
    l.keys[i] = take(4 * s.pairs);
    l.values[i] = take(4 * s.pairs);
    l.classes[i] = take(s.buckets);
    l.order[i] = take(4 * s.buckets);
  }
  l.sort = take(plan.sort_bytes);
  l.begin = take(4 * s.buckets);
  l.end = take(4 * s.buckets);
  l.counts = take(sizeof(LongCounts));
  l.long_buckets = take(sizeof(LongBucket) * max_pieces);
  l.pieces = take(sizeof(Piece) * max_pieces);
  l.piece_sums = take(sizeof(DeviceXyzz<F>) * max_pieces);
  l.sums = take((plan.affine ? sizeof(DeviceAffine<F>) : sizeof(DeviceXyzz<F>)) * s.buckets);
  if (plan.affine) {
    const auto grid = chains_cuda::grid_for(s.buckets, plan.chain_blocks, plan.chain_parts_log);
    l.chains = take(grid.places() * chains_cuda::chain_bytes<F>());
  }
  const std::size_t runs = std::size_t{plan.sums()} << (plan.bucket_log() - run_log(plan));
  l.runs[0] = take(sizeof(Run<F>) * runs);
  l.runs[1] = take(sizeof(Run<F>) * std::max<std::size_t>(plan.sums(), runs >> 1));
  l.total = at;
  return l;
}

inline unsigned bits_for(std::size_t values) {
  unsigned bits = 0;
  while ((std::size_t{1} << bits) < values) ++bits;
  return bits;
}

inline u32 blocks_for(std::size_t threads, unsigned block) {
  return static_cast<u32>((threads + block - 1) / block);
}

// Products of field elements for `windows` windows: ten for each pair, two full additions and their
// traffic for each bucket; with multiples there is one set of buckets, or few.
inline double cost(std::size_t count, unsigned bits, unsigned windows, bool multiples) {
  const unsigned widest = (bits + windows - 1) / windows;
  return windows * 11.0 * static_cast<double>(count) +
         (multiples ? 1 : windows) * 40.0 * static_cast<double>(1ull << (widest - 1));
}

template <class F>
struct Call {
  gpu::StreamHandle stream;
  const MsmCudaPlan& plan;
  Layout layout;
  const uint4* scalars;
  const DeviceAffine<F>* bases;
  std::size_t count;
  std::byte* scratch;
  WindowTable windows;
  Offset offset;

  template <class T>
  T* at(std::size_t offset_bytes) const {
    return reinterpret_cast<T*>(scratch + offset_bytes);
  }

  // Steps 1 and 2. Returns the sorted values.
  Result<const u32*> sort_digits(unsigned first, unsigned now, const BatchSizes& s) const {
    u32* keys = at<u32>(layout.keys[0]);
    u32* values = at<u32>(layout.values[0]);
    const u32 stride = plan.multiples ? static_cast<u32>(plan.count) : 0;
    const WindowSteps steps = {plan.multiples ? 0 : 1u << plan.bucket_log(), stride, first * stride,
                               static_cast<u32>(s.buckets)};
    split_digits<<<blocks_for(count, 256), 256, 0, stream>>>(
        scalars, static_cast<u32>(count), offset, windows, first, now, steps, keys, values);
    const SortArrays<u32> arrays = {{keys, at<u32>(layout.keys[1])},
                                    {values, at<u32>(layout.values[1])}};
    CUZK_TRY(const int sorted, sort_pairs(stream, at<void>(layout.sort), plan.sort_bytes, arrays,
                                          s.pairs, bits_for(s.buckets + 1)));
    CUZK_TRY_VOID(
        gpu::check_cuda(cudaMemsetAsync(at<void>(layout.begin), 0,
                                        layout.counts - layout.begin + sizeof(LongCounts), stream),
                        "clearing bucket ranges"));
    find_ranges<<<blocks_for(s.pairs, 256), 256, 0, stream>>>(
        arrays.keys[sorted], static_cast<u32>(s.pairs), static_cast<u32>(s.buckets),
        at<u32>(layout.begin), at<u32>(layout.end));
    CUZK_TRY_VOID(gpu::launched("msm digits"));
    return arrays.values[sorted];
  }

  // Step 3. Returns the buckets, longest first.
  Result<const u32*> order_buckets(const BatchSizes& s) const {
    unsigned scale_log = 0;
    while (s.long_from >> scale_log > 254) ++scale_log;
    classify<<<blocks_for(s.buckets, 256), 256, 0, stream>>>(
        at<u32>(layout.begin), at<u32>(layout.end), static_cast<u32>(s.buckets),
        static_cast<u32>(s.long_from), scale_log, at<std::uint8_t>(layout.classes[0]),
        at<u32>(layout.order[0]), at<LongCounts>(layout.counts),
        at<LongBucket>(layout.long_buckets), at<Piece>(layout.pieces));
    const SortArrays<std::uint8_t> arrays = {
        {at<std::uint8_t>(layout.classes[0]), at<std::uint8_t>(layout.classes[1])},
        {at<u32>(layout.order[0]), at<u32>(layout.order[1])}};
    CUZK_TRY(const int sorted,
             sort_pairs(stream, at<void>(layout.sort), plan.sort_bytes, arrays, s.buckets, 8));
    CUZK_TRY_VOID(gpu::launched("msm bucket order"));
    return arrays.values[sorted];
  }

  // Steps 1 to 5 for the windows of a batch.
  Status batch(unsigned number) const {
    const unsigned first = plan.first_window(number);
    const unsigned now = plan.first_window(number + 1) - first;
    const BatchSizes s = batch_sizes(plan, count, now);
    CUZK_TRY(const u32* values, sort_digits(first, now, s));
    CUZK_TRY(const u32* order, order_buckets(s));
    const unsigned set = plan.multiples ? number : first;
    CUZK_TRY_VOID(plan.affine ? sum_buckets<DeviceAffine<F>>(set, s, values, order)
                              : sum_buckets<DeviceXyzz<F>>(set, s, values, order));
    return gpu::launched("msm buckets");
  }

  // Steps 4 and 5, with the buckets' sums as points of one form or the other. Set `first` of the
  // plan's sums is the first of these buckets.
  template <class Point>
  Status sum_buckets(unsigned first, const BatchSizes& s, const u32* values,
                     const u32* order) const {
    const u32* begin = at<u32>(layout.begin);
    const u32* end = at<u32>(layout.end);
    Point* sums = at<Point>(layout.sums);
    const LongCounts* counts = at<LongCounts>(layout.counts);
    const u32 buckets = static_cast<u32>(s.buckets);
    const u32 long_from = static_cast<u32>(s.long_from);
    if constexpr (std::is_same_v<Point, DeviceAffine<F>>) {
      const auto grid = chains_cuda::grid_for(s.buckets, plan.chain_blocks, plan.chain_parts_log);
      const BucketChains<F> source = {order, begin, end, long_from, sums};
      CUZK_TRY_VOID(chains_cuda::launch<F>(stream, grid, bases, values, source, buckets,
                                           at<std::byte>(layout.chains)));
    } else {
      accumulate<F><<<blocks_for(s.buckets, kThreads), kThreads, 0, stream>>>(
          bases, values, begin, end, order, buckets, long_from, sums);
    }
    const u32 blocks = std::min<u32>(528, blocks_for(s.max_pieces, kThreads / 32));
    sum_pieces<F><<<blocks, kThreads, 0, stream>>>(bases, values, begin, end, counts,
                                                   at<Piece>(layout.pieces),
                                                   at<DeviceXyzz<F>>(layout.piece_sums));
    join_pieces<F><<<blocks, kThreads, 0, stream>>>(counts, at<LongBucket>(layout.long_buckets),
                                                    at<DeviceXyzz<F>>(layout.piece_sums), sums);
    const unsigned length_log = run_log(plan);
    const std::size_t runs = s.buckets >> length_log;
    make_runs<F><<<blocks_for(runs, kThreads), kThreads, 0, stream>>>(
        sums, static_cast<u32>(runs), length_log,
        at<Run<F>>(layout.runs[0]) + (std::size_t{first} << (plan.bucket_log() - length_log)));
    return gpu::launched("msm buckets");
  }

  // The runs of a sum of nothing.
  Status clear_runs() const {
    const std::size_t runs = std::size_t{plan.sums()} << (plan.bucket_log() - run_log(plan));
    return gpu::check_cuda(
        cudaMemsetAsync(at<void>(layout.runs[0]), 0, sizeof(Run<F>) * runs, stream),
        "clearing the runs of a sum");
  }

  Status fold(DeviceXyzz<F>* sums) const {
    unsigned length_log = run_log(plan);
    int current = 0;
    while (length_log < plan.bucket_log()) {
      const unsigned now = std::min(kFoldLog, plan.bucket_log() - length_log);
      const std::size_t runs = std::size_t{plan.sums()} << (plan.bucket_log() - length_log - now);
      fold_runs<F><<<blocks_for(runs, 32), 32, 0, stream>>>(at<Run<F>>(layout.runs[current]),
                                                            static_cast<u32>(runs), length_log, now,
                                                            at<Run<F>>(layout.runs[1 - current]));
      current = 1 - current;
      length_log += now;
    }
    take_weighted<F>
        <<<1, kMaxWindows, 0, stream>>>(at<Run<F>>(layout.runs[current]), plan.sums(), sums);
    return gpu::launched("msm fold");
  }
};

// The windows of a sum of `count` terms and how many of them make a batch.
inline MsmCudaPlan cut(std::size_t count, unsigned bits, const MsmCudaOptions& options) {
  const auto widest = [bits](unsigned windows) { return (bits + windows - 1) / windows; };
  MsmCudaPlan plan;
  plan.count = count;
  plan.windows = options.windows;
  plan.multiples = options.multiples;
  if (plan.windows == 0) {
    const auto cost_of = [&](unsigned windows) {
      return cost(count, bits, windows, options.multiples);
    };
    plan.windows = kMaxWindows;
    for (unsigned w = kMaxWindows; widest(w) <= kMaxWindowBits; --w) {
      if (cost_of(w) < cost_of(plan.windows)) plan.windows = w;
    }
  }
  plan.narrow_bits = bits / plan.windows;
  plan.wide_windows = bits % plan.windows;
  const std::size_t sets = options.multiples ? plan.windows : kBucketsPerBatch >> plan.bucket_log();
  const std::size_t fitting =
      std::min(options.pairs_per_batch / std::max<std::size_t>(count, 1), sets);
  const unsigned most = static_cast<unsigned>(std::clamp<std::size_t>(fitting, 1, plan.windows));
  const unsigned batches = (plan.windows + most - 1) / most;
  plan.windows_per_batch = (plan.windows + batches - 1) / batches;
  return plan;
}

// The least count that is cut as the plan is, at least 1: windows and batches only grow in number
// as a count falls or rises, so counts that are cut alike are a range, over which memory rises.
inline std::size_t least_cut_alike(const MsmCudaPlan& plan, unsigned bits,
                                   const MsmCudaOptions& options) {
  std::size_t low = 1;
  std::size_t high = std::max<std::size_t>(plan.count, 1);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const MsmCudaPlan other = cut(middle, bits, options);
    const bool alike =
        other.windows == plan.windows && other.windows_per_batch == plan.windows_per_batch;
    if (alike) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// A plan that is cut, with the form of its additions and its memory.
template <class F>
Result<MsmCudaPlan> sized(MsmCudaPlan plan, const MsmCudaOptions& options, unsigned blocks) {
  const BatchSizes s = batch_sizes(plan, plan.count, plan.windows_per_batch);
  plan.chain_blocks = blocks;
  if (blocks > 0) {
    plan.chain_parts_log = chains_cuda::parts_log_for(s.buckets, s.pairs, blocks);
    const bool many =
        s.buckets << plan.chain_parts_log >= kAffineRows * chains_cuda::kThreads * blocks;
    plan.affine = options.additions == MsmAdditions::kAffine ||
                  (options.additions == MsmAdditions::kAuto && kAffineWins<F> && many);
  }
  CUZK_TRY(plan.sort_bytes, msm_sort_bytes(s.pairs, s.buckets));
  plan.scratch_bytes = layout_of<F>(plan).total;
  return plan;
}

}  // namespace msm_cuda_internal

template <class G>
Result<MsmCudaPlan> msm_cuda_plan(std::size_t count, const MsmCudaOptions& options) {
  using namespace msm_cuda_internal;
  if (count >> 31) {
    return fail(ErrorCode::kInvalidArgument, "msm: {} terms, at most 2^31 - 1 are possible", count);
  }
  constexpr unsigned kBits = static_cast<unsigned>(ScalarField<G>::kBits) + 1;
  if (options.windows != 0 && (options.windows > kMaxWindows ||
                               (kBits + options.windows - 1) / options.windows > kMaxWindowBits)) {
    return fail(ErrorCode::kInvalidArgument, "msm: {} windows, expected {} to {}", options.windows,
                (kBits + kMaxWindowBits - 1) / kMaxWindowBits, kMaxWindows);
  }
  using F = device::DeviceField<typename G::Field>;
  CUZK_TRY(const unsigned blocks, (chains_cuda::resident_blocks<F, BucketChains<F>>()));
  if (blocks == 0 && options.additions == MsmAdditions::kAffine) {
    return fail(ErrorCode::kInvalidArgument,
                "msm: this device has too little shared memory for affine additions");
  }
  CUZK_TRY(MsmCudaPlan plan, sized<F>(cut(count, kBits, options), options, blocks));
  if (plan.bases() >> 31) {
    return fail(ErrorCode::kInvalidArgument,
                "msm: {} bases with their multiples, at most 2^31 - 1 are possible", plan.bases());
  }
  // A smaller sum may be cut so that it needs more; the scratch of a plan is enough for all.
  for (std::size_t n = least_cut_alike(plan, kBits, options) - 1; n > 0;) {
    CUZK_TRY(const MsmCudaPlan smaller, sized<F>(cut(n, kBits, options), options, blocks));
    plan.scratch_bytes = std::max(plan.scratch_bytes, smaller.scratch_bytes);
    n = least_cut_alike(smaller, kBits, options) - 1;
  }
  return plan;
}

namespace msm_cuda_internal {

inline Status check_scratch(const MsmCudaPlan& plan, gpu::DeviceSpan<std::byte> scratch) {
  if (scratch.size() >= plan.scratch_bytes) return {};
  return fail(ErrorCode::kInvalidArgument, "msm: {} bytes of scratch, the plan needs {}",
              scratch.size(), plan.scratch_bytes);
}

}  // namespace msm_cuda_internal

template <class G>
Status msm_cuda_buckets(gpu::StreamHandle stream, const MsmCudaPlan& plan,
                        gpu::DeviceSpan<const ScalarFor<G>> scalars,
                        gpu::DeviceSpan<const Affine<G>> bases,
                        gpu::DeviceSpan<std::byte> scratch) {
  using namespace msm_cuda_internal;
  using F = device::DeviceField<typename G::Field>;
  static_assert(sizeof(DeviceAffine<F>) == sizeof(Affine<G>));
  static_assert(sizeof(DeviceXyzz<F>) == sizeof(Xyzz<G>));
  const bool fits = plan.multiples ? scalars.size() == plan.count && bases.size() == plan.bases()
                                   : scalars.size() == bases.size() && scalars.size() <= plan.count;
  if (!fits) {
    return fail(ErrorCode::kInvalidArgument,
                "msm: {} scalars and {} bases, with a plan for {} terms and {} bases",
                scalars.size(), bases.size(), plan.count, plan.bases());
  }
  CUZK_TRY_VOID(check_scratch(plan, scratch));
  Call<F> call{stream,
               plan,
               layout_of<F>(plan),
               reinterpret_cast<const uint4*>(scalars.data()),
               reinterpret_cast<const DeviceAffine<F>*>(bases.data()),
               scalars.size(),
               scratch.data(),
               {},
               {}};
  if (scalars.empty()) return call.clear_runs();
  for (unsigned w = 0; w < plan.windows; ++w) {
    call.windows.first_bit[w] = plan.first_bit(w);
    call.windows.width[w] = plan.width(w);
    const unsigned top = plan.first_bit(w) + plan.width(w) - 1;
    call.offset.word[top / 32] |= 1u << (top % 32);
  }
  for (unsigned number = 0; number < plan.batches(); ++number) CUZK_TRY_VOID(call.batch(number));
  return {};
}

template <class G>
Status msm_cuda_fold(gpu::StreamHandle stream, const MsmCudaPlan& plan,
                     gpu::DeviceSpan<std::byte> scratch, gpu::DeviceSpan<Xyzz<G>> sums) {
  using namespace msm_cuda_internal;
  using F = device::DeviceField<typename G::Field>;
  if (sums.size() < plan.sums()) {
    return fail(ErrorCode::kInvalidArgument, "msm: room for {} sums, the plan leaves {}",
                sums.size(), plan.sums());
  }
  CUZK_TRY_VOID(check_scratch(plan, scratch));
  const Call<F> call{stream, plan, layout_of<F>(plan), nullptr, nullptr, 0, scratch.data(), {}, {}};
  return call.fold(reinterpret_cast<DeviceXyzz<F>*>(sums.data()));
}

template <class G>
Status msm_cuda(gpu::StreamHandle stream, const MsmCudaPlan& plan,
                gpu::DeviceSpan<const ScalarFor<G>> scalars, gpu::DeviceSpan<const Affine<G>> bases,
                gpu::DeviceSpan<std::byte> scratch, gpu::DeviceSpan<Xyzz<G>> sums) {
  CUZK_TRY_VOID(msm_cuda_buckets<G>(stream, plan, scalars, bases, scratch));
  return msm_cuda_fold<G>(stream, plan, scratch, sums);
}

namespace msm_cuda_internal {

// Points at once: their scratch is less than any partition of such a key takes.
inline constexpr std::size_t kMultiplesChunk = std::size_t{1} << 20;

// out[i] = 2^doublings in[i].
template <class F>
__global__ void __launch_bounds__(kThreads)
    double_bases(const DeviceAffine<F>* __restrict__ in, u32 count, unsigned doublings,
                 DeviceXyzz<F>* __restrict__ out) {
  const u32 i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  DeviceXyzz<F> p = DeviceXyzz<F>::from_affine(device::load_wide(in + i));
#pragma unroll 1
  for (unsigned k = 0; k < doublings; ++k) p.double_in_place();
  out[i] = p;
}

}  // namespace msm_cuda_internal

template <class G>
std::size_t msm_cuda_multiples_scratch_bytes(std::size_t count) {
  const std::size_t most = std::min(count, msm_cuda_internal::kMultiplesChunk);
  return most * (sizeof(Xyzz<G>) + sizeof(typename G::Field));
}

template <class G>
Status msm_cuda_fill_multiples(gpu::StreamHandle stream, const MsmCudaPlan& plan,
                               gpu::DeviceSpan<Affine<G>> bases,
                               gpu::DeviceSpan<std::byte> scratch) {
  using namespace msm_cuda_internal;
  using F = device::DeviceField<typename G::Field>;
  const std::size_t count = plan.count;
  if (!plan.multiples || bases.size() != plan.bases() ||
      scratch.size() < msm_cuda_multiples_scratch_bytes<G>(count)) {
    return fail(ErrorCode::kInvalidArgument,
                "multiples of bases: room for {} of {} points, {} bytes of scratch", bases.size(),
                plan.bases(), scratch.size());
  }
  auto* points = reinterpret_cast<DeviceXyzz<F>*>(scratch.data());
  auto* products = reinterpret_cast<F*>(points + std::min(count, kMultiplesChunk));
  auto* all = reinterpret_cast<DeviceAffine<F>*>(bases.data());
  for (unsigned w = 1; w < plan.windows; ++w) {
    for (std::size_t begin = 0; begin < count; begin += kMultiplesChunk) {
      const std::size_t now = std::min(kMultiplesChunk, count - begin);
      DeviceAffine<F>* const out = all + w * count + begin;
      double_bases<F><<<blocks_for(now, kThreads), kThreads, 0, stream>>>(
          out - count, static_cast<u32>(now), plan.width(w - 1), points);
      CUZK_TRY_VOID(to_affine_cuda<F>(stream, points, static_cast<u32>(now), products, out));
    }
  }
  return gpu::launched("multiples of bases");
}

// Explicit instantiation of everything above for the group G.
#define CUZK_INSTANTIATE_MSM_CUDA(G)                                                           \
  template Result<MsmCudaPlan> msm_cuda_plan<G>(std::size_t, const MsmCudaOptions&);           \
  template Status msm_cuda_buckets<G>(                                                         \
      gpu::StreamHandle, const MsmCudaPlan&, gpu::DeviceSpan<const ScalarFor<G>>,              \
      gpu::DeviceSpan<const Affine<G>>, gpu::DeviceSpan<std::byte>);                           \
  template Status msm_cuda_fold<G>(gpu::StreamHandle, const MsmCudaPlan&,                      \
                                   gpu::DeviceSpan<std::byte>, gpu::DeviceSpan<Xyzz<G>>);      \
  template Status msm_cuda<G>(                                                                 \
      gpu::StreamHandle, const MsmCudaPlan&, gpu::DeviceSpan<const ScalarFor<G>>,              \
      gpu::DeviceSpan<const Affine<G>>, gpu::DeviceSpan<std::byte>, gpu::DeviceSpan<Xyzz<G>>); \
  template std::size_t msm_cuda_multiples_scratch_bytes<G>(std::size_t);                       \
  template Status msm_cuda_fill_multiples<G>(gpu::StreamHandle, const MsmCudaPlan&,            \
                                             gpu::DeviceSpan<Affine<G>>,                       \
                                             gpu::DeviceSpan<std::byte>);

}  // namespace cuzk
