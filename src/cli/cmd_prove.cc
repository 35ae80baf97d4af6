// cuzk prove porep

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "cli/command.h"
#include "cli/session.h"
#include "engine/porep.h"

namespace cuzk::cli {

namespace {

struct ProvePorepOptions {
  CommonOptions common;
  std::string c1;
  std::string output;
  std::string miner;
  std::string porep_id;
  std::optional<std::uint64_t> sector;
  bool insecure_dev = false;
};

Result<engine::PorepRequest> request_of(const ProvePorepOptions& options) {
  engine::PorepRequest request;
  request.c1 = options.c1;
  if (options.miner.empty() != !options.sector) {
    return fail(ErrorCode::kInvalidArgument,
                "--miner and --sector belong together: both, to check the replica id, or neither");
  }
  if (!options.miner.empty()) {
    CUZK_TRY(const std::uint64_t actor, parse_actor(options.miner));
    request.prover_id = filecoin::prover_id_of_actor(actor);
    request.sector = options.sector;
  }
  if (!options.porep_id.empty()) {
    CUZK_TRY(request.porep_id, parse_node(options.porep_id, "--porep-id"));
  }
  if (options.insecure_dev) {
    request.key_policy = engine::KeyPolicy::kAllowInsecureDev;
    request.make_missing_dev_key = true;
  }
  return request;
}

// What each stage took, largest share first to the eye: one row a stage, in order of first use.
std::string time_table(const Timeline& timeline) {
  std::vector<std::string> names;
  double total = 0;
  for (const SpanRecord& r : timeline.records()) {
    if (std::find(names.begin(), names.end(), r.name) == names.end()) names.push_back(r.name);
    total += static_cast<double>(r.duration_us) / 1000;
  }
  std::string out;
  for (const std::string& name : names) {
    const double ms = timeline.total_ms(name);
    const int bar = total > 0 ? static_cast<int>(40 * ms / total + 0.5) : 0;
    out += fmt::format("  {:<16}{:>10.1f} ms  {:>5.1f} %  {}\n", name, ms,
                       total > 0 ? 100 * ms / total : 0.0,
                       std::string(static_cast<std::size_t>(bar), '#'));
  }
  return out + fmt::format("  {:<16}{:>10.1f} ms\n", "sum", total);
}

nlohmann::json reply_json(const engine::PorepReply& reply, const ProvePorepOptions& options,
                          Session& session) {
  nlohmann::json spans;
  for (const SpanRecord& r : session.timeline().records()) {
    spans[r.name] = session.timeline().total_ms(r.name);
  }
  return {{"proof", to_hex(reply.proof)},
          {"proof_file", options.output},
          {"partitions", reply.proof.size() / 192},
          {"registered_proof", reply.statement.proof.name},
          {"comm_r", to_hex(reply.statement.comm_r)},
          {"comm_d", to_hex(reply.statement.comm_d)},
          {"replica_id", to_hex(reply.statement.replica_id)},
          {"replica_id_recomputed", reply.replica_id_recomputed},
          {"verified", true},
          {"params", reply.params_file},
          {"insecure_dev", reply.insecure_dev},
          {"circuit_bytes", reply.circuit_bytes},
          {"witness_bytes", reply.witness_bytes},
          {"peak_reserved_bytes", session.memory().peak_bytes()},
          {"peak_resident_bytes", Session::peak_resident_bytes()},
          {"milliseconds", spans}};
}

void print_notes(const engine::PorepReply& reply, const ProvePorepOptions& options,
                 Session& session) {
  if (!reply.replica_id_recomputed) {
    std::fputs(
        "note: the replica id was taken from the C1 file; give --miner and --sector to have it "
        "recomputed\n",
        stderr);
  }
  if (reply.insecure_dev) {
    std::fputs(
        "note: INSECURE development key: anyone who knows its toxic waste can forge such proofs\n",
        stderr);
  }
  std::fprintf(stderr, "%s", time_table(session.timeline()).c_str());
  std::fprintf(stderr, "  memory: %.0f MiB reserved at the peak, %.0f MiB resident\n",
               static_cast<double>(session.memory().peak_bytes()) / 1048576,
               static_cast<double>(Session::peak_resident_bytes()) / 1048576);
  std::fprintf(stderr, "%s: %zu partition%s proved and verified, %zu bytes in %s\n",
               reply.statement.proof.name.c_str(), reply.proof.size() / 192,
               reply.proof.size() == 192 ? "" : "s", reply.proof.size(), options.output.c_str());
}

Result<ExitCode> prove_porep(const ProvePorepOptions& options) {
  CUZK_TRY(const engine::PorepRequest request, request_of(options));
  CUZK_TRY(auto session, Session::start(options.common, porep_stage_shares(), 1));
  engine::CircuitStore circuits(options.common.cache_directory());
  const engine::ParameterStore parameters(options.common.parameter_directory());
  const auto reply = engine::prove_porep(session->context(), circuits, parameters, request);
  CUZK_TRY_VOID(session->finish());
  if (const std::string warning = circuits.take_warning(); !warning.empty()) {
    std::fprintf(stderr, "note: %s\n", warning.c_str());
  }
  if (!reply) return fail(reply.error());
  CUZK_TRY_VOID(write_file_atomically(options.output, ByteSpan(reply->proof)));
  if (!options.common.quiet) {
    std::fprintf(stderr, "CUZK_TIMING: job=%s %s\n",
                 to_hex(reply->statement.comm_r).substr(0, 16).c_str(),
                 session->timeline().key_values().c_str());
    print_notes(*reply, options, *session);
  }
  if (options.common.json) {
    std::printf("%s\n", reply_json(*reply, options, *session).dump(2).c_str());
  }
  return kOk;
}

}  // namespace

void add_prove(CLI::App& app, Runner& run) {
  CLI::App* prove = app.add_subcommand("prove", "Make a proof, verify it, write it");
  prove->require_subcommand(1);
  CLI::App* porep =
      prove->add_subcommand("porep", "PoRep, commit phase 2: from a C1 file to a proof");
  auto options = std::make_shared<ProvePorepOptions>();
  porep
      ->add_option("--c1", options->c1,
                   "Output of commit phase 1: raw JSON, Lotus envelope or bincode")
      ->required();
  porep->add_option("-o,--output", options->output, "Where the proof goes (192 bytes a partition)")
      ->required();
  porep->add_option("--miner", options->miner, "Storage provider, e.g. 1000 or f01000");
  porep->add_option("--sector", options->sector, "Sector number");
  add_porep_id(*porep, options->porep_id);
  porep->add_flag("--insecure-dev", options->insecure_dev,
                  "Allow a locally made key, and make it if it is missing (development only)");
  options->common.add_parameters(*porep);
  options->common.add_resources(*porep);
  options->common.add_output(*porep);
  porep->footer(
      "Example:\n  cuzk prove porep --c1 c1.json --miner 1000 --sector 23 -o proof.bin\n\n"
      "The proof is verified before it is written; nothing is written when anything fails.");
  porep->callback([options, &run] { run = [options] { return prove_porep(*options); }; });
}

}  // namespace cuzk::cli
