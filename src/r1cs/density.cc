#include "r1cs/density.h"

#include <bit>

#include "field/bls12_381.h"
#include "field/bn254.h"

namespace cuzk {
namespace {

std::vector<std::uint64_t> clear_words(std::size_t bits) {
  return std::vector<std::uint64_t>((bits + 63) / 64);
}

void insert(std::vector<std::uint64_t>& words, std::size_t i) {
  words[i / 64] |= std::uint64_t{1} << (i % 64);
}

// to |= from << shift, for bits of `from` that lie in [0, size of to - shift).
void merge_shifted(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from,
                   std::size_t shift) {
  const std::size_t word = shift / 64, bit = shift % 64;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!from[i]) continue;
    to[word + i] |= from[i] << bit;
    if (bit && from[i] >> (64 - bit)) to[word + i + 1] |= from[i] >> (64 - bit);
  }
}

// The variables of one matrix of the whole circuit.
struct MatrixDensity {
  std::vector<std::uint64_t> inputs, aux;
};

template <class Fr>
MatrixDensity matrix_density(const CompactR1cs<Fr>& r1cs, Matrix which) {
  MatrixDensity out{clear_words(r1cs.num_inputs), clear_words(r1cs.num_aux)};
  const auto insert_absolute = [&](ColumnRef c) {
    insert(c.kind() == ColumnRef::kAux ? out.aux : out.inputs, c.index());
  };
  for (std::size_t b = 0; b < r1cs.blocks.size(); ++b) {
    const RowBlock& block = r1cs.blocks[b];
    auto local_inputs = clear_words(block.num_inputs), local_aux = clear_words(block.num_aux);
    auto ports = clear_words(block.num_ports);
    for (const Term& term : block.matrix(which).terms) {
      const std::uint32_t i = term.column.index();
      switch (term.column.kind()) {
        case ColumnRef::kLocalAux:
          insert(local_aux, i);
          break;
        case ColumnRef::kLocalInput:
          insert(local_inputs, i);
          break;
        case ColumnRef::kPort:
          insert(ports, i);
          break;
        default:
          insert_absolute(term.column);
      }
    }
    for (const Segment& segment : r1cs.segments) {
      if (segment.block != b) continue;
      merge_shifted(out.aux, local_aux, segment.aux_base);
      merge_shifted(out.inputs, local_inputs, segment.input_base);
      for (std::size_t p = 0; p < block.num_ports; ++p) {
        if (ports[p / 64] >> (p % 64) & 1) insert_absolute(r1cs.ports[segment.port_base + p]);
      }
    }
  }
  return out;
}

VariableSet make_set(std::size_t size, std::vector<std::uint64_t> words) {
  VariableSet set{size, 0, std::move(words)};
  for (std::uint64_t word : set.words) set.count += static_cast<std::size_t>(std::popcount(word));
  return set;
}

}  // namespace

Digest32 VariableSet::digest() const {
  return blake2b_256({reinterpret_cast<const std::uint8_t*>(words.data()), (size + 7) / 8});
}

template <class Fr>
Density compute_density(const CompactR1cs<Fr>& r1cs) {
  MatrixDensity a = matrix_density(r1cs, Matrix::kA);
  MatrixDensity b = matrix_density(r1cs, Matrix::kB);
  return {make_set(r1cs.num_aux, std::move(a.aux)), make_set(r1cs.num_inputs, std::move(b.inputs)),
          make_set(r1cs.num_aux, std::move(b.aux))};
}

template Density compute_density(const CompactR1cs<bls12_381::Fr>&);
template Density compute_density(const CompactR1cs<bn254::Fr>&);

}  // namespace cuzk
