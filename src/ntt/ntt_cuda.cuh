#pragma once
// Transforms on the device; included by one file for each field.
//
// The same walk over the tree that splits x^L - t^2 into x^(L/2) - t and x^(L/2) + t as on the CPU
// (ntt_cpu.inl): all butterflies of a node share its twiddle, no product is spent between passes,
// and the odd coset is the subtree below node 1. N/2 * log2(N) products in all.
//
// Passes:  levels are taken kPassLog or so at a time by a block of threads that holds 2^kTileLog
//          elements in shared memory; a thread takes up to three levels of eight elements in
//          registers between two exchanges. Where rows lie apart, four neighbouring columns travel
//          together, so that every access is a full line of 128 bytes.
// Table:   entry v is the twiddle of node v, the product over the bits b of v of the root of order
//          2^(b+2). The inverse of a node's twiddle is minus that of its mirror image on its level.
//          Entries of the upper levels are there a second time with quotients, by which a product
//          takes five sixths of the multiplications (DeviceFp::scaled_by).

#include <algorithm>
#include <bit>

#include "field/fp_cuda.cuh"
#include "gpu/launch_cuda.h"
#include "ntt/ntt_cuda.h"

namespace cuzk {
namespace ntt_cuda_internal {

using device::DeviceFp;
using device::u32;

inline constexpr unsigned kPassLog = 9;
inline constexpr unsigned kTileLog = 11;
inline constexpr unsigned kTile = 1u << kTileLog;
inline constexpr unsigned kThreads = kTile / 8;
inline constexpr unsigned kMaxLog = 28;
inline constexpr unsigned kMostColumnsLog = 5;  // of a pass

// What one pass does to the data: `levels` levels, the first of them `depth` below the root, on
// rows that lie 2^stride_log apart.
struct Pass {
  unsigned depth;
  unsigned levels;
  unsigned stride_log;
  unsigned columns_log;  // 2^columns_log neighbouring columns share a tile
  u32 root;              // the node at depth 0
  // Levels less deep than this have quotients, where `root` is 0; one less where it is 1.
  unsigned quotients_depth;
};

// Index in shared memory, padded so that eight rows apart do not fall into the same banks.
__device__ __forceinline__ u32 padded(u32 e, unsigned columns_log) {
  return e + ((e >> (3 + columns_log)) << columns_log);
}
inline constexpr unsigned kPaddedTile = kTile + kTile / 8;
inline constexpr unsigned kSharedBytes = kPaddedTile * 32;

template <class F>
__device__ __forceinline__ F load(const uint4* low, const uint4* high, u32 at) {
  F r;
  reinterpret_cast<uint4*>(&r)[0] = low[at];
  reinterpret_cast<uint4*>(&r)[1] = high[at];
  return r;
}
template <class F>
__device__ __forceinline__ void store(uint4* low, uint4* high, u32 at, const F& v) {
  low[at] = reinterpret_cast<const uint4*>(&v)[0];
  high[at] = reinterpret_cast<const uint4*>(&v)[1];
}

template <class F>
__device__ __forceinline__ F load_element(const F* from) {
  return load<F>(reinterpret_cast<const uint4*>(from), reinterpret_cast<const uint4*>(from) + 1, 0);
}

template <bool kInverse>
__device__ __forceinline__ u32 entry_of(u32 node) {
  return kInverse && node != 0 ? (3u << (31 - __clz(node))) - 1 - node : node;
}
template <class F>
__device__ __forceinline__ F load_entry(const F* __restrict__ entry) {
  F r;
  reinterpret_cast<uint4*>(&r)[0] = __ldg(reinterpret_cast<const uint4*>(entry));
  reinterpret_cast<uint4*>(&r)[1] = __ldg(reinterpret_cast<const uint4*>(entry) + 1);
  return r;
}
template <bool kInverse, class F>
__device__ __forceinline__ F twiddle_of(const F* __restrict__ table, u32 node) {
  return load_entry(table + entry_of<kInverse>(node));
}

// A twiddle in Montgomery form, and one with its quotient; both multiply values below 2 p to such.
template <class F>
struct Plain {
  F t;
  __device__ __forceinline__ F operator*(const F& v) const { return F::lazy_product(t, v); }
};
template <class F>
struct WithQuotient {
  F c;
  F quotient;
  __device__ __forceinline__ F operator*(const F& v) const { return F::scaled_by(c, quotient, v); }
};

// The table, and where its entries with quotients are, of the nodes below 2^quotients_log.
template <class F>
struct Twiddles {
  const F* __restrict__ plain;
  const F* __restrict__ with_quotients;

