#pragma once
// Checking one proof from files: verifying key, public inputs, proof.

#include <filesystem>

#include "base/error.h"
#include "base/tasks.h"

namespace cuzk::engine {

struct Groth16Files {
  std::filesystem::path vk;             // bellman's form, uncompressed points
  std::filesystem::path public_inputs;  // JSON array of canonical decimal or 0x-hexadecimal strings
  std::filesystem::path proof;          // 192 bytes
  bool allow_insecure_key = false;
};

// kInvalidProof when the files are well-formed and the proof does not verify; kMismatch for another
// number of inputs than the key has; kInsecureKey for a forgeable key.
Status verify_groth16_files(Tasks& tasks, const Groth16Files& files);

}  // namespace cuzk::engine
