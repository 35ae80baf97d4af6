// cuzk zkey | r1cs | wtns: what a file of circom holds, and whether it is right.

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/circom_command.h"
#include "cli/circom_files.h"
#include "cli/session.h"
#include "engine/circom.h"
#include "format/r1cs_file.h"
#include "format/wtns.h"

namespace cuzk::cli {

namespace {

struct FileOptions {
  CommonOptions common;
  std::string file, r1cs, sym, output;
  bool full = false;
  bool insecure_dev = false;
  std::optional<std::uint64_t> seed;
};

using Action = Result<ExitCode> (*)(const FileOptions&, Session&);

nlohmann::json sections_json(const format::Iden3Sections& sections) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& s : sections.all()) out.push_back({{"id", s.id}, {"bytes", s.size}});
  return out;
}

Result<ExitCode> ok(const FileOptions& o, nlohmann::json details = nlohmann::json::object()) {
  details["file"] = o.file;
  details["ok"] = true;
  if (o.common.json) {
    print_report(o.common, details);
  } else {
    std::printf("%s: ok\n", o.file.c_str());
  }
  return kOk;
}

Result<format::InputBytes> input_of(const FileOptions& o, Session& session) {
  return read_input(o.file, session.memory().limit_bytes());
}

void add_groth16_info(const format::ZkeyFile& file, nlohmann::json& out) {
  const auto header = file.header();
  if (!header) return;
  out["curve"] = circom::display_name(header->curve);
  out["wires"] = header->num_wires;
  out["public_signals"] = header->num_public;
  out["domain_size"] = header->domain_size;
  out["coefficients"] = header->num_coefficients;
  const auto contributions = file.contributions();
  if (!contributions) {
    out["contributions_error"] = contributions.error().message;
    return;
  }
  out["contributions"] = contributions->size();
  std::size_t beacons = 0;
  for (const auto& c : *contributions) beacons += c.is_beacon;
  out["beacons"] = beacons;
  if (!contributions->empty()) out["last_contribution"] = contributions->back().name;
}

Result<ExitCode> zkey_info(const FileOptions& o, Session& session) {
  CUZK_TRY(const auto input, input_of(o, session));
  CUZK_TRY(const auto file, format::ZkeyFile::parse(input));
  nlohmann::json out = {{"file", o.file},
                        {"bytes", input.bytes().size()},
                        {"protocol", file.protocol_name()},
                        {"version", file.sections().version()},
                        {"sections", sections_json(file.sections())}};
  add_groth16_info(file, out);
  print_report(o.common, out);
  return kOk;
}

Result<ExitCode> zkey_check(const FileOptions& o, Session& session) {
  CUZK_TRY(const auto input, input_of(o, session));
  CUZK_TRY(const auto file, format::ZkeyFile::parse(input));
  const Status status = engine::check_zkey(session.context(), file, o.full);
  CUZK_TRY_VOID(session.finish());
  if (!status) return fail(status.error());
  return ok(o, {{"full", o.full}});
}

Result<ExitCode> zkey_export_vk(const FileOptions& o, Session& session) {
  CUZK_TRY(const auto input, input_of(o, session));
  CUZK_TRY(const auto file, format::ZkeyFile::parse(input));
  CUZK_TRY(const auto header, file.header());
  return circom::with_curve(header.curve, [&]<class Curve>() -> Result<ExitCode> {
    CUZK_TRY(const auto vk, file.verifying_key<Curve>(PointCheck::kSubgroup));
    CUZK_TRY_VOID(write_output(o.output, format::write_verification_key_json(vk)));
    return kOk;
  });
}

Result<ExitCode> zkey_dev_setup(const FileOptions& o, Session& session) {
  if (!o.insecure_dev) {
    return fail(ErrorCode::kInsecureKey,
                "zkey dev-setup makes a key whose maker can forge proofs; it is for development "
                "only. Say --insecure-dev to make it all the same");
  }
  CUZK_TRY(const auto input, input_of(o, session));
  CUZK_TRY_VOID(engine::make_insecure_dev_zkey(session.context(), input, o.seed, o.output));
  CUZK_TRY_VOID(session.finish());
  if (!o.common.quiet) {
    std::fprintf(stderr, "made INSECURE development key %s\n%s\n", o.output.c_str(),
                 session.timeline().key_values().c_str());
  }
  return kOk;
}

Result<ExitCode> r1cs_info(const FileOptions& o, Session& session) {
  CUZK_TRY(const auto input, input_of(o, session));
  CUZK_TRY(const auto file, format::R1csFile::parse(input));
  const auto& h = file.header();
  print_report(o.common, {{"file", o.file},
                          {"bytes", input.bytes().size()},
                          {"curve", circom::display_name(h.curve)},
                          {"wires", h.num_wires},
                          {"constraints", h.num_constraints},
                          {"public_outputs", h.num_outputs},
                          {"public_inputs", h.num_public_inputs},
                          {"private_inputs", h.num_private_inputs},
                          {"labels", h.num_labels},
                          {"custom_gates", file.has_custom_gates()},
                          {"sections", sections_json(file.sections())}});
  return kOk;
}

