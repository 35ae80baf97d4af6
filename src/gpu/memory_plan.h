#pragma once
// Where the buffers of a piece of work lie in one lease, from sizes and lifetimes that are known
// before it starts.
//
// Phases:  numbered from 0, in the order in which the work goes through them. Two buffers share
//          bytes only when no phase needs both. Buffers that live longer lie lower, so that the
//          lease can shrink from its end when a phase is over.
// Threads: values.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cuzk::gpu {

class MemoryPlan {
 public:
  static constexpr std::size_t kAlignment = 256;
  using Id = std::size_t;

  // `bytes` from the beginning of `first_phase` to the end of `last_phase`. Before place().
  Id add(std::string_view name, std::size_t bytes, unsigned first_phase, unsigned last_phase);
  // Gives every buffer its offset: by when they end, the last first, and of these by when they
  // begin; each as low as its neighbours in time leave room. So what comes late lies above what was
  // there before it, where it leaves no gap that is too small for what it follows.
  void place();

  // After place().
  std::size_t offset(Id id) const { return buffers_[id].offset; }
  std::size_t bytes(Id id) const { return buffers_[id].bytes; }
  std::size_t total_bytes() const { return bytes_from(0); }
  // What must be kept from the beginning of `phase` on.
  std::size_t bytes_from(unsigned phase) const;
  // A line for each buffer: name, bytes, offset, phases.
  std::string describe() const;

 private:
  struct Buffer {
    std::string name;
    std::size_t bytes;
    unsigned first_phase;
    unsigned last_phase;
    std::size_t offset;
  };
  std::vector<Buffer> buffers_;
};

}  // namespace cuzk::gpu
