// The functions of rapidsnark's prover.h and verifier.h over the same engine.

#include <cstdlib>

#include "capi/include/rapidsnark/prover.h"
#include "capi/include/rapidsnark/verifier.h"
#include "capi/objects.h"
#include "format/wtns.h"

using cuzk::ErrorCode;
using cuzk::fail;
using cuzk::Result;
using cuzk::Status;
using cuzk::engine::CircomProver;
using cuzk::format::InputBytes;
namespace capi = cuzk::capi;

namespace {

// Decimals of the longest coordinate (48 bytes: 116 digits) in quotes with a comma, 8 of them, and
// the names around.
constexpr unsigned long long kProofJsonBytes = 8 * (116 + 3) + 128;
// A scalar has at most 77 digits; quotes, comma. What bindings have always been told.
constexpr unsigned long long kPublicJsonBytesEach = 82;

// One engine for the process: these functions have none of their own. Made on first use, never
// destroyed, so that calls at exit still find it.
capi::EngineState& shared_engine() {
  static auto* const engine = new capi::EngineState(0, cuzk::MemoryBudget::detect_limit_bytes());
  return *engine;
}

bool allow_insecure_key() {
  const char* set = std::getenv("CUZK_ALLOW_INSECURE_KEY");
  return set && std::string_view(set) == "1";
}

struct Message {
  char* text;
  unsigned long long size;
};

// Runs `body`, which returns one of rapidsnark's codes or an error.
int guarded(const Message& message, int error_code, const std::function<Result<int>()>& body) {
  int code = error_code;
  cuzk_error error{};
  const cuzk_code outcome = capi::guarded(&error, [&]() -> Status {
    CUZK_TRY(code, body());
    return {};
  });
  if (outcome == CUZK_OK) return code;
  capi::copy_text(error.message, message.text, message.size);
  return error_code;
}

Result<int> public_size(const Result<InputBytes>& zkey, unsigned long long* out) {
  if (!out) return fail(ErrorCode::kInvalidArgument, "public_size is NULL");
  if (!zkey) return fail(zkey.error());
  CUZK_TRY(const auto file, cuzk::format::ZkeyFile::parse(*zkey));
  CUZK_TRY(const auto header, file.header());
  *out = kPublicJsonBytesEach * header.num_public + 4;
  return PROVER_OK;
}

Result<InputBytes> borrowed(const void* bytes, unsigned long long size, const char* name) {
  if (!bytes) return fail(ErrorCode::kInvalidArgument, "{}: the buffer is NULL", name);
  return InputBytes::borrow({static_cast<const std::uint8_t*>(bytes), size}, name);
}

Result<InputBytes> opened(const char* path) {
  if (!path) return fail(ErrorCode::kInvalidArgument, "the path of the zkey is NULL");
  return InputBytes::open(path);
}

Result<CircomProver> open_key(const Result<InputBytes>& zkey, bool resident) {
  if (!zkey) return fail(zkey.error());
  cuzk::Tasks tasks(shared_engine().threads);
  cuzk::Timeline timeline;
  return CircomProver::open({tasks, shared_engine().memory, timeline}, *zkey,
                            {allow_insecure_key(), resident});
}

Result<int> create(void** prover_object, const Result<InputBytes>& zkey) {
  if (!prover_object) return fail(ErrorCode::kInvalidArgument, "prover_object is NULL");
  *prover_object = nullptr;
  CUZK_TRY(auto prover, open_key(zkey, true));
  *prover_object = new CircomProver(std::move(prover));
  return PROVER_OK;
}

// A text with its NUL; the size becomes the text's.
struct TextBuffer {
  char* text;
  unsigned long long* size;

  unsigned long long needed(const std::string& value) const { return value.size() + 1; }
  void take(const std::string& value) const {
    std::memcpy(text, value.c_str(), value.size() + 1);
    *size = value.size();
  }
};

Result<int> prove(const CircomProver& prover, const Result<InputBytes>& wtns,
                  const TextBuffer& proof, const TextBuffer& signals, const Message& message) {
  for (const void* p :
       {static_cast<const void*>(proof.text), static_cast<const void*>(proof.size),
        static_cast<const void*>(signals.text), static_cast<const void*>(signals.size)}) {
    if (!p) return fail(ErrorCode::kInvalidArgument, "a buffer of the proof or its size is NULL");
  }
  if (!wtns) return fail(wtns.error());
  CUZK_TRY(const auto witness, cuzk::format::WtnsFile::parse(*wtns));
  if (witness.num_values() != prover.header().num_wires) {
    capi::copy_text(fmt::format("{}: it has {} values, the circuit {} wires", wtns->name(),
                                witness.num_values(), prover.header().num_wires),
                    message.text, message.size);
    return PROVER_INVALID_WITNESS_LENGTH;
  }
  cuzk::Tasks tasks(shared_engine().threads);
  cuzk::Timeline timeline;
  cuzk::engine::CircomProveOptions options;
  options.style = cuzk::format::JsonStyle::kRapidsnark;
  CUZK_TRY(const auto reply,
           prover.prove({tasks, shared_engine().memory, timeline}, *wtns, options));
  const auto proof_needed = proof.needed(reply.proof_json);
  const auto public_needed = signals.needed(reply.public_json);
  if (*proof.size < proof_needed || *signals.size < public_needed) {
    capi::copy_text(fmt::format("the proof needs a buffer of {} bytes, {} were given; the public "
                                "signals {}, {} were given",
                                proof_needed, *proof.size, public_needed, *signals.size),
                    message.text, message.size);
    *proof.size = proof_needed;
    *signals.size = public_needed;
    return PROVER_ERROR_SHORT_BUFFER;
  }
  proof.take(reply.proof_json);
  signals.take(reply.public_json);
  return PROVER_OK;
}

}  // namespace

