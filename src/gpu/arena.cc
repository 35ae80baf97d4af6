#include "gpu/arena.h"

#include <algorithm>

#include "base/check.h"

namespace cuzk::gpu {

namespace {

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + Arena::kAlignment - 1) / Arena::kAlignment * Arena::kAlignment;
}

}  // namespace

std::size_t Lease::offset() const {
  return static_cast<std::size_t>(data_ - arena_->block_.data());
}

void Lease::shrink(std::size_t bytes) {
  const std::size_t keep = aligned(bytes);
  if (keep >= bytes_) return;
  if (keep == 0) return release();
  arena_->give_back(offset() + keep, bytes_ - keep);
  bytes_ = keep;
}

void Lease::release() {
  if (bytes_ > 0) arena_->give_back(offset(), bytes_);
  arena_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

Arena::Arena(DeviceSpan<std::byte> block) : block_(block) {
  const std::size_t usable = block.size() / kAlignment * kAlignment;
  if (usable) free_[0] = usable;
  free_bytes_ = usable;
}

Lease Arena::take_locked(std::map<std::size_t, std::size_t>::iterator part, std::size_t need,
                         Hold hold) {
  const auto [begin, length] = *part;
  const bool lasting = hold == Hold::kLasting;
  const std::size_t at = lasting ? begin + length - need : begin;
  free_.erase(part);
  if (length > need) free_[lasting ? begin : begin + need] = length - need;
  free_bytes_ -= need;
  if (lasting) lasting_[at] = need;
  peak_ = std::max(peak_, block_.size() / kAlignment * kAlignment - free_bytes_);
  return Lease(this, block_.data() + at, need);
}

Result<Lease> Arena::lease(std::string_view owner, std::size_t bytes, Hold hold) {
  if (bytes == 0) return Lease();
  const std::lock_guard lock(mutex_);
  if (bytes <= block_.size()) {
    const std::size_t need = aligned(bytes);
    const auto fits = [&](const auto& part) { return part.second >= need; };
    if (hold == Hold::kBrief) {
      const auto part = std::find_if(free_.begin(), free_.end(), fits);
      if (part != free_.end()) return take_locked(part, need, hold);
    } else {
      const auto part = std::find_if(free_.rbegin(), free_.rend(), fits);
      if (part != free_.rend()) return take_locked(std::next(part).base(), need, hold);
    }
  }
  return fail(ErrorCode::kOutOfBudget,
              "device arena: {} wants {} bytes; {} of {} are free, the largest part has {}", owner,
              bytes, free_bytes_, block_.size(), largest_free_locked());
}

void Arena::give_back(std::size_t offset, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (auto lasting = lasting_.upper_bound(offset); lasting != lasting_.begin()) {
    // Given back whole, or from its end.
    --lasting;
    if (lasting->first == offset) {
      lasting_.erase(lasting);
    } else if (lasting->first + lasting->second > offset) {
      lasting->second = offset - lasting->first;
    }
  }
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
std::size_t Arena::room_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t largest = 0, begin = 0;
  for (const auto& [offset, length] : lasting_) {
    largest = std::max(largest, offset - begin);
    begin = offset + length;
  }
  return std::max(largest, block_.size() / kAlignment * kAlignment - begin);
}
std::size_t Arena::lasting_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [offset, length] : lasting_) sum += length;
  return sum;
}

}  // namespace cuzk::gpu
