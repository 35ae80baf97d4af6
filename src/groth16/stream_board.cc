#include "groth16/stream_board.h"

#include <algorithm>

#include "base/check.h"

namespace cuzk::groth16 {

std::list<StreamBoard::Entry>::iterator StreamBoard::find_locked(const void* partition) {
  return std::ranges::find(entries_, partition, &Entry::partition);
}

void StreamBoard::post(void* partition, const Kind& kind) {
  const std::lock_guard lock(mutex_);
  CUZK_CHECK(find_locked(partition) == entries_.end());
  entries_.push_back({partition, kind});
}

void StreamBoard::withdraw(void* partition) {
  std::unique_lock lock(mutex_);
  released_.wait(lock, [&] {
    const auto entry = find_locked(partition);
    return entry == entries_.end() || !entry->is_claimed;
  });
  std::erase_if(entries_, [&](const Entry& e) { return e.partition == partition; });
}

StreamBoard::Claim StreamBoard::claim(const Kind& kind, std::size_t most) {
  const std::lock_guard lock(mutex_);
  Claim out;
  out.board_ = this;
  for (Entry& e : entries_) {
    if (out.partitions_.size() == most) break;
    if (e.is_claimed || !(e.kind == kind)) continue;
    e.is_claimed = true;
    out.partitions_.push_back(e.partition);
  }
  return out;
}

StreamBoard::Claim::~Claim() {
  if (!board_) return;
  const std::lock_guard lock(board_->mutex_);
  std::erase_if(board_->entries_,
                [&](const Entry& e) { return std::ranges::count(partitions_, e.partition) != 0; });
  board_->released_.notify_all();
}

}  // namespace cuzk::groth16
