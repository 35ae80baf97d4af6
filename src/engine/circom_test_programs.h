#pragma once
// Circuits of any shape with a witness that satisfies them, for tests of keys made here.

#include <vector>

#include "base/random.h"
#include "circom/program.h"
#include "r1cs/witness.h"

namespace cuzk::circom_test {

struct Shape {
  std::uint32_t constraints = 0;
  std::uint32_t outputs = 0;
  std::uint32_t public_inputs = 0;
  std::uint32_t privates = 0;
};

template <class Fr>
struct TestProgram {
  circom::Program<Fr> program;
  std::vector<Fr> wires;  // the witness
};

// Constraint i: (w_a + k) * w_b = c * w_d with wires drawn at random and c chosen so that it holds.
// Every third sum A is of the constant alone, so that some wires occur nowhere or in B only.
template <class Curve>
TestProgram<typename Curve::Fr> make_program(const Shape& shape, std::uint64_t seed) {
  using Fr = typename Curve::Fr;
  SeededRandom random(seed);
  TestProgram<Fr> out;
  auto& [program, wires] = out;
  auto& h = program.header;
  h.curve = circom::kCurveId<Curve>;
  h.num_outputs = shape.outputs;
  h.num_public_inputs = shape.public_inputs;
  h.num_private_inputs = shape.privates;
  h.num_wires = 1 + shape.outputs + shape.public_inputs + shape.privates;
  h.num_labels = h.num_wires;
  h.num_constraints = shape.constraints;
  wires = {Fr::one()};
  for (std::uint32_t i = 1; i < h.num_wires; ++i) {
    wires.push_back(i % 3 == 0 ? Fr::from_u64(i % 2) : Fr::random(random));
  }
  auto& r1cs = program.r1cs;
  r1cs.name = "test circuit";
  r1cs.num_inputs = h.num_public() + 1;
  r1cs.num_aux = shape.privates;
  r1cs.num_full_aux = shape.privates;
  r1cs.num_rows = shape.constraints;
  r1cs.dictionary = {Fr::one(), -Fr::one()};
  RowBlock block;
  block.path = "circuit";
  block.num_rows = shape.constraints;
  block.num_aux = shape.privates;
  const auto column = [&](std::uint64_t wire) {
    const auto w = static_cast<std::uint32_t>(wire);
    return w < r1cs.num_inputs ? ColumnRef::make(ColumnRef::kInput, w)
                               : ColumnRef::make(ColumnRef::kAux, w - r1cs.num_inputs);
  };
  const auto coefficient = [&](const Fr& v) {
    r1cs.dictionary.push_back(v);
    return static_cast<std::uint32_t>(r1cs.dictionary.size() - 1);
  };
  for (std::uint32_t i = 0; i < shape.constraints; ++i) {
    const std::uint64_t a = i % 3 == 2 ? 0 : random.next_u64() % h.num_wires;
    const std::uint64_t b = random.next_u64() % h.num_wires;
    std::uint64_t d = random.next_u64() % h.num_wires;
    if (wires[d].is_zero()) d = 0;
    const Fr k = Fr::random(random);
    const Fr c = (wires[a] + k) * wires[b] * wires[d].inverse();
    block.matrices[0].terms.push_back({column(a), 0});
    block.matrices[0].terms.push_back({column(0), coefficient(k)});
    block.matrices[1].terms.push_back({column(b), 0});
    block.matrices[2].terms.push_back({column(d), coefficient(c)});
    for (RowMatrix& m : block.matrices)
      m.row_end.push_back(static_cast<std::uint32_t>(m.terms.size()));
  }
  if (shape.constraints > 0) {
    r1cs.blocks.push_back(std::move(block));
    r1cs.segments.push_back({});
  }
  return out;
}

}  // namespace cuzk::circom_test
