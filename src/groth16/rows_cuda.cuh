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
  const u32* long_rows;
  const u32* long_before;
  u32 long_count;
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

// The last of `count` entries, ascending, that is not above `value`; the first is not.
template <class T, class Key>
__device__ __forceinline__ u32 last_not_above(const T* entries, u32 count, u32 value, Key&& key) {
  u32 low = 0;
  u32 high = count;
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    if (key(entries[middle]) <= value) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}
// The segment of a row. Segments without rows begin where the next one does, and are passed over.
template <class F>
__device__ __forceinline__ u32 segment_of(const View<F>& v, u32 row) {
  return last_not_above(v.segments, v.segment_count, row,
                        [](const Segment& s) { return s.row_base; });
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

// Terms [begin, end) of a row.
struct RowTerms {
  u32 begin;
  u32 end;
};
template <class F>
__device__ __forceinline__ RowTerms terms_of(const View<F>& v, const DeviceBlock& block, int matrix,
                                             u32 row) {
  const u32* ends = v.row_ends + block.row_end[matrix];
  return {row ? ends[row - 1] : 0, ends[row]};
}
__device__ __forceinline__ bool is_long(const RowTerms& t) {
  return t.end - t.begin > kLongRowTerms;
}

// The sum of every `step`-th term, from the `first` on.
template <class F>
__device__ F sum_of_terms(const View<F>& v, const Term* terms, const RowTerms& row,
                          const Segment& segment, u32 first, u32 step) {
  F sum = F::zero();
#pragma unroll 1
  for (u32 k = row.begin + first; k < row.end; k += step) {
    const uint2 term = __ldg(reinterpret_cast<const uint2*>(terms + k));
    const u32 column = resolved(v, term.x, segment);
    const u32 index = column & ColumnRef::kIndexMask;
    F value;
    if (column == index) {  // an auxiliary: its kind is 0
      const u32 word = index / 64;
      const u64 bit = u64{1} << (index % 64);
      const bool one = v.ones[word] & bit;
      if (!(v.full[word] & bit)) {
        if (one) sum = sum + load_element(v.dictionary + term.y);
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

// Where the rows go. Without `b` only products are wanted, in `products`.
template <class F>
struct Output {
  unsigned domain_log2;
  F* a;
  F* b;
  F* products;
  u32* failing;
};
template <class F>
__device__ __forceinline__ void write_row(const Output<F>& out, u32 row, const F& a, const F& b,
                                          const F& product) {
  const u32 at = reversed(row, out.domain_log2);
  if (out.b) {
    store_element(out.a + at, a);
    store_element(out.b + at, b);
  }
  if (out.products) store_element(out.products + at, product);
}

template <class F>
__global__ void __launch_bounds__(kThreads) evaluate_rows(View<F> v, Output<F> out) {
  const u32 row = blockIdx.x * kThreads + threadIdx.x;
  if (row >> out.domain_log2) return;
  F a = F::zero();
  F b = F::zero();
  F product = F::zero();
  if (row < v.num_rows) {
    const Segment segment = v.segments[segment_of(v, row)];
    const DeviceBlock& block = v.blocks[segment.block];
    const u32 local = row - segment.row_base;
    const RowTerms rows[3] = {terms_of(v, block, 0, local), terms_of(v, block, 1, local),
                              terms_of(v, block, 2, local)};
    if (is_long(rows[0]) || is_long(rows[1]) || is_long(rows[2])) return;
    a = sum_of_terms(v, v.terms + block.terms[0], rows[0], segment, 0, 1);
    b = sum_of_terms(v, v.terms + block.terms[1], rows[1], segment, 0, 1);
    product = a * b;
    if (out.failing) {
      const F c = sum_of_terms(v, v.terms + block.terms[2], rows[2], segment, 0, 1);
      if (!(product == c)) atomicMin(out.failing, row);
    }
  } else if (row - v.num_rows < v.num_inputs) {
    a = load_element(v.inputs + (row - v.num_rows));
  }
  write_row(out, row, a, b, product);
}

// The sum over the lanes of a warp, in lane 0.
template <class F>
__device__ __forceinline__ F warp_sum(F sum) {
#pragma unroll 1
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    F other;
#pragma unroll
    for (int i = 0; i < F::kWords; ++i) other.w[i] = __shfl_down_sync(~0u, sum.w[i], distance);
    sum = sum + other;
  }
  return sum;
}

// A warp for each long row of each segment.
template <class F>
__global__ void __launch_bounds__(kThreads) evaluate_long_rows(View<F> v, Output<F> out) {
  const u32 number = (blockIdx.x * kThreads + threadIdx.x) / 32;
  const u32 lane = threadIdx.x % 32;
  if (number >= v.long_count) return;
  const u32 place =
      last_not_above(v.long_before, v.segment_count, number, [](u32 before) { return before; });
  const Segment segment = v.segments[place];
  const DeviceBlock& block = v.blocks[segment.block];
  const u32 local = v.long_rows[block.long_rows + (number - v.long_before[place])];
  F sums[3];
#pragma unroll
  for (int m = 0; m < 3; ++m) {
    sums[m] = F::zero();
    if (m == 2 && !out.failing) break;
    sums[m] =
        sum_of_terms(v, v.terms + block.terms[m], terms_of(v, block, m, local), segment, lane, 32);
    __syncwarp();
    sums[m] = warp_sum(sums[m]);
  }
  if (lane != 0) return;
  const F product = sums[0] * sums[1];
  const u32 row = segment.row_base + local;
  if (out.failing && !(product == sums[2])) atomicMin(out.failing, row);
  write_row(out, row, sums[0], sums[1], product);
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
          m.long_rows.data(),
          m.long_before.data(),
          m.long_count,
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

template <class Fr>
Status evaluate(gpu::StreamHandle stream, const DeviceMatrices<Fr>& matrices,
                const DeviceAssignment<Fr>& assignment,
                const Output<device::DeviceField<Fr>>& out) {
  using F = device::DeviceField<Fr>;
  const View<F> view = view_of(matrices, assignment);
  evaluate_rows<F>
      <<<blocks_for(std::size_t{1} << matrices.domain_log2), kThreads, 0, stream>>>(view, out);
  if (matrices.long_count) {
    evaluate_long_rows<F>
        <<<blocks_for(std::size_t{matrices.long_count} * 32), kThreads, 0, stream>>>(view, out);
  }
  return gpu::launched("evaluate_rows");
}

}  // namespace rows_cuda_internal

template <class Fr>
Status rows_of_a_and_b(gpu::StreamHandle stream, const DeviceMatrices<Fr>& matrices,
                       const DeviceAssignment<Fr>& assignment, gpu::DeviceSpan<Fr> a,
                       gpu::DeviceSpan<Fr> b, gpu::DeviceSpan<Fr> products,
                       gpu::DeviceSpan<std::uint32_t> failing) {
  using namespace rows_cuda_internal;
  using F = device::DeviceField<Fr>;
  CUZK_TRY_VOID(check_domain(matrices, a.size()));
  CUZK_TRY_VOID(check_domain(matrices, b.size()));
  if (!products.empty()) CUZK_TRY_VOID(check_domain(matrices, products.size()));
  return evaluate(stream, matrices, assignment,
                  Output<F>{matrices.domain_log2, reinterpret_cast<F*>(a.data()),
                            reinterpret_cast<F*>(b.data()), reinterpret_cast<F*>(products.data()),
                            failing.data()});
}

template <class Fr>
Status rows_of_products(gpu::StreamHandle stream, const DeviceMatrices<Fr>& matrices,
                        const DeviceAssignment<Fr>& assignment, gpu::DeviceSpan<Fr> c) {
  using namespace rows_cuda_internal;
  using F = device::DeviceField<Fr>;
  CUZK_TRY_VOID(check_domain(matrices, c.size()));
  return evaluate(
      stream, matrices, assignment,
      Output<F>{matrices.domain_log2, nullptr, nullptr, reinterpret_cast<F*>(c.data()), nullptr});
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

namespace rows_cuda_internal {

// c = (c - product * product_factor) * factor, canonical.
template <class Fr>
Status combined(gpu::StreamHandle stream, gpu::DeviceSpan<Fr> c, gpu::DeviceSpan<const Fr> product,
                const Fr& product_factor, const Fr& factor) {
  using F = device::DeviceField<Fr>;
  if (c.size() != product.size()) {
    return fail(ErrorCode::kInvalidArgument, "quotient of {} and {} elements", c.size(),
                product.size());
  }
  combine<F><<<blocks_for(c.size()), kThreads, 0, stream>>>(
      reinterpret_cast<F*>(c.data()), reinterpret_cast<const F*>(product.data()), c.size(),
      on_device(product_factor), canonical_on_device(factor));
  return gpu::launched("combine");
}

// A primitive 2^log2-th root of unity.
template <class Fr>
Fr root_of_unity(unsigned log2, std::uint64_t generator) {
  auto exponent = Fr::kModulus;
  exponent[0] -= 1;
  for (unsigned i = 0; i < log2; ++i) shift_right_in_place(exponent, 1);
  return Fr::from_u64(generator).pow(exponent);
}

}  // namespace rows_cuda_internal

template <class Fr>
Status quotient_scalars(gpu::StreamHandle stream, unsigned domain_log2, gpu::DeviceSpan<Fr> c,
                        gpu::DeviceSpan<const Fr> product) {
  const Fr n_inverse = Fr::from_u64(std::uint64_t{1} << domain_log2).inverse();
  const Fr half = Fr::from_u64(2).inverse();
  return rows_cuda_internal::combined(stream, c, product, n_inverse * n_inverse, n_inverse * half);
}

template <class Fr>
Status coset_scalars(gpu::StreamHandle stream, unsigned domain_log2, gpu::DeviceSpan<Fr> c,
                     gpu::DeviceSpan<const Fr> product) {
  const Fr n_inverse = Fr::from_u64(std::uint64_t{1} << domain_log2).inverse();
  return rows_cuda_internal::combined(stream, c, product, n_inverse, -n_inverse);
}

template <class Fr>
Status fill_twiddles(gpu::StreamHandle stream, std::uint64_t generator, gpu::DeviceSpan<Fr> table) {
  using namespace rows_cuda_internal;
  using F = device::DeviceField<Fr>;
  if (table.empty()) return fail(ErrorCode::kInvalidArgument, "twiddles: no room for entry 0");
  F* const data = reinterpret_cast<F*>(table.data());
  set_first<F><<<1, 1, 0, stream>>>(data, on_device(Fr::one()));
  // Bit b of an entry's number contributes the root of order 2^(b + 2).
  for (unsigned b = 0; (std::size_t{2} << b) <= table.size(); ++b) {
    if (b + 2 > Fr::Params::kTwoAdicity) break;
    const std::size_t known = std::size_t{1} << b;
    double_powers<F><<<blocks_for(known), kThreads, 0, stream>>>(
        data, known, table.size(), on_device(root_of_unity<Fr>(b + 2, generator)));
  }
  return gpu::launched("double_powers");
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
                                  gpu::DeviceSpan<Fr>, gpu::DeviceSpan<Fr>,             \
                                  gpu::DeviceSpan<std::uint32_t>);                      \
  template Status rows_of_products(gpu::StreamHandle, const DeviceMatrices<Fr>&,        \
                                   const DeviceAssignment<Fr>&, gpu::DeviceSpan<Fr>);   \
  template Status multiply_into(gpu::StreamHandle, gpu::DeviceSpan<Fr>,                 \
                                gpu::DeviceSpan<const Fr>);                             \
  template Status quotient_scalars(gpu::StreamHandle, unsigned, gpu::DeviceSpan<Fr>,    \
                                   gpu::DeviceSpan<const Fr>);                          \
  template Status coset_scalars(gpu::StreamHandle, unsigned, gpu::DeviceSpan<Fr>,       \
                                gpu::DeviceSpan<const Fr>);                             \
  template Status fill_twiddles(gpu::StreamHandle, std::uint64_t, gpu::DeviceSpan<Fr>); \
  template Status to_scalars<Fr>(gpu::StreamHandle, gpu::DeviceSpan<const Fr>,          \
                                 gpu::DeviceSpan<Fr::Scalar>);                          \
  template Status powers_of(gpu::StreamHandle, const Fr&, const Fr&, gpu::DeviceSpan<Fr>);

}  // namespace cuzk::groth16
