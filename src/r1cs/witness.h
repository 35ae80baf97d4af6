#pragma once
// The assignment of a circuit: inputs as field elements, auxiliaries compact from birth.
//
// An auxiliary is 0, 1 or a full scalar. Two bitmaps (ones, full) and the short list of the full
// scalars in ascending order of index hold a hundred million wires in tens of megabytes.
//
// Form:    field elements in Montgomery form. A value that happens to be 0 or 1 is always stored as
// a
//          bit, so equal assignments are equal bytes.
// Threads: a CompactWitness is immutable once built.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"

namespace cuzk {

template <class Fr>
class CompactWitness {
 public:
  static constexpr std::size_t kRankBits =
      512;  // a running count of full scalars for each 512 wires

  std::vector<Fr> inputs;  // inputs[0] is one

  std::size_t num_aux() const { return num_aux_; }
  std::span<const std::uint64_t> ones() const { return ones_; }  // bit i: aux i is 1
  std::span<const std::uint64_t> full() const { return full_; }  // bit i: aux i is neither 0 nor 1
  std::span<const Fr> full_values() const { return full_values_; }
  std::span<const std::uint32_t> full_ranks() const {
    return ranks_;
  }  // full scalars before wire 512 * i

  bool is_one(std::size_t i) const { return ones_[i / 64] >> (i % 64) & 1; }
  bool is_full(std::size_t i) const { return full_[i / 64] >> (i % 64) & 1; }
  // Index into full_values() of wire i, which must be full.
  std::size_t full_index(std::size_t i) const {
    std::size_t rank = ranks_[i / kRankBits];
    for (std::size_t w = i / kRankBits * (kRankBits / 64); w < i / 64; ++w) {
      rank += static_cast<std::size_t>(std::popcount(full_[w]));
    }
    return rank + static_cast<std::size_t>(
                      std::popcount(full_[i / 64] & ((std::uint64_t{1} << (i % 64)) - 1)));
  }
  Fr aux(std::size_t i) const {
    if (is_full(i)) return full_values_[full_index(i)];
    return is_one(i) ? Fr::one() : Fr::zero();
  }
  std::size_t bytes() const {
    return 8 * (ones_.size() + full_.size()) + 4 * ranks_.size() +
           sizeof(Fr) * (full_values_.size() + inputs.size());
  }

  // Appending, in order of index. finish() must follow before anything is read.
  void reserve(std::size_t aux, std::size_t full_scalars) {
    ones_.reserve(aux / 64 + 2);
    full_.reserve(aux / 64 + 2);
    full_values_.reserve(full_scalars);
  }
  void push(const Fr& v) {
    if (v.is_zero()) return push_bits(0, 1);
    if (v.is_one()) return push_bits(1, 1);
    grow(1);
    full_[num_aux_ / 64] |= std::uint64_t{1} << (num_aux_ % 64);
    full_values_.push_back(v);
    ++num_aux_;
  }
  // The low `count` (0 to 64) bits of `bits`, lowest first; higher bits must be clear.
  void push_bits(std::uint64_t bits, unsigned count) {
    grow(count);
    const unsigned shift = num_aux_ % 64;
    ones_[num_aux_ / 64] |= bits << shift;
    if (shift + count > 64) ones_[num_aux_ / 64 + 1] |= bits >> (64 - shift);
    num_aux_ += count;
  }
  // Appends the inputs and auxiliaries of a finished piece; its inputs are all appended, so a piece
  // of a larger witness has no constant one of its own.
  void append(const CompactWitness& piece) {
    inputs.insert(inputs.end(), piece.inputs.begin(), piece.inputs.end());
    grow(piece.num_aux_);
    append_words(ones_, piece.ones_);
    append_words(full_, piece.full_);
    full_values_.insert(full_values_.end(), piece.full_values_.begin(), piece.full_values_.end());
    num_aux_ += piece.num_aux_;
  }
  void finish() {
    const std::size_t words = (num_aux_ + 63) / 64;
    ones_.resize(words);
    full_.resize(words);
    ones_.shrink_to_fit();
    full_.shrink_to_fit();
    ranks_.clear();
    std::uint32_t rank = 0;
    for (std::size_t w = 0; w < words; ++w) {
      if (w % (kRankBits / 64) == 0) ranks_.push_back(rank);
      rank += static_cast<std::uint32_t>(std::popcount(full_[w]));
    }
    CUZK_CHECK(rank == full_values_.size());
  }

 private:
  void grow(std::size_t count) {
    const std::size_t words = (num_aux_ + count) / 64 + 2;
    if (ones_.size() < words) {
      const std::size_t larger = std::max({words, words + words / 4, ones_.capacity()});
      ones_.resize(larger);
      full_.resize(larger);
    }
  }
  void append_words(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) const {
    const std::size_t word = num_aux_ / 64, shift = num_aux_ % 64;
    for (std::size_t i = 0; i < from.size(); ++i) {
      to[word + i] |= from[i] << shift;
      if (shift) to[word + i + 1] |= from[i] >> (64 - shift);
    }
  }

  std::size_t num_aux_ = 0;
  std::vector<std::uint64_t> ones_;
  std::vector<std::uint64_t> full_;
  std::vector<std::uint32_t> ranks_;
  std::vector<Fr> full_values_;
};

}  // namespace cuzk
