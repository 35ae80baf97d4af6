#pragma once
// Witness files of circom (.wtns).
//
// Form:    values are canonical little-endian integers of 32 bytes, one for each wire.
// Errors:  kCorruptInput names file and item; in to_witness also kUnsatisfied for a leading value
//          other than 1, kMismatch for another number of values than wires, kCancelled.
// Threads: immutable; to_witness uses `tasks`.
// Source:  docs/formats/circom.md.

#include <cstdint>
#include <vector>

#include "base/tasks.h"
#include "circom/curve_id.h"
#include "format/input_bytes.h"
#include "r1cs/witness.h"

namespace cuzk::format {

inline constexpr std::size_t kWtnsValueBytes = 32;

class WtnsFile {
 public:
  static Result<WtnsFile> parse(InputBytes input);

  circom::CurveId curve() const { return curve_; }
  std::uint32_t num_values() const { return num_values_; }
  const InputBytes& input() const { return input_; }
  ByteSpan values() const { return values_; }

  // Every value is canonical and the first is 1. `num_public` wires after it are the inputs, the
  // rest the auxiliaries. Fr is that of curve().
  template <class Fr>
  Result<CompactWitness<Fr>> to_witness(Tasks& tasks, std::uint32_t num_public) const;

 private:
  explicit WtnsFile(InputBytes input) : input_(std::move(input)) {}
  InputBytes input_;
  circom::CurveId curve_ = circom::CurveId::kBn254;
  std::uint32_t num_values_ = 0;
  ByteSpan values_;
};

// For tests, benches and programs that compute witnesses.
template <class Fr>
std::vector<std::uint8_t> encode_wtns(std::span<const Fr> values);

}  // namespace cuzk::format
