#pragma once
// CUDA's answers as our errors, for launchers and owners. Needs CUDA's headers.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string_view>

#include "base/error.h"

namespace cuzk::gpu {

// kOutOfBudget for a failed allocation, kInvalidArgument for arguments that CUDA refuses, else
// kDeviceLost; `what` says what was tried.
Status check_cuda(cudaError_t result, std::string_view what);

// The status of the launches since the last call on this thread; does not wait for them.
inline Status launched(std::string_view kernel) { return check_cuda(cudaGetLastError(), kernel); }

// Lets a kernel have more dynamic shared memory than the default 48 KiB.
Status allow_shared_bytes(const void* kernel, std::size_t bytes);

}  // namespace cuzk::gpu
