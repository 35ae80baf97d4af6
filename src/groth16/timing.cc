#include <fmt/format.h>

#include "groth16/backend_cuda.h"

namespace cuzk::groth16 {

std::string PartitionTiming::line() const {
  const auto known = [](const char* name, double ms) {
    return ms < 0 ? std::string() : fmt::format(" {}={:.2f}", name, ms);
  };
  return fmt::format(
      "CUZK_TIMING:{} partition={} device={} worker={}{} prep_ms={:.2f} memory_wait_ms={:.2f} "
      "stage_ms={:.2f} compute_wait_ms={:.2f} matvec_ms={:.2f} ntt_ms={:.2f} h_msm_ms={:.2f} "
      "witness_msm_ms={:.2f} batch_add_ms={:.2f} tail_msm_ms={:.2f} b_g2_msm_ms={:.2f} "
      "gpu_total_ms={:.2f} finish_ms={:.2f}{} total_ms={:.2f} prestage_ok={} vram_lease_bytes={} "
      "vram_peak_bytes={} upload_bytes={} pass={}",
      job.empty() ? "" : " job=" + job, partition, device, worker,
      known("synthesis_ms", synthesis_ms), prep_ms, memory_wait_ms, stage_ms, compute_wait_ms,
      matvec_ms, ntt_ms, h_msm_ms, witness_msm_ms, batch_add_ms, tail_msm_ms, b_g2_msm_ms,
      gpu_total_ms, finish_ms, known("verify_ms", verify_ms), total_ms, prestage_ok ? 1 : 0,
      vram_lease_bytes, vram_peak_bytes, upload_bytes, pass);
}

}  // namespace cuzk::groth16
