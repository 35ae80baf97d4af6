#include "gpu/card.h"

#include <algorithm>
#include <cstring>

namespace cuzk::gpu {

namespace {

constexpr std::size_t kMargin = std::size_t{512} << 20;
constexpr std::size_t kCopyGrain = std::size_t{1} << 20;

Result<DeviceInfo> find_device(int index) {
  const auto devices = list_devices();
  const auto found = std::ranges::find(devices, index, &DeviceInfo::index);
  if (found != devices.end()) return *found;
  return fail(ErrorCode::kInvalidArgument, "device {} is not there: {}", index,
              devices.empty() ? no_device_reason() : fmt::format("{} devices are", devices.size()));
}

Result<std::vector<Event>> make_events(unsigned count, bool timed) {
  std::vector<Event> out;
  for (unsigned i = 0; i < count; ++i) {
    CUZK_TRY(auto event, Event::create(timed));
    out.push_back(std::move(event));
  }
  return out;
}

Result<std::unique_ptr<Slot>> make_slot(unsigned number, bool is_critical) {
  const StreamRank rank = is_critical ? StreamRank::kCritical : StreamRank::kNormal;
  const StreamRank side_rank = is_critical ? StreamRank::kCriticalSide : StreamRank::kSide;
  CUZK_TRY(auto stream, Stream::create(rank));
  std::vector<Stream> sides;
  for (unsigned i = 0; i < Slot::kSides; ++i) {
    CUZK_TRY(auto side, Stream::create(side_rank));
    sides.push_back(std::move(side));
  }
  CUZK_TRY(auto copies, Stream::create(rank));
  CUZK_TRY(auto results, PinnedBuffer<std::byte>::allocate(Slot::kResultBytes));
  CUZK_TRY(auto marks, make_events(Slot::kMarks, true));
  CUZK_TRY(auto filled, make_events(Slot::kHalves, false));
  CUZK_TRY(auto freed, make_events(Slot::kHalves, false));
  return std::unique_ptr<Slot>(new Slot{number, is_critical, std::move(stream), std::move(sides),
                                        std::move(copies), std::move(marks), std::move(filled),
                                        std::move(freed), std::move(results)});
}

// The last of them, where there is a reserve, is critical work's.
Result<std::vector<std::unique_ptr<Slot>>> make_slots(const CardOptions& options) {
  std::vector<std::unique_ptr<Slot>> out;
  const unsigned count = options.workers + (options.critical_reserve ? 1 : 0);
  for (unsigned i = 0; i < count; ++i) {
    CUZK_TRY(auto slot, make_slot(i, i == options.workers));
    out.push_back(std::move(slot));
  }
  return out;
}

Status check_options(const CardOptions& o) {
  if (o.workers == 0 || o.staging_chunks == 0 || o.staging_chunk_bytes == 0) {
    return fail(ErrorCode::kInvalidArgument,
                "card: {} workers, {} staging chunks of {} bytes; each must be at least 1",
                o.workers, o.staging_chunks, o.staging_chunk_bytes);
  }
  if (o.vram_budget && o.critical_reserve >= o.vram_budget) {
    return fail(ErrorCode::kInvalidArgument,
                "card: {} of {} bytes are reserved for critical work, nothing is left for the rest",
                o.critical_reserve, o.vram_budget);
  }
  return {};
}

// Of the arena and the reserve, whole pages of both.
Result<std::size_t> block_bytes(const CardOptions& options) {
  if (options.vram_budget) return options.vram_budget;
  CUZK_TRY(const std::size_t free, runtime::free_bytes_at_start());
  const std::size_t bytes = free - std::min(free, free / 16 + kMargin);
  if (bytes <= options.critical_reserve) {
    return fail(ErrorCode::kOutOfBudget,
                "card: {} bytes of its memory are free, {} of them are to be reserved for critical "
                "work",
                free, options.critical_reserve);
  }
  return bytes;
}

}  // namespace

Result<Staging> Staging::create(std::size_t chunk_bytes, unsigned chunks) {
  std::vector<Chunk> made;
  for (unsigned i = 0; i < chunks; ++i) {
    CUZK_TRY(auto bytes, PinnedBuffer<std::byte>::allocate(chunk_bytes));
    CUZK_TRY(auto event, Event::create());
    made.push_back({std::move(bytes), std::move(event), false});
  }
  return Staging(std::move(made));
}

Result<Staging::Chunk*> Staging::next_chunk() {
  Chunk& chunk = chunks_[next_];
  next_ = (next_ + 1) % chunks_.size();
  if (chunk.used) CUZK_TRY_VOID(chunk.free.synchronize());
  return &chunk;
}

Status Staging::upload_made(StreamHandle stream, std::byte* to, std::size_t bytes,
                            std::size_t granule, const Maker& make) {
  const std::lock_guard lock(*mutex_);
  for (std::size_t done = 0; done < bytes;) {
    CUZK_TRY(Chunk* const chunk, next_chunk());
    const std::size_t room = chunk->bytes.size() / granule * granule;
    if (room == 0) {
      return fail(ErrorCode::kInvalidArgument, "upload: pieces of {} bytes, a buffer has {}",
                  granule, chunk->bytes.size());
    }
    const auto out = chunk->bytes.span().first(std::min(bytes - done, room));
    CUZK_TRY_VOID(make(done, out));
    CUZK_TRY_VOID(runtime::copy_to_device(stream, to + done, out.data(), out.size()));
    CUZK_TRY_VOID(chunk->free.record(stream));
    chunk->used = true;
    done += out.size();
  }
  return {};
}

Status Staging::upload(Tasks& tasks, StreamHandle stream, std::byte* to, const std::byte* from,
                       std::size_t bytes) {
  const std::lock_guard lock(*mutex_);
  while (bytes > 0) {
    CUZK_TRY(Chunk* const next, next_chunk());
    Chunk& chunk = *next;
    const std::size_t now = std::min(bytes, chunk.bytes.size());
    std::byte* const pinned = chunk.bytes.span().data();
    tasks.parallel_for(now, kCopyGrain, [&](std::size_t begin, std::size_t end) {
      std::memcpy(pinned + begin, from + begin, end - begin);
    });
    if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "stopped during an upload");
    CUZK_TRY_VOID(runtime::copy_to_device(stream, to, pinned, now));
    CUZK_TRY_VOID(chunk.free.record(stream));
    chunk.used = true;
    to += now;
    from += now;
    bytes -= now;
  }
  return {};
}

