#include "msm/msm_cuda.cuh"

namespace cuzk {

CUZK_INSTANTIATE_MSM_CUDA(Bn254G2)

}  // namespace cuzk
