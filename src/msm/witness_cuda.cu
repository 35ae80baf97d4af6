// The lists of witness_cuda.h, which are of no group.

#include "gpu/launch_cuda.h"
#include "msm/witness_cuda.h"

namespace cuzk {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 kThreads = 256;
constexpr u32 kWordsPerRank = DeviceWires::kWordsPerRank;

struct Selection {
  const u64* bits;     // what is selected
  const u64* density;  // null: all
  const u32* density_ranks;
  u32 first_base;
  const u64* full;        // for the indices of full scalars, else null
  const u32* full_ranks;  // the same
};

// A thread for each word. The lanes of a warp share one claim on the list.
__global__ void select_bits(Selection from, u32 words, u32 capacity, u32* __restrict__ bases,
                            u32* __restrict__ values, u32* counter) {
  const u32 w = blockIdx.x * blockDim.x + threadIdx.x;
  const u64 dense = w < words ? (from.density ? from.density[w] : ~u64{0}) : 0;
  u64 bits = w < words ? from.bits[w] & dense : 0;
  const u32 mine = static_cast<u32>(__popcll(bits));
  u32 before = mine;  // inclusive scan over the warp
  const u32 lane = threadIdx.x % 32;
  for (u32 distance = 1; distance < 32; distance *= 2) {
    const u32 other = __shfl_up_sync(~0u, before, distance);
    if (lane >= distance) before += other;
  }
  u32 start = 0;
  if (lane == 31 && before > 0) start = atomicAdd(counter, before);
  u32 at = __shfl_sync(~0u, start, 31) + before - mine;
  if (mine == 0) return;
  const u32 rank = from.density ? from.density_ranks[w] - from.first_base : 64 * w;
  u32 value = 0;
  if (values) {
    value = from.full_ranks[w / kWordsPerRank];
    for (u32 k = w / kWordsPerRank * kWordsPerRank; k < w; ++k) {
      value += static_cast<u32>(__popcll(from.full[k]));
    }
  }
  const u64 full = values ? from.full[w] : 0;
  for (; bits; bits &= bits - 1, ++at) {
    const u64 below = (bits & (~bits + 1)) - 1;
    if (at >= capacity) return;
    bases[at] = rank + static_cast<u32>(__popcll(dense & below));
    if (values) values[at] = value + static_cast<u32>(__popcll(full & below));
  }
}

Status select(gpu::StreamHandle stream, const Selection& from, std::size_t words,
              gpu::DeviceSpan<u32> bases, gpu::DeviceSpan<u32> values,
              gpu::DeviceSpan<u32> counter) {
  if (counter.size() != 1 || (!values.empty() && values.size() != bases.size())) {
    return fail(ErrorCode::kInvalidArgument,
                "selection: {} counters, room for {} bases and {} values", counter.size(),
                bases.size(), values.size());
  }
  CUZK_TRY_VOID(gpu::check_cuda(cudaMemsetAsync(counter.data(), 0, sizeof(u32), stream),
                                "clearing a counter"));
  if (words == 0 || bases.empty()) return {};
  const u32 blocks = static_cast<u32>((words + kThreads - 1) / kThreads);
  select_bits<<<blocks, kThreads, 0, stream>>>(from, static_cast<u32>(words),
                                               static_cast<u32>(bases.size()), bases.data(),
                                               values.data(), counter.data());
  return gpu::launched("select_bits");
}

}  // namespace

Status select_ones(gpu::StreamHandle stream, const DeviceWires& wires, const DeviceDensity& density,
                   gpu::DeviceSpan<u32> bases, gpu::DeviceSpan<u32> counter) {
  return select(stream,
                {wires.ones.data(), density.words.data(), density.ranks.data(), density.first_base,
                 nullptr, nullptr},
                wires.ones.size(), bases, {}, counter);
}

Status select_full(gpu::StreamHandle stream, const DeviceWires& wires, const DeviceDensity& density,
                   gpu::DeviceSpan<u32> bases, gpu::DeviceSpan<u32> values,
                   gpu::DeviceSpan<u32> counter) {
  return select(stream,
                {wires.full.data(), density.words.data(), density.ranks.data(), density.first_base,
                 wires.full.data(), wires.full_ranks.data()},
                wires.full.size(), bases, values, counter);
}

}  // namespace cuzk
