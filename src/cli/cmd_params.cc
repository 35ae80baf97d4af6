// cuzk params list | info | check | setup

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/session.h"
#include "engine/catalog.h"
#include "engine/parameters.h"

namespace cuzk::cli {

namespace {

struct ParamsOptions {
  CommonOptions common;
  std::string kind = "porep";
  std::string sector_size;
  std::string file;
  std::optional<std::uint64_t> seed;
  bool insecure_dev = false;
  bool full = false;
};

std::string state_of(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{} bytes", *bytes) : "absent";
}

Result<ExitCode> list_params(const ParamsOptions& o) {
  const engine::ParameterStore store(o.common.parameter_directory());
  CUZK_TRY(const auto entries, store.list());
  if (o.common.json) {
    nlohmann::json out = nlohmann::json::array();
    for (const auto& e : entries) {
      nlohmann::json item = {{"stem", e.stem},
                             {"sector_size", e.sector_bytes},
                             {"params_digest", e.params_digest},
                             {"vk_digest", e.vk_digest},
                             {"insecure_dev", e.dev_params}};
      item["params_bytes"] = e.params_bytes ? nlohmann::json(*e.params_bytes) : nlohmann::json();
      item["vk_bytes"] = e.vk_bytes ? nlohmann::json(*e.vk_bytes) : nlohmann::json();
      out.push_back(item);
    }
    std::printf("%s\n", out.dump(2).c_str());
    return kOk;
  }
  std::printf("directory: %s\n", store.directory().c_str());
  for (const auto& e : entries) {
    std::printf("%-8s %s\n         .params %s, .vk %s%s\n",
                filecoin::sector_size_name(e.sector_bytes).c_str(), e.stem.c_str(),
                state_of(e.params_bytes).c_str(), state_of(e.vk_bytes).c_str(),
                e.dev_params ? ", insecure-dev key present" : "");
  }
  return kOk;
}

Result<ExitCode> params_info(const ParamsOptions& o) {
  CUZK_TRY(const auto info, engine::describe_parameter_file(o.file));
  const nlohmann::json out = {{"file", o.file},
                              {"bytes", info.bytes},
                              {"kind", info.kind},
                              {"insecure_dev_name", info.insecure_dev_name},
                              {"published", info.published},
                              {"ic", info.counts.ic},
                              {"h", info.counts.h},
                              {"l", info.counts.l},
                              {"a", info.counts.a},
                              {"b_g1", info.counts.b_g1},
                              {"b_g2", info.counts.b_g2}};
  if (o.common.json) {
    std::printf("%s\n", out.dump(2).c_str());
  } else {
    for (const auto& [key, value] : out.items())
      std::printf("%-18s %s\n", key.c_str(), value.dump().c_str());
  }
  return kOk;
}

Result<ExitCode> check_params(const ParamsOptions& o) {
  CUZK_TRY(auto session, Session::start(o.common, {{"check_digest", 1}, {"check_points", 3}}, 1));
  const Status status = engine::check_parameter_file(session->context(), o.file, o.full);
  CUZK_TRY_VOID(session->finish());
  if (!status) return fail(status.error());
  if (o.common.json) {
    std::printf("%s\n",
                nlohmann::json{{"file", o.file}, {"ok", true}, {"full", o.full}}.dump(2).c_str());
  } else {
    std::printf("%s: ok\n", o.file.c_str());
  }
  return kOk;
}

Result<ExitCode> setup_params(const ParamsOptions& o) {
  if (!o.insecure_dev) {
    return fail(
        ErrorCode::kInsecureKey,
        "params setup makes a key whose maker can forge proofs; it is for development only. "
        "Say --insecure-dev to make it all the same");
  }
  CUZK_TRY(const std::uint64_t bytes, filecoin::parse_sector_size(o.sector_size));
  CUZK_TRY(const filecoin::CircuitSpec spec, engine::find_circuit(o.kind, bytes));
  CUZK_TRY(auto session, Session::start(o.common, setup_stage_shares(), 1));
  engine::CircuitStore circuits(o.common.cache_directory());
  CUZK_TRY(const auto circuit, circuits.get(session->context(), spec));
  const engine::ParameterStore store(o.common.parameter_directory());
  const auto files = store.make_insecure_dev(session->context(), spec, *circuit, o.seed);
  CUZK_TRY_VOID(session->finish());
  if (!files) return fail(files.error());
  if (o.common.json) {
    std::printf("%s\n", nlohmann::json{{"params", files->params.string()},
                                       {"vk", files->vk.string()},
                                       {"insecure_dev", true},
                                       {"timing", session->timeline().key_values()}}
                            .dump(2)
                            .c_str());
  } else {
    std::printf("made INSECURE development key %s\n%s\n", files->params.c_str(),
                session->timeline().key_values().c_str());
  }
  return kOk;
}

}  // namespace

void add_params(CLI::App& app, Runner& run) {
  CLI::App* params =
      app.add_subcommand("params", "Parameter files: what there is, is it right, make one");
  params->require_subcommand(1);
  auto add = [&](const char* name, const char* help,
                 Result<ExitCode> (*action)(const ParamsOptions&)) {
    auto o = std::make_shared<ParamsOptions>();
    CLI::App* command = params->add_subcommand(name, help);
    o->common.add_output(*command);
    command->callback([o, &run, action] { run = [o, action] { return action(*o); }; });
    return std::make_pair(command, o);
  };
  auto [list, list_options] = add("list", "The published files, and which are here", list_params);
  list_options->common.add_parameters(*list);
  auto [info, info_options] = add("info", "What a .params or .vk file holds", params_info);
  info->add_option("file", info_options->file, "A .params or .vk file")->required();
  auto [check, check_options] =
      add("check", "Structure, forgeability and, for official names, the published digest",
          check_params);
  check->add_option("file", check_options->file, "A .params or .vk file")->required();
  check->add_flag("--full", check_options->full,
                  "Also decode every point and check curve and subgroup");
  check_options->common.add_resources(*check);
  auto [setup, setup_options] = add("setup", "Make a development key (insecure)", setup_params);
  setup->add_option("--sector-size", setup_options->sector_size, "E.g. 2KiB or 8MiB")->required();
  add_kind(*setup, setup_options->kind);
  setup->add_flag("--insecure-dev", setup_options->insecure_dev,
                  "I know that whoever makes this key can forge proofs under it");
  setup->add_option("--seed", setup_options->seed, "Reproducible toxic waste (for tests)");
  setup_options->common.add_parameters(*setup);
  setup_options->common.add_resources(*setup);
}

}  // namespace cuzk::cli
