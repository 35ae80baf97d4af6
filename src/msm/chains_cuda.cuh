#pragma once
// Many sums of affine points at once, by affine additions that share inversions: 5 products and a
// square an addition, and three quarters of a product for the inversion, where XYZZ needs 8 and 2.
//
// A chain is a list of points with one sum. A warp takes 32 chains of nearly equal length as a row;
// the rows are dealt to the warps of the grid in turn, so that all blocks have the same mixture of
// lengths. In step s every chain that is longer than s gets its point s: on the way up a thread
// multiplies the denominators x_P - x_sum of its rows, a warp inverts the product over the block,
// on the way down every addition takes its inverse out. While a block inverts, the others of its
// multiprocessor have the multipliers; they are shifted against each other for that.
//
// Exact:   equal points are doubled, opposite ones give the identity, the identity is neutral;
//          what they need is computed out of line.
// Memory:  chain_bytes<F>() for each place of a grid, kept between the ways up and down.
// Threads: no state.

#include <cuda_pipeline.h>

#include <algorithm>

#include "curve/point_cuda.cuh"
#include "field/fp_inverse_cuda.cuh"
#include "gpu/launch_cuda.h"
#include "gpu/stream_handle.h"

namespace cuzk::chains_cuda {

using device::DeviceAffine;
using device::DeviceFp;
using device::DeviceFp2;
using device::u32;

inline constexpr u32 kThreads = 128;
inline constexpr u32 kWarps = kThreads / 32;
inline constexpr u32 kMaxRows = 192;    // of a warp at once; bounds the memory
inline constexpr u32 kMaxPartsLog = 5;  // of a chain
// Blocks that a multiprocessor holds at once, as registers and shared memory allow; they are
// shifted against each other.
template <class F>
inline constexpr u32 kBlocksEach = sizeof(F) <= 32   ? 5
                                   : sizeof(F) <= 48 ? 4
                                   : sizeof(F) <= 64 ? 3
                                                     : 2;
inline constexpr u32 kSign = 0x80000000u;
inline constexpr u32 kNone = 0xffffffffu;  // no point; as an index with its sign it cannot occur

// Where the points of a chain are named.
struct Span {
  u32 begin;
  u32 length;
};

// The places of a grid: a chain's sum, the product before it, its next point, its span.
struct Grid {
  u32 blocks;
  u32 rows;  // of a warp, parts counted; at most kMaxRows at once
  u32 parts_log;
  std::size_t places() const { return std::size_t{blocks} * kThreads * std::min(rows, kMaxRows); }
};
template <class F>
constexpr std::size_t chain_bytes() {
  return 3 * sizeof(F) + sizeof(u32) + sizeof(Span);
}

inline Grid grid_for(std::size_t chains, u32 most_blocks, u32 parts_log) {
  const std::size_t warps = (chains + 31) / 32;
  const std::size_t blocks = std::clamp<std::size_t>((warps + kWarps - 1) / kWarps, 1, most_blocks);
  const u32 rows = static_cast<u32>((warps + blocks * kWarps - 1) / (blocks * kWarps));
  return {static_cast<u32>(blocks), rows << parts_log, parts_log};
}
// Chains are cut into parts, a power of two of them, as long as a warp's rows stay within kMaxRows
// and the parts of `points` in all chains together have some points each: the more rows a step has,
// the more additions share an inversion, and the fewer steps there are.
inline u32 parts_log_for(std::size_t chains, std::size_t points, u32 most_blocks) {
  constexpr std::size_t kPoints = 4;  // of a part
  u32 log = 0;
  while (log < kMaxPartsLog && (chains * kPoints << (log + 1)) <= points &&
         grid_for(chains, most_blocks, log + 1).rows <= kMaxRows) {
    ++log;
  }
  return log;
}

// The block's part of the scratch memory: each 16 bytes of a field element in a plane of its own,
// so that a warp reads and writes whole lines.
template <class F>
class Places {
 public:
  static constexpr u32 kParts = sizeof(F) / 16;

