#include <map>

#include "capi/objects.h"

using cuzk::ErrorCode;
using cuzk::fail;
using cuzk::Status;
namespace capi = cuzk::capi;

namespace {

// Calls of the callback one at a time, from whichever thread a stage begins or ends on.
cuzk::Timeline::Observer observer_of(const cuzk_prove_options& options) {
  if (!options.progress) return {};
  return [options, lock = std::make_shared<std::mutex>()](std::string_view name, int, bool begins) {
    const std::string stage(name);
    std::lock_guard guard(*lock);
    options.progress(options.progress_user, stage.c_str(), begins ? 0 : 1);
  };
}

// Names of stages are identifiers: nothing to escape.
std::string timings_of(const cuzk::Timeline& timeline, std::size_t peak_bytes) {
  std::map<std::string, double> stages;
  for (const auto& record : timeline.records()) {
    stages[record.name] += static_cast<double>(record.duration_us) / 1000;
  }
  std::string out = "{";
  for (const auto& [name, ms] : stages) out += fmt::format("\"{}\": {:.3f}, ", name, ms);
  return out + fmt::format("\"peak_reserved_bytes\": {}}}", peak_bytes);
}

}  // namespace

extern "C" {

cuzk_code cuzk_prove(cuzk_key* key, const void* wtns, size_t wtns_size,
                     const cuzk_prove_options* options, cuzk_proof** proof, cuzk_error* error) {
  if (proof) *proof = nullptr;
  return capi::guarded(error, [&]() -> Status {
    if (!key) return fail(ErrorCode::kInvalidArgument, "key is NULL");
    if (!wtns) return fail(ErrorCode::kInvalidArgument, "wtns is NULL");
    if (!proof) return fail(ErrorCode::kInvalidArgument, "proof is NULL");
    CUZK_TRY(const cuzk_prove_options given, capi::options_of(options, "cuzk_prove_options"));
    cuzk::Tasks tasks(key->engine->threads,
                      given.cancel ? given.cancel->stop.get_token() : std::stop_token{});
    cuzk::Timeline timeline(observer_of(given));
    const cuzk::engine::Context context{tasks, key->engine->memory, timeline};
    const auto* bytes = static_cast<const std::uint8_t*>(wtns);
    const auto input = cuzk::format::InputBytes::borrow({bytes, wtns_size}, "the witness");
    CUZK_TRY(auto reply, key->prover.prove(context, input));
    *proof = new cuzk_proof{std::move(reply.proof_json), std::move(reply.public_json),
                            timings_of(timeline, key->engine->memory.peak_bytes())};
    return {};
  });
}

const char* cuzk_proof_json(const cuzk_proof* proof) {
  return proof ? proof->proof_json.c_str() : nullptr;
}
const char* cuzk_proof_public_json(const cuzk_proof* proof) {
  return proof ? proof->public_json.c_str() : nullptr;
}
const char* cuzk_proof_timings_json(const cuzk_proof* proof) {
  return proof ? proof->timings_json.c_str() : nullptr;
}
void cuzk_proof_destroy(cuzk_proof* proof) { delete proof; }

}  // extern "C"
