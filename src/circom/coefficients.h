#pragma once
// The few distinct coefficients of a circuit, while its matrices are being read.
//
// A table with open addressing, keyed by the value's limbs. The hash has random keys: a file cannot
// be made whose coefficients all collide.
//
// Threads: one owner.

#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "field/bigint.h"

namespace cuzk::circom {

class CoefficientTable {
 public:
  using Raw = Limbs<4>;  // as the file has it, whatever form that is

  // Entries 0 and 1 are those of 1 and -1, as r1cs/compact_r1cs.h wants them.
  CoefficientTable(const Raw& one, const Raw& minus_one) : slots_(kFirstSlots, kEmpty) {
    SystemRandom random;
    for (std::uint64_t& key : keys_) key = random.next_u64();
    index_of(one);
    index_of(minus_one);
  }

  std::uint32_t index_of(const Raw& raw) {
    std::size_t slot = slot_of(raw);
    while (slots_[slot] != kEmpty) {
      if (raws_[slots_[slot]] == raw) return slots_[slot];
      slot = (slot + 1) & (slots_.size() - 1);
    }
    const auto index = static_cast<std::uint32_t>(raws_.size());
    slots_[slot] = index;
    raws_.push_back(raw);
    if (2 * raws_.size() > slots_.size()) grow();
    return index;
  }
  // In order of index.
  const std::vector<Raw>& raws() const { return raws_; }

 private:
  static constexpr std::uint32_t kEmpty = 0xffffffff;
  static constexpr std::size_t kFirstSlots = 1024;

  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const u128 product = static_cast<u128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  std::size_t slot_of(const Raw& v) const {
    const std::uint64_t mixed =
        fold(v[0] ^ keys_[0], v[1] ^ keys_[1]) + fold(v[2] ^ keys_[2], v[3] ^ keys_[3]);
    return fold(mixed, keys_[0] | 1) & (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(2 * slots_.size(), kEmpty);
    for (std::size_t i = 0; i < raws_.size(); ++i) {
      std::size_t slot = slot_of(raws_[i]);
      while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<std::uint32_t>(i);
    }
  }

  std::array<std::uint64_t, 4> keys_{};
  std::vector<std::uint32_t> slots_;
  std::vector<Raw> raws_;
};

}  // namespace cuzk::circom