  __device__ Places(std::byte* scratch, u32 rows) {
    const std::size_t each = std::size_t{kThreads} * rows * chain_bytes<F>();
    planes_ = reinterpret_cast<uint4*>(scratch + each * blockIdx.x) + threadIdx.x;
    spans_ = reinterpret_cast<Span*>(scratch + each * blockIdx.x +
                                     std::size_t{kThreads} * rows * 3 * sizeof(F)) +
             threadIdx.x;
    next_ =
        reinterpret_cast<u32*>(spans_ - threadIdx.x + std::size_t{kThreads} * rows) + threadIdx.x;
  }
  __device__ __forceinline__ F x(u32 row) const { return load(row, 0); }
  __device__ __forceinline__ F y(u32 row) const { return load(row, 1); }
  __device__ __forceinline__ F before(u32 row) const { return load(row, 2); }
  __device__ __forceinline__ void set_x(u32 row, const F& v) { store(row, 0, v); }
  __device__ __forceinline__ void set_y(u32 row, const F& v) { store(row, 1, v); }
  __device__ __forceinline__ void set_before(u32 row, const F& v) { store(row, 2, v); }
  // 16 bytes of the sum: x first.
  __device__ __forceinline__ const uint4* part(u32 row, u32 i) const {
    return planes_ + (row * 3 * kParts + i) * kThreads;
  }
  __device__ __forceinline__ Span& span(u32 row) { return spans_[row * kThreads]; }
  __device__ __forceinline__ u32& next(u32 row) { return next_[row * kThreads]; }

 private:
  __device__ __forceinline__ F load(u32 row, u32 which) const {
    const uint4* from = planes_ + (row * 3 + which) * kParts * kThreads;
    F r;
#pragma unroll
    for (u32 i = 0; i < kParts; ++i) reinterpret_cast<uint4*>(&r)[i] = from[i * kThreads];
    return r;
  }
  __device__ __forceinline__ void store(u32 row, u32 which, const F& v) {
    uint4* to = planes_ + (row * 3 + which) * kParts * kThreads;
#pragma unroll
    for (u32 i = 0; i < kParts; ++i) to[i * kThreads] = reinterpret_cast<const uint4*>(&v)[i];
  }

  uint4* planes_;
  Span* spans_;
  u32* next_;
};

template <class F>
__device__ __forceinline__ DeviceAffine<F> load_signed(const DeviceAffine<F>* __restrict__ bases,
                                                       u32 value) {
  DeviceAffine<F> p = device::load_wide(bases + (value & ~kSign));
  if (value & kSign) p.y = -p.y;
  return p;
}

// Whether a sum needs more than the chord: an operand may be the identity (x = 0 does not prove
// it), or the operands have the same x.
template <class F>
__device__ __forceinline__ bool is_special(const F& difference, const F& x1, const F& x2) {
  return difference.is_zero() || x1.is_zero() || x2.is_zero();
}

// The denominator of a special sum; one where it needs none. By value: operands must not get an
// address in memory because of what only few of them need.
template <class F>
__device__ __noinline__ F special_denominator(DeviceAffine<F> a, DeviceAffine<F> b) {
  if (a.is_identity() || b.is_identity()) return F::one();
  if (!(a.x == b.x)) return b.x - a.x;
  const F sum = a.y + b.y;
  return sum.is_zero() ? F::one() : sum;  // twice y where the points are equal
}
template <class F>
__device__ __noinline__ DeviceAffine<F> special_sum(DeviceAffine<F> a, DeviceAffine<F> b,
                                                    F inverse) {
  if (a.is_identity()) return b;
  if (b.is_identity()) return a;
  F slope = b.y - a.y;
  if (a.x == b.x) {
    if ((a.y + b.y).is_zero()) return {F::zero(), F::zero()};
    const F square = a.x.square();
    slope = square.dbl() + square;
  }
  slope = slope * inverse;
  const F x = slope.square() - a.x - b.x;
  return {x, slope * (a.x - x) - a.y};
}

template <class F>
__device__ __forceinline__ F shuffle_xor(const F& v, u32 distance) {
  F r;
#pragma unroll
  for (u32 i = 0; i < sizeof(F) / 4; ++i) {
    reinterpret_cast<u32*>(&r)[i] =
        __shfl_xor_sync(~0u, reinterpret_cast<const u32*>(&v)[i], distance);
  }
  return r;
}

// Out of line: a multiprocessor's warps are in different places of a step, and code that holds
// every product of it does not stay in the instruction caches (a fifth of all cycles were lost to
// that). Operands travel in registers. Products of the extension are calls by themselves.
template <class P>
__device__ __noinline__ DeviceFp<P> called_product(DeviceFp<P> a, DeviceFp<P> b) {
  return a * b;
}
template <class P>
__device__ __noinline__ DeviceFp<P> called_square(DeviceFp<P> a) {
  return a.square_by_words();
}
template <class P>
__device__ __forceinline__ DeviceFp<P> product(const DeviceFp<P>& a, const DeviceFp<P>& b) {
  return called_product(a, b);
}
template <class P>
__device__ __forceinline__ DeviceFp<P> square(const DeviceFp<P>& a) {
  return called_square(a);
}
template <class F>
__device__ __forceinline__ DeviceFp2<F> product(const DeviceFp2<F>& a, const DeviceFp2<F>& b) {
  return a * b;
}
template <class F>
__device__ __forceinline__ DeviceFp2<F> square(const DeviceFp2<F>& a) {
  return a.square();
}

// What a thread keeps in shared memory: a column of 16 bytes each, of five coordinates (two points,
// the product before them), and one of words. Between the ways up and down the fifth coordinate is
// the product of its denominators, then the inverse of that.
template <class F>
struct Column {
  static constexpr u32 kParts = sizeof(F) / 16;
  uint4* wide;
  u32* words;

