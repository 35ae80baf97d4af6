// cuzk circuit info | check

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/session.h"
#include "engine/catalog.h"
#include "engine/porep.h"
#include "r1cs/digest.h"
#include "r1cs/eval.h"

namespace cuzk::cli {

namespace {

struct CircuitOptions {
  CommonOptions common;
  std::string kind = "porep";
  std::string sector_size;
  std::string c1;
  std::string porep_id;
  bool digest = false;
};

nlohmann::json describe(const engine::CompiledCircuit& c, const filecoin::CircuitSpec& spec) {
  const auto& r = c.r1cs;
  const TermCounts nnz = count_terms(r);
  return {{"name", r.name},
          {"parameter_stem", spec.stem},
          {"identifier", spec.identifier},
          {"rows", r.num_rows},
          {"rows_with_inputs", r.num_rows_with_inputs()},
          {"inputs_including_one", r.num_inputs},
          {"aux", r.num_aux},
          {"domain_log2", r.domain_log2()},
          {"non_zeros", {{"a", nnz.a}, {"b", nnz.b}, {"c", nnz.c}}},
          {"density",
           {{"a_aux", c.density.a_aux.count},
            {"b_input", c.density.b_input.count},
            {"b_aux", c.density.b_aux.count}}},
          {"compiled_bytes", r.bytes()},
          {"blocks", r.blocks.size()},
          {"segments", r.segments.size()},
          {"from_cache", c.from_cache}};
}

Result<ExitCode> circuit_info(const CircuitOptions& o) {
  CUZK_TRY(const std::uint64_t bytes, filecoin::parse_sector_size(o.sector_size));
  CUZK_TRY(const filecoin::CircuitSpec spec, engine::find_circuit(o.kind, bytes));
  CUZK_TRY(auto session, Session::start(o.common, {{"compile", 1}, {"r1cs_digest", 5}}, 1));
  engine::CircuitStore circuits(o.common.cache_directory());
  CUZK_TRY(const auto circuit, circuits.get(session->context(), spec));
  nlohmann::json out = describe(*circuit, spec);
  if (o.digest) {
    auto span = session->timeline().span("r1cs_digest");
    out["r1cs_blake2b256"] = to_hex(r1cs_digest(circuit->r1cs));
  }
  CUZK_TRY_VOID(session->finish());
  out["timing"] = session->timeline().key_values();
  out["peak_resident_bytes"] = Session::peak_resident_bytes();
  print_report(o.common, out);
  return kOk;
}

Result<ExitCode> circuit_check(const CircuitOptions& o) {
  CUZK_TRY(auto session, Session::start(o.common, {{"synthesize", 1}, {"satisfy", 2}}, 1));
  engine::PorepClaim claim;
  if (!o.porep_id.empty()) {
    CUZK_TRY(claim.porep_id, parse_node(o.porep_id, "--porep-id"));
  }
  CUZK_TRY(const engine::PorepJob porep, engine::parse_porep(session->context(), o.c1, claim));
  engine::CircuitStore circuits(o.common.cache_directory());
  const auto report = engine::check_satisfied(session->context(), circuits, porep.job);
  CUZK_TRY_VOID(session->finish());
  if (!report) return fail(report.error());
  const nlohmann::json out = {{"c1", o.c1},
                              {"partitions", report->partitions},
                              {"rows_per_partition", report->rows},
                              {"satisfied", true},
                              {"witness_bytes", report->witness_bytes},
                              {"full_scalars", report->full_scalars},
                              {"timing", session->timeline().key_values()},
                              {"peak_resident_bytes", Session::peak_resident_bytes()}};
  print_report(o.common, out);
  return kOk;
}

}  // namespace

void add_circuit(CLI::App& app, Runner& run) {
  CLI::App* circuit = app.add_subcommand("circuit", "Compiled circuits");
  circuit->require_subcommand(1);
  auto info_options = std::make_shared<CircuitOptions>();
  CLI::App* info =
      circuit->add_subcommand("info", "Compile the circuit of a sector size and count");
  info->add_option("--sector-size", info_options->sector_size, "E.g. 2KiB or 32GiB")->required();
  add_kind(*info, info_options->kind);
  info->add_flag("--digest", info_options->digest,
                 "Also the BLAKE2b digest of the expanded rows (a minute at 32 GiB)");
  info_options->common.add_resources(*info);
  info_options->common.add_output(*info);
  info->callback(
      [info_options, &run] { run = [info_options] { return circuit_info(*info_options); }; });

  auto check_options = std::make_shared<CircuitOptions>();
  CLI::App* check = circuit->add_subcommand(
      "check", "Synthesize every partition of a C1 file and check every row, without a key");
  check->add_option("--c1", check_options->c1, "Output of commit phase 1")->required();
  add_porep_id(*check, check_options->porep_id);
  check_options->common.add_resources(*check);
  check_options->common.add_output(*check);
  check->callback(
      [check_options, &run] { run = [check_options] { return circuit_check(*check_options); }; });
}

}  // namespace cuzk::cli
