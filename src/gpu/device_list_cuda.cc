// The device list of a build with CUDA.

#include <cuda_runtime.h>

#include "gpu/device_list.h"

namespace cuzk::gpu {

DeviceReport list_devices() {
  DeviceReport report;
  report.built_with_cuda = true;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    report.note = cudaGetErrorString(error);
    return report;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, i); error != cudaSuccess) {
      report.note = cudaGetErrorString(error);
      continue;
    }
    report.devices.push_back(
        {i, properties.name, properties.totalGlobalMem, properties.major, properties.minor});
  }
  return report;
}

}  // namespace cuzk::gpu
