#pragma once
// Constraint matrices in compact form.
//
// A circuit is a list of segments. A segment places a block of rows (a RowBlock) once: it says
// where the block's rows, its own auxiliary variables and its own inputs begin. A circuit that
// repeats a gadget a thousand times keeps the gadget's rows once and a thousand small Segment
// records; a circuit with no repetition is one block and one segment. Terms name their variable
// relative to the segment or absolutely, in 32 bits; coefficients are indices into a dictionary.
//
// The rows Input(i) * 0 = 0 that the Groth16 set-up appends for every input are NOT stored here;
// who needs them adds them (num_rows_with_inputs()).
//
// Form:    dictionary in Montgomery form; entry 0 is 1, entry 1 is -1.
// Threads: immutable once built.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cuzk {

// A variable as a term stores it: a kind in the top three bits, an index in the other 29.
struct ColumnRef {
  enum Kind : std::uint32_t {
    kAux = 0,         // auxiliary variable `index` of the circuit
    kInput = 1,       // input `index` of the circuit; input 0 is the constant one
    kLocalAux = 2,    // auxiliary variable segment.aux_base + index
    kLocalInput = 3,  // input segment.input_base + index
    kPort = 4,        // ports[segment.port_base + index], itself a kAux or kInput reference
  };
  static constexpr std::uint32_t kIndexBits = 29;
  static constexpr std::uint32_t kIndexMask = (1u << kIndexBits) - 1;

  std::uint32_t raw = 0;

  static constexpr ColumnRef make(Kind kind, std::uint32_t index) {
    return {kind << kIndexBits | index};
  }
  constexpr Kind kind() const { return static_cast<Kind>(raw >> kIndexBits); }
  constexpr std::uint32_t index() const { return raw & kIndexMask; }
  friend bool operator==(ColumnRef, ColumnRef) = default;
};

struct Term {
  ColumnRef column;
  std::uint32_t coefficient;  // index into CompactR1cs::dictionary
};
static_assert(sizeof(Term) == 8);

// One matrix of a block, rows compressed: row i has terms[row_end[i-1] .. row_end[i]).
// Within a row: no variable twice, no zero coefficient, inputs before auxiliaries, indices
// ascending (as resolved in every segment that places the block).
struct RowMatrix {
  std::vector<std::uint32_t> row_end;
  std::vector<Term> terms;

  std::span<const Term> row(std::size_t i) const {
    const std::size_t begin = i ? row_end[i - 1] : 0;
    return {terms.data() + begin, row_end[i] - begin};
  }
};

enum class Matrix { kA = 0, kB = 1, kC = 2 };

struct RowBlock {
  std::string path;  // the gadget path that the block was recorded under
  std::uint32_t num_rows = 0;
  std::uint32_t num_aux = 0;
  std::uint32_t num_inputs = 0;
  std::uint32_t num_ports = 0;
  RowMatrix matrices[3] = {};

  const RowMatrix& matrix(Matrix m) const { return matrices[static_cast<int>(m)]; }
};

struct Segment {
  std::uint32_t block = 0;
  std::uint32_t row_base = 0;
  std::uint32_t aux_base = 0;
  std::uint32_t input_base = 0;
  std::uint32_t port_base = 0;
};

// A named range of rows, for error messages; outermost first, in order of first_row.
struct PathRange {
  std::uint32_t first_row;  // of the whole circuit
  std::uint32_t num_rows;
  std::uint32_t first_aux;
  std::uint32_t num_aux;
  std::uint16_t depth;  // 1 for the outermost
  std::string name;     // last component only
};

template <class Fr>
struct CompactR1cs {
  std::string name;
  std::uint32_t num_inputs = 1;  // with the constant one
  std::uint32_t num_aux = 0;
  std::uint32_t num_rows = 0;  // emitted by the circuit
  std::uint32_t num_full_aux =
      0;  // auxiliaries that were not allocated as bits: a bound on full scalars
  std::vector<Fr> dictionary;
  std::vector<RowBlock> blocks;
  std::vector<Segment> segments;  // rows, aux and inputs ascending and without gaps
  std::vector<ColumnRef> ports;
  std::vector<PathRange> paths;

  std::uint64_t num_rows_with_inputs() const { return std::uint64_t{num_rows} + num_inputs; }
  unsigned domain_log2() const {
    unsigned k = 0;
    while ((std::uint64_t{1} << k) < num_rows_with_inputs()) ++k;
    return k;
  }
  // Absolute form (kAux or kInput) of a reference inside `segment`.
  ColumnRef resolve(ColumnRef c, const Segment& segment) const {
    switch (c.kind()) {
      case ColumnRef::kLocalAux:
        return ColumnRef::make(ColumnRef::kAux, segment.aux_base + c.index());
      case ColumnRef::kLocalInput:
        return ColumnRef::make(ColumnRef::kInput, segment.input_base + c.index());
      case ColumnRef::kPort:
        return ports[segment.port_base + c.index()];
      default:
        return c;
    }
  }
  // Bytes of memory that the matrices, dictionary and tables take.
  std::size_t bytes() const {
    std::size_t total = sizeof(Fr) * dictionary.size() + sizeof(Segment) * segments.size() +
                        sizeof(ColumnRef) * ports.size() + sizeof(PathRange) * paths.size();
    for (const RowBlock& block : blocks) {
      for (const RowMatrix& m : block.matrices) {
        total += sizeof(std::uint32_t) * m.row_end.size() + sizeof(Term) * m.terms.size();
      }
    }
    return total;
  }
};

}  // namespace cuzk
