#include "r1cs/validate.h"

#include "field/bls12_381.h"
#include "field/bn254.h"

namespace cuzk {
namespace {

template <class Fr>
Status validate_dictionary(const CompactR1cs<Fr>& r1cs) {
  for (const Fr& c : r1cs.dictionary) {
    if (compare(c.limbs, Fr::kModulus) >= 0) {
      return fail(ErrorCode::kCorruptInput, "circuit {}: a coefficient is not reduced", r1cs.name);
    }
  }
  if (r1cs.dictionary.size() < 2 || r1cs.dictionary[0] != Fr::one() ||
      r1cs.dictionary[1] != -Fr::one()) {
    return fail(ErrorCode::kCorruptInput, "circuit {}: the coefficients do not begin with 1 and -1",
                r1cs.name);
  }
  return {};
}

// How many variables of each kind a block's terms may name; by ColumnRef::Kind.
using Limits = std::array<std::uint64_t, 8>;

Status validate_matrix(const RowMatrix& matrix, std::uint64_t num_rows, const Limits& limits,
                       std::uint64_t num_coefficients) {
  if (matrix.row_end.size() != num_rows) {
    return fail(ErrorCode::kCorruptInput, "{} rows are declared, {} are there", num_rows,
                matrix.row_end.size());
  }
  std::uint32_t last = 0;
  for (const std::uint32_t end : matrix.row_end) {
    if (end < last)
      return fail(ErrorCode::kCorruptInput, "row ends go back from {} to {}", last, end);
    last = end;
  }
  if (last != matrix.terms.size()) {
    return fail(ErrorCode::kCorruptInput, "the rows have {} terms, {} are there", last,
                matrix.terms.size());
  }
  for (const Term& term : matrix.terms) {
    if (term.column.index() >= limits[term.column.kind()] || term.coefficient >= num_coefficients) {
      return fail(ErrorCode::kCorruptInput,
                  "a term names variable {:#x} or coefficient {}, which are not there",
                  term.column.raw, term.coefficient);
    }
  }
  return {};
}

template <class Fr>
Status validate_block(const CompactR1cs<Fr>& r1cs, const RowBlock& block) {
  const Limits limits = {r1cs.num_aux, r1cs.num_inputs, block.num_aux, block.num_inputs,
                         block.num_ports};
  for (const RowMatrix& matrix : block.matrices) {
    CUZK_TRY_VOID(validate_matrix(matrix, block.num_rows, limits, r1cs.dictionary.size()));
  }
  return {};
}

template <class Fr>
Status validate_segments(const CompactR1cs<Fr>& r1cs) {
  std::uint64_t rows = 0;
  for (std::size_t i = 0; i < r1cs.segments.size(); ++i) {
    const Segment& s = r1cs.segments[i];
    if (s.block >= r1cs.blocks.size()) {
      return fail(ErrorCode::kCorruptInput, "circuit {}: segment {} is of block {}, there are {}",
                  r1cs.name, i, s.block, r1cs.blocks.size());
    }
    const RowBlock& block = r1cs.blocks[s.block];
    if (s.row_base != rows || std::uint64_t{s.aux_base} + block.num_aux > r1cs.num_aux ||
        std::uint64_t{s.input_base} + block.num_inputs > r1cs.num_inputs ||
        std::uint64_t{s.port_base} + block.num_ports > r1cs.ports.size()) {
      return fail(ErrorCode::kCorruptInput, "circuit {}: segment {} lies outside the circuit",
                  r1cs.name, i);
    }
    rows += block.num_rows;
  }
  if (rows != r1cs.num_rows) {
    return fail(ErrorCode::kCorruptInput, "circuit {}: {} rows are declared, the segments have {}",
                r1cs.name, r1cs.num_rows, rows);
  }
  for (const ColumnRef port : r1cs.ports) {
    const bool aux = port.kind() == ColumnRef::kAux && port.index() < r1cs.num_aux;
    const bool input = port.kind() == ColumnRef::kInput && port.index() < r1cs.num_inputs;
    if (!aux && !input) {
      return fail(ErrorCode::kCorruptInput, "circuit {}: a port names variable {:#x}", r1cs.name,
                  port.raw);
    }
  }
  return {};
}

}  // namespace

template <class Fr>
Status validate_r1cs(const CompactR1cs<Fr>& r1cs) {
  if (r1cs.num_inputs == 0) {
    return fail(ErrorCode::kCorruptInput, "circuit {}: there is no constant one", r1cs.name);
  }
  CUZK_TRY_VOID(validate_dictionary(r1cs));
  for (std::size_t i = 0; i < r1cs.blocks.size(); ++i) {
    if (const Status ok = validate_block(r1cs, r1cs.blocks[i]); !ok) {
      return fail(ok.error().in(fmt::format("circuit {}: block {}", r1cs.name, i)));
    }
  }
  return validate_segments(r1cs);
}

template Status validate_r1cs(const CompactR1cs<bls12_381::Fr>&);
template Status validate_r1cs(const CompactR1cs<bn254::Fr>&);

}  // namespace cuzk
