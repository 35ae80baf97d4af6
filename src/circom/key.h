#pragma once
// A circom key once decoded: what a .zkey holds.
//
// Form:    wires as snarkjs numbers them: 0 is the constant one, then the public ones, then the
//          private ones. In `matrices` the first two kinds are inputs, the last are auxiliaries; it
//          has A and B only, and no row for the ties of the public wires (every CompactR1cs implies
//          them).
// Threads: immutable once built.

#include <memory>

#include "base/memory.h"
#include "groth16/coset_key.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/density.h"

namespace cuzk::circom {

template <class Curve>
struct Key {
  Reservation matrices_memory;
  CompactR1cs<typename Curve::Fr> matrices;
  std::shared_ptr<const Density> density;  // the queries' readers hold it too
  groth16::CosetProvingKey<Curve> proving;

  std::uint32_t num_public() const { return matrices.num_inputs - 1; }
  std::uint32_t num_wires() const { return matrices.num_inputs + matrices.num_aux; }
};

}  // namespace cuzk::circom
