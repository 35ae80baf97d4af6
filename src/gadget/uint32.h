#pragma once
// 32-bit words of Booleans: what SHA-256 does with them.
//
// A Recorder goes bit by bit through boolean.h; a WitnessBuilder computes whole words and falls
// back to the same bits where a constant mixes in.
//
// Source: bellpepper 0.2.1, gadgets/{uint32,multieq}.rs.

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "gadget/boolean.h"
#include "gadget/num.h"

namespace cuzk::gadget {

// Equalities between sums of bits, gathered: several share one row, side by side in one field
// element. A row goes out when the next equality would not fit; the last one with flush().
template <class CS>
class MultiEq {
 public:
  using Fr = typename CS::Fr;
  using Bit = typename CS::Bit;
  using Word = typename CS::Word;

  explicit MultiEq(CS& cs) : cs_(cs) {}

  // Sum of the operands = sum of 2^i * result[i].
  void enforce_sum(std::span<const Word> operands, std::span<const Bit> result) {
    if (used_bits_ + result.size() >= kCapacityBits<Fr>) flush();
    for (const Word& word : operands) {
      for (unsigned i = 0; i < 32; ++i) left_.add(word.bit(i), power_of_two<Fr>(used_bits_ + i));
    }
    for (std::size_t i = 0; i < result.size(); ++i) {
      right_.add(result[i], power_of_two<Fr>(used_bits_ + i));
    }
    used_bits_ += result.size();
  }
  void flush() {
    if (used_bits_ == 0) return;
    cs_.enforce([&](auto& a, auto& b, auto& c) {
      a.add(left_);
      b.add_constant(Fr::one());
      c.add(right_);
    });
    left_.clear();
    right_.clear();
    used_bits_ = 0;
  }

 private:
  CS& cs_;
  std::size_t used_bits_ = 0;
  typename CS::Lin left_;
  typename CS::Lin right_;
};

// A witness needs no equalities.
template <class Fr>
class MultiEq<WitnessBuilder<Fr>> {
 public:
  explicit MultiEq(WitnessBuilder<Fr>&) {}
  void flush() {}
};

namespace uint32_internal {

// fn(i) as bit i of the result, lowest first.
template <class CS, class F>
typename CS::Word by_bits(F&& fn) {
  std::array<typename CS::Bit, 32> bits;
  for (unsigned i = 0; i < 32; ++i) bits[i] = fn(i);
  return CS::Word::from_bits(bits);
}

// Bits 0 .. 31 of v at the even places.
inline std::uint64_t spread(std::uint32_t v) {
  std::uint64_t x = v;
  x = (x | x << 16) & 0x0000ffff0000ffff;
  x = (x | x << 8) & 0x00ff00ff00ff00ff;
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
  x = (x | x << 2) & 0x3333333333333333;
  return (x | x << 1) & 0x5555555555555555;
}

}  // namespace uint32_internal

template <class CS>
typename CS::Word word_xor(CS& cs, const typename CS::Word& x, const typename CS::Word& y) {
  if constexpr (CS::kRecordsRows) {
    return uint32_internal::by_bits<CS>(
        [&](unsigned i) { return bit_xor(cs, x.bit(i), y.bit(i)); });
  } else {
    const std::uint32_t variable = ~(x.constants | y.constants);
    cs.push_selected(x.value ^ x.negated ^ y.value ^ y.negated, variable);
    const std::uint32_t constants = x.constants & y.constants;
    // A constant true negates the variable that it meets.
    const std::uint32_t flips = (x.constants & x.value) ^ (y.constants & y.value);
    return {x.value ^ y.value, constants, (x.negated ^ y.negated ^ flips) & ~constants};
  }
}

template <class CS>
typename CS::Word word_choice(CS& cs, const typename CS::Word& x, const typename CS::Word& y,
                              const typename CS::Word& z) {
  if constexpr (!CS::kRecordsRows) {
    if (!(x.constants | y.constants | z.constants)) {
      const std::uint32_t r = (x.value & y.value) | (~x.value & z.value);
      cs.push_bits(r, 32);
      return CS::Word::variable_word(r);
    }
  }
  return uint32_internal::by_bits<CS>(
      [&](unsigned i) { return bit_choice(cs, x.bit(i), y.bit(i), z.bit(i)); });
}

template <class CS>
typename CS::Word word_majority(CS& cs, const typename CS::Word& x, const typename CS::Word& y,
                                const typename CS::Word& z) {
  if constexpr (!CS::kRecordsRows) {
    if (!(x.constants | y.constants | z.constants)) {
      const std::uint32_t yz = y.value & z.value;
      const std::uint32_t r = yz | (x.value & (y.value | z.value));
      cs.push_bits(uint32_internal::spread(r) | uint32_internal::spread(yz) << 1, 64);
      return CS::Word::variable_word(r);
    }
  }
  return uint32_internal::by_bits<CS>(
      [&](unsigned i) { return bit_majority(cs, x.bit(i), y.bit(i), z.bit(i)); });
}

// The sum modulo 2^32 of up to ten words. The bits of the whole sum are allocated, those above 32
// too; the sum of constants is a constant.
template <class CS>
typename CS::Word word_sum(CS& cs, MultiEq<CS>& equalities,
                           std::span<const typename CS::Word> operands) {
  using Word = typename CS::Word;
  CUZK_CHECK(operands.size() >= 2 && operands.size() <= 10);
  const bool all_constant =
      std::all_of(operands.begin(), operands.end(), [](const Word& w) { return w.is_constant(); });
  const std::uint64_t largest = operands.size() * std::uint64_t{0xffffffff};
  const auto sum_bits = static_cast<unsigned>(std::bit_width(largest));
  if constexpr (CS::kRecordsRows) {
    if (all_constant) {
      std::uint32_t sum = 0;
      for (const Word& w : operands) {
        for (unsigned i = 0; i < 32; ++i) sum += std::uint32_t{w.bit(i).constant_value()} << i;
      }
      return Word::constant(sum);
    }
    const auto bits = cs.alloc_bits_u64(0, sum_bits);
    equalities.enforce_sum(operands, bits);
    return Word::from_bits(std::span(bits).template first<32>());
  } else {
    std::uint64_t sum = 0;
    for (const Word& w : operands) sum += w.value;
    const auto low = static_cast<std::uint32_t>(sum);
    if (all_constant) return Word::constant(low);
    cs.push_bits(sum, sum_bits);
    return Word::variable_word(low);
  }
}

// Words from 32 n bits, lowest first in each word.
template <class CS>
std::vector<typename CS::Word> words_from_bits(std::span<const typename CS::Bit> bits) {
  CUZK_CHECK(bits.size() % 32 == 0);
  std::vector<typename CS::Word> words;
  words.reserve(bits.size() / 32);
  for (std::size_t i = 0; i < bits.size(); i += 32) {
    words.push_back(CS::Word::from_bits(bits.subspan(i).template first<32>()));
  }
  return words;
}

// The same bits with the four bytes in the opposite order.
template <class CS>
typename CS::Word byte_swap(const typename CS::Word& w) {
  return uint32_internal::by_bits<CS>([&](unsigned i) { return w.bit(i ^ 24); });
}

}  // namespace cuzk::gadget
