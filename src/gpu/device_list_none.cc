// The device list of a build without CUDA.

#include "gpu/device_list.h"

namespace cuzk::gpu {

DeviceReport list_devices() {
  DeviceReport report;
  report.note = "built without CUDA (cmake --preset cuda builds with it)";
  return report;
}

}  // namespace cuzk::gpu
