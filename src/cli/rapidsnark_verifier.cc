// The program `verifier`: rapidsnark's arguments and exit codes.
//
//   verifier <verification_key.json> <inputs.json> <proof.json>
// says "Result: Valid proof" (exit code 0) or "Result: Invalid proof" with the reason (1) on
// standard error; "Error: ..." (1) for files that are not what they should be. A key whose proofs
// can be forged is refused unless CUZK_ALLOW_INSECURE_KEY=1 is in the environment.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "engine/circom.h"

namespace cuzk::cli {
namespace {

Status verify_files(char** paths) {
  Tasks tasks;
  CUZK_TRY(const auto vk, format::InputBytes::open(paths[0]));
  CUZK_TRY(const auto signals, format::InputBytes::open(paths[1]));
  CUZK_TRY(const auto proof, format::InputBytes::open(paths[2]));
  const char* allow = std::getenv("CUZK_ALLOW_INSECURE_KEY");
  return engine::verify_circom(tasks, {vk, signals, proof},
                               allow && std::string_view(allow) == "1");
}

}  // namespace
}  // namespace cuzk::cli

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs(
        "Invalid number of parameters:\n"
        "Usage: verifier <verification_key.json> <inputs.json> <proof.json>\n",
        stderr);
    return EXIT_FAILURE;
  }
  try {
    const cuzk::Status status = cuzk::cli::verify_files(argv + 1);
    if (status) {
      std::fputs("Result: Valid proof\n", stderr);
      return EXIT_SUCCESS;
    }
    if (status.error().code == cuzk::ErrorCode::kInvalidProof) {
      std::fprintf(stderr, "Result: Invalid proof\n%s\n", status.error().message.c_str());
    } else {
      std::fprintf(stderr, "Error: %s\n", status.error().message.c_str());
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "Error: %s\n", e.what());
  }
  return EXIT_FAILURE;
}
