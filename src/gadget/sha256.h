#pragma once
// SHA-256 over words of Booleans.
//
// Cost:   about 25,400 rows for a block of variables (45,386 for 512 allocated bits: two blocks).
// Source: FIPS 180-4; bellpepper 0.2.1, gadgets/sha256.rs for the order of evaluation.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gadget/uint32.h"

namespace cuzk::gadget {

namespace sha256_internal {

inline constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
inline constexpr std::array<std::uint32_t, 8> kInitialState = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

template <class CS>
using State = std::array<typename CS::Word, 8>;

// (w >>> r0) ^ (w >>> r1) ^ third.
template <class CS>
typename CS::Word sigma(CS& cs, const typename CS::Word& w, unsigned r0, unsigned r1,
                        const typename CS::Word& third) {
  return word_xor(cs, word_xor(cs, w.rotr(r0), w.rotr(r1)), third);
}

// A word that is added up only when it is needed.
template <class CS>
class DeferredWord {
 public:
  using Word = typename CS::Word;

  explicit DeferredWord(const Word& known) { operands_[count_++] = known; }
  DeferredWord() = default;
  void add(const Word& w) { operands_[count_++] = w; }
  Word compute(CS& cs, MultiEq<CS>& equalities) const {
    if (count_ == 1) return operands_[0];
    return word_sum<CS>(cs, equalities, std::span(operands_).first(count_));
  }

 private:
  std::array<Word, 9> operands_;
  std::size_t count_ = 0;
};

template <class CS>
std::array<typename CS::Word, 64> message_schedule(CS& cs, MultiEq<CS>& equalities,
                                                   std::span<const typename CS::Word, 16> block) {
  using Word = typename CS::Word;
  std::array<Word, 64> w;
  std::copy(block.begin(), block.end(), w.begin());
  for (std::size_t i = 16; i < 64; ++i) {
    const Word s0 = sigma(cs, w[i - 15], 7, 18, w[i - 15].shr(3));
    const Word s1 = sigma(cs, w[i - 2], 17, 19, w[i - 2].shr(10));
    w[i] = word_sum<CS>(cs, equalities, std::array<Word, 4>{w[i - 16], s0, w[i - 7], s1});
  }
  return w;
}

template <class CS>
State<CS> compress(CS& cs, const State<CS>& state, std::span<const typename CS::Word, 16> block) {
  using Word = typename CS::Word;
  MultiEq<CS> equalities(cs);
  const auto w = message_schedule<CS>(cs, equalities, block);

  // e and a are summed at the start of the round that reads them, not at the end of the one that
  // makes them.
  DeferredWord<CS> a(state[0]), e(state[4]);
  Word b = state[1], c = state[2], d = state[3], f = state[5], g = state[6], h = state[7];
  for (std::size_t i = 0; i < 64; ++i) {
    const Word new_e = e.compute(cs, equalities);
    const Word s1 = sigma(cs, new_e, 6, 11, new_e.rotr(25));
    const Word ch = word_choice(cs, new_e, f, g);
    const Word new_a = a.compute(cs, equalities);
    const Word s0 = sigma(cs, new_a, 2, 13, new_a.rotr(22));
    const Word maj = word_majority(cs, new_a, b, c);

    DeferredWord<CS> sum;
    for (const Word& x : {h, s1, ch, Word::constant(kRoundConstants[i]), w[i]}) sum.add(x);
    e = sum;
    e.add(d);
    a = sum;
    a.add(s0);
    a.add(maj);
    h = g;
    g = f;
    f = new_e;
    d = c;
    c = b;
    b = new_a;
  }

  a.add(state[0]);
  e.add(state[4]);
  const auto plus = [&](std::size_t i, const Word& x) {
    return word_sum<CS>(cs, equalities, std::array<Word, 2>{state[i], x});
  };
  State<CS> out;
  out[0] = a.compute(cs, equalities);
  out[1] = plus(1, b);
  out[2] = plus(2, c);
  out[3] = plus(3, d);
  out[4] = e.compute(cs, equalities);
  out[5] = plus(5, f);
  out[6] = plus(6, g);
  out[7] = plus(7, h);
  equalities.flush();
  return out;
}

}  // namespace sha256_internal

// The digest, as eight big-endian words, of a message of whole words.
template <class CS>
std::array<typename CS::Word, 8> sha256(CS& cs, std::span<const typename CS::Word> message) {
  using Word = typename CS::Word;
  std::vector<Word> padded(message.begin(), message.end());
  padded.push_back(Word::constant(0x80000000));
  while (padded.size() % 16 != 14) padded.push_back(Word::constant(0));
  const std::uint64_t bits = std::uint64_t{32} * message.size();
  padded.push_back(Word::constant(static_cast<std::uint32_t>(bits >> 32)));
  padded.push_back(Word::constant(static_cast<std::uint32_t>(bits)));

  std::array<Word, 8> state;
  for (std::size_t i = 0; i < 8; ++i) {
    state[i] = Word::constant(sha256_internal::kInitialState[i]);
  }
  for (std::size_t i = 0; i < padded.size(); i += 16) {
    state = sha256_internal::compress<CS>(
        cs, state, std::span<const Word>(padded).subspan(i).template first<16>());
  }
  return state;
}

// A field element's 32 little-endian bytes as eight words of a message: its bits, lowest first,
// with the missing top ones constant false.
template <class CS>
std::vector<typename CS::Word> message_words(std::span<const typename CS::Bit> bits_le) {
  std::vector<typename CS::Bit> bits(bits_le.begin(), bits_le.end());
  CUZK_CHECK(bits.size() <= 256);
  bits.resize(256, CS::Bit::constant(false));
  auto words = words_from_bits<CS>(bits);
  for (auto& w : words) w = byte_swap<CS>(w);
  return words;
}

// A digest as a field element: its bytes little-endian, without the bits that might not fit.
template <class CS>
typename CS::Num digest_to_num(CS& cs, std::span<const typename CS::Word, 8> digest) {
  std::vector<typename CS::Bit> bits;
  bits.reserve(256);
  for (const auto& word : digest) {
    const auto swapped = byte_swap<CS>(word);
    for (unsigned i = 0; i < 32; ++i) bits.push_back(swapped.bit(i));
  }
  return pack_bits(cs,
                   std::span<const typename CS::Bit>(bits).first(kCapacityBits<typename CS::Fr>));
}

}  // namespace cuzk::gadget
