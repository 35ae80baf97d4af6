#include "capi/objects.h"

using cuzk::ErrorCode;
using cuzk::fail;
using cuzk::Status;
namespace capi = cuzk::capi;

namespace {

constexpr unsigned kMaxThreads = 1024;

}  // namespace

extern "C" {

const char* cuzk_version(void) { return CUZK_VERSION; }
int cuzk_abi_version(void) { return CUZK_ABI_VERSION; }

cuzk_code cuzk_engine_create(const cuzk_engine_options* options, cuzk_engine** engine,
                             cuzk_error* error) {
  if (engine) *engine = nullptr;
  return capi::guarded(error, [&]() -> Status {
    if (!engine) return fail(ErrorCode::kInvalidArgument, "engine is NULL");
    CUZK_TRY(const cuzk_engine_options given, capi::options_of(options, "cuzk_engine_options"));
    if (given.threads > kMaxThreads) {
      return fail(ErrorCode::kInvalidArgument, "threads is {}, the most is {}", given.threads,
                  kMaxThreads);
    }
    const std::size_t memory = given.memory_bytes ? static_cast<std::size_t>(given.memory_bytes)
                                                  : cuzk::MemoryBudget::detect_limit_bytes();
    *engine = new cuzk_engine{
        std::make_shared<capi::EngineState>(static_cast<int>(given.threads), memory)};
    return {};
  });
}

void cuzk_engine_destroy(cuzk_engine* engine) { delete engine; }

cuzk_cancel* cuzk_cancel_create(void) {
  try {
    return new cuzk_cancel;
  } catch (...) {
    return nullptr;
  }
}
void cuzk_cancel_request(cuzk_cancel* cancel) {
  if (cancel) cancel->stop.request_stop();
}
void cuzk_cancel_destroy(cuzk_cancel* cancel) { delete cancel; }

cuzk_code cuzk_verify(cuzk_engine* engine, const char* verification_key_json,
                      const char* public_json, const char* proof_json, unsigned flags,
                      cuzk_error* error) {
  return capi::guarded(error, [&]() -> Status {
    if (!engine) return fail(ErrorCode::kInvalidArgument, "engine is NULL");
    const std::pair<const char*, const char*> texts[] = {
        {verification_key_json, "the verification key"},
        {public_json, "the public signals"},
        {proof_json, "the proof"}};
    std::vector<cuzk::format::InputBytes> inputs;
    for (const auto& [text, name] : texts) {
      if (!text) return fail(ErrorCode::kInvalidArgument, "{}: the text is NULL", name);
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(text);
      inputs.push_back(cuzk::format::InputBytes::borrow({bytes, std::strlen(text)}, name));
    }
    cuzk::Tasks tasks(engine->state->threads);
    return cuzk::engine::verify_circom(tasks, {inputs[0], inputs[1], inputs[2]},
                                       flags & CUZK_KEY_ALLOW_INSECURE);
  });
}

}  // extern "C"
