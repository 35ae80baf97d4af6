#include "daemon/config_keys.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

#include "daemon/units.h"

namespace cuzk::daemon {

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

namespace {

Result<std::string> as_text(const ConfigValue& v, std::string_view key) {
  if (const auto* text = std::get_if<std::string>(&v.value)) return *text;
  return fail(ErrorCode::kInvalidArgument, "{}: a text in quotes is expected", key);
}

Result<std::int64_t> as_integer(const ConfigValue& v, std::string_view key, std::int64_t least,
                                std::int64_t most) {
  std::int64_t out = 0;
  bool good = false;
  if (const auto* number = std::get_if<std::int64_t>(&v.value)) {
    out = *number;
    good = true;
  } else if (const auto* text = std::get_if<std::string>(&v.value); text && v.from_text) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), out);
    good = error == std::errc() && end == text->data() + text->size() && !text->empty();
  }
  if (!good || out < least || out > most) {
    return fail(ErrorCode::kInvalidArgument, "{}: a whole number from {} to {} is expected", key,
                least, most);
  }
  return out;
}

Result<bool> as_bool(const ConfigValue& v, std::string_view key) {
  if (const auto* flag = std::get_if<bool>(&v.value)) return *flag;
  if (const auto* text = std::get_if<std::string>(&v.value); text && v.from_text) {
    if (*text == "true" || *text == "false") return *text == "true";
  }
  return fail(ErrorCode::kInvalidArgument, "{}: true or false is expected", key);
}