  template <bool kInverse, bool kQuotients>
  __device__ __forceinline__ auto of(u32 node) const {
    const u32 entry = entry_of<kInverse>(node);
    if constexpr (kQuotients) {
      const F* const at = with_quotients + 2 * static_cast<std::size_t>(entry);
      return WithQuotient<F>{load_entry(at), load_entry(at + 1)};
    } else {
      return Plain<F>{load_entry(plain + entry)};
    }
  }
};

// One butterfly of the node, on values below 2 p. The twiddle of an inverse has the opposite sign
// of its table entry; node 0 has twiddle one in both directions.
template <bool kDown, bool kInverse, class F, class Twiddle>
__device__ __forceinline__ void butterfly(F& low, F& high, const Twiddle& t, bool is_one) {
  if constexpr (kDown) {
    const F v = is_one ? high : t * high;
    const F sum = F::lazy_sum(low, v);
    const F difference = F::lazy_difference(low, v);
    const bool swapped = kInverse && !is_one;
    low = swapped ? difference : sum;
    high = swapped ? sum : difference;
  } else {
    const F sum = F::lazy_sum(low, high);
    const F difference =
        kInverse && !is_one ? F::lazy_difference(high, low) : F::lazy_difference(low, high);
    low = sum;
    high = is_one ? difference : t * difference;
  }
}

// `count` levels (at most three) of 2^count elements in registers; `node` is their first node.
template <bool kDown, bool kInverse, bool kQuotients, unsigned kCount, class F>
__device__ __forceinline__ void small_walk(F* x, const Twiddles<F>& twiddles, u32 node) {
#pragma unroll
  for (unsigned step = 0; step < kCount; ++step) {
    const unsigned level = kDown ? step : kCount - 1 - step;
    const unsigned half = 1u << (kCount - 1 - level);
#pragma unroll
    for (unsigned j = 0; j < (1u << level); ++j) {
      const u32 v = (node << level) + j;
      const auto t = twiddles.template of<kInverse, kQuotients>(v);
#pragma unroll
      for (unsigned i = 0; i < half; ++i) {
        butterfly<kDown, kInverse>(x[2 * half * j + i], x[2 * half * j + half + i], t, v == 0);
      }
    }
  }
}

// One round: levels [done, done + kCount) of the pass on the tile in shared memory. A thread holds
// 8 / 2^kCount groups of 2^kCount rows.
template <bool kDown, bool kInverse, bool kQuotients, unsigned kCount, class F>
__device__ __forceinline__ void round_in_shared(uint4* low, uint4* high,
                                                const Twiddles<F>& twiddles, const Pass& pass,
                                                u32 first_node, unsigned done) {
  constexpr unsigned kRows = 1u << kCount;
  const unsigned gap_log = pass.levels - done - kCount;  // rows of a group lie 2^gap_log apart
#pragma unroll 1
  for (u32 unit = threadIdx.x; unit < kTile / kRows; unit += kThreads) {
    const u32 column = unit & ((1u << pass.columns_log) - 1);
    const u32 line = unit >> pass.columns_log;
    const u32 sub = line >> gap_log;  // groups of nodes of this tile, then those within its nodes
    const u32 row = (sub << (gap_log + kCount)) + (line & ((1u << gap_log) - 1));
    F x[kRows];
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      const u32 e = ((row + (i << gap_log)) << pass.columns_log) + column;
      x[i] = load<F>(low, high, padded(e, pass.columns_log));
    }
    small_walk<kDown, kInverse, kQuotients, kCount>(x, twiddles, (first_node << done) + sub);
#pragma unroll
    for (unsigned i = 0; i < kRows; ++i) {
      const u32 e = ((row + (i << gap_log)) << pass.columns_log) + column;
      store(low, high, padded(e, pass.columns_log), x[i]);
    }
  }
}

// Whether the nodes of `levels` levels below `depth` have quotients.
__device__ __forceinline__ bool have_quotients(const Pass& pass, unsigned done, unsigned levels) {
  return pass.depth + done + levels - 1 + pass.root < pass.quotients_depth;
}

template <bool kDown, bool kInverse, unsigned kCount, class F>
__device__ __forceinline__ void one_round(uint4* low, uint4* high, const Twiddles<F>& twiddles,
                                          const Pass& pass, u32 first_node, unsigned done) {
  __syncthreads();
  if (have_quotients(pass, done, kCount)) {
    round_in_shared<kDown, kInverse, true, kCount, F>(low, high, twiddles, pass, first_node, done);
  } else {
    round_in_shared<kDown, kInverse, false, kCount, F>(low, high, twiddles, pass, first_node, done);
  }
}

template <bool kDown, bool kInverse, class F>
__device__ __forceinline__ void tile_walk(uint4* low, uint4* high, const Twiddles<F>& twiddles,
                                          const Pass& pass, u32 first_node) {
  const unsigned rest = pass.levels % 3;
  const auto last = [&](unsigned done) {
    if (rest == 1) one_round<kDown, kInverse, 1, F>(low, high, twiddles, pass, first_node, done);
    if (rest == 2) one_round<kDown, kInverse, 2, F>(low, high, twiddles, pass, first_node, done);
  };
  if (kDown) {
    unsigned done = 0;
    for (; done + 3 <= pass.levels; done += 3) {
      one_round<kDown, kInverse, 3, F>(low, high, twiddles, pass, first_node, done);
    }
    last(done);
  } else {
    last(pass.levels - rest);
    for (unsigned left = pass.levels - rest; left > 0; left -= 3) {
      one_round<kDown, kInverse, 3, F>(low, high, twiddles, pass, first_node, left - 3);
    }
  }
  __syncthreads();
}

// What a pass does beside its butterflies. Element i of reversed order belongs to the coefficient
// reverse(i), and omega_2N^reverse(i) is entry i of the twiddle table: so the odd coset of the two
// transforms that are not subtrees costs one product an element with the table.
struct Extra {
  bool scale = false;            // results times the factor, when they are the last
  bool shift_inputs = false;     // inputs times omega_2N^reverse(i)
  bool unshift_results = false;  // results times omega_2N^-reverse(i)
  bool reduce = false;           // results are the last, and below p
};

template <class F>
__device__ __forceinline__ F unshifted(const F& v, const F* __restrict__ table, u32 i) {
  if (i == 0) return v;
  return -(v * twiddle_of<true>(table, i));
}

// A thread's share of a tile: every kThreads-th element, in the order (nodes of the tile, rows,
// columns); a tile has several nodes only where the rows are neighbours. kThreads elements are
// whole groups of eight rows, so both steps are the same everywhere.
template <class F>
struct Share {
  static constexpr unsigned kCount = kTile / kThreads;
  static constexpr u32 kStepInShared = kThreads + kThreads / 8;
  static_assert(kThreads % (8u << kMostColumnsLog) == 0);
  F* first;
  std::size_t step;
  u32 in_shared;