extern "C" {

CUZK_API int groth16_public_size_for_zkey_buf(const void* zkey_buffer, unsigned long long zkey_size,
                                              unsigned long long* size, char* error_msg,
                                              unsigned long long error_msg_maxsize) {
  return guarded({error_msg, error_msg_maxsize}, PROVER_ERROR,
                 [&] { return public_size(borrowed(zkey_buffer, zkey_size, "the zkey"), size); });
}

CUZK_API int groth16_public_size_for_zkey_file(const char* zkey_fname, unsigned long long* size,
                                               char* error_msg,
                                               unsigned long long error_msg_maxsize) {
  return guarded({error_msg, error_msg_maxsize}, PROVER_ERROR,
                 [&] { return public_size(opened(zkey_fname), size); });
}

CUZK_API void groth16_proof_size(unsigned long long* proof_size) {
  if (proof_size) *proof_size = kProofJsonBytes;
}

CUZK_API int groth16_prover_create(void** prover_object, const void* zkey_buffer,
                                   unsigned long long zkey_size, char* error_msg,
                                   unsigned long long error_msg_maxsize) {
  return guarded({error_msg, error_msg_maxsize}, PROVER_ERROR, [&] {
    return create(prover_object, borrowed(zkey_buffer, zkey_size, "the zkey"));
  });
}

CUZK_API int groth16_prover_create_zkey_file(void** prover_object, const char* zkey_file_path,
                                             char* error_msg,
                                             unsigned long long error_msg_maxsize) {
  return guarded({error_msg, error_msg_maxsize}, PROVER_ERROR,
                 [&] { return create(prover_object, opened(zkey_file_path)); });
}

CUZK_API int groth16_prover_prove(void* prover_object, const void* wtns_buffer,
                                  unsigned long long wtns_size, char* proof_buffer,
                                  unsigned long long* proof_size, char* public_buffer,
                                  unsigned long long* public_size_of, char* error_msg,
                                  unsigned long long error_msg_maxsize) {
  const Message message{error_msg, error_msg_maxsize};
  return guarded(message, PROVER_ERROR, [&]() -> Result<int> {
    if (!prover_object) return fail(ErrorCode::kInvalidArgument, "prover_object is NULL");
    return prove(*static_cast<const CircomProver*>(prover_object),
                 borrowed(wtns_buffer, wtns_size, "the witness"), {proof_buffer, proof_size},
                 {public_buffer, public_size_of}, message);
  });
}

CUZK_API void groth16_prover_destroy(void* prover_object) {
  delete static_cast<CircomProver*>(prover_object);
}

CUZK_API int groth16_prover(const void* zkey_buffer, unsigned long long zkey_size,
                            const void* wtns_buffer, unsigned long long wtns_size,
                            char* proof_buffer, unsigned long long* proof_size, char* public_buffer,
                            unsigned long long* public_size_of, char* error_msg,
                            unsigned long long error_msg_maxsize) {
  const Message message{error_msg, error_msg_maxsize};
  return guarded(message, PROVER_ERROR, [&]() -> Result<int> {
    CUZK_TRY(const auto prover, open_key(borrowed(zkey_buffer, zkey_size, "the zkey"), false));
    return prove(prover, borrowed(wtns_buffer, wtns_size, "the witness"),
                 {proof_buffer, proof_size}, {public_buffer, public_size_of}, message);
  });
}

CUZK_API int groth16_prover_zkey_file(const char* zkey_file_path, const void* wtns_buffer,
                                      unsigned long long wtns_size, char* proof_buffer,
                                      unsigned long long* proof_size, char* public_buffer,
                                      unsigned long long* public_size_of, char* error_msg,
                                      unsigned long long error_msg_maxsize) {
  const Message message{error_msg, error_msg_maxsize};
  return guarded(message, PROVER_ERROR, [&]() -> Result<int> {
    CUZK_TRY(const auto prover, open_key(opened(zkey_file_path), false));
    return prove(prover, borrowed(wtns_buffer, wtns_size, "the witness"),
                 {proof_buffer, proof_size}, {public_buffer, public_size_of}, message);
  });
}

CUZK_API int groth16_verify(const char* proof, const char* inputs, const char* verification_key,
                            char* error_msg, unsigned long error_msg_maxsize) {
  const Message message{error_msg, error_msg_maxsize};
  return guarded(message, VERIFIER_ERROR, [&]() -> Result<int> {
    cuzk_engine engine{std::shared_ptr<capi::EngineState>(&shared_engine(), [](auto*) {})};
    cuzk_error error{};
    const cuzk_code code =
        cuzk_verify(&engine, verification_key, inputs, proof,
                    allow_insecure_key() ? unsigned{CUZK_KEY_ALLOW_INSECURE} : 0u, &error);
    capi::copy_text(error.message, message.text, message.size);
    if (code == CUZK_OK) return VERIFIER_VALID_PROOF;
    return code == CUZK_PROOF_INVALID ? VERIFIER_INVALID_PROOF : VERIFIER_ERROR;
  });
}

}  // extern "C"
