// The program `cuzk-bench`: inputs for benchmarks and tests, and loads for the proving service.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>

#include "base/mapped_file.h"
#ifdef CUZK_DAEMON
#include "cli/bench_ask.h"
#include "cli/bench_load.h"
#endif
#include "cli/bench_gen.h"
#include "cli/bench_gen_post.h"
#include "cli/bench_kernels.h"
#include "cli/bench_partition.h"
#include "cli/command.h"
#include "cli/describe.h"
#include "filecoin/sparse_sector.h"
#include "format/c1.h"

namespace cuzk::cli {

namespace {

struct GenC1Options {
  std::string sector_size;
  std::string seal_proof;
  std::string output;
  std::string form = "json";
  std::uint64_t seed = 1;
};

Result<filecoin::SealProof> seal_proof_of(const GenC1Options& o) {
  if (!o.seal_proof.empty()) return filecoin::seal_proof(o.seal_proof);
  CUZK_TRY(const std::uint64_t bytes, filecoin::parse_sector_size(o.sector_size));
  return filecoin::seal_proof("StackedDrg" + filecoin::sector_size_name(bytes) + "V1_1");
}

Result<ExitCode> gen_c1(const GenC1Options& o) {
  if (o.seal_proof.empty() == o.sector_size.empty()) {
    return fail(ErrorCode::kInvalidArgument, "give one of --sector-size and --seal-proof");
  }
  CUZK_TRY(const filecoin::SealProof proof, seal_proof_of(o));
  CUZK_TRY(const filecoin::PorepC1 c1, filecoin::make_sparse_sector(proof, o.seed));
  std::string text;
  if (o.form == "bincode") {
    CUZK_TRY(const auto bytes, format::write_c1_bincode(c1));
    text.assign(bytes.begin(), bytes.end());
  } else {
    text = o.form == "envelope" ? format::write_c1_envelope(c1, filecoin::kMadeUpSector)
                                : format::write_c1_json(c1);
  }
  CUZK_TRY_VOID(write_file_atomically(
      o.output, ByteSpan(reinterpret_cast<const std::uint8_t*>(text.data()), text.size())));
  std::printf("%s: %s, %zu partitions, %zu bytes\n", o.output.c_str(), proof.name.c_str(),
              c1.partitions.size(), text.size());
  return kOk;
}

int run_bench_main(int argc, char** argv) {
  CLI::App app{"cuzk-bench makes inputs to measure and test with, and measures."};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("cuzk-bench ") + CUZK_VERSION);
  Runner run;
  GenC1Options o;
  CLI::App* gen = app.add_subcommand(
      "gen-c1",
      "A valid C1 output of a sector that was never sealed, of any size; for synthetic and "
      "non-interactive proofs see gen-vanilla");
  gen->add_option("--sector-size", o.sector_size, "E.g. 8MiB or 32GiB (API version 1.1)");
  gen->add_option("--seal-proof", o.seal_proof, "Registered proof instead, e.g. StackedDrg32GiBV1");
  gen->add_option("--seed", o.seed, "Another seed, another sector")->capture_default_str();
  gen->add_option("--form", o.form, "json, envelope or bincode")
      ->check(CLI::IsMember({"json", "envelope", "bincode"}))
      ->capture_default_str();
  gen->add_option("-o,--output", o.output, "Where it goes")->required();
  gen->footer(
      "Example:\n  cuzk-bench gen-c1 --sector-size 32GiB -o c1.json\n  cuzk circuit check --c1 "
      "c1.json");
  gen->callback([&] { run = [&] { return gen_c1(o); }; });
  add_gen_vanilla(app, run);
  add_gen_post(app, run);
  add_bench_partition(app, run);
  add_bench_kernels(app, run);
#ifdef CUZK_DAEMON
  DaemonAddress address;
  address.add(app);
  add_bench_load(app, address, run);
  add_bench_sweep(app, address, run);
  add_bench_ask(app, address, run);
#endif
  if (describe_if_asked(app, argc, argv)) return kOk;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kOk : kUsage;
  }
  const Result<ExitCode> code = run();
  if (code) return *code;
  std::fprintf(stderr, "cuzk-bench: %s\n", code.error().message.c_str());
  return exit_code_of(code.error().code);
}

}  // namespace
}  // namespace cuzk::cli

int main(int argc, char** argv) {
  try {
    return cuzk::cli::run_bench_main(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cuzk-bench: internal error: %s\n", e.what());
    return cuzk::cli::kSelfCheckFailed;
  }
}