  __device__ __forceinline__ Share(F* base, const Pass& pass) {
    const std::size_t row = threadIdx.x >> pass.columns_log;
    first = base + (row << pass.stride_log) + (threadIdx.x & ((1u << pass.columns_log) - 1));
    step = static_cast<std::size_t>(kThreads >> pass.columns_log) << pass.stride_log;
    in_shared = padded(threadIdx.x, pass.columns_log);
  }
  __device__ __forceinline__ F* at(unsigned i) const { return first + i * step; }
  __device__ __forceinline__ u32 shared_at(unsigned i) const {
    return in_shared + i * kStepInShared;
  }
};

// One tile for each block.
template <bool kDown, bool kInverse, class F>
__global__ void __launch_bounds__(kThreads, 2)
    ntt_pass(F* __restrict__ data, Twiddles<F> twiddles, Pass pass, Extra extra, F factor) {
  extern __shared__ uint4 shared[];
  uint4* low = shared;
  uint4* high = shared + kPaddedTile;
  const unsigned rows_log = kTileLog - pass.columns_log;  // of all nodes of the tile
  const unsigned groups_log = pass.stride_log - pass.columns_log;
  const u32 group = blockIdx.x & ((1u << groups_log) - 1);
  const u32 block = blockIdx.x >> groups_log;
  F* const base = data + (static_cast<std::size_t>(block) << (pass.stride_log + rows_log)) +
                  (static_cast<std::size_t>(group) << pass.columns_log);
  const Share<F> share(base, pass);
  const u32 first_node = (pass.root << pass.depth) + (block << (rows_log - pass.levels));

#pragma unroll 4
  for (unsigned i = 0; i < Share<F>::kCount; ++i) {
    F v = load_element(share.at(i));
    if (extra.shift_inputs) {
      v = v * twiddle_of<false>(twiddles.plain, static_cast<u32>(share.at(i) - data));
    }
    store(low, high, share.shared_at(i), v);
  }
  tile_walk<kDown, kInverse, F>(low, high, twiddles, pass, first_node);
#pragma unroll 4
  for (unsigned i = 0; i < Share<F>::kCount; ++i) {
    F* const to = share.at(i);
    F v = load<F>(low, high, share.shared_at(i));
    if (extra.reduce) v = extra.scale ? factor * v : F::reduce_once(v);
    if (extra.unshift_results) v = unshifted(v, twiddles.plain, static_cast<u32>(to - data));
    store(reinterpret_cast<uint4*>(to), reinterpret_cast<uint4*>(to) + 1, 0, v);
  }
}

// All levels of a transform smaller than a tile, one block, one thread a butterfly and level.
template <bool kDown, bool kInverse, class F>
__global__ void ntt_small(F* data, const F* __restrict__ table, unsigned log2_size, u32 root,
                          Extra extra, F factor) {
  const u32 size = 1u << log2_size;
  if (extra.shift_inputs) {
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) {
      data[i] = data[i] * twiddle_of<false>(table, i);
    }
    __syncthreads();
  }
  for (unsigned step = 0; step < log2_size; ++step) {
    const unsigned level = kDown ? step : log2_size - 1 - step;
    const unsigned half_log = log2_size - 1 - level;
    for (u32 i = threadIdx.x; i < size / 2; i += blockDim.x) {
      const u32 j = i >> half_log;
      const u32 at = (j << (half_log + 1)) + (i & ((1u << half_log) - 1));
      const u32 v = (root << level) + j;
      F low = data[at];
      F high = data[at + (1u << half_log)];
      butterfly<kDown, kInverse>(low, high, Plain<F>{twiddle_of<kInverse>(table, v)}, v == 0);
      data[at] = low;
      data[at + (1u << half_log)] = high;
    }
    __syncthreads();
  }
  for (u32 i = threadIdx.x; i < size; i += blockDim.x) {
    data[i] = extra.scale ? factor * data[i] : F::reduce_once(data[i]);
    if (extra.unshift_results) data[i] = unshifted(data[i], table, i);
  }
}

