#pragma once
// The counters of the service in Prometheus' text format.
//
// Form:    names as docs/daemon.md lists them; seconds and bytes.
// Threads: a pure function.

#include <string>

#include "engine/service_status.h"

namespace cuzk::daemon {

struct MetricsContext {
  std::string version;
  bool cuda = false;
  // cuzk_proofs_completed{proof_kind} and cuzk_proofs_failed{proof_kind}, whose names Prometheus'
  // own check dislikes: for readers of Curio's GetMetrics.
  bool legacy_names = false;
};

std::string metrics_text(const engine::ServiceMetrics& metrics, const MetricsContext& context);

}  // namespace cuzk::daemon
