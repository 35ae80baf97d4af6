#include "groth16/rows_cuda.cuh"

namespace cuzk::groth16 {

CUZK_INSTANTIATE_ROWS_CUDA(bls12_381::Fr)

}  // namespace cuzk::groth16
