#include "msm/witness_cuda.cuh"

namespace cuzk {

CUZK_INSTANTIATE_WITNESS_CUDA(Bls12_381G1)

}  // namespace cuzk