Result<std::vector<std::string>> as_list(const ConfigValue& v, std::string_view key) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&v.value)) return *list;
  const auto* text = std::get_if<std::string>(&v.value);
  if (!text || !v.from_text) {
    return fail(ErrorCode::kInvalidArgument, "{}: a list in brackets is expected", key);
  }
  std::vector<std::string> out;  // "a,b": how a list is written on a command line
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t comma = std::min(text->find(',', at), text->size());
    if (comma > at) out.push_back(text->substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

Result<std::size_t> as_size(const ConfigValue& v, std::string_view key) {
  if (const auto* number = std::get_if<std::int64_t>(&v.value)) {
    if (*number >= 0) return static_cast<std::size_t>(*number);
    return fail(ErrorCode::kInvalidArgument, "{}: a size cannot be negative", key);
  }
  CUZK_TRY(const std::string text, as_text(v, key));
  return parse_size(text, key);
}

ConfigKey text_key(std::string name, std::string Config::*field, std::string help) {
  return {name, std::move(help),
          [=](Config& c, const ConfigValue& v) -> Status {
            CUZK_TRY(c.*field, as_text(v, name));
            return {};
          },
          [=](const Config& c) { return toml_text(c.*field); }};
}

ConfigKey integer_key(std::string name, std::int64_t Config::*field, std::int64_t least,
                      std::int64_t most, std::string help) {
  return {name, std::move(help),
          [=](Config& c, const ConfigValue& v) -> Status {
            CUZK_TRY(c.*field, as_integer(v, name, least, most));
            return {};
          },
          [=](const Config& c) { return std::to_string(c.*field); }};
}

ConfigKey bool_key(std::string name, bool Config::*field, std::string help) {
  return {name, std::move(help),
          [=](Config& c, const ConfigValue& v) -> Status {
            CUZK_TRY(c.*field, as_bool(v, name));
            return {};
          },
          [=](const Config& c) { return std::string(c.*field ? "true" : "false"); }};
}

ConfigKey list_key(std::string name, std::vector<std::string> Config::*field, std::string help) {
  return {name, std::move(help),
          [=](Config& c, const ConfigValue& v) -> Status {
            CUZK_TRY(c.*field, as_list(v, name));
            return {};
          },
          [=](const Config& c) {
            std::string out;
            for (const std::string& item : c.*field)
              out += (out.empty() ? "" : ", ") + toml_text(item);
            return "[" + out + "]";
          }};
}

ConfigKey size_key(std::string name, std::size_t Config::*field, std::string help) {
  return {name, std::move(help),
          [=](Config& c, const ConfigValue& v) -> Status {
            CUZK_TRY(c.*field, as_size(v, name));
            return {};
          },
          [=](const Config& c) { return toml_text(format_size(c.*field)); }};
}

// A size, or "auto" for absent.
ConfigKey auto_size_key(std::string name, std::optional<std::size_t> Config::*field,
                        std::string help) {
  return {name, std::move(help),
          [=](Config& c, const ConfigValue& v) -> Status {
            if (const auto* text = std::get_if<std::string>(&v.value); text && *text == "auto") {
              (c.*field).reset();
              return {};
            }
            CUZK_TRY(c.*field, as_size(v, name));
            return {};
          },
          [=](const Config& c) { return toml_text(c.*field ? format_size(*(c.*field)) : "auto"); }};
}

ConfigKey duration_key(std::string name, std::int64_t Config::*field, std::string help) {
  return {name, std::move(help),
          [=](Config& c, const ConfigValue& v) -> Status {
            if (const auto* number = std::get_if<std::int64_t>(&v.value)) {
              CUZK_TRY(c.*field, parse_duration_ms(std::to_string(*number), name));
              return {};
            }
            CUZK_TRY(const std::string text, as_text(v, name));
            CUZK_TRY(c.*field, parse_duration_ms(text, name));
            return {};
          },
          [=](const Config& c) { return toml_text(format_duration(c.*field)); }};
}

ConfigKey role_key(std::string name, Role Config::*field, std::string help) {
  return {name, std::move(help),
          [=](Config& c, const ConfigValue& v) -> Status {
            CUZK_TRY(const std::string text, as_text(v, name));
            CUZK_TRY(c.*field, parse_role(text, name));
            return {};
          },
          [=](const Config& c) { return toml_text(role_name(c.*field)); }};
}

ConfigKey anonymous_role_key() {
  const std::string name = "auth.anonymous_role";
  return {name,
          "role of a TCP caller without token and certificate: auto, none, read, submit, admin. "
          "auto is none where tokens or a client CA are set, submit elsewhere",
          [=](Config& c, const ConfigValue& v) -> Status {
            CUZK_TRY(const std::string text, as_text(v, name));
            if (text == "auto") {
              c.anonymous_role.reset();
              return {};
            }
            CUZK_TRY(c.anonymous_role, parse_role(text, name));
            return {};
          },
          [](const Config& c) {
            return toml_text(c.anonymous_role ? role_name(*c.anonymous_role) : "auto");
          }};
}

ConfigKey level_key() {
  ConfigKey key = {"logging.level", "trace, debug, info, warn or error",
                   [](Config& c, const ConfigValue& v) -> Status {
                     CUZK_TRY(const std::string text, as_text(v, "logging.level"));
                     CUZK_TRY(c.log_level, parse_log_level(text, "logging.level"));
                     return {};
                   },
                   [](const Config& c) { return toml_text(log_level_name(c.log_level)); }};
  key.reloadable = true;
  return key;
}

ConfigKey without_effect(std::string name, std::string why) {
  return {std::move(name),
          "taken for compatibility, no effect",
          [](Config&, const ConfigValue&) -> Status { return {}; },
          [](const Config&) { return std::string(); },
          false,
          std::move(why)};
}

ConfigKey reloadable(ConfigKey key) {
  key.reloadable = true;
  return key;
}

constexpr std::int64_t kMany = 1'000'000'000;

void add_front_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(
      text_key("daemon.listen", &Config::listen, "gRPC: unix:///PATH, HOST:PORT or [IPV6]:PORT"));
  keys.push_back(text_key("daemon.status_listen", &Config::status_listen,
                          "HTTP status page and metrics: HOST:PORT; empty: none"));
  keys.push_back(text_key("daemon.status_cors", &Config::status_cors,
                          "origin whose pages may read the HTTP status, or *; empty: none (ours)"));
  keys.push_back(text_key("daemon.socket_mode", &Config::socket_mode,
                          "permissions of the unix socket, octal (ours)"));
  keys.push_back(size_key("daemon.max_message_size", &Config::max_message_bytes,
                          "largest gRPC message taken (ours)"));
  keys.push_back(reloadable(duration_key("daemon.drain_timeout", &Config::drain_timeout_ms,
                                         "how long SIGTERM waits for accepted jobs (ours)")));
  keys.push_back(text_key("tls.certificate", &Config::tls_certificate,
                          "PEM chain of the gRPC server; with tls.key turns TLS on (ours)"));
  keys.push_back(text_key("tls.key", &Config::tls_key, "PEM private key (ours)"));
  keys.push_back(text_key("tls.client_ca", &Config::tls_client_ca,
                          "PEM; clients must show a certificate that it signed (ours)"));
  keys.push_back(role_key("tls.client_role", &Config::tls_client_role,
                          "role of a caller with a client certificate and no token (ours)"));
  keys.push_back(reloadable(text_key(
      "auth.tokens_file", &Config::tokens_file,
      "lines of NAME ROLE TOKEN, TOKEN as it is or as sha256:HEX; readable by the owner only "
      "(ours)")));
  keys.push_back(reloadable(role_key("auth.unix_role", &Config::unix_role,
                                     "role of a caller on the unix socket without token (ours)")));
  keys.push_back(reloadable(anonymous_role_key()));
  keys.push_back(level_key());
  keys.push_back(text_key("logging.format", &Config::log_format, "text or json"));
}

