#include "msm/fixed_base_cuda.cuh"

namespace cuzk {

CUZK_INSTANTIATE_FIXED_BASE_CUDA(Bn254G2)

}  // namespace cuzk
