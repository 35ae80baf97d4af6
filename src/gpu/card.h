#pragma once
// A card in use: its arena, taken once; the gates to it; pinned buffers through which everything
// goes up; and a slot (streams, events, pinned results) for each partition in flight.
//
// Critical work may have a part of the memory of its own (CardOptions::critical_reserve). With it
// comes a slot beyond those of the workers, whose streams go before the others' on the card.
//
// From the moment a card is open nothing allocates, frees or asks the device for memory, and
// nothing waits for the device as a whole.
//
// Threads: may be shared; outlives everything that was leased from it.

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/memory.h"
#include "base/tasks.h"
#include "gpu/arena.h"
#include "gpu/gate.h"
#include "gpu/owners.h"

namespace cuzk::gpu {

struct CardOptions {
  int device = 0;
  // Bytes of the arena and the reserve; 0 takes what is free at start, less a sixteenth and 512
  // MiB.
  std::size_t vram_budget = 0;
  // Of these, for critical work alone.
  std::size_t critical_reserve = 0;
  // Partitions between start and finish at any time.
  unsigned workers = 2;
  std::size_t staging_chunk_bytes = std::size_t{16} << 20;
  unsigned staging_chunks = 4;
};

// Pinned buffers in a ring, through which pageable memory goes to the device.
class Staging {
 public:
  static Result<Staging> create(std::size_t chunk_bytes, unsigned chunks);

  // Queues the copy. The bytes at `from` have been read when this returns; what is at `to` is there
  // in stream order. Waits for chunks that are still on their way.
  Status upload(Tasks& tasks, StreamHandle stream, std::byte* to, const std::byte* from,
                std::size_t bytes);
  // The same for bytes that do not exist yet: `make` puts those from `offset` on into a pinned
  // buffer, whose length is a multiple of `granule` but for the last one.
  using Maker = std::function<Status(std::size_t offset, std::span<std::byte> out)>;
  Status upload_made(StreamHandle stream, std::byte* to, std::size_t bytes, std::size_t granule,
                     const Maker& make);
  template <class T>
  Status upload(Tasks& tasks, StreamHandle stream, DeviceSpan<T> to, std::span<const T> from) {
    if (to.size() != from.size()) {
      return fail(ErrorCode::kInvalidArgument, "upload: {} elements to a place for {}", from.size(),
                  to.size());
    }
    return upload(tasks, stream, reinterpret_cast<std::byte*>(to.data()),
                  reinterpret_cast<const std::byte*>(from.data()), from.size_bytes());
  }

 private:
  struct Chunk {
    PinnedBuffer<std::byte> bytes;
    Event free;
    bool used = false;
  };
  explicit Staging(std::vector<Chunk> chunks)
      : chunks_(std::move(chunks)), mutex_(std::make_unique<std::mutex>()) {}

  // Waits for the next chunk. Under the lock.
  Result<Chunk*> next_chunk();

  std::vector<Chunk> chunks_;
  std::size_t next_ = 0;
  std::unique_ptr<std::mutex> mutex_;
};

// What one partition in flight uses beside its lease.
struct Slot {
  static constexpr unsigned kMarks = 24;
  static constexpr std::size_t kResultBytes = std::size_t{1} << 20;
  static constexpr unsigned kHalves = 2;
  unsigned number = 0;
  bool is_critical = false;  // kept for critical work
  static constexpr unsigned kSides = 2;
  Stream stream;
  std::vector<Stream> sides;  // kSides: for what may run beside it; their blocks go first
  Stream copies;              // for what is streamed
  std::vector<Event> marks;   // timed
  // Of the two halves of a streaming buffer: filled, and free again.
  std::vector<Event> filled;
  std::vector<Event> freed;
  PinnedBuffer<std::byte> results;  // kResultBytes
};

class Card {
 public:
  // Chooses the device for the calling thread, too. `memory`, which outlives the card, is what its
  // pinned buffers are reserved in.
  // Errors: kInvalidArgument without CUDA or for a device that is not there; kOutOfBudget.
  static Result<std::unique_ptr<Card>> open(MemoryBudget& memory, const CardOptions& options);
  // Host memory that is pinned for a card with these options.
  static std::size_t pinned_bytes(const CardOptions& options);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  const DeviceInfo& info() const { return info_; }
  unsigned workers() const { return workers_; }
  Arena& arena() { return *arena_; }
  // Of critical work; empty without a reserve.
  Arena& reserve() { return *reserve_; }
  Gate& gate() { return gate_; }
  Staging& staging() { return staging_; }
  // A ring of its own for keys and circuits, so that no partition waits for their loading.
  Staging& load_staging() { return load_staging_; }
  // Of calls that are no partition's: loading keys and circuits.
  StreamHandle load_stream() const { return load_stream_.handle(); }
  // Makes this card's device the calling thread's.
  Status use() const { return use_device(info_.index); }

  // A slot until the holder dies; waits while the workers have all of theirs. Critical work has
  // those of the workers and its own.
  class HeldSlot {
   public:
    HeldSlot() = default;
    HeldSlot(HeldSlot&& other) noexcept
        : card_(std::exchange(other.card_, nullptr)), slot_(std::exchange(other.slot_, nullptr)) {}
    HeldSlot& operator=(HeldSlot&& other) noexcept {
      HeldSlot old(std::move(*this));
      std::swap(card_, other.card_);
      std::swap(slot_, other.slot_);
      return *this;
    }
    ~HeldSlot();
    Slot* operator->() const { return slot_; }
    Slot& operator*() const { return *slot_; }

   private:
    friend class Card;
    HeldSlot(Card* card, Slot* slot) : card_(card), slot_(slot) {}
    Card* card_ = nullptr;
    Slot* slot_ = nullptr;
  };
  HeldSlot take_slot(Urgency urgency = Urgency::kNormal);

  // After an error of the device: no partition is started on it any more.
  void fence(std::string_view why);
  // kDeviceLost once fenced.
  Status check_usable() const;

 private:
  struct Parts;  // what open() makes
  explicit Card(Parts parts);
  Slot* free_slot_locked(Urgency urgency);

  const DeviceInfo info_;
  const unsigned workers_;
  Reservation pinned_;
  DeviceBuffer<std::byte> block_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Arena> reserve_;
  Gate gate_;
  Staging staging_;
  Staging load_staging_;
  Stream load_stream_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_slots_;
  mutable std::mutex mutex_;
  std::condition_variable slot_freed_;
  std::string fenced_;
};

// Copies up while the caller waits: for keys and circuits.
template <class T>
Status load(Card& card, Tasks& tasks, DeviceSpan<T> to, std::span<const T> from) {
  return card.load_staging().upload(tasks, card.load_stream(), to, from);
}
// Waits for everything queued on the load stream.
Status wait_for_loads(Card& card);

}  // namespace cuzk::gpu
