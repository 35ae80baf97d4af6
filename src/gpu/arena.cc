#include "gpu/arena.h"

#include <algorithm>

#include "base/check.h"

namespace cuzk::gpu {

namespace {

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + Arena::kAlignment - 1) / Arena::kAlignment * Arena::kAlignment;
}

}  // namespace

void Lease::shrink(std::size_t bytes) {
  const std::size_t keep = aligned(bytes);
  if (keep >= bytes_) return;
  if (keep == 0) return release();
  arena_->give_back(static_cast<std::size_t>(data_ - arena_->block_.data()) + keep, bytes_ - keep);
  bytes_ = keep;
}

void Lease::release() {
  if (bytes_ > 0) {
    arena_->give_back(static_cast<std::size_t>(data_ - arena_->block_.data()), bytes_);
  }
  arena_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

Arena::Arena(DeviceSpan<std::byte> block) : block_(block) {
  const std::size_t usable = block.size() / kAlignment * kAlignment;
  if (usable) free_[0] = usable;
  free_bytes_ = usable;
}

Result<Lease> Arena::lease(std::string_view owner, std::size_t bytes) {
  if (bytes == 0) return Lease();
  const std::lock_guard lock(mutex_);
  if (bytes <= block_.size()) {
    const std::size_t need = aligned(bytes);
    for (auto part = free_.begin(); part != free_.end(); ++part) {
      const auto [offset, length] = *part;
      if (length < need) continue;
      free_.erase(part);
      if (length > need) free_[offset + need] = length - need;
      free_bytes_ -= need;
      peak_ = std::max(peak_, block_.size() / kAlignment * kAlignment - free_bytes_);
      return Lease(this, block_.data() + offset, need);
    }
  }
  return fail(ErrorCode::kOutOfBudget,
              "device arena: {} wants {} bytes; {} of {} are free, the largest part has {}", owner,
              bytes, free_bytes_, block_.size(), largest_free_locked());
}

void Arena::give_back(std::size_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  free_bytes_ += bytes;
  const auto after = free_.lower_bound(offset);
  CUZK_CHECK(after == free_.end() || offset + bytes <= after->first);
  if (after != free_.end() && offset + bytes == after->first) {
    bytes += after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    CUZK_CHECK(before->first + before->second <= offset);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

std::size_t Arena::largest_free_locked() const {
  std::size_t largest = 0;
  for (const auto& [offset, length] : free_) largest = std::max(largest, length);
  return largest;
}
std::size_t Arena::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return free_bytes_;
}
std::size_t Arena::largest_free_bytes() const {
  const std::lock_guard lock(mutex_);
  return largest_free_locked();
}
std::size_t Arena::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

}  // namespace cuzk::gpu
