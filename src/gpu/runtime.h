#pragma once
// The few calls on a CUDA device that the owners in this folder are made of, without CUDA's
// headers. Built from runtime_cuda.cc, or without CUDA from runtime_none.cc, where the device list
// is empty and every call fails with kInvalidArgument.
//
// Errors:  kOutOfBudget (allocation), kInvalidArgument, kDeviceLost.
// Threads: any thread; the current device is the calling thread's.

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/stream_handle.h"

namespace cuzk::gpu {

struct DeviceInfo {
  int index = 0;
  std::string name;
  std::string uuid;  // 32 hexadecimal digits
  int multiprocessors = 0;
  int capability_major = 0;
  int capability_minor = 0;
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
};

// Whether this build can use devices at all.
bool built_with_cuda();
// The devices that the driver shows; empty without CUDA, without a driver and without a card.
std::vector<DeviceInfo> list_devices();
// Why that list is empty, for a person; empty when there is a device.
std::string no_device_reason();
Status use_device(int index);

enum class StreamRank { kNormal = 0, kSide = 1, kCritical = 2, kCriticalSide = 3 };

namespace runtime {

// Free memory of the current device. This question stops the whole device for a moment: it is
// asked once, before work begins.
Result<std::size_t> free_bytes_at_start();
Result<void*> allocate_device(std::size_t bytes);
void free_device(void* p);
Result<void*> allocate_pinned(std::size_t bytes);
void free_pinned(void* p);
// Memory of the host that is there already becomes pinned, and pageable again.
Status pin(const void* p, std::size_t bytes);
void unpin(const void* p);
// Blocks of a stream of a higher rank go before those of a lower one, as far as the device tells
// ranks apart.
Result<StreamHandle> create_stream(StreamRank rank);
void destroy_stream(StreamHandle stream);
Result<EventHandle> create_event(bool timed);
void destroy_event(EventHandle event);
Status record(EventHandle event, StreamHandle stream);
Status wait(StreamHandle stream, EventHandle event);
Status synchronize(EventHandle event);
Result<bool> has_happened(EventHandle event);
Result<float> milliseconds_between(EventHandle from, EventHandle to);
Status copy_to_device(StreamHandle stream, void* to, const void* from, std::size_t bytes);
Status copy_to_host(StreamHandle stream, void* to, const void* from, std::size_t bytes);
Status copy_on_device(StreamHandle stream, void* to, const void* from, std::size_t bytes);
Status fill_bytes(StreamHandle stream, void* to, int value, std::size_t bytes);

}  // namespace runtime
}  // namespace cuzk::gpu