// Entry v with its quotient, not in Montgomery form, from entry v.
template <class F>
__global__ void add_quotients(const F* __restrict__ table, u32 count, F* __restrict__ out) {
  const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= count) return;
  const F t = table[v];
  F one = F::zero();
  one.w[0] = 1;
  out[2 * static_cast<std::size_t>(v)] = t * one;
  out[2 * static_cast<std::size_t>(v) + 1] = F::quotient_of(t);
}

// Entries [2^level, 2^(level+1)) from those below: entry v + 2^level is entry v times the root.
template <class F>
__global__ void fill_level(F* table, unsigned level, F root) {
  const u32 v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >> level) return;
  table[v + (1u << level)] = table[v] * root;
}
template <class F>
__global__ void fill_first(F* table) {
  *table = F::one();
}

// The levels of a transform of 2^k points, cut into as few passes as can be. Later passes are as
// long as they may be, because nine levels are three whole rounds. The last one, on neighbouring
// rows, takes several nodes in a tile or up to a whole tile; the others need `columns_log` columns.
struct Schedule {
  Pass passes[3];
  unsigned count = 0;
};

inline Schedule schedule_for(unsigned log2_size, u32 root, unsigned quotients_depth) {
  constexpr unsigned kMore = kTileLog - kPassLog;  // levels that the last pass may have beyond that
  static_assert(3 * kPassLog + kMore >= kMaxLog);
  Schedule s;
  s.count = (std::max(log2_size, kTileLog) - kMore + kPassLog - 1) / kPassLog;
  unsigned depth = 0;
  for (unsigned i = 0; i < s.count; ++i) {
    const unsigned left = log2_size - depth;
    const unsigned later = kPassLog * (s.count - i - 1);
    const unsigned least = std::max(kTileLog - kMostColumnsLog, left - std::min(left, later));
    const unsigned levels = later == 0 ? left : std::min(least, kPassLog);
    const unsigned stride_log = log2_size - depth - levels;
    // A tile of 2^levels rows and 2^(kTileLog - levels) columns; on neighbouring rows, nodes.
    const unsigned columns_log = stride_log == 0 ? 0 : kTileLog - levels;
    s.passes[i] = {depth, levels, stride_log, columns_log, root, quotients_depth};
    depth += levels;
  }
  return s;
}

