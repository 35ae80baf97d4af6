// The transforms over the scalar field of bn254.

#include "ntt/ntt_cpu.inl"

namespace cuzk {
CUZK_NTT_INSTANTIATE(bn254::Fr);
}
