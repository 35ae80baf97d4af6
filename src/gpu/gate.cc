#include "gpu/gate.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace cuzk::gpu {

namespace {

// How long a waiter sleeps before it asks whether it was stopped.
constexpr std::chrono::milliseconds kNap{50};

}  // namespace

Tenancy::~Tenancy() { settle(); }

void Tenancy::shrink_after(const Event& event, std::size_t keep_bytes) {
  const std::lock_guard lock(gate_.mutex_);
  releases_.push_back({&event, keep_bytes});
  gate_.changed_.notify_all();
}

void Tenancy::settle() {
  const std::lock_guard lock(gate_.mutex_);
  if (settled_) return;
  settled_ = true;
  releases_.clear();
  lease_.release();
  std::erase(gate_.tenants_, this);
  gate_.changed_.notify_all();
}

Result<std::unique_ptr<Tenancy>> Gate::enter(std::string_view owner, std::size_t bytes,
                                             Urgency urgency, const Stopped& stopped) {
  Lock lock(mutex_);
  ++asked_;
  const auto behind = urgency == Urgency::kCritical
                          ? std::ranges::find(waiters_, Urgency::kNormal, &Waiter::urgency)
                          : waiters_.end();
  const auto me = waiters_.insert(behind, {urgency});
  auto lease = lease_in_turn(lock, owner, bytes, *me, stopped);
  waiters_.erase(me);
  changed_.notify_all();
  if (!lease) return fail(std::move(lease).error());
  std::unique_ptr<Tenancy> tenancy(new Tenancy(*this, urgency, std::move(*lease)));
  tenants_.push_back(tenancy.get());
  return tenancy;
}

Result<Lease> Gate::lease_in_turn(Lock& lock, std::string_view owner, std::size_t bytes,
                                  const Waiter& me, const Stopped& stopped) {
  for (;;) {
    if (stopped && stopped()) {
      return fail(ErrorCode::kCancelled, "stopped while waiting for device memory");
    }
    if (&waiters_.front() != &me) {
      changed_.wait_for(lock, kNap);
      continue;
    }
    apply_releases_locked();
    auto lease = lease_locked(owner, bytes, me.urgency);
    if (lease) return lease;
    // Who is more urgent may come meanwhile.
    CUZK_TRY(const bool more, wait_for_release(lock, me.urgency));
    if (!more) return lease;
  }
}

Result<Lease> Gate::lease_locked(std::string_view owner, std::size_t bytes, Urgency urgency) {
  if (reserve_ && urgency == Urgency::kCritical) {
    if (auto lease = reserve_->lease(owner, bytes)) return lease;
  }
  return arena_.lease(owner, bytes);
}

void Gate::apply_releases_locked() {
  for (Tenancy* t : tenants_) {
    while (!t->releases_.empty()) {
      const auto happened = t->releases_.front().event->has_happened();
      if (!happened || !*happened) break;
      t->lease_.shrink(t->releases_.front().keep_bytes);
      t->releases_.pop_front();
    }
  }
}

const Tenancy* Gate::who_will_release_locked(Urgency urgency) const {
  const Tenancy* first = nullptr;
  for (const Tenancy* t : tenants_) {
    if (t->releases_.empty()) continue;
    if (t->urgency_ == urgency) return t;
    if (!first) first = t;
  }
  return first;
}

Result<bool> Gate::wait_for_release(Lock& lock, Urgency urgency) {
  // What critical work holds is the reserve, and it ends sooner; others wait in order.
  if (const Tenancy* const next = who_will_release_locked(urgency)) {
    const Event* event = next->releases_.front().event;
    // The event is recorded already, so waiting needs no lock; its owner settles before it dies,
    // and dies not while a kernel of its stream runs.
    lock.unlock();
    const Status waited = event->synchronize();
    lock.lock();
    CUZK_TRY_VOID(waited);
    return true;
  }
  if (std::ranges::all_of(tenants_, [](const Tenancy* t) { return t->queued_; })) return false;
  // Somebody is still queueing: its releases will come.
  changed_.wait_for(lock, kNap);
  return true;
}

const Tenancy* Gate::next_to_compute_locked() const {
  const Tenancy* first = nullptr;
  for (const Tenancy* t : tenants_) {
    if (t->had_turn_) continue;
    if (t->urgency_ == Urgency::kCritical) return t;
    if (!first) first = t;
  }
  return first;
}

Gate::ComputeTurn Gate::compute_turn(Tenancy& tenancy) {
  Lock lock(mutex_);
  CUZK_CHECK(!tenancy.settled_ && !tenancy.had_turn_);
  changed_.wait(lock, [&] { return !computing_ && next_to_compute_locked() == &tenancy; });
  computing_ = true;
  tenancy.had_turn_ = true;
  return ComputeTurn(this, &tenancy);
}

void Gate::ComputeTurn::leave(const Event* end) {
  if (!gate_) return;
  Gate& gate = *std::exchange(gate_, nullptr);
  const std::lock_guard lock(gate.mutex_);
  tenancy_->queued_ = true;
  if (end) gate.last_end_ = end;
  gate.computing_ = false;
  gate.changed_.notify_all();
}

Gate::ComputeTurn::~ComputeTurn() { leave(nullptr); }

void Gate::forget(const Event* end) {
  const std::lock_guard lock(mutex_);
  if (last_end_ == end) last_end_ = nullptr;
}

std::uint64_t Gate::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

std::size_t Gate::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiters_.size();
}

std::size_t Gate::tenants() const {
  const std::lock_guard lock(mutex_);
  return tenants_.size();
}

}  // namespace cuzk::gpu
