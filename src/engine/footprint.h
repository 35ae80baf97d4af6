#pragma once
// What circuits and proofs take of the memory, from sizes that are known before they exist.
//
// Form:    bytes; upper bounds, for the buffers that the stages reserve (base/memory.h) and for the
//          witness and the rows, which they do not.
// Threads: pure functions.

#include "engine/circuits.h"
#include "engine/parameters.h"
#include "format/zkey.h"
#include "scheduler/scheduler.h"

namespace cuzk::engine {

// While a key and its circuit are in memory.
Result<std::size_t> resident_bytes(const KeyFiles& files, const CompiledCircuit& circuit);
// Of those, what the key's queries take.
Result<std::size_t> key_bytes(const KeyFiles& files);
// A finished witness. Twice that while it is made, from pieces that are put together.
std::size_t witness_bytes(const CompiledCircuit& circuit);
// One proof on the CPU with so many threads: three vectors and the twiddles while the quotient is
// computed, then one vector and the largest sum's scratch.
scheduler::ProveCost cpu_prove_cost(const CompiledCircuit& circuit, int threads);

// Of a circom key and the proofs with it on the CPU, from its header alone.
struct CircomFootprint {
  std::size_t resident_bytes = 0;   // matrices, with `resident` the points, and the circuit
  std::size_t witness_bytes = 0;    // a finished witness
  std::size_t synthesis_bytes = 0;  // while it is read and checked
  std::size_t prove_bytes = 0;      // vectors, scratch, and the points of a sum that are not there
};
struct CircomFootprintOptions {
  bool resident = false;       // the key's points stay in memory
  std::size_t r1cs_bytes = 0;  // of the files, where they are given
  std::size_t sym_bytes = 0;
  int threads = 1;
};
CircomFootprint circom_footprint(const format::ZkeyHeader& key,
                                 const CircomFootprintOptions& options);

}  // namespace cuzk::engine