struct Card::Parts {
  DeviceInfo info;
  CardOptions options;
  Reservation pinned;
  Stream load_stream;
  Staging staging;
  Staging load_staging;
  std::vector<std::unique_ptr<Slot>> slots;
  DeviceBuffer<std::byte> block;
};

namespace {

// Where the reserve begins: at the end of the block.
std::size_t arena_bytes(const DeviceBuffer<std::byte>& block, std::size_t reserve) {
  const std::size_t whole = block.size() / Arena::kAlignment * Arena::kAlignment;
  return whole -
         std::min(whole, (reserve + Arena::kAlignment - 1) / Arena::kAlignment * Arena::kAlignment);
}

}  // namespace

Card::Card(Parts parts)
    : info_(std::move(parts.info)),
      workers_(parts.options.workers),
      pinned_(std::move(parts.pinned)),
      block_(std::move(parts.block)),
      arena_(std::make_unique<Arena>(
          block_.span().first(arena_bytes(block_, parts.options.critical_reserve)))),
      reserve_(std::make_unique<Arena>(
          block_.span().subspan(arena_->total_bytes(), block_.size() - arena_->total_bytes()))),
      gate_(*arena_, parts.options.critical_reserve ? reserve_.get() : nullptr),
      staging_(std::move(parts.staging)),
      load_staging_(std::move(parts.load_staging)),
      load_stream_(std::move(parts.load_stream)),
      slots_(std::move(parts.slots)) {
  for (const auto& slot : slots_) free_slots_.push_back(slot.get());
}

Card::~Card() = default;

std::size_t Card::pinned_bytes(const CardOptions& o) {
  const std::size_t slots = o.workers + (o.critical_reserve ? 1 : 0);
  return 2 * o.staging_chunks * o.staging_chunk_bytes + slots * Slot::kResultBytes;
}

Result<std::unique_ptr<Card>> Card::open(MemoryBudget& memory, const CardOptions& options) {
  CUZK_TRY(DeviceInfo info, find_device(options.device));
  CUZK_TRY_VOID(use_device(options.device));
  CUZK_TRY_VOID(check_options(options));
  CUZK_TRY(auto pinned, memory.reserve(fmt::format("pinned buffers of cuda:{}", options.device),
                                       pinned_bytes(options)));
  // What is not the arena comes first, so that the arena takes what is truly left.
  CUZK_TRY(auto load_stream, Stream::create());
  CUZK_TRY(auto staging, Staging::create(options.staging_chunk_bytes, options.staging_chunks));
  CUZK_TRY(auto load_staging, Staging::create(options.staging_chunk_bytes, options.staging_chunks));
  CUZK_TRY(auto slots, make_slots(options));
  CUZK_TRY(const std::size_t bytes, block_bytes(options));
  CUZK_TRY(auto block, DeviceBuffer<std::byte>::allocate(bytes));
  return std::unique_ptr<Card>(
      new Card({std::move(info), options, std::move(pinned), std::move(load_stream),
                std::move(staging), std::move(load_staging), std::move(slots), std::move(block)}));
}

// Critical work takes its own slot first, others never do.
Slot* Card::free_slot_locked(Urgency urgency) {
  const bool critical = urgency == Urgency::kCritical;
  auto chosen = std::ranges::find(free_slots_, critical, &Slot::is_critical);
  if (critical && chosen == free_slots_.end()) chosen = free_slots_.begin();
  if (chosen == free_slots_.end()) return nullptr;
  Slot* const slot = *chosen;
  free_slots_.erase(chosen);
  return slot;
}

Card::HeldSlot Card::take_slot(Urgency urgency) {
  std::unique_lock lock(mutex_);
  Slot* slot = nullptr;
  slot_freed_.wait(lock, [&] { return (slot = free_slot_locked(urgency)) != nullptr; });
  return HeldSlot(this, slot);
}

Card::HeldSlot::~HeldSlot() {
  if (!slot_) return;
  for (const Event& mark : slot_->marks) card_->gate_.forget(&mark);
  const std::lock_guard lock(card_->mutex_);
  card_->free_slots_.push_back(slot_);
  card_->slot_freed_.notify_all();
}

void Card::fence(std::string_view why) {
  const std::lock_guard lock(mutex_);
  if (fenced_.empty()) fenced_ = why;
}

Status Card::check_usable() const {
  const std::lock_guard lock(mutex_);
  if (fenced_.empty()) return {};
  return fail(ErrorCode::kDeviceLost, "device {} ({}) is fenced: {}", info_.index, info_.name,
              fenced_);
}

Status wait_for_loads(Card& card) {
  CUZK_TRY(auto done, Event::create());
  CUZK_TRY_VOID(done.record(card.load_stream()));
  return done.synchronize();
}

}  // namespace cuzk::gpu
