#pragma once
// Kernels of rows_cuda.h; included by one file for each field.
//
// A row is one thread's. Neighbouring rows of a block have neighbouring terms, and nearly all their
// variables are bits within a few words, so that most of what is read is in the caches.

#include <cstring>

#include "field/fp_cuda.cuh"
#include "gpu/launch_cuda.h"
#include "groth16/rows_cuda.h"

namespace cuzk::groth16 {
namespace rows_cuda_internal {

using device::u32;
using u64 = std::uint64_t;

inline constexpr u32 kThreads = 256;
inline constexpr u32 kOne = 0;  // entries of every dictionary
inline constexpr u32 kMinusOne = 1;
inline constexpr u32 kWordsPerRank = 8;  // full_ranks counts per 512 wires

// DeviceMatrices and DeviceAssignment as plain pointers.
template <class F>
struct View {
  const F* dictionary;
  const DeviceBlock* blocks;
  const u32* row_ends;
  const Term* terms;
  const Segment* segments;
  const ColumnRef* ports;
  u32 segment_count;
  u32 num_rows;
  u32 num_inputs;
  const F* inputs;
  const F* full_values;
  const u64* ones;
  const u64* full;
  const u32* full_ranks;
};

template <class F>
__device__ __forceinline__ F load_element(const F* from) {
  F r;
#pragma unroll
  for (unsigned i = 0; i < sizeof(F) / 16; ++i) {
    reinterpret_cast<uint4*>(&r)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
  }
  return r;
}
template <class F>
__device__ __forceinline__ void store_element(F* to, const F& v) {
#pragma unroll
  for (unsigned i = 0; i < sizeof(F) / 16; ++i) {
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(&v)[i];
  }
}

// The segment of a row: the last that begins at or before it. Segments without rows begin where the
// next one does, and are passed over.
template <class F>
__device__ __forceinline__ u32 segment_of(const View<F>& v, u32 row) {
  u32 low = 0;
  u32 high = v.segment_count;
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (v.segments[middle].row_base <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class F>
__device__ __forceinline__ u32 resolved(const View<F>& v, u32 raw, const Segment& segment) {
  const u32 index = raw & ColumnRef::kIndexMask;
  switch (raw >> ColumnRef::kIndexBits) {
    case ColumnRef::kLocalAux:
      return segment.aux_base + index;
    case ColumnRef::kLocalInput:
      return (u32{ColumnRef::kInput} << ColumnRef::kIndexBits) | (segment.input_base + index);
    case ColumnRef::kPort:
      return v.ports[segment.port_base + index].raw;
    default:
      return raw;
  }
}

template <class F>
__device__ __forceinline__ F full_value(const View<F>& v, u32 wire) {
  const u32 word = wire / 64;
  u32 rank = v.full_ranks[word / kWordsPerRank];
  for (u32 k = word / kWordsPerRank * kWordsPerRank; k < word; ++k) {
    rank += static_cast<u32>(__popcll(v.full[k]));
  }
  rank += static_cast<u32>(__popcll(v.full[word] & ((u64{1} << (wire % 64)) - 1)));
  return load_element(v.full_values + rank);
}

// <row, z>.
template <class F>
__device__ F row_value(const View<F>& v, int matrix, const Segment& segment, u32 row) {
  const DeviceBlock& block = v.blocks[segment.block];
  const u32* ends = v.row_ends + block.row_end[matrix];
  const Term* terms = v.terms + block.terms[matrix];
  const u32 end = ends[row];
  F sum = F::zero();
#pragma unroll 1
  for (u32 k = row ? ends[row - 1] : 0; k < end; ++k) {
    const uint2 term = __ldg(reinterpret_cast<const uint2*>(terms + k));
    const u32 column = resolved(v, term.x, segment);
    const u32 index = column & ColumnRef::kIndexMask;
    F value;
    if (column == index) {  // an auxiliary: its kind is 0
      const u32 word = index / 64;
      const u64 bit = u64{1} << (index % 64);
      if (!(v.full[word] & bit)) {
        if (v.ones[word] & bit) sum = sum + load_element(v.dictionary + term.y);
        continue;
      }
      value = full_value(v, index);
    } else {
      value = load_element(v.inputs + index);
    }
    if (term.y == kOne) {
      sum = sum + value;
    } else if (term.y == kMinusOne) {
      sum = sum - value;
    } else {
      sum = sum + load_element(v.dictionary + term.y) * value;
    }
  }
  return sum;
}

__device__ __forceinline__ u32 reversed(u32 i, unsigned log2) {
  return log2 ? __brev(i) >> (32 - log2) : 0;
}

template <bool kProductOnly, class F>
__global__ void __launch_bounds__(kThreads)
    evaluate_rows(View<F> v, unsigned domain_log2, F* __restrict__ a, F* __restrict__ b,
                  u32* failing) {
  const u32 row = blockIdx.x * kThreads + threadIdx.x;
  if (row >> domain_log2) return;
  F az = F::zero();
  F bz = F::zero();
  if (row < v.num_rows) {
    const Segment segment = v.segments[segment_of(v, row)];
    const u32 local = row - segment.row_base;
    az = row_value(v, 0, segment, local);
    bz = row_value(v, 1, segment, local);
    if constexpr (!kProductOnly) {
      if (!(az * bz == row_value(v, 2, segment, local))) atomicMin(failing, row);
    }
  } else if (row - v.num_rows < v.num_inputs) {
    az = load_element(v.inputs + (row - v.num_rows));
  }
  const u32 at = reversed(row, domain_log2);
  if constexpr (kProductOnly) {
    store_element(a + at, az * bz);
  } else {
    store_element(a + at, az);
    store_element(b + at, bz);
  }
}

template <class F>
__global__ void multiply_elements(F* __restrict__ a, const F* __restrict__ b, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) store_element(a + i, load_element(a + i) * load_element(b + i));
}

template <class F>
__global__ void combine(F* __restrict__ c, const F* __restrict__ product, std::size_t count,
                        F product_factor, F factor) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const F difference = c[i] - load_element(product + i) * product_factor;
  store_element(c + i, difference * factor);
}

template <class F>
__global__ void scale_elements(const F* in, std::size_t count, F factor, F* out) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) store_element(out + i, load_element(in + i) * factor);
}

