// cuzk aggregate create | verify | srs

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "aggregate/prover.h"
#include "base/mapped_file.h"
#include "cli/command.h"
#include "cli/session.h"
#include "cli/verify_command.h"
#include "engine/aggregate.h"
#include "format/aggregate.h"
#include "format/bellman_proof.h"

namespace cuzk::cli {

namespace {

using aggregate::Version;

// What create and verify share.
struct AggregateOptions {
  CommonOptions common;
  std::string statement;
  std::string srs;
  std::string vk;
  std::string version = "v2";
  bool insecure_dev = false;

  void add(CLI::App& app) {
    app.add_option("--statement", statement,
                   "JSON: the sectors, in the order of their proofs (docs/formats/snarkpack.md)")
        ->required();
    app.add_option("--srs", srs, "SRS file (default: by official name in --params)");
    app.add_option("--vk", vk, "Verifying key file (default: by official name in --params)");
    app.add_option("--version", version, "SnarkPack version of the aggregate")
        ->check(CLI::IsMember({"v1", "v2"}))
        ->capture_default_str();
    app.add_flag("--insecure-dev", insecure_dev, "Allow a locally made key and SRS");
    common.add_parameters(app);
    common.add_resources(app);
    common.add_output(app);
  }
  engine::KeyPolicy policy() const {
    return insecure_dev ? engine::KeyPolicy::kAllowInsecureDev : engine::KeyPolicy::kCeremonyOnly;
  }
};

// Statement, key and SRS, as the options name them.
struct Opened {
  engine::AggregateTarget target;
  VerifyingKey<Bls12_381> key;
  engine::OpenSrs srs;
  bool insecure_dev = false;
};

Result<Opened> open_all(const AggregateOptions& o, const engine::Context& context, bool make_srs) {
  Opened out;
  CUZK_TRY(const auto statement, format::read_aggregate_statement(o.statement));
  const Version version = o.version == "v1" ? Version::kV1 : Version::kV2;
  CUZK_TRY(out.target, engine::aggregate_target(statement, version));
  const engine::ParameterStore parameters(o.common.parameter_directory());
  engine::KeyFiles files;
  if (o.vk.empty()) {
    CUZK_TRY(files, parameters.find(out.target.statement.circuit, o.policy()));
  } else {
    files.vk = o.vk;
  }
  CUZK_TRY(out.key, parameters.load_verifying_key(files, o.policy()));
  engine::SrsChoice choice;
  choice.policy = o.policy();
  if (!o.srs.empty()) choice.file = o.srs;
  choice.make_missing_dev_srs = make_srs && o.insecure_dev;
  CUZK_TRY(out.srs, engine::open_srs(context, parameters, choice, out.target.num_proofs()));
  out.insecure_dev = files.insecure_dev || !out.srs.ceremony;
  return out;
}

nlohmann::json details(const AggregateOptions& o, const Opened& opened) {
  return {{"registered_proof", opened.target.statement.name},
          {"sectors", opened.target.sectors},
          {"proofs", opened.target.num_proofs()},
          {"version", o.version},
          {"srs", opened.srs.path.string()},
          {"insecure_dev", opened.insecure_dev}};
}

Result<std::vector<aggregate::Groth16Proof>> read_all_proofs(const std::vector<std::string>& files,
                                                             std::size_t most) {
  std::vector<aggregate::Groth16Proof> out;
  for (const std::string& file : files) {
    CUZK_TRY(const auto proofs, bellman::read_proofs(file, most));
    out.insert(out.end(), proofs.begin(), proofs.end());
  }
  return out;
}

struct CreateOptions {
  AggregateOptions shared;
  std::vector<std::string> proofs;
  std::string output;
};

void print_reply(const CreateOptions& o, const Opened& opened, const engine::AggregateReply& reply,
                 Session& session) {
  std::fprintf(stderr, "CUZK_TIMING: job=aggregate %s\n", session.timeline().key_values().c_str());
  if (opened.insecure_dev) {
    std::fputs("note: INSECURE development key or SRS: whoever made it can forge such proofs\n",
               stderr);
  }
  std::fprintf(stderr,
               "%s: %zu proofs of %zu sectors aggregated (%s, padded to %zu) and verified, "
               "%zu bytes in %s\n",
               opened.target.statement.name.c_str(), opened.target.num_proofs(),
               opened.target.sectors, o.shared.version.c_str(), reply.padded_proofs,
               reply.aggregate.size(), o.output.c_str());
}

Result<ExitCode> create(const CreateOptions& o) {
  StageShares shares = {{"commit", 6}, {"combine", 3}, {"rounds", 14}, {"openings", 1}};
  CUZK_TRY(auto session, Session::start(o.shared.common, std::move(shares), 1));
  const auto context = session->context();
  CUZK_TRY(const Opened opened, open_all(o.shared, context, true));
  CUZK_TRY(const auto proofs, read_all_proofs(o.proofs, aggregate::kMaxProofs));
  const auto reply =
      engine::create_aggregate(context, opened.srs, opened.key, opened.target, proofs);
  CUZK_TRY_VOID(session->finish());
  if (!reply) return fail(reply.error());
  CUZK_TRY_VOID(write_file_atomically(o.output, ByteSpan(reply->aggregate)));
  if (!o.shared.common.quiet) print_reply(o, opened, *reply, *session);
  if (o.shared.common.json) {
    nlohmann::json out = details(o.shared, opened);
    out.update({{"aggregate_file", o.output},
                {"bytes", reply->aggregate.size()},
                {"padded_proofs", reply->padded_proofs},
                {"verified", true},
                {"timing", session->timeline().key_values()},
                {"peak_resident_bytes", Session::peak_resident_bytes()}});
    std::printf("%s\n", out.dump(2).c_str());
  }
  return kOk;
}

void add_create(CLI::App& aggregate, Runner& run) {
  CLI::App* app = aggregate.add_subcommand("create", "One proof of many, verified and written");
  auto o = std::make_shared<CreateOptions>();
  app->add_option("--proof", o->proofs,
                  "Proof files in the order of the sectors, 192 bytes a partition; several, or one "
                  "with all")
      ->required();
  app->add_option("-o,--output", o->output, "Where the aggregate goes")->required();
  o->shared.add(*app);
  app->callback([o, &run] { run = [o] { return create(*o); }; });
}

struct VerifyAggregateOptions {
  AggregateOptions shared;
  std::string aggregate;
};

Result<ExitCode> verify_aggregate(const VerifyAggregateOptions& o) {
  CUZK_TRY(auto session, Session::start(o.shared.common, {{"verify", 1}}, 1));
  const auto context = session->context();
  CUZK_TRY(const Opened opened, open_all(o.shared, context, false));
  CUZK_TRY(const auto bytes,
           read_file(o.aggregate, format::aggregate_bytes(aggregate::kMaxProofs)));
  const Status verdict =
      engine::verify_aggregate(context, opened.srs, opened.key, opened.target, bytes, o.aggregate);
  CUZK_TRY_VOID(session->finish());
  if (!verdict && verdict.error().code != ErrorCode::kInvalidProof) return fail(verdict.error());
  if (opened.insecure_dev && !o.shared.common.quiet) {
    std::fputs("note: checked with an INSECURE development key or SRS\n", stderr);
  }
  return print_verdict(o.shared.common, verdict, details(o.shared, opened));
}

void add_verify_aggregate(CLI::App& aggregate, Runner& run) {
  CLI::App* app =
      aggregate.add_subcommand("verify", "An aggregate against its sectors' statements");
  auto o = std::make_shared<VerifyAggregateOptions>();
  app->add_option("aggregate", o->aggregate, "Aggregate file")->required();
  o->shared.add(*app);
  app->callback([o, &run] { run = [o] { return verify_aggregate(*o); }; });
}

struct SrsOptions {
  CommonOptions common;
  std::size_t proofs = 0;
  std::string output;
  bool insecure_dev = false;
};

Result<ExitCode> make_srs(const SrsOptions& o) {
  if (!o.insecure_dev) {
    return fail(ErrorCode::kInsecureKey,
                "whoever makes an SRS can forge aggregates: say --insecure-dev if that is wanted");
  }
  CUZK_TRY(auto session, Session::start(o.common, {{"make_srs", 1}}, 1));
  const engine::ParameterStore parameters(o.common.parameter_directory());
  std::optional<std::filesystem::path> file;
  if (!o.output.empty()) file = o.output;
  const auto path = engine::make_insecure_dev_srs(session->context(), parameters, o.proofs, file);
  CUZK_TRY_VOID(session->finish());
  if (!path) return fail(path.error());
  const nlohmann::json report = {{"srs", path->string()},
                                 {"proofs", aggregate::padded_count(o.proofs)},
                                 {"insecure_dev", true}};
  print_report(o.common, report);
  return kOk;
}

void add_srs(CLI::App& aggregate, Runner& run) {
  CLI::App* app = aggregate.add_subcommand("srs", "Make a development SRS (INSECURE)");
  auto o = std::make_shared<SrsOptions>();
  app->add_option("--proofs", o->proofs, "For how many proofs")->required();
  app->add_option("-o,--output", o->output,
                  "Where it goes (default: under its insecure-dev name in --params)");
  app->add_flag("--insecure-dev", o->insecure_dev, "Needed: its maker can forge aggregates");
  o->common.add_parameters(*app);
  o->common.add_resources(*app);
  o->common.add_output(*app);
  app->callback([o, &run] { run = [o] { return make_srs(*o); }; });
}

}  // namespace

void add_aggregate(CLI::App& app, Runner& run) {
  CLI::App* aggregate = app.add_subcommand("aggregate", "SnarkPack: one proof of many");
  aggregate->require_subcommand(1);
  add_create(*aggregate, run);
  add_verify_aggregate(*aggregate, run);
  add_srs(*aggregate, run);
}

}  // namespace cuzk::cli
