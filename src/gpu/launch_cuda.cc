#include "gpu/launch_cuda.h"

namespace cuzk::gpu {

Status check_cuda(cudaError_t result, std::string_view what) {
  if (result == cudaSuccess) return {};
  ErrorCode code = ErrorCode::kDeviceLost;
  if (result == cudaErrorMemoryAllocation) code = ErrorCode::kOutOfBudget;
  if (result == cudaErrorInvalidValue || result == cudaErrorInvalidConfiguration) {
    code = ErrorCode::kInvalidArgument;
  }
  return fail(code, "{}: CUDA says {} ({})", what, cudaGetErrorName(result),
              cudaGetErrorString(result));
}

Status allow_shared_bytes(const void* kernel, std::size_t bytes) {
  return check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(bytes)),
                    "shared memory of a kernel");
}

}  // namespace cuzk::gpu
