#pragma once
// Sums over a compact assignment (r1cs/witness.h) on a CUDA device: its ones and its full scalars
// become lists of bases, the bases of the ones are added up, those of the full scalars are gathered
// for msm_cuda.
//
// Form:    as msm.h: wire i is 1 where `ones` has bit i, a full scalar where `full` has it. With a
//          density, base k belongs to the k-th wire of the density.
// Order:   of a list is not determined (its parts are claimed by whoever comes first), sums are.
// Memory:  all of it is the caller's; nothing is allocated, freed or synchronised. How long a list
//          becomes is known before: count the bits on the host.
// Threads: no state; kernels are queued on `stream` in order.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "gpu/device_span.h"
#include "gpu/stream_handle.h"
#include "msm/msm.h"
#include "msm/msm_cuda.h"

namespace cuzk {

// The bits of an assignment, with the number of full scalars before each 512 wires.
struct DeviceWires {
  gpu::DeviceSpan<const std::uint64_t> ones;
  gpu::DeviceSpan<const std::uint64_t> full;
  gpu::DeviceSpan<const std::uint32_t> full_ranks;

  static constexpr std::size_t kWordsPerRank = 8;
  // Of the words [begin, begin + count); begin is a multiple of kWordsPerRank. Indices of full
  // scalars remain those of the whole.
  DeviceWires part(std::size_t begin, std::size_t count) const {
    return {ones.subspan(begin, count), full.subspan(begin, count),
            full_ranks.subspan(begin / kWordsPerRank, (count + kWordsPerRank - 1) / kWordsPerRank)};
  }
};

// Which wires have bases, with the number of them before each word. Empty: all wires have.
struct DeviceDensity {
  gpu::DeviceSpan<const std::uint64_t> words;
  gpu::DeviceSpan<const std::uint32_t> ranks;
  std::uint32_t first_base = 0;  // of `ranks`: the number that the list's bases begin with

  // Of the words [begin, begin + count), with bases counted from `base` on.
  DeviceDensity part(std::size_t begin, std::size_t count, std::uint32_t base) const {
    if (words.empty()) return *this;
    return {words.subspan(begin, count), ranks.subspan(begin, count), base};
  }
};

// The base of every 1 that has one. `counter` is one word; it ends as the number found, which must
// be bases.size(): more are not written.
Status select_ones(gpu::StreamHandle stream, const DeviceWires& wires, const DeviceDensity& density,
                   gpu::DeviceSpan<std::uint32_t> bases, gpu::DeviceSpan<std::uint32_t> counter);

// The base of every full scalar that has one, and beside it the scalar's index.
Status select_full(gpu::StreamHandle stream, const DeviceWires& wires, const DeviceDensity& density,
                   gpu::DeviceSpan<std::uint32_t> bases, gpu::DeviceSpan<std::uint32_t> values,
                   gpu::DeviceSpan<std::uint32_t> counter);

// Sum of bases[i] over the list. Scratch: selected_sum_scratch_bytes<G>(list.size()), which does
// not fall when a list is longer, aligned to 16 bytes; result: one point. From 2^22 terms on the
// sum is made of affine additions, in 400 MiB, unless `additions` or a device with little shared
// memory says XYZZ.
template <class G>
std::size_t selected_sum_scratch_bytes(std::size_t terms = ~std::size_t{0});
template <class G>
Status sum_selected(gpu::StreamHandle stream, gpu::DeviceSpan<const Affine<G>> bases,
                    gpu::DeviceSpan<const std::uint32_t> list, gpu::DeviceSpan<std::byte> scratch,
                    gpu::DeviceSpan<Xyzz<G>> result, MsmAdditions additions = MsmAdditions::kAuto);

// out_bases[k] = bases[list[k]], out_scalars[k] = scalars[values[k]].
template <class G>
Status gather_selected(gpu::StreamHandle stream, gpu::DeviceSpan<const Affine<G>> bases,
                       gpu::DeviceSpan<const std::uint32_t> list,
                       gpu::DeviceSpan<const ScalarFor<G>> scalars,
                       gpu::DeviceSpan<const std::uint32_t> values,
                       gpu::DeviceSpan<Affine<G>> out_bases,
                       gpu::DeviceSpan<ScalarFor<G>> out_scalars);

}  // namespace cuzk
