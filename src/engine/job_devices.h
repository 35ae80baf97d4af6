#pragma once
// A job on cards: what prove_job (job.h) does on the CPU, with partitions in flight on every card
// while the next ones are synthesized.
//
// A key goes to the card from its file; the host keeps a copy only of one that must be streamed. A
// card that fails, or a proof of it that does not verify, is told, and the partition goes to
// another card or, where that is allowed, to the CPU.
//
// Threads: one call uses context.tasks.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/devices.h"
#include "engine/job.h"

namespace cuzk::engine {

struct JobDevices {
  std::vector<std::shared_ptr<CudaDevice>> cards;  // empty: the CPU alone
  bool cpu_fallback = true;                        // when no card can
  std::string log_id;                              // of the timing records
  std::function<void(const std::string&)> tell;
  OnPartitionTiming on_timing;  // of each partition that a card proved and that was verified
};

// Every proof in the reply has been verified.
Result<ProofReply> prove_job(const Context& context, CircuitStore& circuits,
                             const ParameterStore& parameters, const Job& job,
                             const KeyChoice& choice, const JobDevices& devices);

}  // namespace cuzk::engine