void add_engine_keys(std::vector<ConfigKey>& keys) {
  keys.push_back(auto_size_key("memory.total_budget", &Config::total_budget_bytes,
                               "host memory: a size, or auto for what machine and cgroup allow"));
  keys.push_back(auto_size_key("memory.safety_margin", &Config::safety_margin_bytes,
                               "kept free when total_budget is auto; auto: one sixteenth"));
  keys.push_back(
      size_key("memory.pinned", &Config::pinned_bytes, "pinned memory; 0: not limited (ours)"));
  keys.push_back(integer_key("memory.critical_reserve_percent", &Config::critical_reserve_percent,
                             0, 90, "kept free of everything but CRITICAL work (ours)"));
  keys.push_back(list_key("gpus.devices", &Config::gpu_devices,
                          "ordinals, e.g. 0; empty: every GPU that passes its self-test; only "
                          "none: no GPU"));
  keys.push_back(integer_key("gpus.gpu_threads", &Config::gpu_threads, 0, 4096,
                             "CPU threads of GPU proving; 0: as synthesis.threads"));
  keys.push_back(integer_key("gpus.gpu_workers_per_device", &Config::gpu_workers_per_device, 1, 64,
                             "partitions started on a GPU at once"));
  keys.push_back(auto_size_key("gpus.vram_budget", &Config::vram_budget_bytes,
                               "memory of each GPU that is used: a size, or auto for what is free "
                               "there at start (ours)"));
  keys.push_back(auto_size_key("gpus.vram_critical_reserve", &Config::vram_critical_reserve_bytes,
                               "of these, for CRITICAL proofs alone: a size, 0 for none, or auto "
                               "for a sixteenth, at most 1 GiB (ours)"));
  keys.push_back(bool_key("gpus.multiples", &Config::gpu_multiples,
                          "where a GPU has room, multiples of a key's h beside it: quicker proofs, "
                          "slower loading (ours)"));
  keys.push_back(
      text_key("cpu.use", &Config::cpu_use,
               "auto: the CPU proves where there is no GPU, and what no GPU can; always: "
               "beside the GPUs; never (ours)"));
  keys.push_back(integer_key("cpu.workers", &Config::cpu_workers, 1, 64,
                             "partitions proved on the CPU at once (ours)"));
  keys.push_back(integer_key("devices.quarantine_after", &Config::quarantine_after, 1, kMany,
                             "wrong proofs or faults after which a device gets no work (ours)"));
  keys.push_back(integer_key("synthesis.threads", &Config::threads, 0, 4096,
                             "threads of one synthesis or CPU proof; 0: every CPU"));
  keys.push_back(integer_key("pipeline.synthesis_lookahead", &Config::synthesis_lookahead, 0, 1024,
                             "partitions that may wait synthesized"));
  keys.push_back(integer_key("pipeline.synthesis_concurrency", &Config::synthesis_workers, 1, 256,
                             "partitions synthesized at once"));
  keys.push_back(integer_key("pipeline.finish_workers", &Config::finish_workers, 1, 256,
                             "partitions assembled and verified at once (ours)"));
  keys.push_back(text_key("srs.param_cache", &Config::parameter_directory,
                          "folder of .params and .vk; empty: $FIL_PROOFS_PARAMETER_CACHE, else "
                          "/var/tmp/filecoin-proof-parameters"));
  keys.push_back(text_key("srs.circuit_cache", &Config::circuit_directory,
                          "folder of compiled circuits; empty: ~/.cache/cuzk/circuits (ours)"));
  keys.push_back(list_key("srs.preload", &Config::preload,
                          "circuit ids loaded at start and kept, e.g. porep-32g"));
  keys.push_back(bool_key("srs.verify", &Config::verify_parameters,
                          "compare parameter files with their published digests (ours)"));
  keys.push_back(bool_key("srs.insecure_dev", &Config::insecure_dev,
                          "take locally made keys, with which anyone can forge proofs (ours)"));
  keys.push_back(bool_key("srs.make_dev_keys", &Config::make_dev_keys,
                          "with insecure_dev: make such a key where one is missing (ours)"));
  keys.push_back(text_key("circom.directory", &Config::circom_directory,
                          "where circom keys are found by name, ID.zkey, and may be registered "
                          "from; empty: nowhere (ours)"));
  keys.push_back(bool_key("circom.journal_witness", &Config::circom_journal_witness,
                          "keep the witnesses of unfinished circom jobs in the journal; otherwise "
                          "such a job is answered as failed after a crash (ours)"));
  keys.push_back(
      text_key("jobs.journal", &Config::journal, "file of the job journal; auto or none (ours)"));
  keys.push_back(
      duration_key("jobs.result_ttl", &Config::result_ttl_ms, "how long answers are kept (ours)"));
  keys.push_back(
      integer_key("jobs.max_results", &Config::max_results, 1, kMany, "answers kept (ours)"));
  keys.push_back(integer_key("jobs.max_queued", &Config::max_queued, 1, kMany,
                             "jobs accepted and not answered (ours)"));
  keys.push_back(size_key("jobs.max_queued_bytes", &Config::max_queued_bytes,
                          "payloads held in memory (ours)"));
  keys.push_back(integer_key("jobs.max_per_client", &Config::max_per_client, 0, kMany,
                             "unfinished jobs of one client; 0: not limited (ours)"));
  keys.push_back(bool_key("jobs.cancel_on_disconnect", &Config::cancel_on_disconnect,
                          "cancel a job whose Prove call ended early (ours)"));
}

