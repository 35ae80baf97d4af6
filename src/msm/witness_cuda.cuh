#pragma once
// Additions and gathering of witness_cuda.h; included by one file for each group.

#include <cuda_pipeline.h>

#include <algorithm>

#include "curve/point_cuda.cuh"
#include "gpu/launch_cuda.h"
#include "msm/chains_cuda.cuh"
#include "msm/witness_cuda.h"

namespace cuzk {
namespace witness_cuda_internal {

using device::DeviceAffine;
using device::DeviceXyzz;
using device::u32;

inline constexpr u32 kThreads = 128;
inline constexpr u32 kMaxBlocks = 132 * 6;  // two or three whole waves; a partial sum for each warp
inline constexpr u32 kWarps = kThreads / 32;

// A long list is summed as chains: chain c of C has the entries c, c + C, c + 2C, ...
inline constexpr std::size_t kChainTerms = std::size_t{1} << 22;  // from so many on
inline constexpr std::size_t kChainScratch = std::size_t{400} << 20;
inline constexpr u32 kChainRows = 8;
inline constexpr u32 kChainPartsLog = 2;
template <class F>
struct ListChains {
  u32 chains;
  u32 count;  // at least `chains`
  DeviceAffine<F>* sums;

  __device__ __forceinline__ u32 stride() const { return chains; }
  __device__ __forceinline__ chains_cuda::Span span(u32 chain) const {
    return {chain, (count - chain - 1) / chains + 1};
  }
  __device__ __forceinline__ void store(u32 chain, const DeviceAffine<F>& sum) const {
    sums[chain] = sum;
  }
};

template <class F>
__device__ __forceinline__ void sum_over_warp(DeviceXyzz<F>& sum) {
#pragma unroll 1
  for (unsigned distance = 16; distance > 0; distance /= 2) {
    DeviceXyzz<F> other;
    const u32* from = reinterpret_cast<const u32*>(&sum);
    u32* to = reinterpret_cast<u32*>(&other);
#pragma unroll
    for (unsigned i = 0; i < sizeof(sum) / 4; ++i) to[i] = __shfl_down_sync(~0u, from[i], distance);
    sum.add(other);
  }
}

// The sum of a list of bases; without a list, of all. Every thread takes each gridDim-th entry; the
// next point is on its way to shared memory while one is added. A thread reads only what it has
// fetched itself.
template <class F>
__global__ void __launch_bounds__(kThreads, sizeof(F) > 48 ? 2 : 3)
    sum_list(const DeviceAffine<F>* __restrict__ bases, const u32* __restrict__ list, u32 count,
             DeviceXyzz<F>* __restrict__ partial) {
  constexpr unsigned kParts = sizeof(DeviceAffine<F>) / 16;
  __shared__ uint4 fetched[2][kParts][kThreads];
  const u32 step = gridDim.x * kThreads;
  const u32 first = blockIdx.x * kThreads + threadIdx.x;
  const auto fetch = [&](u32 base, unsigned half) {
    const uint4* source = reinterpret_cast<const uint4*>(bases + base);
#pragma unroll
    for (unsigned c = 0; c < kParts; ++c) {
      __pipeline_memcpy_async(&fetched[half][c][threadIdx.x], source + c, 16);
    }
  };
  const auto entry = [&](u32 i) { return list ? list[i] : i; };
  DeviceXyzz<F> sum = DeviceXyzz<F>::identity();
  u32 next = first + step < count ? entry(first + step) : 0;
  if (first < count) fetch(entry(first), 0);
  __pipeline_commit();
  unsigned half = 0;
#pragma unroll 1
  for (u32 i = first; i < count; i += step) {
    const bool more = count - i > step;
    if (more) fetch(next, half ^ 1);
    __pipeline_commit();
    next = count - i > 2 * static_cast<std::size_t>(step) ? entry(i + 2 * step) : 0;
    __pipeline_wait_prior(1);
    DeviceAffine<F> p;
#pragma unroll
    for (unsigned c = 0; c < kParts; ++c) {
      reinterpret_cast<uint4*>(&p)[c] = fetched[half][c][threadIdx.x];
    }
    sum.add(p);
    half ^= 1;
    if (!more) break;  // i + step might wrap around
  }
  __syncwarp();
  sum_over_warp(sum);
  if (threadIdx.x % 32 == 0) partial[first / 32] = sum;
}

// One block adds up the partial sums.
template <class F>
__global__ void __launch_bounds__(kThreads)
    sum_partial(const DeviceXyzz<F>* __restrict__ partial, u32 count, DeviceXyzz<F>* out) {
  __shared__ DeviceXyzz<F> warps[kWarps];
  DeviceXyzz<F> sum = DeviceXyzz<F>::identity();
#pragma unroll 1
  for (u32 i = threadIdx.x; i < count; i += kThreads) sum.add(device::load_wide(partial + i));
  __syncwarp();
  sum_over_warp(sum);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
#pragma unroll 1
  for (u32 i = 1; i < kWarps; ++i) sum.add(warps[i]);
  *out = sum;
}

template <class F>
__global__ void set_identity(DeviceXyzz<F>* out) {
  *out = DeviceXyzz<F>::identity();
}

// A thread for each 16 bytes of a base, and one more pair for the scalar.
template <unsigned kParts>
static __global__ void gather(const uint4* __restrict__ bases, const u32* __restrict__ list,
                              const uint4* __restrict__ scalars, const u32* __restrict__ values,
                              u32 count, uint4* __restrict__ out_bases,
                              uint4* __restrict__ out_scalars) {
  const std::size_t t = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const u32 k = static_cast<u32>(t / (kParts + 2));
  const u32 part = static_cast<u32>(t % (kParts + 2));
  if (k >= count) return;
  if (part < kParts) {
    out_bases[static_cast<std::size_t>(k) * kParts + part] =
        bases[static_cast<std::size_t>(list[k]) * kParts + part];
  } else {
    out_scalars[2 * static_cast<std::size_t>(k) + part - kParts] =
        scalars[2 * static_cast<std::size_t>(values[k]) + part - kParts];
  }
}

}  // namespace witness_cuda_internal

template <class G>
std::size_t selected_sum_scratch_bytes(std::size_t terms) {
  using namespace witness_cuda_internal;
  return sizeof(Xyzz<G>) * kMaxBlocks * kWarps + (terms < kChainTerms ? 0 : kChainScratch);
}

namespace witness_cuda_internal {

// Sums the list by XYZZ additions; `list` may be null for all of `count` bases.
template <class F>
Status sum_xyzz(gpu::StreamHandle stream, const DeviceAffine<F>* bases, const u32* list,
                std::size_t count, std::byte* scratch, DeviceXyzz<F>* out) {
  // At least eight additions a thread, so that the reduction does not outweigh them.
  const std::size_t wanted = (count + 8 * kThreads - 1) / (8 * kThreads);
  const u32 blocks = static_cast<u32>(std::min<std::size_t>(wanted, kMaxBlocks));
  auto* partial = reinterpret_cast<DeviceXyzz<F>*>(scratch);
  sum_list<F><<<blocks, kThreads, 0, stream>>>(bases, list, static_cast<u32>(count), partial);
  sum_partial<F><<<1, kThreads, 0, stream>>>(partial, blocks * kWarps, out);
  return gpu::launched("sum_list");
}

// A long list: chains, then the sum of their sums. With `chains` as many as have room.
template <class F>
Status sum_by_chains(gpu::StreamHandle stream, const DeviceAffine<F>* bases, const u32* list,
                     std::size_t count, std::byte* scratch, DeviceXyzz<F>* out) {
  CUZK_TRY(const unsigned resident, (chains_cuda::resident_blocks<F, ListChains<F>>()));
  constexpr std::size_t kEach =
      chains_cuda::kThreads * kChainRows *
      ((chains_cuda::chain_bytes<F>() << kChainPartsLog) + sizeof(DeviceAffine<F>));
  if (resident == 0) return sum_xyzz<F>(stream, bases, list, count, scratch, out);
  const auto blocks = static_cast<u32>(std::min<std::size_t>(resident, kChainScratch / kEach));
  const std::size_t chains = std::size_t{blocks} * chains_cuda::kThreads * kChainRows;
  const auto grid = chains_cuda::grid_for(chains, blocks, kChainPartsLog);
  auto* sums = reinterpret_cast<DeviceAffine<F>*>(scratch);
  std::byte* places = scratch + chains * sizeof(DeviceAffine<F>);
  const ListChains<F> source = {static_cast<u32>(chains), static_cast<u32>(count), sums};
  CUZK_TRY_VOID(chains_cuda::launch<F>(stream, grid, bases, list, source, chains, places));
  return sum_xyzz<F>(stream, sums, nullptr, chains, scratch + kChainScratch, out);
}

}  // namespace witness_cuda_internal

template <class G>
Status sum_selected(gpu::StreamHandle stream, gpu::DeviceSpan<const Affine<G>> bases,
                    gpu::DeviceSpan<const std::uint32_t> list, gpu::DeviceSpan<std::byte> scratch,
                    gpu::DeviceSpan<Xyzz<G>> result, MsmAdditions additions) {
  using namespace witness_cuda_internal;
  using F = device::DeviceField<typename G::Field>;
  const std::size_t needed = selected_sum_scratch_bytes<G>(list.size());
  if (scratch.size() < needed || result.size() != 1 || list.size() >> 31) {
    return fail(ErrorCode::kInvalidArgument,
                "selected sum: {} terms, {} bytes of scratch of {} needed, room for {} results",
                list.size(), scratch.size(), needed, result.size());
  }
  auto* out = reinterpret_cast<DeviceXyzz<F>*>(result.data());
  const auto* from = reinterpret_cast<const DeviceAffine<F>*>(bases.data());
  if (list.empty()) {
    set_identity<F><<<1, 1, 0, stream>>>(out);
    return gpu::launched("sum of nothing");
  }
  if (list.size() < kChainTerms || additions == MsmAdditions::kXyzz) {
    return sum_xyzz<F>(stream, from, list.data(), list.size(), scratch.data(), out);
  }
  return sum_by_chains<F>(stream, from, list.data(), list.size(), scratch.data(), out);
}

template <class G>
Status gather_selected(gpu::StreamHandle stream, gpu::DeviceSpan<const Affine<G>> bases,
                       gpu::DeviceSpan<const std::uint32_t> list,
                       gpu::DeviceSpan<const ScalarFor<G>> scalars,
                       gpu::DeviceSpan<const std::uint32_t> values,
                       gpu::DeviceSpan<Affine<G>> out_bases,
                       gpu::DeviceSpan<ScalarFor<G>> out_scalars) {
  using namespace witness_cuda_internal;
  static_assert(sizeof(ScalarFor<G>) == 32);
  if (list.size() != values.size() || list.size() != out_bases.size() ||
      list.size() != out_scalars.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "gathering {} bases and {} scalars: room for {} and {}", list.size(), values.size(),
                out_bases.size(), out_scalars.size());
  }
  if (list.empty()) return {};
  constexpr unsigned kParts = sizeof(Affine<G>) / 16;
  const std::size_t threads = list.size() * (kParts + 2);
  gather<kParts><<<static_cast<u32>((threads + 255) / 256), 256, 0, stream>>>(
      reinterpret_cast<const uint4*>(bases.data()), list.data(),
      reinterpret_cast<const uint4*>(scalars.data()), values.data(), static_cast<u32>(list.size()),
      reinterpret_cast<uint4*>(out_bases.data()), reinterpret_cast<uint4*>(out_scalars.data()));
  return gpu::launched("gather");
}

// Explicit instantiation of everything above for the group G.
#define CUZK_INSTANTIATE_WITNESS_CUDA(G)                                                         \
  template std::size_t selected_sum_scratch_bytes<G>(std::size_t);                               \
  template Status sum_selected<G>(                                                               \
      gpu::StreamHandle, gpu::DeviceSpan<const Affine<G>>, gpu::DeviceSpan<const std::uint32_t>, \
      gpu::DeviceSpan<std::byte>, gpu::DeviceSpan<Xyzz<G>>, MsmAdditions);                       \
  template Status gather_selected<G>(                                                            \
      gpu::StreamHandle, gpu::DeviceSpan<const Affine<G>>, gpu::DeviceSpan<const std::uint32_t>, \
      gpu::DeviceSpan<const ScalarFor<G>>, gpu::DeviceSpan<const std::uint32_t>,                 \
      gpu::DeviceSpan<Affine<G>>, gpu::DeviceSpan<ScalarFor<G>>);

}  // namespace cuzk
