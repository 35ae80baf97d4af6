#pragma once
// The builder that records constraints.
//
// Gadgets are written once, templated over a builder CS: Recorder (here) keeps the rows and knows
// no values; WitnessBuilder (witness_builder.h) keeps the values and emits no row. What a builder
// offers:
//   Fr, Value, Num, Bit, Word, Lin      a field element of the program; one of the assignment; an
//                                       allocated variable; a Boolean (constant, variable or its
//                                       negation); 32 Booleans; a linear combination
//   kRecordsRows                        whether enforce() does anything
//   value(f)                            the Value that f() computes, if values are wanted
//   alloc, alloc_input, alloc_bit(s)    new variables
//   alloc_xor, alloc_and, ...           new variables that are functions of Booleans
//   enforce(fill)                       fill(a, b, c) adds the terms of one row
//   scope(name[, index])                names the rows that follow until the result dies
//   repeat(count, name, body)           body(cs, i) for i = 0 .. count - 1
//   repeat(count, name, outside, body)  the same, where instance i refers to outside(i)
//
// repeat() records body(cs, 0) as one block, replays body(cs, 1) against it row by row, and places
// the rest by arithmetic. Instances may not refer to each other, and nothing that a body allocates
// may be used outside it but a Num that it returns: repeat() then returns those of all instances.
// Variables from outside that differ from one instance to the next are listed by outside(i), as
// Nums or Bits: as many in every instance, in ascending order of allocation, and where one shares a
// linear combination with others from outside, on the same side of them in every instance.
//
// Errors:  a circuit that does not repeat exactly breaks an invariant.
// Threads: one thread.
// Source:  bellpepper-core 0.2.1 (ConstraintSystem, LinearCombination) for what rows mean.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "r1cs/compact_r1cs.h"

namespace cuzk::gadget {

// Stands for a field element that a recorder does not know.
struct NoValue {
  friend NoValue operator+(NoValue, NoValue) { return {}; }
  friend NoValue operator-(NoValue, NoValue) { return {}; }
  friend NoValue operator*(NoValue, NoValue) { return {}; }
  NoValue square() const { return {}; }
};

// 2^i for i below the field's size, as elements.
template <class Fr>
const Fr& power_of_two(std::size_t i) {
  static const auto powers = [] {
    std::array<Fr, Fr::kBits> p;
    p[0] = Fr::one();
    for (std::size_t k = 1; k < p.size(); ++k) p[k] = p[k - 1].dbl();
    return p;
  }();
  CUZK_CHECK(i < powers.size());
  return powers[i];
}

struct RecordedNum {
  ColumnRef variable;
  static constexpr NoValue value{};
};

class RecordedBit {
 public:
  RecordedBit() = default;  // constant false
  static RecordedBit constant(bool v) { return RecordedBit(kConstant, v, {}); }
  static RecordedBit variable_bit(ColumnRef v) { return RecordedBit(kVariable, false, v); }

  bool is_constant() const { return kind_ == kConstant; }
  bool constant_value() const { return flag_; }
  bool is_negated() const { return kind_ == kVariable && flag_; }
  ColumnRef variable() const { return variable_; }
  RecordedBit operator!() const { return RecordedBit(kind_, !flag_, variable_); }

 private:
  enum Kind : std::uint8_t { kConstant, kVariable };
  RecordedBit(Kind kind, bool flag, ColumnRef v) : variable_(v), kind_(kind), flag_(flag) {}

