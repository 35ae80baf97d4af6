#pragma once
// Sums of scalar times base on a CUDA device: same groups and same results as msm.h.
//
// Memory:  bases, scalars, scratch and result are resident and the caller's. A plan, made once from
//          the largest count, says how many bytes of scratch a sum needs; nothing is allocated,
//          freed or synchronised by a sum.
// Form:    scalars canonical; bases affine in Montgomery form, the identity (0, 0) allowed, equal,
//          opposite and repeated bases too; the result in XYZZ form.
// Skew:    a bucket many times longer than the mean is summed by warps in pieces, so that scalars
//          that are all alike take no longer than random ones.
// Threads: the functions keep no state; kernels are queued on `stream` in order.
// Source:  see README.md.

#include <cstddef>
#include <span>

#include "base/error.h"
#include "gpu/device_span.h"
#include "gpu/stream_handle.h"
#include "msm/msm.h"

namespace cuzk {

// How the bases of a bucket are added: in XYZZ form, or as affine points that share inversions,
// which takes two thirds of the multiplications once there are buckets enough.
enum class MsmAdditions { kAuto, kXyzz, kAffine };

struct MsmCudaOptions {
  unsigned windows = 0;  // 0: the cost model chooses
  // Pairs of digit and index that are sorted at once; more of them mean fewer and larger launches
  // at 16 bytes each.
  std::size_t pairs_per_batch = std::size_t{1} << 26;
  MsmAdditions additions = MsmAdditions::kAuto;
  // The bases come with their multiples (msm_cuda_fill_multiples), so that the windows of a batch
  // share their buckets: fewer buckets, and wider windows for it.
  bool multiples = false;
};

// How a sum of up to `count` terms is cut. `windows` signed digits cover one bit more than the
// scalars; the lowest `wide_windows` of them have narrow_bits + 1 bits, the others narrow_bits.
struct MsmCudaPlan {
  std::size_t count = 0;
  unsigned windows = 0;
  unsigned narrow_bits = 0;
  unsigned wide_windows = 0;
  unsigned windows_per_batch = 1;  // of the largest
  bool multiples = false;
  bool affine = false;
  unsigned chain_blocks = 0;     // blocks that the device holds at once
  unsigned chain_parts_log = 0;  // parts that a bucket is cut into
  std::size_t sort_bytes = 0;
  std::size_t scratch_bytes = 0;

  constexpr unsigned width(unsigned window) const {
    return narrow_bits + (window < wide_windows ? 1 : 0);
  }
  constexpr unsigned first_bit(unsigned window) const {
    return window * narrow_bits + (window < wide_windows ? window : wide_windows);
  }
  constexpr unsigned batches() const { return (windows - 1) / windows_per_batch + 1; }
  // Windows [first_window(b), first_window(b + 1)) make batch b; batches differ by one at most.
  constexpr unsigned first_window(unsigned batch) const {
    return batch * (windows / batches()) +
           (batch < windows % batches() ? batch : windows % batches());
  }
  // Points that a sum leaves on the device: one for each window, of batches that share their
  // buckets one for each batch.
  constexpr unsigned sums() const { return multiples ? batches() : windows; }
  // Bases that a sum of `count` terms needs.
  constexpr std::size_t bases() const { return multiples ? windows * count : count; }
  // Buckets are laid out alike in all windows, as the widest needs them.
  constexpr unsigned bucket_log() const { return narrow_bits + (wide_windows ? 1 : 0) - 1; }
};

// kInvalidArgument for a count of 2^31 or more, multiples counted. Needs a usable current device:
// what its sorting needs is asked of the library that sorts. Scratch of a plan is at least that of
// every plan of a smaller count with the same options, which may be cut into more or wider batches.
template <class G>
Result<MsmCudaPlan> msm_cuda_plan(std::size_t count, const MsmCudaOptions& options = {});

// Queues the sum of scalars[i] * bases[i]; what it leaves on the device is plan.sums() points,
// which msm_cuda_finish joins on the host once they are there (a doubling takes the device's single
// thread 10 microseconds, the host a quarter of one).
//
// Shape:  scalars.size() == bases.size() <= plan.count; with multiples, scalars.size() ==
//         plan.count and bases.size() == plan.bases(). Scratch of at least plan.scratch_bytes,
//         aligned to 256 bytes; sums of plan.sums() points.
template <class G>
Status msm_cuda(gpu::StreamHandle stream, const MsmCudaPlan& plan,
                gpu::DeviceSpan<const ScalarFor<G>> scalars, gpu::DeviceSpan<const Affine<G>> bases,
                gpu::DeviceSpan<std::byte> scratch, gpu::DeviceSpan<Xyzz<G>> sums);

// The two parts of msm_cuda: all that keeps the device busy, and the chain of small launches that
// folds what it left in the scratch, which may run beside other work, on another stream.
template <class G>
Status msm_cuda_buckets(gpu::StreamHandle stream, const MsmCudaPlan& plan,
                        gpu::DeviceSpan<const ScalarFor<G>> scalars,
                        gpu::DeviceSpan<const Affine<G>> bases, gpu::DeviceSpan<std::byte> scratch);
template <class G>
Status msm_cuda_fold(gpu::StreamHandle stream, const MsmCudaPlan& plan,
                     gpu::DeviceSpan<std::byte> scratch, gpu::DeviceSpan<Xyzz<G>> sums);

// For a plan with multiples: the bases, the first plan.count of `bases`, times two to the power of
// each window's first bit, window after window.
// Cost: 256 doublings a base and some 40 products a multiple. Scratch as below, for plan.count
//       bases; at most 250 MB in G1.
template <class G>
std::size_t msm_cuda_multiples_scratch_bytes(std::size_t count);
template <class G>
Status msm_cuda_fill_multiples(gpu::StreamHandle stream, const MsmCudaPlan& plan,
                               gpu::DeviceSpan<Affine<G>> bases,
                               gpu::DeviceSpan<std::byte> scratch);

// The sum itself, from the sums on the device; about 260 doublings without multiples. On the host.
template <class G>
Xyzz<G> msm_cuda_finish(const MsmCudaPlan& plan, std::span<const Xyzz<G>> sums) {
  Xyzz<G> sum = Xyzz<G>::identity();
  if (plan.multiples) {
    for (const Xyzz<G>& point : sums) sum += point;
    return sum;
  }
  for (unsigned w = plan.windows; w-- > 0;) {
    for (unsigned i = 0; i < plan.width(w); ++i) sum = sum.dbl();
    sum += sums[w];
  }
  return sum;
}

}  // namespace cuzk
