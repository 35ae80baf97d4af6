#include "capi/objects.h"

using cuzk::ErrorCode;
using cuzk::fail;
using cuzk::Result;
using cuzk::Status;
using cuzk::format::InputBytes;
namespace capi = cuzk::capi;

namespace {

constexpr unsigned kKnownFlags = CUZK_KEY_ALLOW_INSECURE | CUZK_KEY_RESIDENT;

Status open(cuzk_engine* engine, const Result<InputBytes>& zkey, unsigned flags, cuzk_key** key) {
  if (!engine) return fail(ErrorCode::kInvalidArgument, "engine is NULL");
  if (!key) return fail(ErrorCode::kInvalidArgument, "key is NULL");
  if (flags & ~kKnownFlags) {
    return fail(ErrorCode::kInvalidArgument,
                "flags has bits that this library does not know: {:#x}", flags & ~kKnownFlags);
  }
  if (!zkey) return fail(zkey.error());
  cuzk::Tasks tasks(engine->state->threads);
  cuzk::Timeline timeline;
  const cuzk::engine::Context context{tasks, engine->state->memory, timeline};
  CUZK_TRY(auto prover, cuzk::engine::CircomProver::open(context, *zkey,
                                                         {(flags & CUZK_KEY_ALLOW_INSECURE) != 0,
                                                          (flags & CUZK_KEY_RESIDENT) != 0}));
  *key = new cuzk_key{engine->state, std::move(prover), {}, {}};
  return {};
}

}  // namespace

extern "C" {

cuzk_code cuzk_key_open_file(cuzk_engine* engine, const char* zkey_path, unsigned flags,
                             cuzk_key** key, cuzk_error* error) {
  if (key) *key = nullptr;
  return capi::guarded(error, [&]() -> Status {
    if (!zkey_path) return fail(ErrorCode::kInvalidArgument, "zkey_path is NULL");
    return open(engine, InputBytes::open(zkey_path), flags, key);
  });
}

cuzk_code cuzk_key_open_memory(cuzk_engine* engine, const void* zkey, size_t zkey_size,
                               unsigned flags, cuzk_key** key, cuzk_error* error) {
  if (key) *key = nullptr;
  return capi::guarded(error, [&]() -> Status {
    if (!zkey) return fail(ErrorCode::kInvalidArgument, "zkey is NULL");
    const auto* bytes = static_cast<const std::uint8_t*>(zkey);
    return open(engine, InputBytes::borrow({bytes, zkey_size}, "the zkey"), flags, key);
  });
}

void cuzk_key_destroy(cuzk_key* key) { delete key; }

cuzk_code cuzk_key_get_info(const cuzk_key* key, cuzk_key_info* info, cuzk_error* error) {
  return capi::guarded(error, [&]() -> Status {
    if (!key) return fail(ErrorCode::kInvalidArgument, "key is NULL");
    if (!info) return fail(ErrorCode::kInvalidArgument, "info is NULL");
    CUZK_TRY_VOID(capi::options_of(info, "cuzk_key_info"));
    const auto& header = key->prover.header();
    cuzk_key_info full{};
    full.struct_size = info->struct_size;
    full.curve = cuzk::circom::snarkjs_name(key->prover.curve()).data();
    full.num_public = header.num_public;
    full.num_wires = header.num_wires;
    full.domain_size = header.domain_size;
    std::memcpy(info, &full, info->struct_size);
    return {};
  });
}

cuzk_code cuzk_key_verification_key(cuzk_key* key, const char** json, cuzk_error* error) {
  if (json) *json = nullptr;
  return capi::guarded(error, [&]() -> Status {
    if (!key) return fail(ErrorCode::kInvalidArgument, "key is NULL");
    if (!json) return fail(ErrorCode::kInvalidArgument, "json is NULL");
    std::call_once(key->verification_key_made,
                   [key] { key->verification_key = key->prover.verification_key_json(); });
    *json = key->verification_key.c_str();
    return {};
  });
}

}  // extern "C"