// Entry 0 to `known` - 1 are there: those of `known` to 2 known - 1 are they times step^known.
template <class F>
__global__ void double_powers(F* out, std::size_t known, std::size_t count, F factor) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < known && known + i < count) out[known + i] = out[i] * factor;
}
template <class F>
__global__ void set_first(F* out, F first) {
  *out = first;
}

template <class Fr>
device::DeviceField<Fr> on_device(const Fr& v) {
  device::DeviceField<Fr> r;
  std::memcpy(&r, &v, sizeof(r));
  return r;
}
// A canonical number in the place of a Montgomery form: a product with it is canonical.
template <class Fr>
device::DeviceField<Fr> canonical_on_device(const Fr& v) {
  const auto scalar = v.to_scalar();
  device::DeviceField<Fr> r;
  static_assert(sizeof(scalar) == sizeof(r));
  std::memcpy(&r, &scalar, sizeof(r));
  return r;
}

inline u32 blocks_for(std::size_t threads) {
  return static_cast<u32>((threads + kThreads - 1) / kThreads);
}

template <class Fr>
View<device::DeviceField<Fr>> view_of(const DeviceMatrices<Fr>& m, const DeviceAssignment<Fr>& z) {
  using F = device::DeviceField<Fr>;
  return {reinterpret_cast<const F*>(m.dictionary.data()),
          m.blocks.data(),
          m.row_ends.data(),
          m.terms.data(),
          m.segments.data(),
          m.ports.data(),
          static_cast<u32>(m.segments.size()),
          m.num_rows,
          m.num_inputs,
          reinterpret_cast<const F*>(z.inputs.data()),
          reinterpret_cast<const F*>(z.full_values.data()),
          z.wires.ones.data(),
          z.wires.full.data(),
          z.wires.full_ranks.data()};
}

template <class Fr>
Status check_domain(const DeviceMatrices<Fr>& m, std::size_t size) {
  if (size == std::size_t{1} << m.domain_log2 && m.domain_log2 < 32) return {};
  return fail(ErrorCode::kInvalidArgument, "rows: a vector of {} elements for a domain of 2^{}",
              size, m.domain_log2);
}

}  // namespace rows_cuda_internal

template <class Fr>
Status rows_of_a_and_b(gpu::StreamHandle stream, const DeviceMatrices<Fr>& matrices,
                       const DeviceAssignment<Fr>& assignment, gpu::DeviceSpan<Fr> a,
                       gpu::DeviceSpan<Fr> b, gpu::DeviceSpan<std::uint32_t> failing) {
  using namespace rows_cuda_internal;
  using F = device::DeviceField<Fr>;
  CUZK_TRY_VOID(check_domain(matrices, a.size()));
  CUZK_TRY_VOID(check_domain(matrices, b.size()));
  evaluate_rows<false, F><<<blocks_for(a.size()), kThreads, 0, stream>>>(
      view_of(matrices, assignment), matrices.domain_log2, reinterpret_cast<F*>(a.data()),
      reinterpret_cast<F*>(b.data()), failing.data());
  return gpu::launched("evaluate_rows");
}

