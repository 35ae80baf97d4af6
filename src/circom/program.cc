#include "circom/program.h"

#include <algorithm>
#include <charconv>

#include "circom/decimal.h"
#include "r1cs/eval.h"
#include "r1cs/rows.h"

namespace cuzk::circom {

namespace {

constexpr std::size_t kShownTerms = 8;  // of a sum, in a message

std::string_view cut(std::string_view& rest, char at) {
  const std::size_t end = std::min(rest.find(at), rest.size());
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return out;
}

template <class Fr>
std::uint32_t wire_of(const Program<Fr>& program, ColumnRef column) {
  return column.kind() == ColumnRef::kInput ? column.index()
                                            : program.r1cs.num_inputs + column.index();
}

template <class Fr>
std::string describe_sum(const Program<Fr>& program, const Symbols& symbols,
                         std::span<const Term> terms) {
  if (terms.empty()) return "0";
  std::string out;
  for (std::size_t i = 0; i < std::min(terms.size(), kShownTerms); ++i) {
    const std::string name = symbols.name(wire_of(program, terms[i].column));
    std::string factor = to_signed_decimal(program.r1cs.dictionary[terms[i].coefficient]);
    const bool minus = factor[0] == '-';
    if (minus) factor.erase(0, 1);
    if (i > 0) {
      out += minus ? " - " : " + ";
    } else if (minus) {
      out.push_back('-');
    }
    if (name == "1") {
      out += factor;
    } else {
      out += factor == "1" ? name : fmt::format("{} {}", factor, name);
    }
  }
  if (terms.size() > kShownTerms) {
    out += fmt::format(" + {} more terms", terms.size() - kShownTerms);
  }
  return out;
}

template <class Fr>
tl::unexpected<Error> unsatisfied(const Program<Fr>& program, const CompactWitness<Fr>& witness,
                                  const Symbols& symbols, std::uint32_t row) {
  std::string values[3];
  for_each_row(program.r1cs, row, row + 1,
               [&](std::size_t, const RowBlock& block, std::size_t i, const Segment& segment) {
                 for (int m = 0; m < 3; ++m) {
                   values[m] = to_signed_decimal(
                       evaluate_row(program.r1cs, witness, block.matrices[m].row(i), segment));
                 }
               });
  return fail(ErrorCode::kUnsatisfied,
              "the witness does not satisfy the circuit: {} does not hold, {} * {} is not {}",
              describe_constraint(program, symbols, row), values[0], values[1], values[2]);
}

}  // namespace

Result<Symbols> Symbols::parse(std::string_view text, std::string_view what) {
  Symbols symbols;
  for (std::size_t line = 1; !text.empty(); ++line) {
    std::string_view rest = cut(text, '\n');
    if (rest.ends_with('\r')) rest.remove_suffix(1);
    if (rest.empty()) continue;
    const std::string_view shown = rest.substr(0, 80);
    cut(rest, ',');  // the label
    const std::string_view wire_text = cut(rest, ',');
    cut(rest, ',');  // the component
    std::int64_t wire = 0;
    const auto [end, error] =
        std::from_chars(wire_text.data(), wire_text.data() + wire_text.size(), wire);
    if (error != std::errc() || end != wire_text.data() + wire_text.size() || rest.empty() ||
        wire < -1 || wire > ColumnRef::kIndexMask) {
      return fail(ErrorCode::kCorruptInput,
                  "{}: line {}: expected \"label,wire,component,name\", found \"{}\"", what, line,
                  shown);
    }
    if (wire < 0) continue;
    symbols.names_.emplace_back(static_cast<std::uint32_t>(wire), rest);
  }
  std::ranges::stable_sort(symbols.names_, {}, &Name::first);
  return symbols;
}

std::string Symbols::name(std::uint32_t wire) const {
  if (wire == 0) return "1";
  const auto found = std::ranges::lower_bound(names_, wire, {}, &Name::first);
  if (found != names_.end() && found->first == wire) return found->second;
  return fmt::format("wire {}", wire);
}

template <class Fr>
std::string describe_constraint(const Program<Fr>& program, const Symbols& symbols,
                                std::uint32_t constraint) {
  std::string sums[3];
  for_each_row(program.r1cs, constraint, constraint + 1,
               [&](std::size_t, const RowBlock& block, std::size_t i, const Segment&) {
                 for (int m = 0; m < 3; ++m) {
                   sums[m] = describe_sum(program, symbols, block.matrices[m].row(i));
                 }
               });
  return fmt::format("constraint {} of {}: ({}) * ({}) = {}", constraint,
                     program.header.num_constraints, sums[0], sums[1], sums[2]);
}

template <class Fr>
Status check_satisfied(Tasks& tasks, const Program<Fr>& program, const CompactWitness<Fr>& witness,
                       const Symbols& symbols) {
  const CompactR1cs<Fr>& r1cs = program.r1cs;
  if (witness.inputs.size() != r1cs.num_inputs || witness.num_aux() != r1cs.num_aux) {
    return fail(ErrorCode::kMismatch, "the witness has {} values, the circuit {} has {} wires",
                witness.inputs.size() + witness.num_aux(), r1cs.name, program.header.num_wires);
  }
  CUZK_TRY(const auto row, first_unsatisfied_row(tasks, r1cs, witness));
  if (row) return unsatisfied(program, witness, symbols, *row);
  return {};
}

#define CUZK_INSTANTIATE(Fr)                                                                   \
  template std::string describe_constraint(const Program<Fr>&, const Symbols&, std::uint32_t); \
  template Status check_satisfied(Tasks&, const Program<Fr>&, const CompactWitness<Fr>&,       \
                                  const Symbols&)
CUZK_INSTANTIATE(bn254::Fr);
CUZK_INSTANTIATE(bls12_381::Fr);
#undef CUZK_INSTANTIATE

}  // namespace cuzk::circom
