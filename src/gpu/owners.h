#pragma once
// Move-only owners of streams, events, device memory and pinned host memory. A factory makes each
// of them and returns a Result; move assignment releases what was held.
//
// Threads: one owner at a time. Work is queued in stream order; a host buffer of a copy must live,
//          unchanged, until an event after the copy has happened.

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "gpu/device_span.h"
#include "gpu/runtime.h"

namespace cuzk::gpu {

// A handle with its release function.
template <class Handle, void (*kRelease)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    Owned old(std::move(*this));
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_) kRelease(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

class Event {
 public:
  // A timed event can be given to milliseconds_since.
  static Result<Event> create(bool timed = false) {
    CUZK_TRY(EventHandle handle, runtime::create_event(timed));
    return Event(handle);
  }
  EventHandle handle() const { return owned_.get(); }
  Status record(StreamHandle stream) { return runtime::record(handle(), stream); }
  Status synchronize() const { return runtime::synchronize(handle()); }
  Result<bool> has_happened() const { return runtime::has_happened(handle()); }
  Result<float> milliseconds_since(const Event& earlier) const {
    return runtime::milliseconds_between(earlier.handle(), handle());
  }

 private:
  explicit Event(EventHandle handle) : owned_(handle) {}
  Owned<EventHandle, runtime::destroy_event> owned_;
};

class Stream {
 public:
  // Does not wait for, and is not waited for by, the default stream.
  static Result<Stream> create(StreamRank rank = StreamRank::kNormal) {
    CUZK_TRY(StreamHandle handle, runtime::create_stream(rank));
    return Stream(handle);
  }
  StreamHandle handle() const { return owned_.get(); }
  Status wait(const Event& event) { return runtime::wait(handle(), event.handle()); }

 private:
  explicit Stream(StreamHandle handle) : owned_(handle) {}
  Owned<StreamHandle, runtime::destroy_stream> owned_;
};

template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static Result<DeviceBuffer> allocate(std::size_t count) {
    CUZK_TRY(void* data, runtime::allocate_device(count * sizeof(T)));
    return DeviceBuffer(data, count);
  }
  DeviceSpan<T> span() const { return {static_cast<T*>(owned_.get()), count_}; }
  DeviceSpan<const T> const_span() const { return span(); }
  std::size_t size() const { return count_; }

 private:
  DeviceBuffer(void* data, std::size_t count) : owned_(data), count_(count) {}
  Owned<void*, runtime::free_device> owned_;
  std::size_t count_ = 0;
};

template <class T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static Result<PinnedBuffer> allocate(std::size_t count) {
    CUZK_TRY(void* data, runtime::allocate_pinned(count * sizeof(T)));
    return PinnedBuffer(data, count);
  }
  std::span<T> span() const { return {static_cast<T*>(owned_.get()), count_}; }
  std::size_t size() const { return count_; }

 private:
  PinnedBuffer(void* data, std::size_t count) : owned_(data), count_(count) {}
  Owned<void*, runtime::free_pinned> owned_;
  std::size_t count_ = 0;
};

// Memory of the caller's that is pinned while this lives. The memory outlives it.
class Pinned {
 public:
  Pinned() = default;
  static Result<Pinned> pin(const void* p, std::size_t bytes) {
    if (bytes == 0) return Pinned();
    CUZK_TRY_VOID(runtime::pin(p, bytes));
    return Pinned(p);
  }

 private:
  explicit Pinned(const void* p) : owned_(p) {}
  Owned<const void*, runtime::unpin> owned_;
};

// Queues a copy; both sides have the same length.
template <class T>
Status upload(StreamHandle stream, DeviceSpan<T> to, std::span<const T> from) {
  if (to.size() != from.size()) {
    return fail(ErrorCode::kInvalidArgument, "upload: {} elements to a place for {}", from.size(),
                to.size());
  }
  return runtime::copy_to_device(stream, to.data(), from.data(), from.size_bytes());
}
template <class T>
Status download(StreamHandle stream, std::span<T> to, DeviceSpan<const T> from) {
  if (to.size() != from.size()) {
    return fail(ErrorCode::kInvalidArgument, "download: {} elements to a place for {}", from.size(),
                to.size());
  }
  return runtime::copy_to_host(stream, to.data(), from.data(), from.size_bytes());
}

}  // namespace cuzk::gpu
