#include "engine/card_keys.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace cuzk::engine {

namespace {

// How long a waiter sleeps before it asks whether it was stopped.
constexpr std::chrono::milliseconds kNap{50};

}  // namespace

CardKeys::Use::~Use() {
  content_.reset();  // whoever waits finds it gone, not going
  if (keys_) keys_->release(name_, lease_bytes_);
}

void CardKeys::Use::swap(Use& other) noexcept {
  std::swap(keys_, other.keys_);
  std::swap(name_, other.name_);
  std::swap(content_, other.content_);
  std::swap(lease_bytes_, other.lease_bytes_);
}

CardKeys::Entry* CardKeys::find(const std::string& name) {
  const auto at = std::ranges::find(entries_, name, [](const Entry& e) { return e.held.name; });
  return at == entries_.end() ? nullptr : &*at;
}

std::size_t CardKeys::largest_lease(std::size_t own) const {
  return leases_.empty() ? own : std::max(own, *leases_.rbegin());
}

// The least recently used idle one leaves; false when there is none.
bool CardKeys::evict_one(Lock& lock, const std::string& except) {
  auto oldest = entries_.end();
  for (auto e = entries_.begin(); e != entries_.end(); ++e) {
    if (e->held.uses || e->held.name == except) continue;
    if (oldest == entries_.end() || e->last_use < oldest->last_use) oldest = e;
  }
  if (oldest == entries_.end()) return false;
  std::shared_ptr<void> content = std::move(oldest->content);
  entries_.erase(oldest);
  ++evictions_;
  lock.unlock();
  content.reset();
  lock.lock();
  return true;
}

Result<bool> CardKeys::fit(Lock& lock, const Wanted& wanted, const Loader& load) {
  const std::size_t total = arena_.total_bytes();
  for (;;) {
    Entry* entry = find(wanted.name);
    const std::size_t lease = largest_lease(wanted.lease_bytes);
    if (entry && arena_.room_bytes() >= lease) return true;
    const std::size_t more = entry ? 0 : wanted.lasting_bytes;
    if (arena_.lasting_bytes() + more + lease > total || entry) {
      if (!evict_one(lock, wanted.name)) return false;
      continue;
    }
    lock.unlock();
    auto content = load();
    lock.lock();
    if (content) {
      ++loads_;
      entries_.push_back({{wanted.name, wanted.note, wanted.lasting_bytes, 0},
                          std::move(*content),
                          ++use_counter_});
      continue;
    }
    // The free bytes may lie apart.
    if (content.error().code != ErrorCode::kOutOfBudget) return fail(content.error());
    if (evict_one(lock, wanted.name)) continue;
    if (!others_in_use()) return fail(content.error());
    return false;
  }
}

Status CardKeys::wait_for_others(Lock& lock, Tasks& tasks, const Wanted& wanted) {
  // One that is loaded and cannot be used now is in nobody's way.
  const auto idle =
      std::ranges::find(entries_, wanted.name, [](const Entry& e) { return e.held.name; });
  if (idle != entries_.end() && idle->held.uses == 0) evict_one(lock, {});
  if (!others_in_use()) {
    return fail(ErrorCode::kOutOfBudget,
                "device arena of {} bytes: {} wants {} bytes, and {} for a proof",
                arena_.total_bytes(), wanted.name, wanted.lasting_bytes, wanted.lease_bytes);
  }
  // Who is more urgent goes first meanwhile.
  const std::uint64_t before = uses_ended_;
  while (uses_ended_ == before) {
    // The stop token has no other way to wake us.
    changed_.wait_for(lock, kNap);
    if (tasks.stop_requested()) {
      return fail(ErrorCode::kCancelled, "stopped while waiting for room on a device");
    }
  }
  return {};
}

// Until it is first, nobody else fits something in, and what it wants fits.
Result<CardKeys::Use> CardKeys::grant_in_turn(Lock& lock, Tasks& tasks, const Wanted& wanted,
                                              const Waiter& me, const Loader& load) {
  for (;;) {
    if (&waiters_.front() != &me || fitting_) {
      if (tasks.stop_requested()) {
        return fail(ErrorCode::kCancelled, "stopped while waiting for room on a device");
      }
      changed_.wait_for(lock, kNap);
      continue;
    }
    fitting_ = true;
    const auto fits = fit(lock, wanted, load);
    fitting_ = false;
    changed_.notify_all();
    if (!fits) return fail(fits.error());
    if (*fits) break;
    CUZK_TRY_VOID(wait_for_others(lock, tasks, wanted));
  }
  Entry* entry = find(wanted.name);
  CUZK_CHECK(entry != nullptr);
  ++entry->held.uses;
  entry->last_use = ++use_counter_;
  Use out;
  out.keys_ = this;
  out.name_ = wanted.name;
  out.content_ = entry->content;
  out.lease_bytes_ = wanted.lease_bytes;
  leases_.insert(out.lease_bytes_);
  return out;
}

Result<CardKeys::Use> CardKeys::use(Tasks& tasks, const Wanted& wanted, std::size_t larger_lease,
                                    std::size_t larger_room, const Loader& load) {
  Lock lock(mutex_);
  const auto behind = wanted.urgency == gpu::Urgency::kCritical
                          ? std::ranges::find(waiters_, gpu::Urgency::kNormal, &Waiter::urgency)
                          : waiters_.end();
  const auto me = waiters_.insert(behind, {wanted.urgency});
  auto out = grant_in_turn(lock, tasks, wanted, *me, load);
  if (out && larger_lease > wanted.lease_bytes && arena_.room_bytes() >= larger_room) {
    leases_.erase(leases_.find(out->lease_bytes_));
    out->lease_bytes_ = larger_lease;
    leases_.insert(larger_lease);
  }
  waiters_.erase(me);
  changed_.notify_all();
  // A use that dies takes the lock.
  lock.unlock();
  return out;
}

void CardKeys::release(const std::string& name, std::size_t lease_bytes) {
  Lock lock(mutex_);
  Entry* entry = find(name);
  CUZK_CHECK(entry != nullptr && entry->held.uses > 0);
  --entry->held.uses;
  ++uses_ended_;
  leases_.erase(leases_.find(lease_bytes));
  changed_.notify_all();
}

void CardKeys::forget(const std::string& name) {
  std::shared_ptr<void> content;
  const std::lock_guard lock(mutex_);
  const auto at = std::ranges::find(entries_, name, [](const Entry& e) { return e.held.name; });
  if (at == entries_.end() || at->held.uses) return;
  content = std::move(at->content);
  entries_.erase(at);
  ++evictions_;
}

void CardKeys::forget_all() {
  Lock lock(mutex_);
  while (evict_one(lock, {})) {
  }
}

std::vector<CardKeys::Held> CardKeys::held() const {
  const std::lock_guard lock(mutex_);
  std::vector<Held> out;
  for (const Entry& e : entries_) out.push_back(e.held);
  return out;
}
std::uint64_t CardKeys::loads() const {
  const std::lock_guard lock(mutex_);
  return loads_;
}
std::uint64_t CardKeys::evictions() const {
  const std::lock_guard lock(mutex_);
  return evictions_;
}

}  // namespace cuzk::engine
