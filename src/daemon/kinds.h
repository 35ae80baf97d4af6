#pragma once
// The names that Curio's status and metrics give the proof kinds.
//
// Threads: pure functions.

#include <string>
#include <string_view>

#include "engine/request.h"

namespace cuzk::daemon {

// "porep-c2", "snap-update", "window-post", "winning-post"; "circom" is ours.
std::string_view status_kind_name(engine::ProofKind kind);
// "porep_c2", ...: as a metric's label.
std::string metric_kind_name(engine::ProofKind kind);

}  // namespace cuzk::daemon
