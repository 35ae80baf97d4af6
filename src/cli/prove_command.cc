#include "cli/prove_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/mapped_file.h"
#include "cli/circom_command.h"
#include "engine/job_devices.h"

namespace cuzk::cli {

namespace {

// What each stage took: one row a stage, in order of first use.
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

nlohmann::json reply_json(const ParsedRequest& request, const engine::ProofReply& reply,
                          const ProveOptions& options, const std::vector<std::string>& devices,
                          Session& session) {
  nlohmann::json spans;
  for (const SpanRecord& r : session.timeline().records()) {
    spans[r.name] = session.timeline().total_ms(r.name);
  }
  nlohmann::json out = {{"proof", to_hex(reply.proof)},
                        {"proof_file", options.output},
                        {"partitions", request.job.partitions()},
                        {"registered_proof", request.job.name},
                        {"verified", true},
                        {"devices", devices},
                        {"params", reply.params_file},
                        {"insecure_dev", reply.insecure_dev},
                        {"circuit_bytes", reply.circuit_bytes},
                        {"witness_bytes", reply.witness_bytes},
                        {"peak_reserved_bytes", session.memory().peak_bytes()},
                        {"peak_resident_bytes", Session::peak_resident_bytes()},
                        {"milliseconds", spans}};
  out.update(request.statement);
  return out;
}

void print_reply(const ParsedRequest& request, const engine::ProofReply& reply,
                 const ProveOptions& options, Session& session) {
  std::fprintf(stderr, "CUZK_TIMING: job=%s %s\n", request.log_id.c_str(),
               session.timeline().key_values().c_str());
  for (const std::string& note : request.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (reply.insecure_dev) {
    std::fputs(
        "note: INSECURE development key: anyone who knows its toxic waste can forge such proofs\n",
        stderr);
  }
  const std::size_t partitions = request.job.partitions();
  std::fprintf(stderr, "%s", time_table(session.timeline()).c_str());
  std::fprintf(stderr, "  memory: %.0f MiB reserved at the peak, %.0f MiB resident\n",
               static_cast<double>(session.memory().peak_bytes()) / 1048576,
               static_cast<double>(Session::peak_resident_bytes()) / 1048576);
  std::fprintf(stderr, "%s: %zu partition%s proved and verified, %zu bytes in %s\n",
               request.job.name.c_str(), partitions, partitions == 1 ? "" : "s", reply.proof.size(),
               options.output.c_str());
}

void print_warning(engine::CircuitStore& circuits) {
  if (const std::string warning = circuits.take_warning(); !warning.empty()) {
    std::fprintf(stderr, "note: %s\n", warning.c_str());
  }
}

Result<ExitCode> check_only(const ParsedRequest& request, const ProveOptions& options,
                            engine::CircuitStore& circuits, Session& session) {
  const auto report = engine::check_satisfied(session.context(), circuits, request.job);
  CUZK_TRY_VOID(session.finish());
  print_warning(circuits);
  if (!report) return fail(report.error());
  nlohmann::json out = {{"registered_proof", request.job.name},
                        {"partitions", report->partitions},
                        {"rows_per_partition", report->rows},
                        {"satisfied", true},
                        {"witness_bytes", report->witness_bytes},
                        {"full_scalars", report->full_scalars},
                        {"timing", session.timeline().key_values()},
                        {"peak_resident_bytes", Session::peak_resident_bytes()}};
  out.update(request.statement);
  print_report(options.common, out);
  return kOk;
}

// A card that was opened takes the partitions; what it tells goes to standard error.
Result<engine::ProofReply> prove(const ParsedRequest& request, const ProveOptions& options,
                                 engine::CircuitStore& circuits, Session& session,
                                 std::vector<std::string>& devices) {
  const bool quiet = options.common.quiet;
  CUZK_TRY(auto opened,
           open_devices(session.context(), options.device, request.job.partitions(), quiet));
  for (const auto& card : opened.cards) devices.push_back(card->name());
  if (devices.empty()) devices.push_back("cpu");
  engine::JobDevices on;
  on.cards = std::move(opened.cards);
  on.cpu_fallback = options.device.cpu_fallback();
  on.log_id = request.log_id;
  on.tell = [quiet](const std::string& what) { tell_of_device(quiet, what); };
  on.on_timing = [quiet](const groth16::PartitionTiming& t) {
    if (!quiet) std::fprintf(stderr, "%s\n", t.line().c_str());
  };
  const engine::ParameterStore parameters(options.common.parameter_directory());
  return engine::prove_job(session.context(), circuits, parameters, request.job,
                           options.key_choice(), on);
}

}  // namespace

void ProveOptions::add(CLI::App& app) {
  app.add_option("-o,--output", output, "Where the proof goes (192 bytes a partition)");
  app.add_flag("--insecure-dev", insecure_dev,
               "Allow a locally made key, and make it if it is missing (development only)");
  app.add_flag("--check-only", check_only,
               "Make no proof: synthesize every partition and check every row; needs no key");
  device.add(app);
  common.add_parameters(app);
  common.add_resources(app);
  common.add_output(app);
}

Result<ExitCode> run_prove(
    const ProveOptions& options,
    const std::function<Result<ParsedRequest>(const engine::Context&)>& parse) {
  if (options.output.empty() && !options.check_only) {
    return fail(ErrorCode::kInvalidArgument,
                "--output is missing: say where the proof goes, or --check-only");
  }
  CUZK_TRY_VOID(options.device.cards_options());
  StageShares shares =
      options.check_only ? StageShares{{"synthesize", 1}, {"satisfy", 2}} : prove_stage_shares();
  CUZK_TRY(auto session, Session::start(options.common, std::move(shares), 1));
  CUZK_TRY(const ParsedRequest request, parse(session->context()));
  engine::CircuitStore circuits(options.common.cache_directory());
  if (options.check_only) return check_only(request, options, circuits, *session);
  std::vector<std::string> devices;
  const auto reply = prove(request, options, circuits, *session, devices);
  CUZK_TRY_VOID(session->finish());
  print_warning(circuits);
  if (!reply) return fail(reply.error());
  CUZK_TRY_VOID(write_file_atomically(options.output, ByteSpan(reply->proof)));
  if (!options.common.quiet) print_reply(request, *reply, options, *session);
  if (options.common.json) {
    std::printf("%s\n", reply_json(request, *reply, options, devices, *session).dump(2).c_str());
  }
  return kOk;
}

void add_prove(CLI::App& app, Runner& run) {
  CLI::App* prove = app.add_subcommand("prove", "Make a proof, verify it, write it");
  prove->require_subcommand(1);
  add_prove_porep(*prove, run);
  add_prove_update(*prove, run);
  add_prove_post(*prove, run);
  add_prove_circom(*prove, run);
}

}  // namespace cuzk::cli