  __device__ explicit Column(uint4* shared)
      : wide(shared + threadIdx.x),
        words(reinterpret_cast<u32*>(shared + 5 * kParts * kThreads) + threadIdx.x) {}
  static constexpr std::size_t bytes() { return (5 * sizeof(F) + 5 * sizeof(u32)) * kThreads; }

  __device__ __forceinline__ uint4* part(u32 i) const { return wide + i * kThreads; }
  __device__ __forceinline__ u32& word(u32 i) const { return words[i * kThreads]; }
  __device__ __forceinline__ F element(u32 which) const {
    F r;
#pragma unroll
    for (u32 i = 0; i < kParts; ++i) {
      reinterpret_cast<uint4*>(&r)[i] = *part(which * kParts + i);
    }
    return r;
  }
  // The fifth coordinate of thread `thread`.
  __device__ __forceinline__ static F element_of(const uint4* shared, u32 thread) {
    F r;
#pragma unroll
    for (u32 i = 0; i < kParts; ++i) {
      reinterpret_cast<uint4*>(&r)[i] = shared[(4 * kParts + i) * kThreads + thread];
    }
    return r;
  }
  __device__ __forceinline__ static void set_element_of(uint4* shared, u32 thread, const F& v) {
#pragma unroll
    for (u32 i = 0; i < kParts; ++i) {
      shared[(4 * kParts + i) * kThreads + thread] = reinterpret_cast<const uint4*>(&v)[i];
    }
  }
};

// Every thread's fifth coordinate by its inverse, by one warp: four values a lane, the products of
// all lanes but one by exchanges, one inversion, which all lanes compute alike.
template <class F>
__device__ __forceinline__ void invert_all(uint4* shared) {
  static_assert(kThreads == 4 * 32);
  const auto value = [&](u32 i) {
    return Column<F>::element_of(shared, i * 32 + threadIdx.x % 32);
  };
  const auto set = [&](u32 i, const F& v) {
    Column<F>::set_element_of(shared, i * 32 + threadIdx.x % 32, v);
  };
  const F low = product(value(0), value(1));
  const F high = product(value(2), value(3));
  F all = product(low, high);
  F others;
#pragma unroll 1
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const F theirs = shuffle_xor(all, distance);
    others = distance == 1 ? theirs : product(others, theirs);
    all = product(all, theirs);
  }
  const F inverted = product(device::inverse_by_warp(all), others);  // of low * high
  const F of_low = product(inverted, high);
  const F of_high = product(inverted, low);
  const F first = product(of_low, value(1));
  set(1, product(of_low, value(0)));
  set(0, first);
  const F third = product(of_high, value(3));
  set(3, product(of_high, value(2)));
  set(2, third);
}

__device__ __forceinline__ void fetch_word(u32* to, const u32* from) {
  __pipeline_memcpy_async(to, from, sizeof(u32));
}

// Where the operands of a step's additions come from: the next points of the chains, or, when the
// parts of a chain are joined, the sums `distance` rows above those at multiples of twice as much.
template <class F>
struct NextPoints {
  const DeviceAffine<F>* __restrict__ bases;
  const u32* __restrict__ values;
  Places<F>& places;
  u32 stride;  // of a chain's values
  u32 step;
  u32 ahead;  // the rows below are one step further

