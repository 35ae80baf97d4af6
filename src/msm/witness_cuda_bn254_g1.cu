#include "msm/witness_cuda.cuh"

namespace cuzk {

CUZK_INSTANTIATE_WITNESS_CUDA(Bn254G1)

}  // namespace cuzk
