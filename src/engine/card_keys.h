#pragma once
// What lasts on a card (circuits, keys, twiddles): loaded when a proof wants it, the least recently
// used dropped when something else wants its room, never one in use.
//
// Rule:    whoever may use something is sure of its lease: the largest part of the arena without
//          lasting leases is at least the largest lease among all uses. A use that this would not
//          hold for waits until others end.
// Order:   uses are granted in the order in which they were asked for, critical ones before the
//          rest; who waits, waits only for uses to end, which need nothing from here.
// Threads: may be shared; outlives its uses.

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/tasks.h"
#include "gpu/arena.h"
#include "gpu/gate.h"

namespace cuzk::engine {

class CardKeys {
 public:
  explicit CardKeys(gpu::Arena& arena) : arena_(arena) {}
  CardKeys(const CardKeys&) = delete;
  CardKeys& operator=(const CardKeys&) = delete;

  struct Wanted {
    std::string name;
    std::size_t lasting_bytes = 0;  // that loading takes of the arena
    std::size_t lease_bytes = 0;    // that a proof takes beside it, at least
    std::string note = {};          // for status: "resident", "streamed"
    gpu::Urgency urgency = gpu::Urgency::kNormal;
  };
  // Called without locks, by one thread at a time.
  using Loader = std::function<Result<std::shared_ptr<void>>()>;

  // What is held from being dropped. `content` is what the loader made.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept { swap(other); }
    Use& operator=(Use&& other) noexcept {
      Use old(std::move(*this));
      swap(other);
      return *this;
    }
    ~Use();
    void* content() const { return content_.get(); }
    std::size_t lease_bytes() const { return lease_bytes_; }

   private:
    friend class CardKeys;
    void swap(Use& other) noexcept;
    CardKeys* keys_ = nullptr;
    std::string name_;
    std::shared_ptr<void> content_;
    std::size_t lease_bytes_ = 0;
  };

  // Errors: those of `load`; kOutOfBudget when it cannot fit even alone; kCancelled.
  // `larger_lease`: taken instead of the least one when that leaves room for so much.
  Result<Use> use(Tasks& tasks, const Wanted& wanted, std::size_t larger_lease,
                  std::size_t larger_room, const Loader& load);
  // Drops what has this name, unless it is in use.
  void forget(const std::string& name);
  // Everything idle.
  void forget_all();

  struct Held {
    std::string name;
    std::string note;
    std::size_t bytes = 0;
    std::size_t uses = 0;
  };
  std::vector<Held> held() const;
  std::uint64_t loads() const;
  std::uint64_t evictions() const;

 private:
  struct Entry {
    Held held;
    std::shared_ptr<void> content;
    std::uint64_t last_use = 0;
  };
  using Lock = std::unique_lock<std::mutex>;
  struct Waiter {
    gpu::Urgency urgency;
  };

  Result<Use> grant_in_turn(Lock& lock, Tasks& tasks, const Wanted& wanted, const Waiter& me,
                            const Loader& load);
  Entry* find(const std::string& name);
  bool evict_one(Lock& lock, const std::string& except);
  bool others_in_use() const { return !leases_.empty(); }
  std::size_t largest_lease(std::size_t own) const;
  // False: it does not fit now, and everything idle is gone.
  Result<bool> fit(Lock& lock, const Wanted& wanted, const Loader& load);
  Status wait_for_others(Lock& lock, Tasks& tasks, const Wanted& wanted);
  void release(const std::string& name, std::size_t lease_bytes);

  gpu::Arena& arena_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Entry> entries_;
  std::multiset<std::size_t> leases_;  // of all uses
  std::list<Waiter> waiters_;          // critical ones first, each kind as it came
  bool fitting_ = false;               // somebody makes room or loads
  std::uint64_t use_counter_ = 0;
  std::uint64_t uses_ended_ = 0;
  std::uint64_t loads_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace cuzk::engine
