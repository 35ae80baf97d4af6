// From a .zkey to a key: the coefficients become compact matrices, the queries read the file.

#include <cstring>
#include <utility>

#include "base/check.h"
#include "circom/coefficients.h"
#include "format/zkey.h"
#include "format/zkey_layout.h"
#include "format/zkey_points.h"

namespace cuzk::format {

namespace {

using namespace zkey_internal;

struct Record {
  std::uint32_t matrix;
  std::uint32_t row;
  std::uint32_t wire;
  Limbs<4> value;
};

// Section 4, decoded. Values are stored times R^2.
template <class Fr>
class CoefficientReader {
 public:
  CoefficientReader(const groth16::Context& context, const ZkeyFile& file, const ZkeyHeader& header,
                    ByteSpan records)
      : context_(context),
        header_(header),
        input_(file.input()),
        records_(records),
        what_(section_name(file.name(), kCoefficients, name_of(kCoefficients))),
        table_(Fr::kR2, minus(Fr::kR2)) {}

  Result<RowBlock> run() {
    CUZK_TRY_VOID(check_records());
    CUZK_TRY_VOID(find_ties());
    count_terms();
    CUZK_TRY_VOID(place_terms());
    input_.done_with(records_);
    return std::move(block_);
  }
  // Montgomery form, in the order of the terms' indices.
  std::vector<Fr> dictionary() const {
    std::vector<Fr> out;
    out.reserve(table_.raws().size());
    const Fr unit{Limbs<4>{1}};  // a product with it divides by R
    for (const Limbs<4>& raw : table_.raws()) out.push_back(Fr{raw} * unit);
    return out;
  }

 private:
  static Limbs<4> minus(const Limbs<4>& v) {
    Limbs<4> out = Fr::kModulus;
    sub_in_place(out, v);
    return out;
  }
  std::size_t count() const { return header_.num_coefficients; }
  std::uint32_t num_inputs() const { return header_.num_public + 1; }

  Record at(std::size_t i) const {
    const std::uint8_t* p = records_.data() + i * kCoefficientBytes;
    Record r;
    r.matrix = load_le<std::uint32_t>(p);
    r.row = load_le<std::uint32_t>(p + 4);
    r.wire = load_le<std::uint32_t>(p + 8);
    std::memcpy(r.value.data(), p + 12, sizeof r.value);
    return r;
  }

  bool is_right(const Record& r) const {
    return r.matrix <= 1 && r.row < header_.domain_size && r.wire < header_.num_wires &&
           compare(r.value, Fr::kModulus) < 0;
  }
  std::string problem_of_record(const Record& r) const {
    if (r.matrix > 1) return fmt::format("matrix {}, expected 0 (A) or 1 (B)", r.matrix);
    if (r.row >= header_.domain_size) {
      return fmt::format("row {}, the domain has {} rows", r.row, header_.domain_size);
    }
    if (r.wire >= header_.num_wires) {
      return fmt::format("wire {}, the key has {} wires", r.wire, header_.num_wires);
    }
    return "the value is not below the prime of the field";
  }

  // Every record by itself; finds the last row.
  Status check_records() {
    FirstBad bad;
    std::atomic<std::uint32_t> last{0};
    context_.tasks.parallel_for(count(), kRecordsPerTask, [&](std::size_t begin, std::size_t end) {
      std::uint32_t seen = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const Record r = at(i);
        if (!is_right(r)) return bad.report(i);
        seen = std::max(seen, r.row);
      }
      std::uint32_t now = last.load();
      while (seen > now && !last.compare_exchange_weak(now, seen)) {
      }
    });
    if (context_.tasks.stop_requested()) return fail(ErrorCode::kCancelled, "{}: stopped", what_);
    if (bad.index() != FirstBad::kNone) {
      return fail(ErrorCode::kCorruptInput, "{}[{}] of {}: {}", what_, bad.index(), count(),
                  problem_of_record(at(bad.index())));
    }
    last_row_ = last;
    return {};
  }

  bool is_tie(const Record& r) const { return r.row >= num_rows_; }

  // The last rows tie the public signals: signal s alone in A, times one, and nothing in B. Without
  // them a proof could be turned into one of other public signals.
  Status find_ties() {
    const std::uint64_t rows = std::uint64_t{last_row_} + 1;
    if (count() == 0 || rows < num_inputs()) return missing_ties();
    num_rows_ = static_cast<std::uint32_t>(rows - num_inputs());
    std::size_t ties = 0;
    std::vector<bool> tied(num_inputs());
    for (std::size_t i = 0; i < count(); ++i) {
      const Record r = at(i);
      if (!is_tie(r)) continue;
      if (r.matrix != 0 || r.wire != r.row - num_rows_ || r.value != Fr::kR2 || tied[r.wire]) {
        return missing_ties();
      }
      tied[r.wire] = true;
      ++ties;
    }
    return ties == num_inputs() ? Status() : missing_ties();
  }
  tl::unexpected<Error> missing_ties() const {
    return fail(ErrorCode::kCorruptInput,
                "{}: the last {} rows, up to {}, do not tie the {} public signals and the constant "
                "one, as they must for proofs to be bound to them",
                what_, num_inputs(), last_row_, header_.num_public);
  }

