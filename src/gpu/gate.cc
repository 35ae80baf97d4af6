#include "gpu/gate.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace cuzk::gpu {

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
  if (!had_turn_) {
    gate_.skipped_.push_back(ticket_);
    gate_.advance_compute_locked();
  }
  gate_.changed_.notify_all();
}

Result<std::unique_ptr<Tenancy>> Gate::enter(std::string_view owner, std::size_t bytes,
                                             std::stop_token stop) {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  changed_.wait(lock, [&] { return serving_ == ticket; });
  const auto leave = [&] {
    ++serving_;
    changed_.notify_all();
  };
  const auto give_up = [&](Error error) {
    skipped_.push_back(ticket);
    advance_compute_locked();
    leave();
    return fail(std::move(error));
  };
  for (;;) {
    apply_releases_locked();
    auto lease = arena_.lease(owner, bytes);
    if (lease) {
      std::unique_ptr<Tenancy> tenancy(new Tenancy(*this, ticket, std::move(*lease)));
      tenants_.push_back(tenancy.get());
      leave();
      return tenancy;
    }
    if (stop.stop_requested()) {
      return give_up({ErrorCode::kCancelled, "stopped while waiting for device memory"});
    }
    const auto more = wait_for_release(lock);
    if (!more) return give_up(more.error());
    if (!*more) return give_up(std::move(lease).error());
  }
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

Result<bool> Gate::wait_for_release(std::unique_lock<std::mutex>& lock) {
  for (const Tenancy* t : tenants_) {
    if (t->releases_.empty()) continue;
    const Event* event = t->releases_.front().event;
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
  changed_.wait_for(lock, std::chrono::milliseconds(50));
  return true;
}

Gate::ComputeTurn Gate::compute_turn(Tenancy& tenancy) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return compute_serving_ == tenancy.ticket(); });
  tenancy.had_turn_ = true;
  return ComputeTurn(this, &tenancy);
}

void Gate::ComputeTurn::leave(const Event* end) {
  if (!gate_) return;
  Gate& gate = *std::exchange(gate_, nullptr);
  const std::lock_guard lock(gate.mutex_);
  tenancy_->queued_ = true;
  if (end) gate.last_end_ = end;
  ++gate.compute_serving_;
  gate.advance_compute_locked();
  gate.changed_.notify_all();
}

Gate::ComputeTurn::~ComputeTurn() { leave(nullptr); }

void Gate::forget(const Event* end) {
  const std::lock_guard lock(mutex_);
  if (last_end_ == end) last_end_ = nullptr;
}

void Gate::advance_compute_locked() {
  for (auto at = skipped_.end(); !skipped_.empty();) {
    at = std::find(skipped_.begin(), skipped_.end(), compute_serving_);
    if (at == skipped_.end()) return;
    skipped_.erase(at);
    ++compute_serving_;
  }
}

std::uint64_t Gate::tickets() const {
  const std::lock_guard lock(mutex_);
  return next_ticket_;
}

std::size_t Gate::tenants() const {
  const std::lock_guard lock(mutex_);
  return tenants_.size();
}

}  // namespace cuzk::gpu
