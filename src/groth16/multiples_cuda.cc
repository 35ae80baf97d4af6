// Multiples of a resident key's h (device_key.h).

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "groth16/device_key.h"
#include "msm/msm_cuda.h"

namespace cuzk::groth16 {

namespace {

// Sums of fewer terms gain nothing: with one set of buckets there are too few of them
// (docs/performance-gpu.md).
constexpr std::size_t kTermsForMultiples = std::size_t{1} << 21;

}  // namespace

template <class Curve>
Result<typename DeviceKey<Curve>::Multiples> DeviceKey<Curve>::multiples_of(
    const KeyCounts& counts) {
  if (counts.h < kTermsForMultiples) return Multiples();
  auto plan = msm_cuda_plan<typename Curve::G1>(counts.h, {.multiples = true});
  if (!plan && plan.error().code == ErrorCode::kInvalidArgument) return Multiples();
  if (!plan) return fail(plan.error());
  return Multiples{plan->windows, sizeof(G1) * plan->bases()};
}

template <class Curve>
Status DeviceKey<Curve>::add_multiples(gpu::Card& card) {
  using Group = typename Curve::G1;
  CUZK_TRY_VOID(card.use());
  CUZK_TRY(const auto plan, msm_cuda_plan<Group>(counts_.h, {.multiples = true}));
  CUZK_TRY(auto lease,
           card.arena().lease("multiples of h", sizeof(G1) * plan.bases(), gpu::Hold::kLasting));
  const std::size_t scratch_bytes = msm_cuda_multiples_scratch_bytes<Group>(plan.count);
  CUZK_TRY(const auto work, card.arena().lease("scratch for multiples of h", scratch_bytes));
  CUZK_TRY(const auto scratch, work.template at<std::byte>(0, scratch_bytes));
  CUZK_TRY(const auto all, lease.template at<G1>(0, plan.bases()));
  CUZK_TRY_VOID(
      gpu::runtime::copy_on_device(card.load_stream(), all.data(), h_.data(), h_.size_bytes()));
  CUZK_TRY_VOID(msm_cuda_fill_multiples<Group>(card.load_stream(), plan, all, scratch));
  // The scratch is given back when this returns.
  CUZK_TRY_VOID(gpu::wait_for_loads(card));
  multiples_lease_ = std::move(lease);
  h_multiples_ = all;
  h_windows_ = plan.windows;
  return {};
}

#define CUZK_INSTANTIATE(Curve)                                                                  \
  template Result<DeviceKey<Curve>::Multiples> DeviceKey<Curve>::multiples_of(const KeyCounts&); \
  template Status DeviceKey<Curve>::add_multiples(gpu::Card& card);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
