#include "ntt/ntt_cuda.cuh"

namespace cuzk {

CUZK_INSTANTIATE_NTT_CUDA(bls12_381::Fr)

}  // namespace cuzk
