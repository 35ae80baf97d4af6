#pragma once
// Small circuits with satisfying assignments, for tests and benchmarks.

#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk::groth16::testing {

template <class Fr>
struct CircuitCase {
  CompactR1cs<Fr> r1cs;
  CompactWitness<Fr> witness;
};

// Builds a circuit of one block, row by row, and its assignment beside it.
template <class Fr>
class CircuitBuilder {
 public:
  using Combination = std::vector<std::pair<ColumnRef, Fr>>;  // sorted: inputs, then auxiliaries

  CircuitBuilder() {
    out_.r1cs.dictionary = {Fr::one(), -Fr::one()};
    out_.r1cs.blocks.resize(1);
    out_.r1cs.blocks[0].path = "test";
    out_.witness.inputs = {Fr::one()};
  }
  ColumnRef one() const { return ColumnRef::make(ColumnRef::kInput, 0); }
  ColumnRef input(const Fr& v) {
    out_.witness.inputs.push_back(v);
    return ColumnRef::make(ColumnRef::kInput, out_.r1cs.num_inputs++);
  }
  ColumnRef aux(const Fr& v) {
    out_.witness.push(v);
    aux_.push_back(v);
    return ColumnRef::make(ColumnRef::kAux, out_.r1cs.num_aux++);
  }
  Fr value(ColumnRef c) const {
    return c.kind() == ColumnRef::kInput ? out_.witness.inputs[c.index()] : aux_[c.index()];
  }
  Fr value(const Combination& lc) const {
    Fr sum;
    for (const auto& [column, coefficient] : lc) sum += value(column) * coefficient;
    return sum;
  }
  void row(const Combination& a, const Combination& b, const Combination& c) {
    RowBlock& block = out_.r1cs.blocks[0];
    const Combination* sides[3] = {&a, &b, &c};
    for (int m = 0; m < 3; ++m) {
      RowMatrix& matrix = block.matrices[m];
      for (const auto& [column, coefficient] : *sides[m]) {
        matrix.terms.push_back({column, index_of(coefficient)});
      }
      matrix.row_end.push_back(static_cast<std::uint32_t>(matrix.terms.size()));
    }
    ++block.num_rows;
    ++out_.r1cs.num_rows;
  }
  CircuitCase<Fr> finish() {
    RowBlock& block = out_.r1cs.blocks[0];
    block.num_aux = out_.r1cs.num_aux;
    block.num_inputs = out_.r1cs.num_inputs - 1;
    out_.r1cs.num_full_aux = out_.r1cs.num_aux;
    out_.r1cs.segments = {{.block = 0, .row_base = 0, .aux_base = 0, .input_base = 1}};
    out_.r1cs.name = "test";
    out_.witness.finish();
    return std::move(out_);
  }

 private:
  std::uint32_t index_of(const Fr& coefficient) {
    auto& dictionary = out_.r1cs.dictionary;
    for (std::size_t i = 0; i < dictionary.size(); ++i) {
      if (dictionary[i] == coefficient) return static_cast<std::uint32_t>(i);
    }
    dictionary.push_back(coefficient);
    return static_cast<std::uint32_t>(dictionary.size() - 1);
  }

  CircuitCase<Fr> out_;
  std::vector<Fr> aux_;
};

// LongsightF, a MiMC Feistel permutation with exponent 3 (Albrecht et al. 2016): two private
// inputs, the left half of the result public.
template <class Fr>
CircuitCase<Fr> mimc_circuit(const Fr& left, const Fr& right, std::span<const Fr> round_constants) {
  CircuitBuilder<Fr> cs;
  ColumnRef xl = cs.aux(left);
  ColumnRef xr = cs.aux(right);
  for (std::size_t i = 0; i < round_constants.size(); ++i) {
    const bool last = i + 1 == round_constants.size();
    const Fr sum = cs.value(xl) + round_constants[i];
    const ColumnRef square = cs.aux(sum.square());
    const typename CircuitBuilder<Fr>::Combination shifted = {{cs.one(), round_constants[i]},
                                                              {xl, Fr::one()}};
    cs.row(shifted, shifted, {{square, Fr::one()}});
    const Fr next = sum * sum.square() + cs.value(xr);
    const ColumnRef image = last ? cs.input(next) : cs.aux(next);
    if (last) {
      cs.row({{square, Fr::one()}}, shifted, {{image, Fr::one()}, {xr, -Fr::one()}});
    } else {
      cs.row({{square, Fr::one()}}, shifted, {{xr, -Fr::one()}, {image, Fr::one()}});
    }
    xr = xl;
    xl = image;
  }
  return cs.finish();
}

struct RandomCircuitShape {
  std::size_t inputs = 3;  // without the constant one
  std::size_t aux = 20;
  std::size_t extra_rows = 5;  // beside one for each auxiliary
  unsigned bits_percent = 60;  // of the auxiliaries are 0 or 1
  std::size_t terms = 3;       // of a combination, at most
};

// Random rows that a random assignment satisfies. Row j names auxiliary j, so that none is free.
template <class Fr>
CircuitCase<Fr> random_circuit(RandomSource& random, const RandomCircuitShape& shape) {
  CircuitBuilder<Fr> cs;
  for (std::size_t i = 0; i < shape.inputs; ++i) cs.input(Fr::random(random));
  std::vector<ColumnRef> aux;
  for (std::size_t i = 0; i < shape.aux; ++i) {
    const bool is_bit = random.next_u64() % 100 < shape.bits_percent;
    aux.push_back(cs.aux(is_bit ? Fr::from_u64(random.next_u64() & 1) : Fr::random(random)));
  }
  const auto coefficient = [&]() -> Fr {
    switch (random.next_u64() % 4) {
      case 0:
        return Fr::one();
      case 1:
        return -Fr::one();
      case 2:
        return Fr::from_u64(2 + random.next_u64() % 6);
      default:
        return Fr::from_u64(1 + random.next_u64() % 5).inverse();
    }
  };
  const auto combination = [&](std::size_t first_aux) {
    typename CircuitBuilder<Fr>::Combination lc;
    const std::size_t i = random.next_u64() % (shape.inputs + 1);
    lc.push_back(
        {ColumnRef::make(ColumnRef::kInput, static_cast<std::uint32_t>(i)), coefficient()});
    for (std::size_t t = 1, j = first_aux; t < shape.terms && j < aux.size();
         ++t, j += 1 + random.next_u64() % 7) {
      lc.push_back({aux[j], coefficient()});
    }
    return lc;
  };
  for (std::size_t j = 0; j < shape.aux + shape.extra_rows; ++j) {
    const auto a = combination(j < shape.aux ? j : shape.aux);
    const auto b = combination(shape.aux ? random.next_u64() % shape.aux : 0);
    const Fr product = cs.value(a) * cs.value(b);
    typename CircuitBuilder<Fr>::Combination c;
    if (!product.is_zero()) c.push_back({cs.one(), product});
    cs.row(a, b, c);
  }
  return cs.finish();
}

}  // namespace cuzk::groth16::testing
