#pragma once
// The builder that computes values: the same gadgets, no rows. See recorder.h for the vocabulary.
//
// Booleans that SHA-256 handles come as whole words of 32; their variables are pushed a word at a
// time. The instances of repeat() are built in parallel and joined in order.
//
// Form:    Montgomery.
// Threads: one thread, but that repeat() runs its bodies on `tasks`: a body works on the builder
//          that it is given and only reads what lies outside.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/tasks.h"
#include "r1cs/witness.h"

namespace cuzk::gadget {

class WitnessBit {
 public:
  WitnessBit() = default;  // constant false
  static WitnessBit constant(bool v) { return WitnessBit(v, true, false); }
  static WitnessBit variable_bit(bool v) { return WitnessBit(v, false, false); }
  WitnessBit(bool value, bool is_constant, bool is_negated)
      : value_(value), constant_(is_constant), negated_(is_negated) {}

  bool is_constant() const { return constant_; }
  bool constant_value() const { return value_; }
  bool is_negated() const { return negated_; }
  bool value() const { return value_; }
  // What the variable under a non-constant Boolean is.
  bool variable() const { return value_ != negated_; }
  WitnessBit operator!() const { return WitnessBit(!value_, constant_, !constant_ && !negated_); }

 private:
  bool value_ = false;
  bool constant_ = true;
  bool negated_ = false;
};

// 32 Booleans as masks: what they are, which are constant, which negate their variable.
struct WitnessWord {
  std::uint32_t value = 0;
  std::uint32_t constants = ~0u;
  std::uint32_t negated = 0;

  static WitnessWord constant(std::uint32_t v) { return {v, ~0u, 0}; }
  static WitnessWord variable_word(std::uint32_t v) { return {v, 0, 0}; }
  static WitnessWord from_bits(std::span<const WitnessBit, 32> bits) {
    WitnessWord w{0, 0, 0};
    for (unsigned i = 0; i < 32; ++i) w.set(i, bits[i]);
    return w;
  }
  void set(unsigned i, WitnessBit b) {
    const std::uint32_t mask = 1u << i;
    value = (value & ~mask) | (b.value() ? mask : 0);
    constants = (constants & ~mask) | (b.is_constant() ? mask : 0);
    negated = (negated & ~mask) | (b.is_negated() ? mask : 0);
  }
  WitnessBit bit(unsigned i) const {
    return WitnessBit(value >> i & 1, constants >> i & 1, negated >> i & 1);
  }
  bool is_constant() const { return constants == ~0u; }
  WitnessWord rotr(unsigned n) const {
    return {std::rotr(value, static_cast<int>(n)), std::rotr(constants, static_cast<int>(n)),
            std::rotr(negated, static_cast<int>(n))};
  }
  WitnessWord shr(unsigned n) const { return {value >> n, ~(~constants >> n), negated >> n}; }
};

template <class Fr>
struct WitnessNum {
  Fr value;
};

// Only the value of a linear combination.
template <class Fr>
class WitnessLin {
 public:
  Fr value;

  WitnessLin() = default;
  explicit WitnessLin(const WitnessNum<Fr>& n) : value(n.value) {}

  void add(const WitnessNum<Fr>& n) { value += n.value; }
  void add(const WitnessNum<Fr>& n, const Fr& coefficient) { value += n.value * coefficient; }
  void add_constant(const Fr& c) { value += c; }
  void add(const WitnessLin& other) { value += other.value; }
  void add(const WitnessLin& other, const Fr& coefficient) { value += other.value * coefficient; }
  void normalise() {}
};

template <class FrType>
class WitnessBuilder {
 public:
  using Fr = FrType;
  using Value = Fr;
  using Num = WitnessNum<Fr>;
  using Bit = WitnessBit;
  using Word = WitnessWord;
  using Lin = WitnessLin<Fr>;
  static constexpr bool kRecordsRows = false;

  // expected_aux, expected_full: how much to make room for; guesses are fine.
  explicit WitnessBuilder(Tasks& tasks, std::size_t expected_aux = 0, std::size_t expected_full = 0)
      : tasks_(&tasks) {
    witness_.inputs.push_back(Fr::one());
    witness_.reserve(expected_aux, expected_full);
  }

  template <class F>
  static Value value(F&& f) {
    return std::forward<F>(f)();
  }
  template <class F>
  static std::uint64_t index(F&& f) {
    return std::forward<F>(f)();
  }

