#pragma once
// Many multiples of one base on a CUDA device, from the table of fixed_base.h: for set-ups that put
// a key straight into device memory.
//
// Form:    scalars canonical; results affine and exact, the identity for scalar 0.
// Memory:  table, scalars, results and scratch are resident and the caller's.
// Threads: no state; kernels are queued on `stream` in order.

#include <cstddef>

#include "base/error.h"
#include "gpu/device_span.h"
#include "gpu/stream_handle.h"
#include "msm/fixed_base.h"

namespace cuzk {

// The shape of a FixedBaseTable whose multiples are on the device, window after window.
template <class G>
struct DeviceFixedBaseTable {
  unsigned window_bits = 0;
  unsigned windows = 0;
  gpu::DeviceSpan<const Affine<G>> multiples;  // windows << (window_bits - 1)
};

template <class G>
constexpr std::size_t fixed_base_cuda_scratch_bytes(std::size_t count) {
  return count * (sizeof(Xyzz<G>) + sizeof(typename G::Field));
}

// out[i] = scalars[i] * base. Scratch for `count` as above, aligned to 256 bytes.
// Cost: windows mixed additions and about 30 products for each scalar.
template <class G>
Status fixed_base_cuda(gpu::StreamHandle stream, const DeviceFixedBaseTable<G>& table,
                       gpu::DeviceSpan<const ScalarFor<G>> scalars,
                       gpu::DeviceSpan<std::byte> scratch, gpu::DeviceSpan<Affine<G>> out);

}  // namespace cuzk
