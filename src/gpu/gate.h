#pragma once
// The two gates of a card: memory is leased in the order of tickets, and computing is admitted in
// the order of the leases. Whoever waits for memory waits for events of the card alone, never for
// something that another thread must do first, so that nothing can wait in a circle.
//
//   tenancy = gate.enter(...)      the whole peak of a plan, in turn
//   ... copies are queued ...
//   turn = gate.compute_turn(...)  in the order of enter
//   ... kernels are queued, tenancy->shrink_after(event, bytes) behind each phase ...
//   turn.leave(end)                the next partition's kernels may follow the event `end`
//   tenancy->settle()              after the last event: everything is given back
//
// Bound:   a tenancy that was entered must reach compute_turn, or be dropped; the time between is
//          that of queueing copies.
// Threads: Gate may be used from any thread and outlives its tenancies; a tenancy has one owner.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string_view>

#include "gpu/arena.h"
#include "gpu/owners.h"

namespace cuzk::gpu {

class Gate;

// A partition's lease, with the events after which it needs less of it.
class Tenancy {
 public:
  Tenancy(const Tenancy&) = delete;
  Tenancy& operator=(const Tenancy&) = delete;
  // Gives back what is left. The card must not be using it.
  ~Tenancy();

  const Lease& lease() const { return lease_; }
  std::uint64_t ticket() const { return ticket_; }
  // Once `event`, which was recorded, has happened, only the first `keep_bytes` are needed. The
  // event lives until settle().
  void shrink_after(const Event& event, std::size_t keep_bytes);
  // Gives everything back: the card has ended with it, or never began.
  void settle();

 private:
  friend class Gate;
  struct Release {
    const Event* event;
    std::size_t keep_bytes;
  };
  Tenancy(Gate& gate, std::uint64_t ticket, Lease lease)
      : gate_(gate), ticket_(ticket), lease_(std::move(lease)) {}

  Gate& gate_;
  const std::uint64_t ticket_;
  // Guarded by the gate's mutex.
  Lease lease_;
  std::deque<Release> releases_;
  bool had_turn_ = false;  // its compute turn has begun
  bool queued_ = false;    // its compute turn is over: all its releases are known
  bool settled_ = false;
};

class Gate {
 public:
  explicit Gate(Arena& arena) : arena_(arena) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Waits its turn and until `bytes` are free in one part.
  // Errors: kOutOfBudget when they are not free although nobody holds a tenancy any more;
  //         kCancelled; kDeviceLost when waiting for an event fails.
  Result<std::unique_ptr<Tenancy>> enter(std::string_view owner, std::size_t bytes,
                                         std::stop_token stop = {});

  // Whose kernels are being queued.
  class ComputeTurn {
   public:
    ComputeTurn(ComputeTurn&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), tenancy_(other.tenancy_) {}
    ComputeTurn(const ComputeTurn&) = delete;
    ~ComputeTurn();
    // What the kernels before this turn end with; null when there are none. Valid until leave().
    const Event* before() const { return gate_->last_end_; }
    // The kernels of this turn end with `end`, which lives until it has happened.
    void leave(const Event* end);

   private:
    friend class Gate;
    ComputeTurn(Gate* gate, Tenancy* tenancy) : gate_(gate), tenancy_(tenancy) {}
    Gate* gate_;
    Tenancy* tenancy_;
  };
  ComputeTurn compute_turn(Tenancy& tenancy);

  // An event that is about to be recorded anew, or to die, is no end any more: it has happened.
  void forget(const Event* end);

  std::size_t tenants() const;
  // How many have asked for memory so far.
  std::uint64_t tickets() const;

 private:
  friend class Tenancy;
  void apply_releases_locked();
  // Waits until more may be free; false when nobody will give anything back.
  Result<bool> wait_for_release(std::unique_lock<std::mutex>& lock);
  void advance_compute_locked();

  Arena& arena_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;          // the ticket that may lease
  std::uint64_t compute_serving_ = 0;  // the ticket that may queue kernels
  std::deque<Tenancy*> tenants_;       // in the order of their tickets
  std::deque<std::uint64_t> skipped_;  // tickets that will not compute
  const Event* last_end_ = nullptr;
};

}  // namespace cuzk::gpu