  Num alloc(const Value& v) {
    witness_.push(v);
    return {v};
  }
  Num alloc_input(const Value& v) {
    witness_.inputs.push_back(v);
    return {v};
  }
  Bit alloc_bit(bool v) {
    witness_.push_bits(v, 1);
    return Bit::variable_bit(v);
  }
  std::vector<Bit> alloc_bits(const Value& v, std::size_t count) {
    const auto limbs = v.to_scalar().limbs;
    std::vector<Bit> bits(count);
    for (std::size_t i = 0; i < count; ++i) bits[i] = alloc_bit(bit(limbs, i));
    return bits;
  }
  std::vector<Bit> alloc_bits_u64(std::uint64_t v, std::size_t count) {
    std::vector<Bit> bits(count);
    for (std::size_t i = 0; i < count; ++i) bits[i] = alloc_bit(i < 64 && (v >> i & 1));
    return bits;
  }

  Bit alloc_xor_of_variables(Bit x, Bit y) { return alloc_result(x.variable() != y.variable()); }
  Bit alloc_and(Bit x, Bit y) { return alloc_result(x.value() && y.value()); }
  Bit alloc_choice(Bit x, Bit y, Bit z) { return alloc_result(x.value() ? y.value() : z.value()); }
  template <class And>
  Bit alloc_majority(Bit x, Bit y, Bit z, And&& and_gadget) {
    const bool yz = y.value() && z.value();
    const Bit r = alloc_result(yz || (x.value() && (y.value() || z.value())));
    and_gadget(y, z);
    return r;
  }

  // Whole words of the variables that gadgets make bit by bit.
  void push_bits(std::uint64_t bits, unsigned count) { witness_.push_bits(bits, count); }
  // Only those bits of `values` that `mask` selects, lowest first.
  void push_selected(std::uint32_t values, std::uint32_t mask) {
    while (mask) {  // one run of set bits a turn; there are rarely more than three
      const int skip = std::countr_zero(mask);
      values >>= skip;
      mask >>= skip;
      const int run = std::countr_one(mask);
      if (run == 32) return witness_.push_bits(values, 32);
      witness_.push_bits(values & ((1u << run) - 1), static_cast<unsigned>(run));
      values >>= run;
      mask >>= run;
    }
  }

  template <class F>
  void enforce(F&&) {}

  struct Scope {
    ~Scope() {}  // not trivial, so that naming one is no unused variable
  };
  [[nodiscard]] Scope scope(std::string_view) { return {}; }
  [[nodiscard]] Scope scope(std::string_view, std::size_t) { return {}; }

  template <class Body>
  auto repeat(std::uint32_t count, std::string_view name, Body&& body) {
    return repeat(count, name, nullptr, body);
  }
  template <class Outside, class Body>
  auto repeat(std::uint32_t count, std::string_view, Outside&&, Body&& body) {
    constexpr bool kReturns =
        !std::is_void_v<std::invoke_result_t<Body&, WitnessBuilder&, std::uint32_t>>;
    std::vector<CompactWitness<Fr>> pieces(std::min<std::size_t>(count, kPiecesAtOnce));
    std::vector<Num> results(kReturns ? count : 0);
    for (std::size_t first = 0; first < count; first += pieces.size()) {
      pieces.resize(std::min(pieces.size(), count - first));
      tasks_->parallel_for(pieces.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          WitnessBuilder piece(*tasks_);
          piece.witness_.inputs.clear();  // the constant one is the whole witness's
          const auto number = static_cast<std::uint32_t>(first + i);
          if constexpr (kReturns) {
            results[number] = body(piece, number);
          } else {
            body(piece, number);
          }
          piece.witness_.finish();
          pieces[i] = std::move(piece.witness_);
        }
      });
      if (first == 0 && count > pieces.size()) make_room(pieces, count);
      for (CompactWitness<Fr>& piece : pieces) {
        witness_.append(piece);
        piece = {};
      }
    }
    if constexpr (kReturns) return results;
  }

  CompactWitness<Fr> finish() {
    witness_.finish();
    return std::move(witness_);
  }

 private:
  // Built before they are joined: bounds what a circuit of thousands of large instances takes
  // beside its witness.
  static constexpr std::size_t kPiecesAtOnce = 64;

  Bit alloc_result(bool v) { return alloc_bit(v); }

  // For `count` instances like these: all have as many auxiliaries, and about as many full scalars.
  void make_room(const std::vector<CompactWitness<Fr>>& pieces, std::size_t count) {
    std::size_t aux = 0, full = 0;
    for (const auto& piece : pieces) {
      aux += piece.num_aux();
      full += piece.full_values().size();
    }
    const std::size_t rounds = count / pieces.size() + 1;
    witness_.reserve(witness_.num_aux() + aux * rounds,
                     witness_.full_values().size() + full * rounds);
  }

  Tasks* tasks_;
  CompactWitness<Fr> witness_;
};

}  // namespace cuzk::gadget
