#pragma once
// The CUDA backend: one partition on a card, everything resident but the assignment.
//
//   start   counts the bits, leases the plan's peak (memory gate), uploads the assignment (stage),
//           queues all kernels behind those of the partition before (compute gate), and returns
//   finish  waits for the last event, joins the window sums, adds the inputs' sums on the CPU
//
// What goes up is two bitmaps and the list of full scalars; the rows' values, C included, are
// computed there (C only to see that every row holds), the quotient takes six transforms in two
// vectors, and all sums are the card's, those in G2 too.
//
// Between start and finish there may be as many partitions as the card has workers; another start
// waits for a finish.
//
// A key that a card cannot hold is streamed from pinned host memory through two buffers, a chunk
// being summed while the next one is on its way. Larger chunks are fewer sums, but their scratch is
// larger too; it shrinks with smaller sorting batches, or additions that need less. cuda_ways
// weighs them. Bases that go up for the sums over the assignment serve all partitions of the key
// that have been started and wait, up to eight at once: the first that has its turn computes these
// sums for the others too (stream_board.h), in memory that it needs only later.
//
// Critical work (Urgency) has the card's reserve and its own slot, is next at both gates, and
// computes beside what was queued before it, on streams that go first.
//
// A key of the other world of h (coset_key.h) is summed with values on the odd coset of its own
// domain; C is not looked at, so that a wrong witness shows in the finished proof alone.
//
// Memory (device): see CudaPlan: two or three vectors of the domain, the scratch of the H sum.
// Spans:   host: prep, memory_wait, stage_host. From events: stage, compute_wait, witness_msm,
//          (batch_add and tail_msm within it), b_g2_msm, matvec, ntt, h_msm, gpu_total; on a roomy
//          card the two sums run beside the others, and the spans overlap.
// Errors:  kInvalidArgument for another circuit than the one loaded, or without CUDA; kOutOfBudget;
//          kUnsatisfied names the first row that fails; kDeviceLost, after which the card is
//          fenced.
// Threads: a backend may be shared.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/card.h"
#include "groth16/device_circuit.h"
#include "groth16/device_key.h"
#include "groth16/prover.h"
#include "msm/msm_cuda.h"

namespace cuzk::groth16 {

// The thermometer's record of one partition, in milliseconds; -1 for what was not measured here.
struct PartitionTiming {
  std::string job;  // empty: not printed
  int partition = 0;
  int device = 0;
  unsigned worker = 0;
  double synthesis_ms = -1;
  double prep_ms = 0;
  double memory_wait_ms = 0;
  double stage_ms = 0;
  double compute_wait_ms = 0;
  double matvec_ms = 0;
  double ntt_ms = 0;
  double h_msm_ms = 0;
  double witness_msm_ms = 0;  // ones and full scalars of l, a and b in G1:
  double batch_add_ms = 0;    // the ones, and the gathering of what follows
  double tail_msm_ms = 0;     // the full scalars
  double b_g2_msm_ms = 0;
  double gpu_total_ms = 0;
  double finish_ms = 0;
  double verify_ms = -1;
  double total_ms = 0;
  bool prestage_ok = false;  // staged before the partition before it had ended
  std::size_t vram_lease_bytes = 0;
  std::size_t vram_peak_bytes = 0;  // of the arena so far
  std::size_t upload_bytes = 0;
  std::size_t pass = 1;  // of so many partitions were the sums over the assignment, its own one too

  // "CUZK_TIMING: partition=0 device=0 ..."
  std::string line() const;
};

// How much of a card's memory a partition may take.
enum class CudaMemory {
  kAuto,    // roomy when the arena holds as many roomy partitions as there are workers
  kFrugal,  // two vectors; the sums first, then the quotient
  kRoomy,   // three vectors; the sums beside the quotient
};

struct CudaBackendOptions {
  CudaMemory memory = CudaMemory::kAuto;
  // Bases in G1 that are streamed at once, a multiple of 1024; half as many in G2. 0: the quickest
  // of the ways that fit, which then decides on the two below, too.
  std::size_t stream_chunk = 0;
  // MsmCudaOptions. 0: the same, where the chunk is not given; then the default.
  std::size_t pairs_per_batch = 0;
  MsmAdditions additions = MsmAdditions::kAuto;
  gpu::Urgency urgency = gpu::Urgency::kNormal;                // of every partition that it proves
  std::function<void(const PartitionTiming&)> on_timing = {};  // at the end of finish
};

// card, circuit and key outlive the backend and its pending proofs. kAuto looks at what the arena
// has free now.
template <class Curve>
Result<std::unique_ptr<Backend<Curve>>> make_cuda_backend(
    gpu::Card& card, const DeviceCircuit<typename Curve::Fr>& circuit, const KeyBases<Curve>& key,
    CudaBackendOptions options = {});

struct CudaLease {
  CudaMemory memory = CudaMemory::kFrugal;  // not kAuto
  bool is_streamed = false;
  std::size_t stream_chunk = std::size_t{1} << 23;
  // Of a key of the other world of h (coset_key.h): its domain.
  std::optional<unsigned> coset_domain_log2 = {};
  std::size_t pairs_per_batch = std::size_t{1} << 26;
  MsmAdditions additions = MsmAdditions::kAuto;
  unsigned h_windows = 0;  // of the multiples of h (KeyBases)
};
// What a partition of the circuit leases at most, whatever its witness.
// Errors: kInvalidArgument for chunks so small that their results do not fit a slot.
template <class Curve>
Result<std::size_t> cuda_lease_bytes(const CompactR1cs<typename Curve::Fr>& r1cs,
                                     const Density& density, const CudaLease& lease);

// One way to prove: how the sums are cut, and what that takes.
struct CudaWay {
  std::size_t stream_chunk = 0;  // 0: the key is resident
  std::size_t pairs_per_batch = std::size_t{1} << 26;
  MsmAdditions additions = MsmAdditions::kAuto;
  std::size_t lease_bytes = 0;  // at most, whatever the witness
  double cost = 0;              // estimated, to compare (CudaPlan::h_cost)
};
// All ways for a resident or a streamed key (lease.is_streamed), the quickest first. Of `lease` the
// chunk, the batches and the additions are not looked at.
template <class Curve>
Result<std::vector<CudaWay>> cuda_ways(const CompactR1cs<typename Curve::Fr>& r1cs,
                                       const Density& density, const CudaLease& lease);

// Whether a card computes what it should: a key is made on it for a small circuit of each curve, a
// proof with it, and the proof is verified on the host. Some 100 ms and 200 MB of the arena.
// Errors: kInternal when a proof does not verify, and the card is fenced; those of proving.
Status self_test(const Context& context, gpu::Card& card);

}  // namespace cuzk::groth16
