#include "msm/fixed_base_cuda.cuh"

namespace cuzk {

CUZK_INSTANTIATE_FIXED_BASE_CUDA(Bn254G1)

}  // namespace cuzk
