#pragma once
// Many points from XYZZ to affine form, which share inversions.
//
// Exact:   the identity becomes (0, 0).
// Memory:  the points stay as they are; an element of the field for each of them beside them.
// Threads: no state.

#include "curve/point_cuda.cuh"
#include "field/fp_inverse_cuda.cuh"
#include "gpu/launch_cuda.h"
#include "gpu/stream_handle.h"

namespace cuzk {
namespace to_affine_cuda_internal {

using device::DeviceAffine;
using device::DeviceXyzz;
using device::u32;

inline constexpr u32 kThreads = 128;
inline constexpr u32 kShare = 32;  // points of a thread, which share an inversion

// Running products of the zzz on the way up, their inverses on the way down.
template <class F>
__global__ void __launch_bounds__(kThreads)
    to_affine(const DeviceXyzz<F>* __restrict__ points, u32 count, F* __restrict__ products,
              DeviceAffine<F>* __restrict__ out) {
  const u32 threads = gridDim.x * kThreads;
  const u32 t = blockIdx.x * kThreads + threadIdx.x;
  if (t >= count) return;
  F product = F::one();
#pragma unroll 1
  for (u32 i = t; i < count; i += threads) {
    products[i] = product;
    const F zzz = points[i].zzz;
    if (!zzz.is_zero()) product = product * zzz;
  }
  F inverted = device::inverse(product);
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

}  // namespace to_affine_cuda_internal

// Queues it; `products` has room for `count` elements.
template <class F>
Status to_affine_cuda(gpu::StreamHandle stream, const device::DeviceXyzz<F>* points,
                      device::u32 count, F* products, device::DeviceAffine<F>* out) {
  using namespace to_affine_cuda_internal;
  if (count == 0) return {};
  constexpr u32 kEach = kThreads * kShare;
  to_affine<F><<<(count - 1) / kEach + 1, kThreads, 0, stream>>>(points, count, products, out);
  return gpu::launched("points to affine form");
}

}  // namespace cuzk
