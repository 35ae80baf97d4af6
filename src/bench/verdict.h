#pragma once
// The verdict of the thermometer: what bounded a run, from its spans alone.
//
// A proof goes parse -> (memory, key) -> synthesis -> device -> finish, verify. The device is the
// stage that everything else is there to feed, so every moment of every device is given one cause:
//
//   device compute         its kernels (or, of the CPU, its proof) run
//   upload                 it runs nothing yet: data is on its way to it
//   device memory gate     a partition that reached the device waits for the device's memory
//   device host work       the worker prepares, or a partition is ready and is not taken up
//   memory gate            idle, because what comes next could not begin within the budget though
//                          a synthesis worker was free
//   synthesis              idle, because what comes next is being synthesized, or waited for a
//                          synthesis worker
//   loading parameters     idle, because key or rows are being read
//   parse                  idle, because the request is being read
//   finish and verify      idle, because the last partitions are assembled and verified
//   client                 idle, because the next request had not been sent: the bound on requests
//                          in flight held it back, or it was on its way
//   queue empty            idle, because no request was due
//
// "What comes next" is the next partition that the device then begins. Where several causes follow
// each other, each has its own part of the idle time; what a wait for memory or for the client's
// bound pushed back counts for that wait, not for the stage that came late because of it.
// The cause with the largest share bounds the run. Shares add up to 1 over all devices.
//
// Threads: pure functions.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/intervals.h"
#include "engine/service_status.h"

namespace cuzk::bench {

enum class Cause : std::uint8_t {
  kDeviceCompute,
  kUpload,
  kDeviceMemory,
  kDeviceHost,
  kMemoryGate,
  kSynthesis,
  kParameters,
  kParse,
  kFinish,
  kClient,
  kQueueEmpty,
};
inline constexpr std::size_t kCauses = 11;
std::string_view cause_name(Cause cause);  // "device compute"
std::string_view cause_key(Cause cause);   // "device_compute"
std::string_view cause_advice(Cause cause);

struct VerdictJob {
  std::string id;
  // By the service's clock, as are all times here. Sent later than due: a bound on the requests in
  // flight held it back.
  std::int64_t due_us = 0;
  std::int64_t sent_us = 0;
};

struct VerdictInput {
  std::span<const engine::SpanEvent> spans;
  std::vector<VerdictJob> jobs;      // of this run
  std::vector<std::string> devices;  // names; empty: those that the spans name
  unsigned synthesis_workers = 1;
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
};

struct DeviceUse {
  std::string name;
  double compute_share = 0;  // kernels run, merged over its workers
  double upload_share = 0;
  double held_share = 0;     // some partition is with it
  double foreign_share = 0;  // of its compute, for requests that are not of this run
};

struct StageUse {
  std::string name;
  std::size_t spans = 0;
  double total_ms = 0;    // summed over workers
  double busy_share = 0;  // of the run's time: at least one
};

struct Verdict {
  bool has_spans = false;  // without spans nothing below is said
  Cause bound = Cause::kDeviceCompute;
  std::array<double, kCauses> shares{};
  std::vector<DeviceUse> devices;
  std::vector<StageUse> stages;  // parse, memory_wait, synthesis, prove_wait, prove, finish, ...
  double synthesis_under_proving = 0;  // of the time of synthesis, while a device computed
  std::size_t jobs_without_spans = 0;  // more than the service remembers
  std::string sentence;

  double share(Cause cause) const { return shares[static_cast<std::size_t>(cause)]; }
};

Verdict judge(const VerdictInput& input);

// What of a device's lanes is computing, moving data, waiting for its memory; by the spans' names.
enum class DevicePhase { kNone, kCompute, kUpload, kMemory, kHost, kHeld };
DevicePhase device_phase(std::string_view span_name, bool has_kernel_spans);

}  // namespace cuzk::bench
