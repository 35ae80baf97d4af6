#include "gpu/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace cuzk::gpu {

MemoryPlan::Id MemoryPlan::add(std::string_view name, std::size_t bytes, unsigned first_phase,
                               unsigned last_phase) {
  CUZK_CHECK(first_phase <= last_phase);
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  buffers_.push_back({std::string(name), whole, first_phase, last_phase, 0});
  return buffers_.size() - 1;
}

void MemoryPlan::place() {
  std::vector<Id> order(buffers_.size());
  std::iota(order.begin(), order.end(), Id{0});
  std::stable_sort(order.begin(), order.end(), [&](Id x, Id y) {
    const Buffer &a = buffers_[x], &b = buffers_[y];
    if (a.last_phase != b.last_phase) return a.last_phase > b.last_phase;
    if (a.first_phase != b.first_phase) return a.first_phase < b.first_phase;
    return a.bytes > b.bytes;
  });
  std::vector<Id> placed;  // by offset
  for (const Id id : order) {
    Buffer& mine = buffers_[id];
    std::size_t at = 0;
    for (const Id other_id : placed) {
      const Buffer& other = buffers_[other_id];
      const bool together =
          other.first_phase <= mine.last_phase && mine.first_phase <= other.last_phase;
      if (!together || other.offset + other.bytes <= at) continue;
      if (at + mine.bytes <= other.offset) break;
      at = other.offset + other.bytes;
    }
    mine.offset = at;
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), id,
                         [&](Id x, Id y) { return buffers_[x].offset < buffers_[y].offset; }),
        id);
  }
}

std::size_t MemoryPlan::bytes_from(unsigned phase) const {
  std::size_t end = 0;
  for (const Buffer& b : buffers_) {
    if (b.last_phase >= phase) end = std::max(end, b.offset + b.bytes);
  }
  return end;
}

std::string MemoryPlan::describe() const {
  std::string out;
  for (const Buffer& b : buffers_) {
    out += fmt::format("{}: {} bytes at {}, phases {} to {}\n", b.name, b.bytes, b.offset,
                       b.first_phase, b.last_phase);
  }
  return out;
}

}  // namespace cuzk::gpu
