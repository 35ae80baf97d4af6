#pragma once
// The CUDA devices of this machine.
//
// Threads: pure function of the machine's state.

#include <cstdint>
#include <string>
#include <vector>

namespace cuzk::gpu {

struct DeviceInfo {
  int index = 0;
  std::string name;
  std::uint64_t memory_bytes = 0;
  int major = 0;  // compute capability
  int minor = 0;
};

struct DeviceReport {
  bool built_with_cuda = false;
  std::string note;  // why the list is empty, when it is
  std::vector<DeviceInfo> devices;
};

// Never fails: what cannot be asked is said in the note.
DeviceReport list_devices();

}  // namespace cuzk::gpu