template <class Fr>
Status rows_of_products(gpu::StreamHandle stream, const DeviceMatrices<Fr>& matrices,
                        const DeviceAssignment<Fr>& assignment, gpu::DeviceSpan<Fr> c) {
  using namespace rows_cuda_internal;
  using F = device::DeviceField<Fr>;
  CUZK_TRY_VOID(check_domain(matrices, c.size()));
  evaluate_rows<true, F><<<blocks_for(c.size()), kThreads, 0, stream>>>(
      view_of(matrices, assignment), matrices.domain_log2, reinterpret_cast<F*>(c.data()),
      static_cast<F*>(nullptr), nullptr);
  return gpu::launched("evaluate_rows");
}

template <class Fr>
Status multiply_into(gpu::StreamHandle stream, gpu::DeviceSpan<Fr> a, gpu::DeviceSpan<const Fr> b) {
  using namespace rows_cuda_internal;
  using F = device::DeviceField<Fr>;
  if (a.size() != b.size()) {
    return fail(ErrorCode::kInvalidArgument, "product of {} and {} elements", a.size(), b.size());
  }
  multiply_elements<F><<<blocks_for(a.size()), kThreads, 0, stream>>>(
      reinterpret_cast<F*>(a.data()), reinterpret_cast<const F*>(b.data()), a.size());
  return gpu::launched("multiply_elements");
}

template <class Fr>
Status quotient_scalars(gpu::StreamHandle stream, unsigned domain_log2, gpu::DeviceSpan<Fr> c,
                        gpu::DeviceSpan<const Fr> product) {
  using namespace rows_cuda_internal;
  using F = device::DeviceField<Fr>;
  if (c.size() != product.size()) {
    return fail(ErrorCode::kInvalidArgument, "quotient of {} and {} elements", c.size(),
                product.size());
  }
  const Fr n_inverse = Fr::from_u64(std::uint64_t{1} << domain_log2).inverse();
  const Fr half = Fr::from_u64(2).inverse();
  combine<F><<<blocks_for(c.size()), kThreads, 0, stream>>>(
      reinterpret_cast<F*>(c.data()), reinterpret_cast<const F*>(product.data()), c.size(),
      on_device(n_inverse * n_inverse), canonical_on_device(n_inverse * half));
  return gpu::launched("combine");
}

template <class Fr>
Status to_scalars(gpu::StreamHandle stream, gpu::DeviceSpan<const Fr> in,
                  gpu::DeviceSpan<typename Fr::Scalar> out) {
  using namespace rows_cuda_internal;
  using F = device::DeviceField<Fr>;
  if (in.size() != out.size()) {
    return fail(ErrorCode::kInvalidArgument, "{} elements to {} scalars", in.size(), out.size());
  }
  if (in.empty()) return {};
  scale_elements<F><<<blocks_for(in.size()), kThreads, 0, stream>>>(
      reinterpret_cast<const F*>(in.data()), in.size(), canonical_on_device(Fr::one()),
      reinterpret_cast<F*>(out.data()));
  return gpu::launched("scale_elements");
}

template <class Fr>
Status powers_of(gpu::StreamHandle stream, const Fr& first, const Fr& step,
                 gpu::DeviceSpan<Fr> out) {
  using namespace rows_cuda_internal;
  using F = device::DeviceField<Fr>;
  if (out.empty()) return {};
  F* const data = reinterpret_cast<F*>(out.data());
  set_first<F><<<1, 1, 0, stream>>>(data, on_device(first));
  Fr factor = step;
  for (std::size_t known = 1; known < out.size(); known *= 2, factor = factor * factor) {
    double_powers<F>
        <<<blocks_for(known), kThreads, 0, stream>>>(data, known, out.size(), on_device(factor));
  }
  return gpu::launched("double_powers");
}

// Explicit instantiation of everything above for the field Fr.
#define CUZK_INSTANTIATE_ROWS_CUDA(Fr)                                                  \
  template Status rows_of_a_and_b(gpu::StreamHandle, const DeviceMatrices<Fr>&,         \
                                  const DeviceAssignment<Fr>&, gpu::DeviceSpan<Fr>,     \
                                  gpu::DeviceSpan<Fr>, gpu::DeviceSpan<std::uint32_t>); \
  template Status rows_of_products(gpu::StreamHandle, const DeviceMatrices<Fr>&,        \
                                   const DeviceAssignment<Fr>&, gpu::DeviceSpan<Fr>);   \
  template Status multiply_into(gpu::StreamHandle, gpu::DeviceSpan<Fr>,                 \
                                gpu::DeviceSpan<const Fr>);                             \
  template Status quotient_scalars(gpu::StreamHandle, unsigned, gpu::DeviceSpan<Fr>,    \
                                   gpu::DeviceSpan<const Fr>);                          \
  template Status to_scalars<Fr>(gpu::StreamHandle, gpu::DeviceSpan<const Fr>,          \
                                 gpu::DeviceSpan<Fr::Scalar>);                          \
  template Status powers_of(gpu::StreamHandle, const Fr&, const Fr&, gpu::DeviceSpan<Fr>);

}  // namespace cuzk::groth16
