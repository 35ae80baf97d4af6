#pragma once
// Where partitions wait whose key is streamed, so that bases that go up once serve many: whoever
// has its turn on the card claims the others, sums for them too, and lets them go.
//
//   post       from when a partition is ready until its own turn
//   claim      by whoever has its turn: those of the same kind, as they came
//   withdraw   at its own turn, or when it is given up; waits while it is claimed
//
// Bound:   a claim waits for the card at most, never for who is claimed, so that nothing can wait
//          in a circle.
// Threads: may be shared; outlives what is posted. What is claimed belongs to whoever claimed it,
//          which withdraw() sees the work of.

#include <condition_variable>
#include <cstddef>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "groth16/cuda_plan.h"

namespace cuzk::groth16 {

class StreamBoard {
 public:
  // Only partitions of one kind can be summed together: they are cut into the same chunks.
  struct Kind {
    const void* circuit = nullptr;
    CudaMode mode = {};
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  // A partition is posted once.
  void post(void* partition, const Kind& kind);
  // Nothing for what is not there.
  void withdraw(void* partition);

  // Held until it dies, which takes those claimed off the board.
  class Claim {
   public:
    Claim() = default;
    Claim(Claim&& other) noexcept
        : board_(std::exchange(other.board_, nullptr)),
          partitions_(std::exchange(other.partitions_, {})) {}
    Claim& operator=(Claim&& other) noexcept {
      Claim old(std::move(*this));
      std::swap(board_, other.board_);
      std::swap(partitions_, other.partitions_);
      return *this;
    }
    ~Claim();
    const std::vector<void*>& partitions() const { return partitions_; }

   private:
    friend class StreamBoard;
    StreamBoard* board_ = nullptr;
    std::vector<void*> partitions_;
  };
  Claim claim(const Kind& kind, std::size_t most);

 private:
  struct Entry {
    void* partition;
    Kind kind;
    bool is_claimed = false;
  };
  std::list<Entry>::iterator find_locked(const void* partition);

  std::mutex mutex_;
  std::condition_variable released_;
  std::list<Entry> entries_;  // as they came
};

}  // namespace cuzk::groth16
