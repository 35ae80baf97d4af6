#pragma once
// One block of memory taken at start, and leases of parts of it. Sub-allocation is arithmetic on
// offsets in the host's own code: nothing here calls CUDA, so that no lease waits for a kernel.
//
// Rule:    a lease is granted whole or not at all: who holds one can finish with what it holds.
// Order:   first fit by address; neighbouring free parts are joined at once. What lasts (keys,
//          circuits) lies at the other end, so that it does not cut up what partitions come and go
//          in.
// Threads: Arena may be used from any thread and must outlive its leases; a lease has one owner.

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "gpu/device_span.h"

namespace cuzk::gpu {

class Arena;

// How long a lease is held: for one piece of work, or until something else needs its room.
enum class Hold { kBrief, kLasting };

// A part of the arena, given back when it dies, by release(), or in part by shrink().
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept { swap(other); }
  Lease& operator=(Lease&& other) noexcept {
    Lease old(std::move(*this));
    swap(other);
    return *this;
  }
  ~Lease() { release(); }

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  DeviceSpan<std::byte> span() const { return {data_, bytes_}; }

  // `count` elements from `offset_bytes` on. kInvalidArgument when they do not fit or would not be
  // aligned.
  template <class T>
  Result<DeviceSpan<T>> at(std::size_t offset_bytes, std::size_t count) const {
    if (offset_bytes > bytes_ || count > (bytes_ - offset_bytes) / sizeof(T) ||
        offset_bytes % alignof(T) != 0) {
      return fail(ErrorCode::kInvalidArgument,
                  "lease of {} bytes: {} elements of {} bytes do not fit at offset {}", bytes_,
                  count, sizeof(T), offset_bytes);
    }
    return DeviceSpan<T>(reinterpret_cast<T*>(data_ + offset_bytes), count);
  }

  // Gives back what lies beyond the first `bytes` (rounded up to the arena's alignment); what is
  // larger than the lease changes nothing.
  void shrink(std::size_t bytes);
  void release();

 private:
  friend class Arena;
  Lease(Arena* arena, std::byte* data, std::size_t bytes)
      : arena_(arena), data_(data), bytes_(bytes) {}
  std::size_t offset() const;
  void swap(Lease& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Arena* arena_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class Arena {
 public:
  static constexpr std::size_t kAlignment = 256;

  // Over memory that the caller owns, from a device or not; `block` is aligned to kAlignment.
  explicit Arena(DeviceSpan<std::byte> block);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // kOutOfBudget names the owner, the bytes wanted, the bytes free and the largest free part.
  Result<Lease> lease(std::string_view owner, std::size_t bytes, Hold hold = Hold::kBrief);

  std::size_t total_bytes() const { return block_.size(); }
  std::size_t free_bytes() const;
  std::size_t largest_free_bytes() const;
  std::size_t peak_bytes() const;
  // The largest part without a lasting lease: what a brief one can have once the others are gone.
  std::size_t room_bytes() const;
  std::size_t lasting_bytes() const;

 private:
  friend class Lease;
  void give_back(std::size_t offset, std::size_t bytes);
  std::size_t largest_free_locked() const;
  Lease take_locked(std::map<std::size_t, std::size_t>::iterator part, std::size_t need, Hold hold);

  const DeviceSpan<std::byte> block_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;     // offset to length
  std::map<std::size_t, std::size_t> lasting_;  // likewise
  std::size_t free_bytes_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace cuzk::gpu