template <class Fr>
Fr root_of_unity(unsigned log2) {
  Limbs<Fr::kLimbs> exponent = Fr::kModulus;
  exponent[0] -= 1;
  for (unsigned i = 0; i < log2; ++i) shift_right_in_place(exponent, 1);
  return Fr::from_u64(Fr::Params::kGenerator).pow(exponent);
}

template <class F, class Fr>
F device_value(const Fr& v) {
  F r;
  std::memcpy(&r, &v, sizeof(F));
  return r;
}

// What a table of so many elements is: the largest transform it serves, quotients or none.
struct TableShape {
  unsigned log = 0;
  bool has_quotients = false;
};
inline TableShape shape_of_table(std::size_t elements) {
  TableShape shape;
  shape.has_quotients = !std::has_single_bit(elements) && elements >= ntt_cuda_table_elements(0);
  const auto needed = [&](unsigned log) {
    return shape.has_quotients ? ntt_cuda_table_elements(log) : std::size_t{1} << log;
  };
  while (shape.log < kMaxLog && needed(shape.log + 1) <= elements) ++shape.log;
  return shape;
}

template <class Fr>
Status check(std::size_t table_size, std::size_t size, NttCoset coset, unsigned log2_size) {
  if (size != std::size_t{1} << log2_size || log2_size > kMaxLog) {
    return fail(ErrorCode::kInvalidArgument, "transform: {} elements, expected 2^0 to 2^{}", size,
                kMaxLog);
  }
  const bool odd = coset == NttCoset::kOdd;
  if (log2_size + (odd ? 1 : 0) > Fr::Params::kTwoAdicity) {
    return fail(ErrorCode::kInvalidArgument, "transform: {} has no domain of 2^{} points{}",
                Fr::Params::kName, log2_size, odd ? " with an odd coset" : "");
  }
  if (table_size == 0 || shape_of_table(table_size).log < log2_size) {
    return fail(ErrorCode::kInvalidArgument,
                "transform: a table of {} elements is too small for {} elements", table_size, size);
  }
  return {};
}