  void count_terms() {
    block_.path = "circuit";
    block_.num_rows = num_rows_;
    block_.num_inputs = 0;
    for (RowMatrix& m : block_.matrices) m.row_end.assign(num_rows_, 0);
    for (std::size_t i = 0; i < count(); ++i) {
      const Record r = at(i);
      if (!is_tie(r)) ++block_.matrices[r.matrix].row_end[r.row];
    }
    for (RowMatrix& m : block_.matrices) {
      std::uint32_t sum = 0;
      for (std::uint32_t& end : m.row_end) end = std::exchange(sum, sum + end);
      m.terms.resize(sum);
    }
  }

  // row_end holds where each row's next term goes, and so the row's end when all are placed.
  Status place_terms() {
    for (std::size_t i = 0; i < count(); ++i) {
      const Record r = at(i);
      if (is_tie(r)) continue;
      RowMatrix& m = block_.matrices[r.matrix];
      const ColumnRef column = r.wire < num_inputs()
                                   ? ColumnRef::make(ColumnRef::kInput, r.wire)
                                   : ColumnRef::make(ColumnRef::kAux, r.wire - num_inputs());
      m.terms[m.row_end[r.row]++] = {column, table_.index_of(r.value)};
      if (i % kRecordsPerTask == 0 && context_.tasks.stop_requested()) {
        return fail(ErrorCode::kCancelled, "{}: stopped", what_);
      }
    }
    return {};
  }

  static constexpr std::size_t kRecordsPerTask = std::size_t{1} << 15;

  const groth16::Context& context_;
  const ZkeyHeader& header_;
  const InputBytes& input_;
  const ByteSpan records_;
  const std::string what_;
  circom::CoefficientTable table_;
  std::uint32_t last_row_ = 0;
  std::uint32_t num_rows_ = 0;
  RowBlock block_;
};

template <class Fr>
Result<CompactR1cs<Fr>> matrices_of(const groth16::Context& context, const ZkeyFile& file,
                                    const ZkeyHeader& header, ByteSpan section) {
  const auto span = context.timeline.span("read_coefficients", context.lane);
  CoefficientReader<Fr> reader(context, file, header, section.subspan(4));
  CUZK_TRY(RowBlock block, reader.run());
  CompactR1cs<Fr> r1cs;
  r1cs.name = file.name();
  r1cs.num_inputs = header.num_public + 1;
  r1cs.num_aux = header.num_wires - r1cs.num_inputs;
  r1cs.num_rows = block.num_rows;
  r1cs.num_full_aux = r1cs.num_aux;
  r1cs.dictionary = reader.dictionary();
  block.num_aux = r1cs.num_aux;
  if (block.num_rows > 0) {
    r1cs.blocks.push_back(std::move(block));
    r1cs.segments.push_back({});
  }
  return r1cs;
}

// A query that reads the selected wires' points when its sum is due.
template <class G>
groth16::Query<G> query_of(const ZkeyFile& file, std::uint32_t id, ByteSpan section,
                           std::shared_ptr<const Density> density, WireSelection selection) {
  return groth16::Query<G>(
      selection.count(), [input = file.input(), id, section, density = std::move(density),
                          selection](const groth16::Context& context) {
        return read_selected_points<G>(context, input, section, selection,
                                       section_name(input.name(), id, name_of(id)));
      });
}

template <class G>
groth16::Query<G> whole_query(const ZkeyFile& file, std::uint32_t id, ByteSpan section) {
  return groth16::Query<G>(section.size() / sizeof(Affine<G>),
                           [input = file.input(), id, section](const groth16::Context& context) {
                             return read_all_points<G>(context, input, section,
                                                       section_name(input.name(), id, name_of(id)));
                           });
}

}  // namespace

template <class Curve>
Result<circom::Key<Curve>> ZkeyFile::load(const groth16::Context& context) const {
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;
  using Fr = typename Curve::Fr;
  CUZK_TRY(const ZkeyHeader head, header());
  CUZK_CHECK(head.curve == circom::kCurveId<Curve>);
  circom::Key<Curve> key;
  // A term has eight bytes, a row's ends twice four; the dictionary is small beside them.
  const std::size_t bytes =
      std::size_t{head.num_coefficients} * sizeof(Term) + std::size_t{head.domain_size} * 8;
  CUZK_TRY(key.matrices_memory, context.memory.reserve(name() + ": matrices", bytes));
  CUZK_TRY(key.matrices, matrices_of<Fr>(context, *this, head, section(kCoefficients)));
  key.density = std::make_shared<const Density>(compute_density(key.matrices));

  auto& proving = key.proving;
  CUZK_TRY(proving.vk, verifying_key<Curve>(PointCheck::kSubgroup));
  proving.domain_log2 = static_cast<unsigned>(std::countr_zero(head.domain_size));
  const Density& density = *key.density;
  const std::size_t inputs = key.matrices.num_inputs;
  const WireSelection in_a{inputs, nullptr, &density.a_aux};
  const WireSelection in_b{inputs, &density.b_input, &density.b_aux};
  proving.a_query = query_of<G1>(*this, kA, section(kA), key.density, in_a);
  proving.b_g1_query = query_of<G1>(*this, kB1, section(kB1), key.density, in_b);
  proving.b_g2_query = query_of<G2>(*this, kB2, section(kB2), key.density, in_b);
  proving.l_query = whole_query<G1>(*this, kC, section(kC));
  proving.h_query = whole_query<G1>(*this, kH, section(kH));
  return key;
}

template Result<circom::Key<Bn254>> ZkeyFile::load(const groth16::Context&) const;
template Result<circom::Key<Bls12_381>> ZkeyFile::load(const groth16::Context&) const;

}  // namespace cuzk::format
