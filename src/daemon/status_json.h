#pragma once
// The service's status as JSON: the keys that Curio's cuzk serves under /status, with their meaning
// there but true, and beside them everything else that the status page shows.
//
// Form:    times in milliseconds unless the key says otherwise; null for what is not known (yet).
// Threads: pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/service_status.h"

namespace cuzk::daemon {

nlohmann::json status_json(const engine::ServiceMetrics& metrics, const std::string& version);

// {"now_us": ..., "last": ..., "spans": [{sequence, lane, name, job_id, partition, start_us,
// end_us}]}
nlohmann::json spans_json(const engine::SpanList& spans, std::int64_t now_us);

nlohmann::json event_json(const engine::Event& event, std::uint64_t lost);

// Text of a value, with bytes that are no UTF-8 replaced: ids come from outside.
std::string json_text(const nlohmann::json& value);

}  // namespace cuzk::daemon
