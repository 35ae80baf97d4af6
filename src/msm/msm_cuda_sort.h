#pragma once
// The two sorts of a bucket method on the device, in a file of their own: CUB's templates take
// longer to compile than all kernels of a group.
//
// Memory:  `scratch` holds at least msm_sort_bytes; each key and value has two arrays, and the call
//          tells in which of them the result is.
// Threads: no state; queued on `stream`.

#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "gpu/stream_handle.h"

namespace cuzk::msm_cuda_internal {

template <class Key>
struct SortArrays {
  Key* keys[2];
  std::uint32_t* values[2];
};

// Enough for `pairs` words by 32 bits and for `buckets` bytes. Asks the current device.
Result<std::size_t> msm_sort_bytes(std::size_t pairs, std::size_t buckets);

// Sorts pairs [0, count) of arrays 0, stably, by the lowest `key_bits` bits. Returns which array,
// 0 or 1, holds the result.
Result<int> sort_pairs(gpu::StreamHandle stream, void* scratch, std::size_t scratch_bytes,
                       const SortArrays<std::uint32_t>& arrays, std::size_t count,
                       unsigned key_bits);
Result<int> sort_pairs(gpu::StreamHandle stream, void* scratch, std::size_t scratch_bytes,
                       const SortArrays<std::uint8_t>& arrays, std::size_t count,
                       unsigned key_bits);

}  // namespace cuzk::msm_cuda_internal