  ColumnRef variable_;
  Kind kind_ = kConstant;
  bool flag_ = false;  // value of a constant, negation of a variable
};

// 32 Booleans, lowest first.
class RecordedWord {
 public:
  static RecordedWord constant(std::uint32_t v) {
    RecordedWord w;
    for (unsigned i = 0; i < 32; ++i) w.bits_[i] = RecordedBit::constant(v >> i & 1);
    return w;
  }
  static RecordedWord from_bits(std::span<const RecordedBit, 32> bits) {
    RecordedWord w;
    std::copy(bits.begin(), bits.end(), w.bits_.begin());
    return w;
  }
  RecordedBit bit(unsigned i) const { return bits_[i]; }
  bool is_constant() const {
    return std::all_of(bits_.begin(), bits_.end(), [](RecordedBit b) { return b.is_constant(); });
  }
  RecordedWord rotr(unsigned n) const {
    RecordedWord w;
    for (unsigned i = 0; i < 32; ++i) w.bits_[i] = bits_[(i + n) % 32];
    return w;
  }
  RecordedWord shr(unsigned n) const {
    RecordedWord w = constant(0);
    for (unsigned i = 0; i + n < 32; ++i) w.bits_[i] = bits_[i + n];
    return w;
  }

 private:
  std::array<RecordedBit, 32> bits_;
};

// Sum of coefficient * variable. Terms are in any order and may repeat until normalise().
template <class Fr>
class RecordedLin {
 public:
  struct LinTerm {
    ColumnRef column;
    Fr coefficient;
    // Inputs before auxiliaries, indices ascending.
    std::uint32_t key() const { return column.raw ^ (1u << ColumnRef::kIndexBits); }
  };
  static constexpr NoValue value{};

  RecordedLin() = default;
  explicit RecordedLin(RecordedNum n) { add(n); }

  void add_term(ColumnRef column, const Fr& coefficient) {
    terms_.push_back({column, coefficient});
  }
  void add(RecordedNum n) { add_term(n.variable, Fr::one()); }
  void add(RecordedNum n, const Fr& coefficient) { add_term(n.variable, coefficient); }
  void subtract(RecordedNum n) { add_term(n.variable, -Fr::one()); }
  void add_constant(const Fr& c) { add_term(ColumnRef::make(ColumnRef::kInput, 0), c); }
  void add(RecordedBit b) { add(b, Fr::one()); }
  void add(RecordedBit b, const Fr& coefficient) {
    if (b.is_constant()) {
      if (b.constant_value()) add_constant(coefficient);
    } else if (b.is_negated()) {
      add_constant(coefficient);
      add_term(b.variable(), -coefficient);
    } else {
      add_term(b.variable(), coefficient);
    }
  }
  void subtract(RecordedBit b) { add(b, -Fr::one()); }
  void add(const RecordedLin& other) {
    terms_.insert(terms_.end(), other.terms_.begin(), other.terms_.end());
  }
  void add(const RecordedLin& other, const Fr& coefficient) {
    for (const LinTerm& t : other.terms_) add_term(t.column, t.coefficient * coefficient);
  }

  // Sorts and adds up the coefficients of equal variables.
  void normalise() {
    const auto less = [](const LinTerm& x, const LinTerm& y) { return x.key() < y.key(); };
    if (!std::is_sorted(terms_.begin(), terms_.end(), less)) {
      std::sort(terms_.begin(), terms_.end(), less);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if (kept && terms_[kept - 1].column == terms_[i].column) {
        terms_[kept - 1].coefficient += terms_[i].coefficient;
      } else {
        terms_[kept++] = terms_[i];
      }
    }
    terms_.resize(kept);
  }
  std::span<const LinTerm> terms() const { return terms_; }
  void clear() { terms_.clear(); }

 private:
  std::vector<LinTerm> terms_;
};

// Maps coefficients to their index in the dictionary, in order of first use.
template <class Fr>
class CoefficientTable {
 public:
  CoefficientTable() : entries_{Fr::one(), -Fr::one()} {
    index_.emplace(entries_[0], 0);
    index_.emplace(entries_[1], 1);
  }
  std::uint32_t index_of(const Fr& c) {
    if (c == entries_[0]) return 0;
    if (c == entries_[1]) return 1;
    const auto [it, added] = index_.emplace(c, static_cast<std::uint32_t>(entries_.size()));
    if (added) entries_.push_back(c);
    return it->second;
  }
  std::vector<Fr> take() { return std::move(entries_); }

