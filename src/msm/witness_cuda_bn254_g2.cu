#include "msm/witness_cuda.cuh"

namespace cuzk {

CUZK_INSTANTIATE_WITNESS_CUDA(Bn254G2)

}  // namespace cuzk
