#pragma once
// One circuit of Filecoin, whatever its kind: what the stores of compiled circuits and of
// parameters need to know of it.

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "field/bls12_381.h"
#include "r1cs/compact_r1cs.h"

namespace cuzk::filecoin {

struct CircuitSpec {
  // For people: "PoRep 32GiB".
  std::string name;
  // Determines the rows, together with the revision of the code that makes them ("porep-1:..."):
  // what a compiled circuit is kept under. The revision changes whenever the rows change.
  std::string identifier;
  // The parameter file's name without extension.
  std::string stem;
  std::uint64_t sector_bytes = 0;
  // Whether a development key of it is made in minutes on a laptop.
  bool development_size = false;
  // The rows: the same for every sector. Errors: kInvalidArgument for a shape without a circuit.
  std::function<Result<CompactR1cs<bls12_381::Fr>>()> compile;
};

}  // namespace cuzk::filecoin
