#include "gpu/runtime.h"

namespace cuzk::gpu {

namespace {

auto no_cuda() {
  return fail(ErrorCode::kInvalidArgument, "this build has no CUDA (configure with CUZK_CUDA=ON)");
}

}  // namespace

bool built_with_cuda() { return false; }
std::vector<DeviceInfo> list_devices() { return {}; }
std::string no_device_reason() { return "built without CUDA (cmake --preset cuda builds with it)"; }
Status use_device(int) { return no_cuda(); }

namespace runtime {

Result<std::size_t> free_bytes_at_start() { return no_cuda(); }
Result<void*> allocate_device(std::size_t) { return no_cuda(); }
void free_device(void*) {}
Result<void*> allocate_pinned(std::size_t) { return no_cuda(); }
void free_pinned(void*) {}
Status pin(const void*, std::size_t) { return no_cuda(); }
void unpin(const void*) {}
Result<StreamHandle> create_stream(StreamRank) { return no_cuda(); }
void destroy_stream(StreamHandle) {}
Result<EventHandle> create_event(bool) { return no_cuda(); }
void destroy_event(EventHandle) {}
Status record(EventHandle, StreamHandle) { return no_cuda(); }
Status wait(StreamHandle, EventHandle) { return no_cuda(); }
Status synchronize(EventHandle) { return no_cuda(); }
Result<bool> has_happened(EventHandle) { return no_cuda(); }
Result<float> milliseconds_between(EventHandle, EventHandle) { return no_cuda(); }
Status copy_to_device(StreamHandle, void*, const void*, std::size_t) { return no_cuda(); }
Status copy_to_host(StreamHandle, void*, const void*, std::size_t) { return no_cuda(); }
Status copy_on_device(StreamHandle, void*, const void*, std::size_t) { return no_cuda(); }
Status fill_bytes(StreamHandle, void*, int, std::size_t) { return no_cuda(); }

}  // namespace runtime
}  // namespace cuzk::gpu
