#pragma once
// Who holds how much of the memory: the sums behind scheduler.h's rule that whoever is admitted can
// always end.
//
// Threads: one at a time.

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/check.h"

namespace cuzk::scheduler {

// A sum that never goes below zero.
class Sum {
 public:
  void add(std::size_t n) { value_ += n; }
  void subtract(std::size_t n) {
    CUZK_CHECK(n <= value_);
    value_ -= n;
  }
  std::size_t value() const { return value_; }

 private:
  std::size_t value_ = 0;
};

// What an admission would add.
struct Demand {
  std::size_t circuit_bytes = 0;
  std::size_t witness_bytes = 0;
  std::size_t prove_bytes = 0;  // room that must exist for one prove
};

class Ledger {
 public:
  Ledger(std::size_t limit, std::size_t reserve)
      : limit_(limit), reserve_(std::min(reserve, limit)) {}

  std::size_t limit(bool critical) const { return critical ? limit_ : limit_ - reserve_; }
  std::size_t reserve() const { return reserve_; }
  // The largest prove among the admitted.
  std::size_t floor() const { return floors_.empty() ? 0 : *floors_.rbegin(); }
  std::size_t held() const {
    return circuits.value() + witnesses.value() + std::max(floor(), proves.value());
  }
  // held() after an admission.
  std::size_t held_with(const Demand& d) const {
    return circuits.value() + d.circuit_bytes + witnesses.value() + d.witness_bytes +
           std::max({floor(), proves.value(), d.prove_bytes});
  }
  // Held while one more prove runs.
  std::size_t proving_with(std::size_t prove_bytes) const {
    return circuits.value() + witnesses.value() + proves.value() + prove_bytes;
  }
  void admit_floor(std::size_t prove_bytes) { floors_.insert(prove_bytes); }
  void drop_floor(std::size_t prove_bytes) {
    const auto it = floors_.find(prove_bytes);
    CUZK_CHECK(it != floors_.end());
    floors_.erase(it);
  }
  std::size_t admitted() const { return floors_.size(); }

  Sum circuits;   // resident, loading or leaving
  Sum witnesses;  // of the admitted
  Sum proves;     // of the proves that run

 private:
  std::size_t limit_;
  std::size_t reserve_;
  std::multiset<std::size_t> floors_;
};

}  // namespace cuzk::scheduler