  static constexpr bool kAdvances = true;
  static constexpr u32 kStride = 1;
  __device__ __forceinline__ void fetch_operand(u32 row, u32* to) const {
    fetch_word(to, &places.next(row));
  }
  __device__ __forceinline__ const uint4* at(u32 operand) const {
    return reinterpret_cast<const uint4*>(bases + (operand & ~kSign));
  }
  __device__ __forceinline__ bool is_negative(u32 operand) const { return operand & kSign; }
  // The index of the point after this step's.
  __device__ __forceinline__ void fetch_after(u32 row, Span span, u32* to) const {
    const u32 after = step + (row < ahead ? 2 : 1);
    if (after < span.length) {
      fetch_word(to, values + span.begin + static_cast<std::size_t>(after) * stride);
    } else {
      *to = kNone;
    }
  }
};
template <class F>
struct OtherParts {
  Places<F>& places;
  u32 distance;

  static constexpr bool kAdvances = false;
  static constexpr u32 kStride = kThreads;
  __device__ __forceinline__ void fetch_operand(u32 row, u32* to) const {
    *to = row & (2 * distance - 1) ? kNone : row + distance;
  }
  __device__ __forceinline__ const uint4* at(u32 operand) const { return places.part(operand, 0); }
  __device__ __forceinline__ bool is_negative(u32) const { return false; }
  __device__ __forceinline__ void fetch_after(u32, Span, u32*) const {}
};

// What a thread does with its rows in one step; `rows` counts those that may still have operands.
// What comes from memory comes through shared memory, ahead of its use: a load to registers would
// have to end before the next call.
template <class F, class Operands>
class Step {
 public:
  __device__ Step(const Operands& operands, Places<F>& places, const Column<F>& column)
      : operands_(operands), places_(places), column_(column) {}

  // Multiplies the denominators.
  __device__ __forceinline__ F up(u32 rows) {
    F result = F::one();
    if (rows == 0) return result;
    operands_.fetch_operand(0, &column_.word(0));
    if (rows > 1) operands_.fetch_operand(1, &column_.word(1));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    fetch_x(0, column_.word(0));
    __pipeline_commit();
#pragma unroll 1
    for (u32 row = 0; row < rows; ++row) {
      __pipeline_wait_prior(0);
      const u32 now = column_.word(row & 1);
      const F a = column_.element(2 * (row & 1));
      const F b = column_.element(2 * (row & 1) + 1);
      if (row + 1 < rows) fetch_x(row + 1, column_.word(~row & 1));
      if (row + 2 < rows) operands_.fetch_operand(row + 2, &column_.word(row & 1));
      __pipeline_commit();
      if (now == kNone) continue;
      F d = b - a;
      if (is_special(d, a, b)) {
        d = special_denominator(DeviceAffine<F>{a, places_.y(row)}, loaded(now));
      }
      places_.set_before(row, result);
      result = product(result, d);
    }
    __pipeline_wait_prior(0);
    return result;
  }

  // Takes the inverses out of `inverse` and adds.
  __device__ __forceinline__ void down(u32 rows, F inverse) {
    if (rows == 0) return;
    fetch_early(rows - 1);
    __pipeline_commit();
#pragma unroll 1
    for (u32 row = rows; row-- > 0;) {
      __pipeline_wait_prior(0);
      const u32 value = column_.word(0);
      if (value != kNone) {
        fetch_points(row, value);
        if constexpr (Operands::kAdvances) {
          operands_.fetch_after(row, {column_.word(1), column_.word(2)}, &column_.word(3));
        }
      }
      __pipeline_commit();
      F mine;
      if (value != kNone) mine = product(inverse, column_.element(4));
      if (row > 0) fetch_early(row - 1);
      __pipeline_commit();
      __pipeline_wait_prior(1);
      if (value != kNone) add(row, value, mine, inverse);
    }
  }

 private:
  static constexpr u32 kParts = Places<F>::kParts;

  // One addition; its operands have arrived.
  __device__ __forceinline__ void add(u32 row, u32 value, const F& mine, F& inverse) {
    if constexpr (Operands::kAdvances) places_.next(row) = column_.word(3);
    const F x1 = column_.element(0);
    const F x2 = column_.element(2);
    F d = x2 - x1;
    const bool special = is_special(d, x1, x2);
    if (special) d = special_denominator(sum(), point(value));
    inverse = product(inverse, d);
    if (special) {
      const DeviceAffine<F> r = special_sum(sum(), point(value), mine);
      places_.set_x(row, r.x);
      places_.set_y(row, r.y);
      return;
    }
    const F slope = product(point(value).y - column_.element(1), mine);
    const F x = square(slope) - column_.element(0) - column_.element(2);
    places_.set_x(row, x);
    places_.set_y(row, product(slope, column_.element(0) - x) - column_.element(1));
  }