template <bool kDown, bool kInverse, class Fr>
Status transform(gpu::StreamHandle stream, gpu::DeviceSpan<const Fr> table_span,
                 gpu::DeviceSpan<Fr> data_span, const NttCudaOptions& options) {
  using F = device::DeviceField<Fr>;
  unsigned log2_size = 0;
  while ((std::size_t{1} << log2_size) < data_span.size() && log2_size < 63) ++log2_size;
  CUZK_TRY_VOID(check<Fr>(table_span.size(), data_span.size(), options.coset, log2_size));
  // Where coefficients are in natural order, the odd coset is a subtree.
  constexpr bool kSubtree = kDown != kInverse;
  const bool odd = options.coset == NttCoset::kOdd;
  const u32 root = odd && kSubtree ? 1 : 0;
  const bool scale = kInverse && options.scale && log2_size > 0;
  const bool shift = odd && !kSubtree && !kInverse;
  const bool unshift = odd && !kSubtree && kInverse;
  F* data = reinterpret_cast<F*>(data_span.data());
  const TableShape shape = shape_of_table(table_span.size());
  const F* table = reinterpret_cast<const F*>(table_span.data());
  const Twiddles<F> twiddles = {table, table + (std::size_t{1} << shape.log)};
  const F factor =
      device_value<F>(scale ? Fr::from_u64(std::uint64_t{1} << log2_size).inverse() : Fr::one());
  if (log2_size < kTileLog) {
    ntt_small<kDown, kInverse, F><<<1, 512, 0, stream>>>(
        data, table, log2_size, root, Extra{scale, shift, unshift, true}, factor);
    return gpu::launched("ntt_small");
  }
  CUZK_TRY_VOID(gpu::allow_shared_bytes(
      reinterpret_cast<const void*>(&ntt_pass<kDown, kInverse, F>), kSharedBytes));
  const Schedule schedule = schedule_for(
      log2_size, root, shape.has_quotients ? ntt_cuda_quotients_log(shape.log) + 1 : 0);
  for (unsigned i = 0; i < schedule.count; ++i) {
    const unsigned at = kDown ? i : schedule.count - 1 - i;
    ntt_pass<kDown, kInverse, F><<<1u << (log2_size - kTileLog), kThreads, kSharedBytes, stream>>>(
        data, twiddles, schedule.passes[at],
        Extra{scale, shift && i == 0, unshift && i + 1 == schedule.count, i + 1 == schedule.count},
        factor);
  }
  return gpu::launched("ntt_pass");
}

}  // namespace ntt_cuda_internal

template <class Fr>
Status ntt_cuda_fill_table(gpu::StreamHandle stream, gpu::DeviceSpan<Fr> table) {
  using F = device::DeviceField<Fr>;
  using namespace ntt_cuda_internal;
  F* out = reinterpret_cast<F*>(table.data());
  if (table.empty()) return fail(ErrorCode::kInvalidArgument, "twiddle table: no room for entry 0");
  const TableShape shape = shape_of_table(table.size());
  fill_first<F><<<1, 1, 0, stream>>>(out);
  for (unsigned level = 0; level < shape.log; ++level) {
    if (level + 2 > Fr::Params::kTwoAdicity) break;
    const unsigned blocks = std::max(1u, (1u << level) / 256);
    fill_level<F>
        <<<blocks, 256, 0, stream>>>(out, level, device_value<F>(root_of_unity<Fr>(level + 2)));
  }
  CUZK_TRY_VOID(gpu::launched("twiddle table"));
  return shape.has_quotients ? ntt_cuda_add_quotients<Fr>(stream, table) : Status();
}

