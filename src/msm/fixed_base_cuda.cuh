#pragma once
// Multiples of one base on the device; included by one file for each group.
//
// Digits: as msm_cuda.cuh: with 2^(width - 1) in every window added to the scalar first, a digit is
//         a plain bit field minus 2^(width - 1).

#include "curve/point_cuda.cuh"
#include "gpu/launch_cuda.h"
#include "msm/fixed_base_cuda.h"
#include "msm/to_affine_cuda.cuh"

namespace cuzk {
namespace fixed_base_cuda_internal {

using device::DeviceAffine;
using device::DeviceXyzz;
using device::u32;

inline constexpr u32 kThreads = 128;

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
  return to_affine_cuda<F>(stream, points, static_cast<u32>(n), products,
                           reinterpret_cast<DeviceAffine<F>*>(out.data()));
}

// Explicit instantiation of everything above for the group G.
#define CUZK_INSTANTIATE_FIXED_BASE_CUDA(G)                                             \
  template Status fixed_base_cuda<G>(gpu::StreamHandle, const DeviceFixedBaseTable<G>&, \
                                     gpu::DeviceSpan<const ScalarFor<G>>,               \
                                     gpu::DeviceSpan<std::byte>, gpu::DeviceSpan<Affine<G>>);

}  // namespace cuzk
