#include "ntt/ntt_cuda.cuh"

namespace cuzk {

CUZK_INSTANTIATE_NTT_CUDA(bn254::Fr)

}  // namespace cuzk