 private:
  struct Hash {
    std::size_t operator()(const Fr& c) const {
      std::uint64_t h = 0;
      for (std::uint64_t limb : c.limbs) h = (h ^ limb) * 0x9e3779b97f4a7c15;
      return h ^ h >> 32;
    }
  };
  std::vector<Fr> entries_;
  std::unordered_map<Fr, std::uint32_t, Hash> index_;
};

template <class FrType>
class Recorder {
 public:
  using Fr = FrType;
  using Value = NoValue;
  using Num = RecordedNum;
  using Bit = RecordedBit;
  using Word = RecordedWord;
  using Lin = RecordedLin<Fr>;
  static constexpr bool kRecordsRows = true;

  explicit Recorder(std::string name) {
    r1cs_.name = std::move(name);
    begin_block("");
  }

  template <class F>
  static Value value(F&&) {
    return {};
  }
  // The number, or the low bits of the number, that a witness would compute; here nothing.
  template <class F>
  static std::uint64_t index(F&&) {
    return 0;
  }

  Num alloc(Value) {
    ++r1cs_.num_full_aux;
    return {new_aux()};
  }
  Num alloc_input(Value) {
    CUZK_CHECK(r1cs_.num_inputs < ColumnRef::kIndexMask);
    return {ColumnRef::make(ColumnRef::kInput, r1cs_.num_inputs++)};
  }
  Bit alloc_bit(bool) {
    const Bit bit = Bit::variable_bit(new_aux());
    enforce([&](Lin& a, Lin& b, Lin&) {
      a.add(!bit);
      b.add(bit);
    });
    return bit;
  }
  // `count` bits, lowest first, each constrained to be 0 or 1.
  std::vector<Bit> alloc_bits(Value, std::size_t count) {
    std::vector<Bit> bits(count);
    for (Bit& b : bits) b = alloc_bit(false);
    return bits;
  }
  std::vector<Bit> alloc_bits_u64(std::uint64_t, std::size_t count) {
    return alloc_bits(Value{}, count);
  }

  // The exclusive or of the variables under two non-constant Booleans, whose negations the caller
  // accounts for.
  Bit alloc_xor_of_variables(Bit x, Bit y) {
    const Bit r = Bit::variable_bit(new_aux());
    enforce([&](Lin& a, Lin& b, Lin& c) {
      a.add_term(x.variable(), power_of_two<Fr>(1));
      b.add_term(y.variable(), Fr::one());
      c.add_term(x.variable(), Fr::one());
      c.add_term(y.variable(), Fr::one());
      c.subtract(r);
    });
    return r;
  }
  // x and y, none constant.
  Bit alloc_and(Bit x, Bit y) {
    const Bit r = Bit::variable_bit(new_aux());
    enforce([&](Lin& a, Lin& b, Lin& c) {
      a.add(x);
      b.add(y);
      c.add(r);
    });
    return r;
  }
  // x ? y : z by one row; x may be constant.
  Bit alloc_choice(Bit x, Bit y, Bit z) {
    const Bit r = Bit::variable_bit(new_aux());
    enforce([&](Lin& a, Lin& b, Lin& c) {
      a.add(y);
      a.subtract(z);
      b.add(x);
      c.add(r);
      c.subtract(z);
    });
    return r;
  }
  // What at least two of the three are. The result is allocated before the product of y and z.
  template <class And>
  Bit alloc_majority(Bit x, Bit y, Bit z, And&& and_gadget) {
    const Bit r = Bit::variable_bit(new_aux());
    const Bit yz = and_gadget(y, z);
    enforce([&](Lin& a, Lin& b, Lin& c) {
      a.add(yz, power_of_two<Fr>(1));
      a.subtract(y);
      a.subtract(z);
      b.add(x);
      c.add(yz);
      c.subtract(r);
    });
    return r;
  }

