#pragma once
// Multiples of one base on the device; included by one file for each group.
//
// Digits: as msm_cuda.cuh: with 2^(width - 1) in every window added to the scalar first, a digit is
//         a plain bit field minus 2^(width - 1).

#include "curve/point_cuda.cuh"
#include "gpu/launch_cuda.h"
#include "msm/fixed_base_cuda.h"

namespace cuzk {
namespace fixed_base_cuda_internal {

using device::DeviceAffine;
using device::DeviceFp;
using device::DeviceFp2;
using device::DeviceXyzz;
using device::u32;

inline constexpr u32 kThreads = 128;
inline constexpr u32 kShare = 32;  // points that share an inversion

template <class P>
__device__ __noinline__ DeviceFp<P> inverse(const DeviceFp<P>& a) {
  using F = DeviceFp<P>;
  F r = F::one();
#pragma unroll 1
  for (int i = F::kWords - 1; i >= 0; --i) {
    // p - 2; no modulus has a lowest word below 2, but one has it equal to 1 (Fr).
    u32 word = 0;
#pragma unroll
    for (int k = 0; k < F::kWords; ++k) {
      if (k == i) word = F::Modulus::p(k) - (k == 0 ? 2u : 0u);
    }
#pragma unroll 1
    for (int bit = 31; bit >= 0; --bit) {
      r = r.square();
      if (word >> bit & 1) r = r * a;
    }
  }
  return r;
}
template <class F>
__device__ __noinline__ DeviceFp2<F> inverse(const DeviceFp2<F>& a) {
  const F n = inverse(a.c0.square() + a.c1.square());
  return {a.c0 * n, -(a.c1 * n)};
}

struct Offset {
  u32 word[9];
};

template <class F>
__global__ void __launch_bounds__(kThreads, sizeof(F) > 48 ? 2 : 3)
    multiply(const DeviceAffine<F>* __restrict__ table, unsigned bits, unsigned windows,
             const uint4* __restrict__ scalars, u32 count, Offset offset,
             DeviceXyzz<F>* __restrict__ out) {
  const u32 i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const uint4 low = scalars[2 * static_cast<std::size_t>(i)];
  const uint4 high = scalars[2 * static_cast<std::size_t>(i) + 1];
  u32 s[10] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w, 0, 0};
  s[0] = device::add_cc(s[0], offset.word[0]);
#pragma unroll
  for (int k = 1; k < 9; ++k) s[k] = device::addc_cc(s[k], offset.word[k]);
  __shared__ u32 staged[10][kThreads];
#pragma unroll
  for (int k = 0; k < 10; ++k) staged[k][threadIdx.x] = s[k];
  DeviceXyzz<F> sum = DeviceXyzz<F>::identity();
#pragma unroll 1
  for (unsigned w = 0; w < windows; ++w) {
    const unsigned bit = w * bits;
    const u32 field = __funnelshift_r(staged[bit / 32][threadIdx.x],
                                      staged[bit / 32 + 1][threadIdx.x], bit % 32) &
                      ((1u << bits) - 1);
    const int digit = static_cast<int>(field) - (1 << (bits - 1));
    if (digit == 0) continue;
    const u32 magnitude = static_cast<u32>(digit < 0 ? -digit : digit);
    DeviceAffine<F> p =
        device::load_wide(table + ((static_cast<std::size_t>(w) << (bits - 1)) + magnitude - 1));
    if (digit < 0) p.y = -p.y;
    sum.add(p);
  }
  out[i] = sum;
}

// To affine form, kShare points a thread with one inversion: running products of the zzz on the way
// up, their inverses on the way down.
template <class F>
__global__ void __launch_bounds__(kThreads)
    to_affine(const DeviceXyzz<F>* __restrict__ points, u32 count, F* __restrict__ products,
              DeviceAffine<F>* __restrict__ out) {
  const u32 threads = gridDim.x * kThreads;
  const u32 t = blockIdx.x * kThreads + threadIdx.x;
  F product = F::one();
#pragma unroll 1
  for (u32 i = t; i < count; i += threads) {
    products[i] = product;
    const F zzz = points[i].zzz;
    if (!zzz.is_zero()) product = product * zzz;
  }
  if (t >= count) return;
  F inverted = inverse(product);
#pragma unroll 1
  for (u32 i = t + (count - 1 - t) / threads * threads;; i -= threads) {
    const DeviceXyzz<F> p = points[i];
    if (p.is_identity()) {
      out[i] = {F::zero(), F::zero()};
    } else {
      const F zzz = inverted * products[i];
      inverted = inverted * p.zzz;
      out[i] = {p.x * (zzz * p.zz).square(), p.y * zzz};
    }
    if (i < threads) break;
  }
}

}  // namespace fixed_base_cuda_internal

template <class G>
Status fixed_base_cuda(gpu::StreamHandle stream, const DeviceFixedBaseTable<G>& table,
                       gpu::DeviceSpan<const ScalarFor<G>> scalars,
                       gpu::DeviceSpan<std::byte> scratch, gpu::DeviceSpan<Affine<G>> out) {
  using namespace fixed_base_cuda_internal;
  using F = device::DeviceField<typename G::Field>;
  const std::size_t n = scalars.size();
  if (out.size() != n || n >> 31 || scratch.size() < fixed_base_cuda_scratch_bytes<G>(n) ||
      table.multiples.size() != std::size_t{table.windows} << (table.window_bits - 1) ||
      table.windows * table.window_bits > 9 * 32) {
    return fail(ErrorCode::kInvalidArgument,
                "fixed base: {} scalars, room for {} results, {} bytes of scratch, {} multiples in "
                "{} windows of {} bits",
                n, out.size(), scratch.size(), table.multiples.size(), table.windows,
                table.window_bits);
  }
  if (n == 0) return {};
  Offset offset{};
  for (unsigned w = 0; w < table.windows; ++w) {
    const unsigned top = (w + 1) * table.window_bits - 1;
    offset.word[top / 32] |= 1u << (top % 32);
  }
  auto* points = reinterpret_cast<DeviceXyzz<F>*>(scratch.data());
  auto* products = reinterpret_cast<F*>(scratch.data() + n * sizeof(DeviceXyzz<F>));
  multiply<F><<<static_cast<u32>((n + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      reinterpret_cast<const DeviceAffine<F>*>(table.multiples.data()), table.window_bits,
      table.windows, reinterpret_cast<const uint4*>(scalars.data()), static_cast<u32>(n), offset,
      points);
  const std::size_t per_block = kThreads * kShare;
  to_affine<F><<<static_cast<u32>((n + per_block - 1) / per_block), kThreads, 0, stream>>>(
      points, static_cast<u32>(n), products, reinterpret_cast<DeviceAffine<F>*>(out.data()));
  return gpu::launched("fixed base");
}

// Explicit instantiation of everything above for the group G.
#define CUZK_INSTANTIATE_FIXED_BASE_CUDA(G)                                             \
  template Status fixed_base_cuda<G>(gpu::StreamHandle, const DeviceFixedBaseTable<G>&, \
                                     gpu::DeviceSpan<const ScalarFor<G>>,               \
                                     gpu::DeviceSpan<std::byte>, gpu::DeviceSpan<Affine<G>>);

}  // namespace cuzk
