#include "bench/intervals.h"

#include <algorithm>

namespace cuzk::bench {

TimeSet merged(std::vector<Stretch> stretches) {
  std::erase_if(stretches, [](const Stretch& s) { return s.end <= s.begin; });
  std::sort(stretches.begin(), stretches.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  TimeSet out;
  for (const Stretch& s : stretches) {
    if (!out.empty() && s.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, s.end);
    } else {
      out.push_back(s);
    }
  }
  return out;
}

TimeSet without(const TimeSet& all, const TimeSet& less) {
  TimeSet out;
  std::size_t first = 0;
  for (const Stretch& s : all) {
    std::int64_t at = s.begin;
    while (first < less.size() && less[first].end <= s.begin) ++first;
    for (std::size_t i = first; i < less.size() && less[i].begin < s.end; ++i) {
      if (less[i].begin > at) out.push_back({at, less[i].begin});
      at = std::max(at, less[i].end);
    }
    if (at < s.end) out.push_back({at, s.end});
  }
  return out;
}

TimeSet common(const TimeSet& a, const TimeSet& b) { return without(a, without(a, b)); }

std::int64_t total(const TimeSet& set) {
  std::int64_t sum = 0;
  for (const Stretch& s : set) sum += s.length();
  return sum;
}

std::int64_t total_within(const TimeSet& set, std::int64_t begin, std::int64_t end) {
  return total(common(set, {{begin, std::max(begin, end)}}));
}

}  // namespace cuzk::bench
