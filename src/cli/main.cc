// The program `cuzk`.

#include <cstdio>
#include <exception>
#include <string>

#include "cli/circom_command.h"
#include "cli/command.h"
#include "cli/describe.h"

namespace cuzk::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  cuzk prove porep --c1 c1.json --miner 1000 --sector 23 -o proof.bin\n"
    "  cuzk verify porep --c1 c1.json proof.bin\n"
    "  cuzk params setup --sector-size 2KiB --insecure-dev\n"
    "  cuzk circuit info --sector-size 32GiB\n"
    "\n"
    "Exit codes: 0 ok, 1 proof invalid, 2 usage, 3 bad input file, 4 statement, witness or key "
    "does\n"
    "not fit, 5 resources, 6 self-check failed, 7 insecure key refused.\n";

int report(const Error& error) {
  std::fprintf(stderr, "cuzk: %s\n", error.message.c_str());
  return exit_code_of(error.code);
}

int run_main(int argc, char** argv) {
  CLI::App app{"cuzk turns Filecoin vanilla proofs into verified Groth16 proofs."};
  app.footer(kFooter);
  app.set_version_flag("--version", std::string("cuzk ") + CUZK_VERSION);
  Runner run;
  add_prove(app, run);
  add_verify(app, run);
  add_params(app, run);
  add_circuit(app, run);
  add_aggregate(app, run);
  add_zkey(app, run);
  add_r1cs(app, run);
  add_wtns(app, run);
  add_doctor(app, run);
#ifdef CUZK_DAEMON
  add_serve(app, run);
  add_config(app, run);
  add_drop_in_serve(app, run);
#else
  app.require_subcommand(1);
#endif
  if (describe_if_asked(app, argc, argv)) return kOk;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  }
  const Result<ExitCode> code = run();
  return code ? *code : report(code.error());
}

}  // namespace
}  // namespace cuzk::cli

int main(int argc, char** argv) {
  try {
    return cuzk::cli::run_main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(
        stderr, "cuzk: the system refused memory within the budget; lower --memory or free some\n");
    return cuzk::cli::kResources;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cuzk: internal error: %s\n", e.what());
    return cuzk::cli::kSelfCheckFailed;
  }
}
