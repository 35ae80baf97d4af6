#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

#include "gpu/launch_cuda.h"
#include "msm/msm_cuda_sort.h"

namespace cuzk::msm_cuda_internal {

namespace {

template <class Key>
Result<int> sort(gpu::StreamHandle stream, void* scratch, std::size_t& scratch_bytes,
                 const SortArrays<Key>& arrays, std::size_t count, unsigned key_bits) {
  cub::DoubleBuffer<Key> keys(arrays.keys[0], arrays.keys[1]);
  cub::DoubleBuffer<std::uint32_t> values(arrays.values[0], arrays.values[1]);
  CUZK_TRY_VOID(gpu::check_cuda(
      cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, keys, values, static_cast<int>(count),
                                      0, static_cast<int>(key_bits), stream),
      "sorting pairs"));
  return values.selector;
}

}  // namespace

Result<std::size_t> msm_sort_bytes(std::size_t pairs, std::size_t buckets) {
  std::size_t words = 0;
  std::size_t bytes = 0;
  CUZK_TRY_VOID(sort<std::uint32_t>(nullptr, nullptr, words, {}, pairs, 32));
  CUZK_TRY_VOID(sort<std::uint8_t>(nullptr, nullptr, bytes, {}, buckets, 8));
  return std::max(words, bytes);
}

Result<int> sort_pairs(gpu::StreamHandle stream, void* scratch, std::size_t scratch_bytes,
                       const SortArrays<std::uint32_t>& arrays, std::size_t count,
                       unsigned key_bits) {
  return sort(stream, scratch, scratch_bytes, arrays, count, key_bits);
}
Result<int> sort_pairs(gpu::StreamHandle stream, void* scratch, std::size_t scratch_bytes,
                       const SortArrays<std::uint8_t>& arrays, std::size_t count,
                       unsigned key_bits) {
  return sort(stream, scratch, scratch_bytes, arrays, count, key_bits);
}

}  // namespace cuzk::msm_cuda_internal