  // The x of the sum and of the operand, to the half of the row's parity.
  __device__ __forceinline__ void fetch_x(u32 row, u32 value) const {
    if (value == kNone) return;
    const uint4* from = operands_.at(value);
    const u32 first = 2 * (row & 1) * kParts;
#pragma unroll
    for (u32 i = 0; i < kParts; ++i) {
      __pipeline_memcpy_async(column_.part(first + i), places_.part(row, i), 16);
      __pipeline_memcpy_async(column_.part(first + kParts + i), from + i * Operands::kStride, 16);
    }
  }
  // What `down` needs of a row before its points.
  __device__ __forceinline__ void fetch_early(u32 row) const {
    operands_.fetch_operand(row, &column_.word(0));
#pragma unroll
    for (u32 i = 0; i < kParts; ++i) {
      __pipeline_memcpy_async(column_.part(4 * kParts + i), places_.part(row, 2 * kParts + i), 16);
    }
    if constexpr (Operands::kAdvances) {
      fetch_word(&column_.word(1), &places_.span(row).begin);
      fetch_word(&column_.word(2), &places_.span(row).length);
    }
  }
  __device__ __forceinline__ void fetch_points(u32 row, u32 value) const {
    const uint4* from = operands_.at(value);
#pragma unroll
    for (u32 i = 0; i < 2 * kParts; ++i) {
      __pipeline_memcpy_async(column_.part(i), places_.part(row, i), 16);
      __pipeline_memcpy_async(column_.part(2 * kParts + i), from + i * Operands::kStride, 16);
    }
  }
  __device__ __forceinline__ DeviceAffine<F> sum() const {
    return {column_.element(0), column_.element(1)};
  }
  __device__ __forceinline__ DeviceAffine<F> point(u32 value) const {
    DeviceAffine<F> p = {column_.element(2), column_.element(3)};
    if (operands_.is_negative(value)) p.y = -p.y;
    return p;
  }
  // The operand, by loads.
  __device__ __forceinline__ DeviceAffine<F> loaded(u32 value) const {
    DeviceAffine<F> p;
    const uint4* from = operands_.at(value);
#pragma unroll
    for (u32 i = 0; i < 2 * kParts; ++i) {
      reinterpret_cast<uint4*>(&p)[i] = from[i * Operands::kStride];
    }
    if (operands_.is_negative(value)) p.y = -p.y;
    return p;
  }

  const Operands& operands_;
  Places<F>& places_;
  const Column<F>& column_;
};

// Of a block.
template <class F>
constexpr std::size_t shared_bytes() {
  return Column<F>::bytes();
}

// One step of all rows of a block.
template <class F, class Operands>
__device__ __forceinline__ void take_step(const Operands& operands, Places<F>& places, u32 rows,
                                          u32 inverter, uint4* shared) {
  const Column<F> column(shared);
  Step<F, Operands> step(operands, places, column);
  Column<F>::set_element_of(shared, threadIdx.x, step.up(rows));
  __syncthreads();
  if (threadIdx.x / 32 == inverter) invert_all<F>(shared);
  __syncthreads();
  step.down(rows, column.element(4));
}

// Part `part` of 2^parts_log of a span.
__device__ __forceinline__ Span part_of(Span span, u32 stride, u32 part, u32 parts_log) {
  const u32 begin = static_cast<u32>(static_cast<std::uint64_t>(span.length) * part >> parts_log);
  const u32 end =
      static_cast<u32>(static_cast<std::uint64_t>(span.length) * (part + 1) >> parts_log);
  return {span.begin + begin * stride, end - begin};
}

