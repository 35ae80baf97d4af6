// Sums and multiples in G1 of bn254.

#include "msm/fixed_base.inl"
#include "msm/msm_cpu.inl"

namespace cuzk {
CUZK_MSM_INSTANTIATE(Bn254G1);
CUZK_FIXED_BASE_INSTANTIATE(Bn254G1);
}  // namespace cuzk
