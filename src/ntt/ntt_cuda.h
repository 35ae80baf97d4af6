#pragma once
// The transforms of ntt.h on a CUDA device: same notation, same orders, same results.
//
// Fields:  bls12_381::Fr and bn254::Fr (explicit instantiations), 0 <= log2_size <= 28.
// Memory:  resident in, resident out, in place. The only other memory is the twiddle table, which
//          the caller owns: `ntt_cuda_table_bytes` of it, filled once by `ntt_cuda_fill_table` and
//          then read-only. One table serves all sizes up to its own, both directions and both
//          cosets; it is handed over whole.
// Form:    elements in Montgomery form; DeviceSpan<Fr> has the bytes of Fr.
// Errors:  kInvalidArgument, kDeviceLost when a launch fails. Nothing is synchronised: kernels are
//          queued on `stream` in order.
// Threads: the functions keep no state.

#include <cstddef>

#include "base/error.h"
#include "field/bls12_381.h"
#include "field/bn254.h"
#include "gpu/device_span.h"
#include "gpu/stream_handle.h"

namespace cuzk {

enum class NttCoset {
  kNone,  // the points omega^j
  kOdd,   // the points omega_2N * omega^j
};

struct NttCudaOptions {
  NttCoset coset = NttCoset::kNone;
  // Inverse transforms only: multiply by 1 / N. Without it the results are N times too large, which
  // a caller may absorb in a later product.
  bool scale = true;
};

// The table for transforms of up to 2^log2_size points: a twiddle for each of 2^log2_size nodes,
// then for the first 2^ntt_cuda_quotients_log() of them two elements more, which make products with
// them cheaper. The deepest levels, which have most of the nodes, go without, so that this takes no
// more than 128 MiB, from 2^26 on, where a card may be full, 64. A table of exactly 2^log2_size
// elements has twiddles alone and serves as well, a seventh slower.
constexpr unsigned ntt_cuda_quotients_log(unsigned log2_size) {
  const unsigned most = log2_size < 26 ? 21 : 20;
  return log2_size < most ? log2_size : most;
}
// One element more, so that this is no power of two.
constexpr std::size_t ntt_cuda_table_elements(unsigned log2_size) {
  return (std::size_t{1} << log2_size) + (std::size_t{2} << ntt_cuda_quotients_log(log2_size)) + 1;
}
constexpr std::size_t ntt_cuda_table_bytes(unsigned log2_size) {
  return 32 * ntt_cuda_table_elements(log2_size);
}
template <class Fr>
Status ntt_cuda_fill_table(gpu::StreamHandle stream, gpu::DeviceSpan<Fr> table);
// The second half of filling, for a caller who filled the first 2^log2_size elements with twiddles
// of another generator.
template <class Fr>
Status ntt_cuda_add_quotients(gpu::StreamHandle stream, gpu::DeviceSpan<Fr> table);

template <class Fr>
Status ntt_cuda_forward_natural_to_reversed(gpu::StreamHandle stream,
                                            gpu::DeviceSpan<const Fr> table,
                                            gpu::DeviceSpan<Fr> data,
                                            const NttCudaOptions& options = {});
template <class Fr>
Status ntt_cuda_forward_reversed_to_natural(gpu::StreamHandle stream,
                                            gpu::DeviceSpan<const Fr> table,
                                            gpu::DeviceSpan<Fr> data,
                                            const NttCudaOptions& options = {});
template <class Fr>
Status ntt_cuda_inverse_natural_to_reversed(gpu::StreamHandle stream,
                                            gpu::DeviceSpan<const Fr> table,
                                            gpu::DeviceSpan<Fr> data,
                                            const NttCudaOptions& options = {});
template <class Fr>
Status ntt_cuda_inverse_reversed_to_natural(gpu::StreamHandle stream,
                                            gpu::DeviceSpan<const Fr> table,
                                            gpu::DeviceSpan<Fr> data,
                                            const NttCudaOptions& options = {});

}  // namespace cuzk
