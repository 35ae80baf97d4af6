// The program `prover`: rapidsnark's arguments and exit codes, so that scripts need only another
// path.
//
//   prover <circuit.zkey> <witness.wtns> <proof.json> <public.json>
// writes one line of JSON each, without a last line's end; exit code 0, or 1 with a reason on
// standard error. Stricter than rapidsnark: the proof is verified before it is written, and a key
// whose proofs can be forged is refused unless CUZK_ALLOW_INSECURE_KEY=1 is in the environment.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "cli/circom_files.h"
#include "engine/circom.h"

namespace cuzk::cli {
namespace {

Status prove_files(char** paths) {
  Tasks tasks;
  MemoryBudget memory(MemoryBudget::detect_limit_bytes());
  Timeline timeline;
  const engine::Context context{tasks, memory, timeline};
  CUZK_TRY(const auto zkey, format::InputBytes::open(paths[0]));
  CUZK_TRY(const auto wtns, format::InputBytes::open(paths[1]));
  const char* allow = std::getenv("CUZK_ALLOW_INSECURE_KEY");
  CUZK_TRY(const auto prover,
           engine::CircomProver::open(
               context, zkey, {.allow_insecure_key = allow && std::string_view(allow) == "1"}));
  engine::CircomProveOptions options;
  options.style = format::JsonStyle::kRapidsnark;
  CUZK_TRY(const auto reply, prover.prove(context, wtns, options));
  CUZK_TRY_VOID(write_output(paths[2], reply.proof_json));
  return write_output(paths[3], reply.public_json);
}

}  // namespace
}  // namespace cuzk::cli

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs(
        "Invalid number of parameters\n"
        "Usage: prover <circuit.zkey> <witness.wtns> <proof.json> <public.json>\n",
        stderr);
    return EXIT_FAILURE;
  }
  try {
    const cuzk::Status status = cuzk::cli::prove_files(argv + 1);
    if (status) return EXIT_SUCCESS;
    std::fprintf(stderr, "Error: %s\n", status.error().message.c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "Error: %s\n", e.what());
  }
  return EXIT_FAILURE;
}
