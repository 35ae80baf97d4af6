#pragma once
// Sets of time as disjoint ascending stretches.
//
// Threads: pure functions.

#include <cstdint>
#include <vector>

namespace cuzk::bench {

struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t length() const { return end - begin; }
};
using TimeSet = std::vector<Stretch>;  // disjoint, ascending, none empty

// Of any stretches: sorted, merged, empty ones dropped.
TimeSet merged(std::vector<Stretch> stretches);
// What of `all` is not in `less`.
TimeSet without(const TimeSet& all, const TimeSet& less);
TimeSet common(const TimeSet& a, const TimeSet& b);
std::int64_t total(const TimeSet& set);
// What of `set` lies in [begin, end).
std::int64_t total_within(const TimeSet& set, std::int64_t begin, std::int64_t end);

}  // namespace cuzk::bench