template <class Fr>
Status ntt_cuda_add_quotients(gpu::StreamHandle stream, gpu::DeviceSpan<Fr> table) {
  using F = device::DeviceField<Fr>;
  using namespace ntt_cuda_internal;
  const TableShape shape = shape_of_table(table.size());
  if (!shape.has_quotients) {
    return fail(ErrorCode::kInvalidArgument, "twiddle table: no room for quotients in {} elements",
                table.size());
  }
  const u32 count = 1u << ntt_cuda_quotients_log(shape.log);
  F* out = reinterpret_cast<F*>(table.data());
  add_quotients<F>
      <<<(count + 127) / 128, 128, 0, stream>>>(out, count, out + (std::size_t{1} << shape.log));
  return gpu::launched("twiddles with quotients");
}

template <class Fr>
Status ntt_cuda_forward_natural_to_reversed(gpu::StreamHandle stream,
                                            gpu::DeviceSpan<const Fr> table,
                                            gpu::DeviceSpan<Fr> data,
                                            const NttCudaOptions& options) {
  return ntt_cuda_internal::transform<true, false>(stream, table, data, options);
}
template <class Fr>
Status ntt_cuda_forward_reversed_to_natural(gpu::StreamHandle stream,
                                            gpu::DeviceSpan<const Fr> table,
                                            gpu::DeviceSpan<Fr> data,
                                            const NttCudaOptions& options) {
  return ntt_cuda_internal::transform<false, false>(stream, table, data, options);
}
template <class Fr>
Status ntt_cuda_inverse_natural_to_reversed(gpu::StreamHandle stream,
                                            gpu::DeviceSpan<const Fr> table,
                                            gpu::DeviceSpan<Fr> data,
                                            const NttCudaOptions& options) {
  return ntt_cuda_internal::transform<true, true>(stream, table, data, options);
}
template <class Fr>
Status ntt_cuda_inverse_reversed_to_natural(gpu::StreamHandle stream,
                                            gpu::DeviceSpan<const Fr> table,
                                            gpu::DeviceSpan<Fr> data,
                                            const NttCudaOptions& options) {
  return ntt_cuda_internal::transform<false, true>(stream, table, data, options);
}

// Explicit instantiation of everything above for the field Fr.
#define CUZK_INSTANTIATE_NTT_CUDA(Fr)                                                            \
  template Status ntt_cuda_fill_table<Fr>(gpu::StreamHandle, gpu::DeviceSpan<Fr>);               \
  template Status ntt_cuda_add_quotients<Fr>(gpu::StreamHandle, gpu::DeviceSpan<Fr>);            \
  template Status ntt_cuda_forward_natural_to_reversed<Fr>(                                      \
      gpu::StreamHandle, gpu::DeviceSpan<const Fr>, gpu::DeviceSpan<Fr>, const NttCudaOptions&); \
  template Status ntt_cuda_forward_reversed_to_natural<Fr>(                                      \
      gpu::StreamHandle, gpu::DeviceSpan<const Fr>, gpu::DeviceSpan<Fr>, const NttCudaOptions&); \
  template Status ntt_cuda_inverse_natural_to_reversed<Fr>(                                      \
      gpu::StreamHandle, gpu::DeviceSpan<const Fr>, gpu::DeviceSpan<Fr>, const NttCudaOptions&); \
  template Status ntt_cuda_inverse_reversed_to_natural<Fr>(                                      \
      gpu::StreamHandle, gpu::DeviceSpan<const Fr>, gpu::DeviceSpan<Fr>, const NttCudaOptions&);

}  // namespace cuzk
