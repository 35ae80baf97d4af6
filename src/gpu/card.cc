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

Result<std::unique_ptr<Slot>> make_slot(unsigned number) {
  CUZK_TRY(auto stream, Stream::create());
  CUZK_TRY(auto side, Stream::create());
  CUZK_TRY(auto copies, Stream::create());
  CUZK_TRY(auto results, PinnedBuffer<std::byte>::allocate(Slot::kResultBytes));
  CUZK_TRY(auto marks, make_events(Slot::kMarks, true));
  CUZK_TRY(auto filled, make_events(Slot::kHalves, false));
  CUZK_TRY(auto freed, make_events(Slot::kHalves, false));
  return std::unique_ptr<Slot>(new Slot{number, std::move(stream), std::move(side),
                                        std::move(copies), std::move(marks), std::move(filled),
                                        std::move(freed), std::move(results)});
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

Card::Card(DeviceInfo info, DeviceBuffer<std::byte> block, Staging staging, Staging load_staging,
           Stream load_stream, std::vector<std::unique_ptr<Slot>> slots)
    : info_(std::move(info)),
      block_(std::move(block)),
      arena_(std::make_unique<Arena>(block_.span())),
      gate_(*arena_),
      staging_(std::move(staging)),
      load_staging_(std::move(load_staging)),
      load_stream_(std::move(load_stream)),
      slots_(std::move(slots)) {
  for (const auto& slot : slots_) free_slots_.push_back(slot.get());
}

Card::~Card() = default;

Result<std::unique_ptr<Card>> Card::open(const CardOptions& options) {
  CUZK_TRY(DeviceInfo info, find_device(options.device));
  CUZK_TRY_VOID(use_device(options.device));
  if (options.workers == 0 || options.staging_chunks == 0 || options.staging_chunk_bytes == 0) {
    return fail(ErrorCode::kInvalidArgument,
                "card: {} workers, {} staging chunks of {} bytes; each must be at least 1",
                options.workers, options.staging_chunks, options.staging_chunk_bytes);
  }
  // What is not the arena comes first, so that the arena takes what is truly left.
  CUZK_TRY(auto load_stream, Stream::create());
  CUZK_TRY(auto staging, Staging::create(options.staging_chunk_bytes, options.staging_chunks));
  CUZK_TRY(auto load_staging, Staging::create(options.staging_chunk_bytes, options.staging_chunks));
  std::vector<std::unique_ptr<Slot>> slots;
  for (unsigned i = 0; i < options.workers; ++i) {
    CUZK_TRY(auto slot, make_slot(i));
    slots.push_back(std::move(slot));
  }
  std::size_t bytes = options.vram_budget;
  if (bytes == 0) {
    CUZK_TRY(const std::size_t free, runtime::free_bytes_at_start());
    bytes = free - std::min(free, free / 16 + kMargin);
  }
  CUZK_TRY(auto block, DeviceBuffer<std::byte>::allocate(bytes));
  return std::unique_ptr<Card>(new Card(std::move(info), std::move(block), std::move(staging),
                                        std::move(load_staging), std::move(load_stream),
                                        std::move(slots)));
}

Card::HeldSlot Card::take_slot() {
  std::unique_lock lock(mutex_);
  slot_freed_.wait(lock, [&] { return !free_slots_.empty(); });
  Slot* const slot = free_slots_.back();
  free_slots_.pop_back();
  return HeldSlot(this, slot);
}

Card::HeldSlot::~HeldSlot() {
  if (!slot_) return;
  for (const Event& mark : slot_->marks) card_->gate_.forget(&mark);
  const std::lock_guard lock(card_->mutex_);
  card_->free_slots_.push_back(slot_);
  card_->slot_freed_.notify_one();
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
