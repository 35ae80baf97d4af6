#pragma once
// What stands behind the opaque types of cuzk.h, and the way from our errors to the caller's.
//
// Threads: as cuzk.h promises for the types.

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <stop_token>
#include <string>

#include "base/memory.h"
#include "capi/include/cuzk.h"
#include "engine/circom.h"

namespace cuzk::capi {

// What a key shares with its engine, whichever is destroyed first.
struct EngineState {
  EngineState(int thread_count, std::size_t memory_limit)
      : threads(thread_count), memory(memory_limit) {}
  const int threads;
  MemoryBudget memory;
};

inline cuzk_code code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return CUZK_INVALID_ARGUMENT;
    case ErrorCode::kCorruptInput:
    case ErrorCode::kNotFound:
    case ErrorCode::kIo:
      return CUZK_BAD_INPUT;
    case ErrorCode::kMismatch:
    case ErrorCode::kUnsatisfied:
      return CUZK_MISMATCH;
    case ErrorCode::kInvalidProof:
      return CUZK_PROOF_INVALID;
    case ErrorCode::kOutOfBudget:
    case ErrorCode::kDeviceLost:
      return CUZK_RESOURCES;
    case ErrorCode::kCancelled:
      return CUZK_CANCELLED;
    case ErrorCode::kInsecureKey:
      return CUZK_INSECURE_KEY;
    case ErrorCode::kInternal:
      return CUZK_INTERNAL;
  }
  return CUZK_INTERNAL;
}

// A text cut to a buffer, with its NUL; a cut never splits a UTF-8 character.
inline void copy_text(std::string_view text, char* out, std::size_t size) {
  if (!out || size == 0) return;
  std::size_t length = std::min(text.size(), size - 1);
  if (length < text.size()) {
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;
  }
  std::memcpy(out, text.data(), length);
  out[length] = '\0';
}

inline cuzk_code report(cuzk_error* error, cuzk_code code, std::string_view message) {
  if (error) {
    error->code = code;
    copy_text(message, error->message, sizeof error->message);
  }
  return code;
}

// Runs a call's body; nothing leaves it but a Status.
inline cuzk_code guarded(cuzk_error* error, const std::function<Status()>& body) {
  try {
    const Status status = body();
    if (status) return report(error, CUZK_OK, "");
    return report(error, code_of(status.error().code), status.error().message);
  } catch (const std::bad_alloc&) {
    return report(error, CUZK_RESOURCES, "the system refused memory");
  } catch (const std::exception& e) {
    return report(error, CUZK_INTERNAL, e.what());
  } catch (...) {
    return report(error, CUZK_INTERNAL, "an unknown error");
  }
}

// An options struct of a caller that was compiled against an older header lacks the newer fields:
// they are as if zero. One from the future, or without its size, is refused.
template <class Options>
Result<Options> options_of(const Options* given, const char* name) {
  Options out{};
  if (!given) return out;
  if (given->struct_size < sizeof(std::size_t) || given->struct_size > sizeof(Options)) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: struct_size is {}, this library's is {}: set it to sizeof({})", name,
                given->struct_size, sizeof(Options), name);
  }
  std::memcpy(&out, given, given->struct_size);
  return out;
}

}  // namespace cuzk::capi

struct cuzk_engine {
  std::shared_ptr<cuzk::capi::EngineState> state;
};

struct cuzk_key {
  std::shared_ptr<cuzk::capi::EngineState> engine;
  cuzk::engine::CircomProver prover;
  std::once_flag verification_key_made;
  std::string verification_key;
};

struct cuzk_cancel {
  std::stop_source stop;
};

struct cuzk_proof {
  std::string proof_json;
  std::string public_json;
  std::string timings_json;
};
