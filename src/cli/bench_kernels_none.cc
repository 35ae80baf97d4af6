#include "cli/bench_kernels.h"
#include "gpu/runtime.h"

namespace cuzk::cli {

Result<std::unique_ptr<KernelCard>> KernelCard::open(int device, Tasks&) {
  return fail(ErrorCode::kInvalidArgument, "device {}: {}", device, gpu::no_device_reason());
}

}  // namespace cuzk::cli
