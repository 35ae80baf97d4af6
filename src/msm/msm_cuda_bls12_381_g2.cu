#include "msm/msm_cuda.cuh"

namespace cuzk {

CUZK_INSTANTIATE_MSM_CUDA(Bls12_381G2)

}  // namespace cuzk