Result<ExitCode> r1cs_check(const FileOptions& o, Session& session) {
  CUZK_TRY(const auto input, input_of(o, session));
  const auto statistics = engine::check_r1cs(session.context(), input);
  CUZK_TRY_VOID(session.finish());
  if (!statistics) return fail(statistics.error());
  return ok(o, {{"terms", statistics->terms},
                {"distinct_coefficients", statistics->distinct_coefficients}});
}

Result<ExitCode> wtns_info(const FileOptions& o, Session& session) {
  CUZK_TRY(const auto input, input_of(o, session));
  CUZK_TRY(const auto file, format::WtnsFile::parse(input));
  print_report(o.common, {{"file", o.file},
                          {"bytes", input.bytes().size()},
                          {"curve", circom::display_name(file.curve())},
                          {"values", file.num_values()}});
  return kOk;
}

Result<ExitCode> wtns_check(const FileOptions& o, Session& session) {
  CUZK_TRY_VOID(check_one_standard_stream({o.file, o.r1cs, o.sym}, "standard input"));
  CUZK_TRY(const auto input, input_of(o, session));
  std::optional<format::InputBytes> r1cs, sym;
  const std::size_t most = session.memory().limit_bytes();
  if (!o.r1cs.empty()) {
    CUZK_TRY(r1cs, read_input(o.r1cs, most));
  }
  if (!o.sym.empty()) {
    CUZK_TRY(sym, read_input(o.sym, most));
  }
  const Status status = engine::check_wtns(session.context(), input, r1cs, sym);
  CUZK_TRY_VOID(session.finish());
  if (!status) return fail(status.error());
  return ok(o, {{"constraints_checked", r1cs.has_value()}});
}

std::pair<CLI::App*, std::shared_ptr<FileOptions>> add_action(CLI::App& parent, Runner& run,
                                                              const char* name, const char* help,
                                                              Action action) {
  auto o = std::make_shared<FileOptions>();
  CLI::App* command = parent.add_subcommand(name, help);
  command->add_option("file", o->file, "The file, or \"-\" for standard input")->required();
  o->common.add_output(*command);
  command->callback([o, &run, action] {
    run = [o, action]() -> Result<ExitCode> {
      CUZK_TRY(auto session, Session::start(o->common, {{"check_points", 1}}, 1));
      return action(*o, *session);
    };
  });
  return {command, o};
}

void add_zkey_dev_setup(CLI::App& zkey, Runner& run) {
  auto [setup, o] = add_action(zkey, run, "dev-setup",
                               "Make a development key of an .r1cs (insecure)", zkey_dev_setup);
  setup->add_option("-o,--output", o->output, "Where the .zkey goes")->required();
  setup->add_option("--seed", o->seed, "The same key each time");
  setup->add_flag("--insecure-dev", o->insecure_dev, "Yes: whoever makes it can forge proofs");
  o->common.add_resources(*setup);
}

}  // namespace

void add_zkey(CLI::App& app, Runner& run) {
  CLI::App* zkey = app.add_subcommand("zkey", "Proving keys of snarkjs");
  zkey->require_subcommand(1);
  add_action(*zkey, run, "info", "What a .zkey holds, of any protocol", zkey_info);
  auto [check, check_options] = add_action(
      *zkey, run, "check", "Structure, coefficients, and whether proofs can be forged", zkey_check);
  check->add_flag("--full", check_options->full,
                  "Also every point: on the curve and in the subgroup");
  check_options->common.add_resources(*check);
  auto [export_vk, export_options] = add_action(
      *zkey, run, "export-vk", "Write verification_key.json as snarkjs does", zkey_export_vk);
  add_zkey_dev_setup(*zkey, run);
  export_vk->add_option("-o,--output", export_options->output, "Where it goes, or \"-\"")
      ->required();
}

void add_r1cs(CLI::App& app, Runner& run) {
  CLI::App* r1cs = app.add_subcommand("r1cs", "Circuits of circom");
  r1cs->require_subcommand(1);
  add_action(*r1cs, run, "info", "What an .r1cs declares", r1cs_info);
  auto [check, options] = add_action(
      *r1cs, run, "check", "Read every constraint: wires, coefficients, lengths", r1cs_check);
  options->common.add_resources(*check);
}

void add_wtns(CLI::App& app, Runner& run) {
  CLI::App* wtns = app.add_subcommand("wtns", "Witnesses of circom");
  wtns->require_subcommand(1);
  add_action(*wtns, run, "info", "What a .wtns declares", wtns_info);
  auto [check, options] = add_action(
      *wtns, run, "check", "Every value canonical, the first one 1; with --r1cs every constraint",
      wtns_check);
  check->add_option("--r1cs", options->r1cs, "The circuit");
  check->add_option("--sym", options->sym, "The signals' names, for the message");
  options->common.add_resources(*check);
}

}  // namespace cuzk::cli
