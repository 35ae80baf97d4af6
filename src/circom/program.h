#pragma once
// A circom program once decoded: what an .r1cs holds, and the names of its wires and constraints.
//
// Threads: immutable once built.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/tasks.h"
#include "circom/curve_id.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk::circom {

struct ProgramHeader {
  CurveId curve = CurveId::kBn254;
  std::uint32_t num_wires = 0;
  std::uint32_t num_outputs = 0;  // public outputs
  std::uint32_t num_public_inputs = 0;
  std::uint32_t num_private_inputs = 0;  // as declared: the optimiser may have removed some
  std::uint64_t num_labels = 0;
  std::uint32_t num_constraints = 0;

  std::uint32_t num_public() const { return num_outputs + num_public_inputs; }
};

template <class Fr>
struct Program {
  ProgramHeader header;
  CompactR1cs<Fr> r1cs;
};

// Names of wires, from a .sym file.
class Symbols {
 public:
  // `text`: lines "label,wire,component,name"; wire -1 for a signal that was optimised away. Of a
  // wire's several names the first is kept. Errors: kCorruptInput names the line.
  static Result<Symbols> parse(std::string_view text, std::string_view what);

  // "main.a", or "wire 7" for a wire without a name; wire 0 is "1".
  std::string name(std::uint32_t wire) const;

 private:
  using Name = std::pair<std::uint32_t, std::string>;
  std::vector<Name> names_;  // by wire; the first of a wire counts
};

// "constraint 12 of 240: (main.a) * (main.b + 3 main.c) = main.d" with long sums cut short.
template <class Fr>
std::string describe_constraint(const Program<Fr>& program, const Symbols& symbols,
                                std::uint32_t constraint);

// Every constraint holds. Errors: kUnsatisfied names the first that does not, with its signals and
// the three values; kMismatch when the witness has another number of wires; kCancelled.
template <class Fr>
Status check_satisfied(Tasks& tasks, const Program<Fr>& program, const CompactWitness<Fr>& witness,
                       const Symbols& symbols);

}  // namespace cuzk::circom
