#include "format/r1cs_file.h"

#include <cstring>

#include "circom/coefficients.h"

namespace cuzk::format {

namespace {

constexpr std::uint32_t kHeader = 1, kConstraints = 2, kLabels = 3;
constexpr std::uint32_t kCustomGates = 4, kCustomGateUses = 5;
constexpr std::size_t kTermBytes = 36;  // wire u32 | coefficient 32 bytes
constexpr std::size_t kRowsBetweenStops = std::size_t{1} << 14;

template <class Fr>
class ConstraintReader {
 public:
  ConstraintReader(ByteSpan bytes, std::string what, const circom::ProgramHeader& header)
      : reader_(bytes, what),
        what_(std::move(what)),
        header_(header),
        table_(Limbs<4>{1}, minus_one()) {}

  Result<RowBlock> run(const Tasks& tasks) {
    RowBlock block;
    block.path = "circuit";
    block.num_rows = header_.num_constraints;
    for (row_ = 0; row_ < header_.num_constraints; ++row_) {
      for (RowMatrix& m : block.matrices) CUZK_TRY_VOID(read_sum(m));
      if (row_ % kRowsBetweenStops == 0 && tasks.stop_requested()) {
        return fail(ErrorCode::kCancelled, "{}: stopped while reading", what_);
      }
    }
    if (reader_.remaining() > 0) {
      return fail(ErrorCode::kCorruptInput, "{}: {} bytes are left over after {} constraints",
                  what_, reader_.remaining(), header_.num_constraints);
    }
    return block;
  }
  std::vector<Fr> dictionary() const {
    std::vector<Fr> out;
    out.reserve(table_.raws().size());
    for (const Limbs<4>& raw : table_.raws()) out.push_back(Fr::from_scalar({raw}));
    return out;
  }

 private:
  static Limbs<4> minus_one() {
    Limbs<4> out = Fr::kModulus;
    out[0] -= 1;
    return out;
  }

  Status read_sum(RowMatrix& m) {
    CUZK_TRY(const std::uint32_t count, reader_.u32_le("number of terms"));
    if (count > reader_.remaining() / kTermBytes) {
      return fail(ErrorCode::kCorruptInput,
                  "{}: constraint {}: a sum of {} terms is declared, the file has room for {}",
                  what_, row_, count, reader_.remaining() / kTermBytes);
    }
    CUZK_TRY(const ByteSpan terms, reader_.take(std::size_t{count} * kTermBytes, "terms"));
    for (std::uint32_t i = 0; i < count; ++i) {
      CUZK_TRY_VOID(read_term(terms.data() + i * kTermBytes, i, m));
    }
    m.row_end.push_back(static_cast<std::uint32_t>(m.terms.size()));
    return {};
  }

  Status read_term(const std::uint8_t* p, std::uint32_t i, RowMatrix& m) {
    const auto wire = load_le<std::uint32_t>(p);
    Limbs<4> value;
    std::memcpy(value.data(), p + 4, sizeof value);
    if (wire >= header_.num_wires) {
      return fail(ErrorCode::kCorruptInput,
                  "{}: constraint {}, term {}: wire {}, the header declares {} wires", what_, row_,
                  i, wire, header_.num_wires);
    }
    if (compare(value, Fr::kModulus) >= 0) {
      return fail(ErrorCode::kCorruptInput,
                  "{}: constraint {}, term {}: the coefficient is not below the prime", what_, row_,
                  i);
    }
    const std::uint32_t inputs = header_.num_public() + 1;
    const ColumnRef column = wire < inputs ? ColumnRef::make(ColumnRef::kInput, wire)
                                           : ColumnRef::make(ColumnRef::kAux, wire - inputs);
    m.terms.push_back({column, table_.index_of(value)});
    return {};
  }

