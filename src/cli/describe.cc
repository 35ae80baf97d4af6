#include "cli/describe.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/service.h"
#include "filecoin/post_shapes.h"
#include "filecoin/shapes.h"
#include "filecoin/update_shapes.h"
#ifdef CUZK_DAEMON
#include "daemon/config_keys.h"
#endif

namespace cuzk::cli {

namespace {

using nlohmann::json;

// "TEXT:{a,b}": the parser keeps the words of a choice in the type's text alone.
json choices_of(const std::string& type) {
  json out = json::array();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return out;
  std::size_t at = open + 1;
  while (at < close) {
    const std::size_t comma = std::min(type.find(',', at), close);
    out.push_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

json describe_option(const CLI::Option& option) {
  json names = json::array();
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  const bool positional = option.get_positional();
  if (positional && names.empty()) names.push_back(option.get_name(true));
  const std::string type = option.get_type_name();
  return {{"names", names},
          {"positional", positional},
          {"description", option.get_description()},
          {"takes_value", option.get_items_expected_max() > 0},
          {"repeats", option.get_items_expected_max() > 1},
          {"required", option.get_required()},
          {"type", type.substr(0, type.find(':'))},
          {"default", option.get_default_str()},
          {"choices", choices_of(type)}};
}

json describe_command(const CLI::App& app) {
  json options = json::array();
  // An empty group hides an option from --help, and from here.
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) options.push_back(describe_option(*option));
  }
  json commands = json::array();
  for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!child->get_group().empty()) commands.push_back(describe_command(*child));
  }
  // A command without a footer of its own has its parent's.
  const bool inherited = app.get_parent() && app.get_parent()->get_footer() == app.get_footer();
  return {{"name", app.get_name()},
          {"description", app.get_description()},
          {"footer", inherited ? std::string() : app.get_footer()},
          {"needs_command", app.get_require_subcommand_min() > 0},
          {"options", options},
          {"commands", commands}};
}

json known_values() {
  json sizes = json::array();
  for (const std::uint64_t bytes : filecoin::sector_sizes()) {
    sizes.push_back(filecoin::sector_size_name(bytes));
  }
  json seal = json::array();
  for (const auto& proof : filecoin::all_seal_proofs()) seal.push_back(proof.name);
  json post = json::array();
  for (const auto& proof : filecoin::all_post_proofs()) post.push_back(proof.name);
  json update = json::array();
  for (const std::uint64_t bytes : filecoin::update_sector_sizes()) {
    if (const auto shape = filecoin::update_shape(bytes)) {
      update.push_back(filecoin::update_proof_of(*shape).name);
    }
  }
  return {{"circuit", engine::circuit_ids()},
          {"sector_size", sizes},
          {"seal_proof", seal},
          {"post_proof", post},
          {"update_proof", update}};
}

json describe_config_keys() {
  json out = json::array();
#ifdef CUZK_DAEMON
  const daemon::Config defaults;
  for (const daemon::ConfigKey& key : daemon::config_keys()) {
    out.push_back({{"name", key.name},
                   {"help", key.help},
                   {"default", key.show(defaults)},
                   {"reloadable", key.reloadable},
                   {"no_effect", key.no_effect}});
  }
#endif
  return out;
}

}  // namespace

bool describe_if_asked(const CLI::App& app, int argc, const char* const* argv) {
  if (argc != 2 || std::string_view(argv[1]) != "--describe") return false;
  std::string program = argv[0];
  program.erase(0, program.rfind('/') + 1);
  const json out = {{"program", program},
                    {"version", CUZK_VERSION},
                    {"command", describe_command(app)},
                    {"values", known_values()},
                    {"config_keys", describe_config_keys()}};
  std::printf("%s\n", out.dump(1).c_str());
  return true;
}

}  // namespace cuzk::cli
