#pragma once
// What a run is told as: lines for people, one JSON object for programs (docs/bench.md has the
// schema), and the picture of its timeline.
//
// Threads: pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/run.h"
#include "bench/statistics.h"
#include "bench/verdict.h"

namespace cuzk::bench {

// Of the service's spans; has_spans false where it told none.
Verdict verdict_of(const RunResult& result);

// Every proof completed, and verified where the client verified.
bool all_good(const RunResult& result);

// "latency", "memory", "devices", "verdict", "jobs", "proofs", ... of one run.
nlohmann::json run_json(const RunResult& result, const Verdict& verdict);

// Over completed proofs: wall time, and the service's own parts of it.
struct Latencies {
  Summary wall_ms;
  Summary queue_ms;
  Summary service_ms;
  Summary prove_ms;
};
Latencies latencies_of(const RunResult& result);

// What follows "=== Batch Summary ===", line by line.
std::vector<std::string> summary_lines(const RunResult& result, const Verdict& verdict);

// The SVG of its spans; empty where there are none.
std::string timeline_svg(const RunResult& result, const Verdict& verdict, const std::string& title);

}  // namespace cuzk::bench
