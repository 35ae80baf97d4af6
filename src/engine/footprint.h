#pragma once
// What circuits and proofs take of the memory, from sizes that are known before they exist.
//
// Form:    bytes; upper bounds, for the buffers that the stages reserve (base/memory.h) and for the
//          witness and the rows, which they do not.
// Threads: pure functions.

#include "engine/circuits.h"
#include "engine/parameters.h"
#include "scheduler/scheduler.h"

namespace cuzk::engine {

// While a key and its circuit are in memory.
Result<std::size_t> resident_bytes(const KeyFiles& files, const CompiledCircuit& circuit);
// A finished witness. Twice that while it is made, from pieces that are put together.
std::size_t witness_bytes(const CompiledCircuit& circuit);
// One proof on the CPU with so many threads: three vectors and the twiddles while the quotient is
// computed, then one vector and the largest sum's scratch.
scheduler::ProveCost cpu_prove_cost(const CompiledCircuit& circuit, int threads);

}  // namespace cuzk::engine