  // One row: fill(a, b, c) adds the terms.
  template <class F>
  void enforce(F&& fill) {
    for (Lin& lin : row_) lin.clear();
    fill(row_[0], row_[1], row_[2]);
    commit_row();
  }

  class Scope {
   public:
    Scope(Recorder& cs, std::string name) : cs_(cs), range_(cs.open_path(std::move(name))) {}
    ~Scope() { cs_.close_path(range_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Recorder& cs_;
    std::size_t range_;
  };
  [[nodiscard]] Scope scope(std::string_view name) { return Scope(*this, std::string(name)); }
  [[nodiscard]] Scope scope(std::string_view name, std::size_t index) {
    return Scope(*this, indexed(name, index));
  }

  template <class Body>
  auto repeat(std::uint32_t count, std::string_view name, Body&& body) {
    return repeat(
        count, name, [](std::uint32_t) { return std::vector<Num>(); }, body);
  }
  template <class Outside, class Body>
  auto repeat(std::uint32_t count, std::string_view name, Outside&& outside, Body&& body) {
    std::vector<Num> results;
    if (count > 0) record_instances(count, name, outside, body, results);
    if constexpr (!returns_nothing<Body>) return results;
  }

  // Ends the recording; the recorder is empty afterwards.
  CompactR1cs<Fr> finish() {
    end_block();
    r1cs_.dictionary = coefficients_.take();
    std::stable_sort(r1cs_.paths.begin(), r1cs_.paths.end(),
                     [](const PathRange& x, const PathRange& y) {
                       return std::pair(x.first_row, x.depth) < std::pair(y.first_row, y.depth);
                     });
    return std::move(r1cs_);
  }

 private:
  static constexpr std::uint32_t kMaxRows = ~std::uint32_t{0};

  // Counters of everything that a body makes.
  struct Marks {
    std::uint32_t rows, aux, inputs, full_aux;
    friend bool operator==(const Marks&, const Marks&) = default;
    friend Marks operator-(const Marks& x, const Marks& y) {
      return {x.rows - y.rows, x.aux - y.aux, x.inputs - y.inputs, x.full_aux - y.full_aux};
    }
  };
  Marks marks() const {
    return {r1cs_.num_rows, r1cs_.num_aux, r1cs_.num_inputs, r1cs_.num_full_aux};
  }

  template <class Body>
  static constexpr bool returns_nothing =
      std::is_void_v<std::invoke_result_t<Body&, Recorder&, std::uint32_t>>;

  template <class Outside, class Body>
  void record_instances(std::uint32_t count, std::string_view name, Outside& outside, Body& body,
                        std::vector<Num>& results) {
    CUZK_CHECK(!in_repeat_);  // bodies do not nest
    in_repeat_ = true;
    end_block();
    begin_block(std::string(name));
    open_ports(outside(0));
    const std::size_t first_path = r1cs_.paths.size();
    const Marks before = marks();
    {
      const auto named = scope(name, 0);
      run_instance(body, 0, results);
    }
    const Marks size = marks() - before;
    const std::size_t end_path = r1cs_.paths.size();
    end_block();
    if (count > 1) {
      open_ports(outside(1));
      replay(size, [&] { run_instance(body, 1, results); });
    }
    port_index_.clear();
    place_copies(count, name, size, first_path, end_path);
    place_ports(count, size, outside);
    for (std::uint32_t i = 2; !results.empty() && i < count; ++i) {
      results.push_back(
          {ColumnRef::make(ColumnRef::kAux, results.back().variable.index() + size.aux)});
    }
    in_repeat_ = false;
    begin_block("");
  }
  template <class Body>
  void run_instance(Body& body, std::uint32_t i, std::vector<Num>& results) {
    if constexpr (returns_nothing<Body>) {
      body(*this, i);
    } else {
      results.push_back(body(*this, i));
      CUZK_CHECK(results.back().variable.index() >= start_.aux);  // made by the body
    }
  }

  static ColumnRef variable_of(const Num& n) { return n.variable; }
  static ColumnRef variable_of(const Bit& b) {
    CUZK_CHECK(!b.is_constant());
    return b.variable();
  }
  // The variables that the instance about to run refers to by port.
  template <class T>
  void open_ports(const std::vector<T>& outside) {
    port_index_.clear();
    ColumnRef last{};
    for (const T& x : outside) {
      const ColumnRef v = variable_of(x);
      CUZK_CHECK(v.kind() == ColumnRef::kAux && v.index() < r1cs_.num_aux);
      CUZK_CHECK(port_index_.empty() || last.index() < v.index());
      port_index_.emplace(v.raw, static_cast<std::uint32_t>(port_index_.size()));
      last = v;
    }
    block_.num_ports = static_cast<std::uint32_t>(outside.size());
  }
  // Fills the ports of all instances, whose segments are the last ones.
  template <class Outside>
  void place_ports(std::uint32_t count, const Marks& size, Outside& outside) {
    const std::uint32_t num_ports = r1cs_.blocks.empty() ? 0 : r1cs_.blocks.back().num_ports;
    if (size == Marks{0, 0, 0, 0} || num_ports == 0) return;
    Segment* segment = r1cs_.segments.data() + (r1cs_.segments.size() - count);
    for (std::uint32_t i = 0; i < count; ++i, ++segment) {
      segment->port_base = static_cast<std::uint32_t>(r1cs_.ports.size());
      const auto variables = outside(i);
      CUZK_CHECK(variables.size() == num_ports);
      for (const auto& x : variables) r1cs_.ports.push_back(variable_of(x));
    }
  }

  static std::string indexed(std::string_view name, std::size_t index) {
    return std::string(name) + " " + std::to_string(index);
  }

  ColumnRef new_aux() {
    CUZK_CHECK(r1cs_.num_aux < ColumnRef::kIndexMask);
    return ColumnRef::make(ColumnRef::kAux, r1cs_.num_aux++);
  }

  void begin_block(std::string path) {
    block_ = RowBlock{};
    block_.path = std::move(path);
    start_ = marks();
  }
  void end_block() {
    const Marks size = marks() - start_;
    if (size == Marks{0, 0, 0, 0}) return;
    block_.num_rows = size.rows;
    block_.num_aux = size.aux;
    block_.num_inputs = size.inputs;
    for (RowMatrix& m : block_.matrices) {
      m.row_end.shrink_to_fit();
      m.terms.shrink_to_fit();
    }
    const auto index = static_cast<std::uint32_t>(r1cs_.blocks.size());
    r1cs_.segments.push_back({index, start_.rows, start_.aux, start_.inputs, 0});
    r1cs_.blocks.push_back(std::move(block_));
  }

  // Runs an instance of the last block again, comparing instead of recording.
  template <class F>
  void replay(const Marks& size, F&& run) {
    start_ = marks();
    replayed_ = &r1cs_.blocks.back();
    run();
    replayed_ = nullptr;
    CUZK_CHECK(marks() - start_ == size);
    r1cs_.num_rows = start_.rows;
    r1cs_.num_aux = start_.aux;
    r1cs_.num_inputs = start_.inputs;
    r1cs_.num_full_aux = start_.full_aux;
  }

  void place_copies(std::uint32_t count, std::string_view name, const Marks& size,
                    std::size_t first_path, std::size_t end_path) {
    const std::uint64_t copies = count - 1;
    CUZK_CHECK(r1cs_.num_rows + copies * size.rows <= kMaxRows);
    CUZK_CHECK(r1cs_.num_aux + copies * size.aux <= ColumnRef::kIndexMask);
    CUZK_CHECK(r1cs_.num_inputs + copies * size.inputs <= ColumnRef::kIndexMask);
    Segment segment = r1cs_.segments.back();
    for (std::uint32_t i = 1; i < count; ++i) {
      segment.row_base += size.rows;
      segment.aux_base += size.aux;
      segment.input_base += size.inputs;
      if (size.rows || size.aux || size.inputs) r1cs_.segments.push_back(segment);
      for (std::size_t p = first_path; p < end_path; ++p) {
        PathRange range = r1cs_.paths[p];
        range.first_row += i * size.rows;
        range.first_aux += i * size.aux;
        if (p == first_path) range.name = indexed(name, i);
        r1cs_.paths.push_back(std::move(range));
      }
    }
    r1cs_.num_rows += static_cast<std::uint32_t>(copies) * size.rows;
    r1cs_.num_aux += static_cast<std::uint32_t>(copies) * size.aux;
    r1cs_.num_inputs += static_cast<std::uint32_t>(copies) * size.inputs;
    r1cs_.num_full_aux += static_cast<std::uint32_t>(copies) * size.full_aux;
  }

  std::size_t open_path(std::string name) {
    ++depth_;
    if (replayed_) return 0;
    r1cs_.paths.push_back(
        {r1cs_.num_rows, 0, r1cs_.num_aux, 0, static_cast<std::uint16_t>(depth_), std::move(name)});
    return r1cs_.paths.size() - 1;
  }
  void close_path(std::size_t index) {
    --depth_;
    if (replayed_) return;
    PathRange& range = r1cs_.paths[index];
    range.num_rows = r1cs_.num_rows - range.first_row;
    range.num_aux = r1cs_.num_aux - range.first_aux;
  }

  // The reference as the current block stores it.
  ColumnRef localise(ColumnRef c) const {
    const std::uint32_t i = c.index();
    if (c.kind() == ColumnRef::kAux) {
      if (i >= start_.aux) return ColumnRef::make(ColumnRef::kLocalAux, i - start_.aux);
      if (port_index_.empty()) return c;
      const auto port = port_index_.find(c.raw);
      return port == port_index_.end() ? c : ColumnRef::make(ColumnRef::kPort, port->second);
    }
    return i < start_.inputs ? c : ColumnRef::make(ColumnRef::kLocalInput, i - start_.inputs);
  }

  void commit_row() {
    CUZK_CHECK(r1cs_.num_rows < kMaxRows);
    for (int m = 0; m < 3; ++m) {
      row_[m].normalise();
      if (replayed_) {
        compare_row(row_[m], replayed_->matrices[m]);
      } else {
        store_row(row_[m], block_.matrices[m]);
      }
    }
    ++r1cs_.num_rows;
  }
  void store_row(const Lin& lin, RowMatrix& matrix) {
    for (const auto& t : lin.terms()) {
      if (t.coefficient.is_zero()) continue;
      matrix.terms.push_back({localise(t.column), coefficients_.index_of(t.coefficient)});
    }
    CUZK_CHECK(matrix.terms.size() <= ~std::uint32_t{0});
    matrix.row_end.push_back(static_cast<std::uint32_t>(matrix.terms.size()));
  }
  void compare_row(const Lin& lin, const RowMatrix& matrix) {
    const std::size_t row = r1cs_.num_rows - start_.rows;
    CUZK_CHECK(row < matrix.row_end.size());
    const auto expected = matrix.row(row);
    std::size_t i = 0;
    for (const auto& t : lin.terms()) {
      if (t.coefficient.is_zero()) continue;
      CUZK_CHECK(i < expected.size() && expected[i].column == localise(t.column) &&
                 expected[i].coefficient == coefficients_.index_of(t.coefficient));
      ++i;
    }
    CUZK_CHECK(i == expected.size());
  }

  CompactR1cs<Fr> r1cs_;
  CoefficientTable<Fr> coefficients_;
  RowBlock block_;                                               // being recorded
  Marks start_{};                                                // where it began
  std::unordered_map<std::uint32_t, std::uint32_t> port_index_;  // by ColumnRef::raw
  const RowBlock* replayed_ = nullptr;
  bool in_repeat_ = false;
  std::size_t depth_ = 0;
  Lin row_[3];
};

}  // namespace cuzk::gadget
