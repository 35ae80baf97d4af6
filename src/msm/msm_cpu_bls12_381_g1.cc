// Sums and multiples in G1 of bls12_381.

#include "msm/fixed_base.inl"
#include "msm/msm_cpu.inl"

namespace cuzk {
CUZK_MSM_INSTANTIATE(Bls12_381G1);
CUZK_FIXED_BASE_INSTANTIATE(Bls12_381G1);
}  // namespace cuzk
