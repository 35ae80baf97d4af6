#pragma once
// Circuits of circom (.r1cs).
//
// Form:    coefficients are canonical little-endian integers of 32 bytes.
// Checks:  parse settles header and sections; load reads every constraint: counts against the bytes
//          that are there, wires against the header, coefficients below the prime, no byte left
//          over. Custom gates (PLONK) are refused by name.
// Errors:  kCorruptInput names file, constraint and item; kOutOfBudget; kCancelled.
// Threads: immutable.
// Source:  docs/formats/circom.md.

#include <cstdint>

#include "base/memory.h"
#include "base/tasks.h"
#include "circom/program.h"
#include "format/iden3_sections.h"
#include "format/input_bytes.h"

namespace cuzk::format {

class R1csFile {
 public:
  static Result<R1csFile> parse(InputBytes input);

  const circom::ProgramHeader& header() const { return header_; }
  const Iden3Sections& sections() const { return sections_; }
  const std::string& name() const { return input_.name(); }
  // Does it use custom gates, so that it is no R1CS for Groth16?
  bool has_custom_gates() const;

  // Also checks the table of labels. Fr is that of header().curve.
  template <class Fr>
  Result<circom::Program<Fr>> load(Tasks& tasks, MemoryBudget& memory) const;

 private:
  explicit R1csFile(InputBytes input) : input_(std::move(input)) {}
  Status check_labels() const;

  InputBytes input_;
  Iden3Sections sections_;
  circom::ProgramHeader header_;
};

}  // namespace cuzk::format
