#pragma once
// The two gates of a card: memory is leased in turn, and computing is admitted in the order of the
// leases. Whoever waits for memory waits for events of the card alone, never for something that
// another thread must do first, so that nothing can wait in a circle.
//
//   tenancy = gate.enter(...)      the whole peak of a plan, in turn
//   ... copies are queued ...
//   turn = gate.compute_turn(...)  in the order of enter
//   ... kernels are queued, tenancy->shrink_after(event, bytes) behind each phase ...
//   turn.leave(end)                the next partition's kernels may follow the event `end`
//   tenancy->settle()              after the last event: everything is given back
//
// Order:   memory goes to whoever asked first, critical work before the rest; a lease, once
// granted,
//          is never taken back. Computing follows the leases, but a critical one takes the next
//          turn.
// Reserve: a second arena, where there is one, is for critical work alone: it is tried first, and
//          what does not fit there waits for the other one, like everybody, but at the head.
// Bound:   a tenancy that was entered must reach compute_turn, or be dropped; the time between is
//          that of queueing copies.
// Threads: Gate may be used from any thread and outlives its tenancies; a tenancy has one owner.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>

#include "gpu/arena.h"
#include "gpu/owners.h"

namespace cuzk::gpu {

class Gate;

enum class Urgency { kNormal, kCritical };

// A partition's lease, with the events after which it needs less of it.
class Tenancy {
 public:
  Tenancy(const Tenancy&) = delete;
  Tenancy& operator=(const Tenancy&) = delete;
  // Gives back what is left. The card must not be using it.
  ~Tenancy();

  const Lease& lease() const { return lease_; }
  Urgency urgency() const { return urgency_; }
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
  Tenancy(Gate& gate, Urgency urgency, Lease lease)
      : gate_(gate), urgency_(urgency), lease_(std::move(lease)) {}

  Gate& gate_;
  const Urgency urgency_;
  // Guarded by the gate's mutex.
  Lease lease_;
  std::deque<Release> releases_;
  bool had_turn_ = false;  // its compute turn has begun
  bool queued_ = false;    // its compute turn is over: all its releases are known
  bool settled_ = false;
};

class Gate {
 public:
  // `reserve` is for critical work alone; null: there is none.
  explicit Gate(Arena& arena, Arena* reserve = nullptr) : arena_(arena), reserve_(reserve) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Waits its turn and until `bytes` are free in one part. `stopped` is asked now and then.
  // Errors: kOutOfBudget when they are not free although nobody holds a tenancy any more;
  //         kCancelled; kDeviceLost when waiting for an event fails.
  using Stopped = std::function<bool()>;
  Result<std::unique_ptr<Tenancy>> enter(std::string_view owner, std::size_t bytes,
                                         Urgency urgency = Urgency::kNormal,
                                         const Stopped& stopped = {});

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
  // How many have asked for memory so far, and how many of them wait for it.
  std::uint64_t asked() const;
  std::size_t waiting() const;

 private:
  friend class Tenancy;
  struct Waiter {
    Urgency urgency;
  };
  using Lock = std::unique_lock<std::mutex>;

  Result<Lease> lease_in_turn(Lock& lock, std::string_view owner, std::size_t bytes,
                              const Waiter& me, const Stopped& stopped);
  Result<Lease> lease_locked(std::string_view owner, std::size_t bytes, Urgency urgency);
  void apply_releases_locked();
  // Waits until more may be free, for critical work first until some of its kind ends; false when
  // nobody will give anything back.
  Result<bool> wait_for_release(Lock& lock, Urgency urgency);
  const Tenancy* who_will_release_locked(Urgency urgency) const;
  // Whose kernels come next, of those that hold a lease; null: nobody's.
  const Tenancy* next_to_compute_locked() const;

  Arena& arena_;
  Arena* const reserve_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t asked_ = 0;
  std::list<Waiter> waiters_;     // for memory: critical ones first, each kind as it came
  std::deque<Tenancy*> tenants_;  // in the order of their leases
  bool computing_ = false;        // somebody queues kernels
  const Event* last_end_ = nullptr;
};

}  // namespace cuzk::gpu
