// The transforms over the scalar field of bls12_381.

#include "ntt/ntt_cpu.inl"

namespace cuzk {
CUZK_NTT_INSTANTIATE(bls12_381::Fr);
}
