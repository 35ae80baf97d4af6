// Sums and multiples in G2 of bn254.

#include "msm/fixed_base.inl"
#include "msm/msm_cpu.inl"

namespace cuzk {
CUZK_MSM_INSTANTIATE(Bn254G2);
CUZK_FIXED_BASE_INSTANTIATE(Bn254G2);
}  // namespace cuzk