  ByteReader reader_;
  const std::string what_;
  const circom::ProgramHeader& header_;
  circom::CoefficientTable table_;
  std::uint32_t row_ = 0;
};

}  // namespace

Result<R1csFile> R1csFile::parse(InputBytes input) {
  R1csFile out(std::move(input));
  CUZK_TRY(out.sections_, Iden3Sections::parse(out.input_.bytes(), out.name(), "r1cs", 1));
  CUZK_TRY(const auto section, out.sections_.find(kHeader, "header"));
  ByteReader reader(out.input_.bytes().subspan(section.offset, section.size),
                    section_name(out.name(), kHeader, "header"));
  auto& h = out.header_;
  CUZK_TRY(const std::uint32_t n8, reader.u32_le("bytes of the prime"));
  CUZK_TRY(const ByteSpan prime, reader.take(n8, "prime"));
  const auto curve = circom::curve_of_scalar_prime(prime);
  if (!curve) {
    return fail(ErrorCode::kCorruptInput, "{}: the prime is neither BN254's nor BLS12-381's",
                reader.what());
  }
  h.curve = *curve;
  CUZK_TRY(h.num_wires, reader.u32_le("number of wires"));
  CUZK_TRY(h.num_outputs, reader.u32_le("number of public outputs"));
  CUZK_TRY(h.num_public_inputs, reader.u32_le("number of public inputs"));
  CUZK_TRY(h.num_private_inputs, reader.u32_le("number of private inputs"));
  CUZK_TRY(h.num_labels, reader.u64_le("number of labels"));
  CUZK_TRY(h.num_constraints, reader.u32_le("number of constraints"));
  CUZK_TRY_VOID(reader.expect_end());
  if (h.num_wires > ColumnRef::kIndexMask ||
      std::uint64_t{h.num_outputs} + h.num_public_inputs >= h.num_wires) {
    return fail(ErrorCode::kCorruptInput,
                "{}: {} wires cannot hold the constant one, {} public outputs and {} public inputs",
                reader.what(), h.num_wires, h.num_outputs, h.num_public_inputs);
  }
  return out;
}

bool R1csFile::has_custom_gates() const {
  for (const auto& section : sections_.all()) {
    // An empty list is its count of four bytes.
    if ((section.id == kCustomGates || section.id == kCustomGateUses) && section.size > 4) {
      return true;
    }
  }
  return false;
}

Status R1csFile::check_labels() const {
  if (!sections_.has(kLabels)) return {};  // names only
  CUZK_TRY(const auto section, sections_.find(kLabels, "labels"));
  if (section.size != std::uint64_t{header_.num_wires} * 8) {
    return fail(ErrorCode::kCorruptInput, "{} has {} bytes, expected {} for {} wires",
                section_name(name(), kLabels, "labels"), section.size,
                std::uint64_t{header_.num_wires} * 8, header_.num_wires);
  }
  for (std::uint32_t wire = 0; wire < header_.num_wires; ++wire) {
    const auto label =
        load_le<std::uint64_t>(input_.bytes().data() + section.offset + std::size_t{wire} * 8);
    if (label >= header_.num_labels) {
      return fail(ErrorCode::kCorruptInput,
                  "{}: wire {} has label {}, the header declares {} labels",
                  section_name(name(), kLabels, "labels"), wire, label, header_.num_labels);
    }
  }
  return {};
}

template <class Fr>
Result<circom::Program<Fr>> R1csFile::load(Tasks& tasks, MemoryBudget& memory) const {
  if (has_custom_gates()) {
    return fail(ErrorCode::kCorruptInput,
                "{}: the circuit uses custom gates, which are PLONK's; Groth16 proves plain R1CS",
                name());
  }
  CUZK_TRY_VOID(check_labels());
  CUZK_TRY(const auto section, sections_.find(kConstraints, "constraints"));
  const std::string what = section_name(name(), kConstraints, "constraints");
  if (section.size / 12 < header_.num_constraints) {
    return fail(ErrorCode::kCorruptInput,
                "{}: {} constraints of at least 12 bytes are declared, {} bytes are there", what,
                header_.num_constraints, section.size);
  }
  CUZK_TRY(const Reservation reservation,
           memory.reserve(what, section.size / kTermBytes * sizeof(Term)));
  ConstraintReader<Fr> reader(input_.bytes().subspan(section.offset, section.size), what, header_);
  circom::Program<Fr> program;
  program.header = header_;
  CUZK_TRY(RowBlock block, reader.run(tasks));
  auto& r1cs = program.r1cs;
  r1cs.name = name();
  r1cs.num_inputs = header_.num_public() + 1;
  r1cs.num_aux = header_.num_wires - r1cs.num_inputs;
  r1cs.num_rows = header_.num_constraints;
  r1cs.num_full_aux = r1cs.num_aux;
  r1cs.dictionary = reader.dictionary();
  block.num_aux = r1cs.num_aux;
  if (block.num_rows > 0) {
    r1cs.blocks.push_back(std::move(block));
    r1cs.segments.push_back({});
  }
  return program;
}

template Result<circom::Program<bn254::Fr>> R1csFile::load(Tasks&, MemoryBudget&) const;
template Result<circom::Program<bls12_381::Fr>> R1csFile::load(Tasks&, MemoryBudget&) const;

}  // namespace cuzk::format