void add_keys_without_effect(std::vector<ConfigKey>& keys) {
  const std::pair<const char*, const char*> old[] = {
      {"memory.pinned_budget", "it is deprecated; memory.pinned limits pinned memory"},
      {"memory.working_memory_budget", "it is deprecated; memory.total_budget is the one budget"},
      {"memory.eviction_min_idle",
       "keys in use are never evicted, and the least recently used one goes first under pressure"},
      {"synthesis.partition_workers", "it is deprecated; pipeline.synthesis_concurrency says it"},
      {"scheduler.max_batch_size", "partitions of all jobs mix, there are no batches"},
      {"scheduler.max_batch_wait_ms", "partitions of all jobs mix, there are no batches"},
      {"scheduler.sort_by_type", "work is ordered by priority, deadline and circuit"},
      {"pipeline.enabled", "there is no other mode than the pipeline"},
      {"pipeline.max_parallel_synthesis",
       "pipeline.synthesis_concurrency and the memory budget bound synthesis"},
      {"pipeline.slot_size", "every partition is a slot of its own"},
      {"pipeline.max_gpu_queue_depth", "pipeline.synthesis_lookahead bounds that queue"},
  };
  for (const auto& [name, why] : old) keys.push_back(without_effect(name, why));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const std::vector<ConfigKey> keys = [] {
    std::vector<ConfigKey> out;
    add_front_keys(out);
    add_engine_keys(out);
    add_keys_without_effect(out);
    std::stable_sort(out.begin(), out.end(), [](const ConfigKey& a, const ConfigKey& b) {
      return a.name.substr(0, a.name.find('.')) < b.name.substr(0, b.name.find('.'));
    });
    return out;
  }();
  return keys;
}

const ConfigKey* find_config_key(std::string_view name) {
  for (const ConfigKey& key : config_keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

std::string nearest_config_key(std::string_view name) {
  const std::string_view leaf = name.substr(name.rfind('.') + 1);
  std::string nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const ConfigKey& key : config_keys()) {
    const std::string_view key_leaf = std::string_view(key.name).substr(key.name.rfind('.') + 1);
    // The right name in the wrong section is as near as one wrong letter.
    const std::size_t distance = key_leaf == leaf ? std::size_t{1} : edit_distance(name, key.name);
    if (distance < least) {
      least = distance;
      nearest = key.name;
    }
  }
  return least <= 1 + name.size() / 4 ? nearest : "";
}

std::string nearest_config_table(std::string_view name) {
  if (std::string key = nearest_config_key(name); !key.empty()) return key;
  std::string nearest;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const ConfigKey& key : config_keys()) {
    const std::string table = key.name.substr(0, key.name.rfind('.'));
    const std::size_t distance = edit_distance(name, table);
    if (distance < least) least = distance, nearest = table;
  }
  if (least <= 1 + name.size() / 4) return nearest;
  // A key of the table above that contains the name.
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return "";
  for (const ConfigKey& key : config_keys()) {
    const std::string_view known = key.name;
    if (known.starts_with(name.substr(0, dot + 1)) &&
        known.substr(dot + 1).find(name.substr(dot + 1)) != std::string_view::npos) {
      return key.name;
    }
  }
  return "";
}

}  // namespace cuzk::daemon