// All chains of a source, which says of chain c its span of `values`, span(c), and takes its sum,
// store(c, point). Long chains first; rows and parts as grid_for() has them.
template <class F, class Source>
__global__ void __launch_bounds__(kThreads, kBlocksEach<F>)
    sum_chains(const DeviceAffine<F>* __restrict__ bases, const u32* __restrict__ values,
               Source source, u32 chains, u32 rows, u32 parts_log, std::byte* scratch) {
  extern __shared__ uint4 shared[];
  __shared__ u32 longest;
  Places<F> places(scratch, min(rows, kMaxRows));
  const u32 warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
  const u32 phase = blockIdx.x * kBlocksEach<F> / gridDim.x;
  const u32 inverter = phase % kWarps;
  const auto chain_of = [&](u32 row) {
    return ((row >> parts_log) * kWarps * gridDim.x + warp) * 32 + threadIdx.x % 32;
  };
#pragma unroll 1
  for (u32 first = 0; first < rows; first += kMaxRows) {
    const u32 now = min(rows - first, kMaxRows);
    if (threadIdx.x == 0) longest = 0;
    __syncthreads();
    u32 most = 0;
#pragma unroll 1
    for (u32 row = 0; row < now; ++row) {
      const u32 chain = chain_of(first + row);
      Span span = chain < chains ? source.span(chain) : Span{0, 0};
      span = part_of(span, source.stride(), row & ((1u << parts_log) - 1), parts_log);
      // The first point becomes the sum, the second the next.
      DeviceAffine<F> sum = {F::zero(), F::zero()};
      if (span.length > 0) sum = load_signed(bases, values[span.begin]);
      places.set_x(row, sum.x);
      places.set_y(row, sum.y);
      places.span(row) = span;
      places.next(row) = span.length > 1 ? values[span.begin + source.stride()] : kNone;
      most = max(most, span.length);
    }
    atomicMax(&longest, most);
    __syncthreads();
    // The blocks of a multiprocessor must not invert at the same time: they begin with a step over
    // a different part of their rows each.
    const u32 ahead = now * phase / kBlocksEach<F>;
    u32 alive = now;
#pragma unroll 1
    for (u32 step = ahead > 0 ? 0 : 1; step < longest; ++step) {
      while (alive > 0 && places.next(alive - 1) == kNone) --alive;
      const NextPoints<F> operands = {bases, values, places, source.stride(), step, ahead};
      take_step(operands, places, step == 0 ? ahead : alive, inverter, shared);
    }
#pragma unroll 1
    for (u32 distance = 1; distance < 1u << parts_log; distance *= 2) {
      take_step(OtherParts<F>{places, distance}, places, now, inverter, shared);
    }
#pragma unroll 1
    for (u32 row = 0; row < now; row += 1u << parts_log) {
      const u32 chain = chain_of(first + row);
      if (chain < chains) source.store(chain, {places.x(row), places.y(row)});
    }
    __syncthreads();
  }
}

// How many of these blocks the current device holds at once; none where a block has too little
// shared memory (G2 of BLS12-381 on Turing).
template <class F, class Source>
Result<unsigned> resident_blocks() {
  int device = 0;
  int multiprocessors = 0;
  int shared = 0;
  int each = 0;
  const auto kernel = &sum_chains<F, Source>;
  CUZK_TRY_VOID(gpu::check_cuda(cudaGetDevice(&device), "current device"));
  CUZK_TRY_VOID(gpu::check_cuda(
      cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
      "shared memory of a block"));
  if (static_cast<std::size_t>(shared) < shared_bytes<F>()) return 0u;
  CUZK_TRY_VOID(gpu::allow_shared_bytes(reinterpret_cast<const void*>(kernel), shared_bytes<F>()));
  CUZK_TRY_VOID(gpu::check_cuda(
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
      "multiprocessors"));
  CUZK_TRY_VOID(gpu::check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                                    &each, kernel, static_cast<int>(kThreads), shared_bytes<F>()),
                                "blocks of chains at once"));
  return static_cast<unsigned>(each * multiprocessors);
}

template <class F, class Source>
Status launch(gpu::StreamHandle stream, const Grid& grid, const DeviceAffine<F>* bases,
              const u32* values, const Source& source, std::size_t chains, std::byte* scratch) {
  const auto kernel = &sum_chains<F, Source>;
  CUZK_TRY_VOID(gpu::allow_shared_bytes(reinterpret_cast<const void*>(kernel), shared_bytes<F>()));
  sum_chains<F, Source><<<grid.blocks, kThreads, shared_bytes<F>(), stream>>>(
      bases, values, source, static_cast<u32>(chains), grid.rows, grid.parts_log, scratch);
  return gpu::launched("sums of chains");
}

}  // namespace cuzk::chains_cuda
