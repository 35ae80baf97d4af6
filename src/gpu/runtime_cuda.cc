#include <cuda_runtime_api.h>

#include <algorithm>

#include "gpu/launch_cuda.h"
#include "gpu/runtime.h"

namespace cuzk::gpu {

namespace {

std::string hex_of(const cudaUUID_t& uuid) {
  std::string out;
  for (char c : uuid.bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

}  // namespace

bool built_with_cuda() { return true; }

std::vector<DeviceInfo> list_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();  // no driver or no card is an empty list, not an error of later calls
    return {};
  }
  std::vector<DeviceInfo> out;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, i) != cudaSuccess) continue;
    out.push_back({i, p.name, hex_of(p.uuid), p.multiProcessorCount, p.major, p.minor,
                   p.totalGlobalMem, static_cast<std::size_t>(p.l2CacheSize)});
  }
  return out;
}

std::string no_device_reason() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess) return count ? "" : "the driver shows no device";
  cudaGetLastError();
  return cudaGetErrorString(error);
}

Status use_device(int index) { return check_cuda(cudaSetDevice(index), "choosing a device"); }

namespace runtime {

// Asks the whole device: only when a card is opened, before its arena is taken.
Result<std::size_t> free_bytes_at_start() {
  std::size_t free = 0, total = 0;
  CUZK_TRY_VOID(check_cuda(cudaMemGetInfo(&free, &total), "asking for free memory"));
  return free;
}
Result<void*> allocate_device(std::size_t bytes) {
  void* p = nullptr;
  if (bytes == 0) return p;
  CUZK_TRY_VOID(check_cuda(cudaMalloc(&p, bytes), fmt::format("{} bytes on the device", bytes)));
  return p;
}
void free_device(void* p) { cudaFree(p); }
Result<void*> allocate_pinned(std::size_t bytes) {
  void* p = nullptr;
  if (bytes == 0) return p;
  CUZK_TRY_VOID(
      check_cuda(cudaMallocHost(&p, bytes), fmt::format("{} bytes of pinned memory", bytes)));
  return p;
}
void free_pinned(void* p) { cudaFreeHost(p); }
Status pin(const void* p, std::size_t bytes) {
  return check_cuda(cudaHostRegister(const_cast<void*>(p), bytes, cudaHostRegisterDefault),
                    fmt::format("pinning {} bytes", bytes));
}
void unpin(const void* p) { cudaHostUnregister(const_cast<void*>(p)); }

Result<StreamHandle> create_stream(StreamRank rank) {
  int least = 0, greatest = 0;  // the greatest priority is the smallest number
  CUZK_TRY_VOID(
      check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities of streams"));
  cudaStream_t stream = nullptr;
  const int priority = std::max(greatest, least - static_cast<int>(rank));
  CUZK_TRY_VOID(check_cuda(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority),
                           "a stream"));
  return stream;
}
void destroy_stream(StreamHandle stream) { cudaStreamDestroy(stream); }
Result<EventHandle> create_event(bool timed) {
  cudaEvent_t event = nullptr;
  // Timed ones are waited for over whole partitions: the host sleeps meanwhile.
  const unsigned flags = timed ? cudaEventBlockingSync : cudaEventDisableTiming;
  CUZK_TRY_VOID(check_cuda(cudaEventCreateWithFlags(&event, flags), "an event"));
  return event;
}
void destroy_event(EventHandle event) { cudaEventDestroy(event); }
Status record(EventHandle event, StreamHandle stream) {
  return check_cuda(cudaEventRecord(event, stream), "recording an event");
}
Status wait(StreamHandle stream, EventHandle event) {
  return check_cuda(cudaStreamWaitEvent(stream, event, 0), "a stream waiting for an event");
}
Status synchronize(EventHandle event) {
  return check_cuda(cudaEventSynchronize(event), "waiting for an event");
}
Result<bool> has_happened(EventHandle event) {
  const cudaError_t result = cudaEventQuery(event);
  if (result == cudaErrorNotReady) return false;
  CUZK_TRY_VOID(check_cuda(result, "asking for an event"));
  return true;
}
Result<float> milliseconds_between(EventHandle from, EventHandle to) {
  float ms = 0;
  CUZK_TRY_VOID(check_cuda(cudaEventElapsedTime(&ms, from, to), "time between events"));
  return ms;
}
Status copy_to_device(StreamHandle stream, void* to, const void* from, std::size_t bytes) {
  return check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream),
                    "copy to the device");
}
Status copy_to_host(StreamHandle stream, void* to, const void* from, std::size_t bytes) {
  return check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream),
                    "copy from the device");
}
Status copy_on_device(StreamHandle stream, void* to, const void* from, std::size_t bytes) {
  return check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream),
                    "copy on the device");
}
Status fill_bytes(StreamHandle stream, void* to, int value, std::size_t bytes) {
  return check_cuda(cudaMemsetAsync(to, value, bytes, stream), "filling device memory");
}

}  // namespace runtime
}  // namespace cuzk::gpu
