#include "cli/bench_target.h"

#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "daemon/config.h"
#include "daemon/daemon.h"

namespace cuzk::cli {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxTokenFileBytes = 4096;
constexpr const char* kUsualPlaces[] = {"http://127.0.0.1:9820", "unix:///run/cuzk/cuzk.sock",
                                        "unix:///run/curio/cuzk.sock"};

std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
template <class T>
T number_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<T>() : T{};
}

// The documents come from outside: what is missing or of another type is left at its default.
bench::Snapshot snapshot_of_status(const json& status) {
  bench::Snapshot out;
  out.version = text_at(status, "version");
  out.now_us = number_at<std::int64_t>(status, "uptime_us");
  const json memory = status.value("memory", json::object());
  out.memory.limit_bytes = number_at<std::size_t>(memory, "total_bytes");
  out.memory.leased_bytes = number_at<std::size_t>(memory, "leased_bytes");
  out.memory.reserved_bytes = number_at<std::size_t>(memory, "reserved_bytes");
  out.memory.peak_reserved_bytes = number_at<std::size_t>(memory, "peak_reserved_bytes");
  const json process = status.value("process", json::object());
  out.resident_bytes = number_at<std::size_t>(process, "resident_bytes");
  out.peak_resident_bytes = number_at<std::size_t>(process, "peak_resident_bytes");
  for (const json& d : status.value("devices", json::array())) {
    engine::DeviceStatus device;
    device.name = text_at(d, "name");
    device.fallback = d.value("fallback", false);
    device.quarantined = d.value("quarantined", false);
    device.workers = number_at<unsigned>(d, "workers");
    device.proofs = number_at<std::uint64_t>(d, "proofs");
    device.busy_us = static_cast<std::int64_t>(number_at<double>(d, "busy_secs") * 1e6);
    out.devices.push_back(std::move(device));
  }
  for (const json& w : status.value("workers", json::array())) {
    out.synthesis_workers += text_at(w, "stage") == "synthesis" ? 1 : 0;
  }
  if (out.synthesis_workers > 0) --out.synthesis_workers;  // one stands by for CRITICAL work
  return out;
}

void add_spans(bench::Snapshot& out, const json& document) {
  for (const json& s : document.value("spans", json::array())) {
    engine::SpanEvent span;
    span.sequence = number_at<std::uint64_t>(s, "sequence");
    span.lane = text_at(s, "lane");
    span.name = text_at(s, "name");
    span.job_id = text_at(s, "job_id");
    span.partition = number_at<std::size_t>(s, "partition");
    span.start_us = number_at<std::int64_t>(s, "start_us");
    span.end_us = number_at<std::int64_t>(s, "end_us");
    out.spans.spans.push_back(std::move(span));
  }
  out.spans.last = number_at<std::uint64_t>(document, "last");
}

class RemoteTarget final : public bench::Target {
 public:
  explicit RemoteTarget(std::unique_ptr<daemon::Client> client) : client_(std::move(client)) {}

  std::string name() const override { return client_->address(); }
  void prove(engine::ProofRequest request,
             std::function<void(Result<engine::Answer>)> callback) override {
    client_->prove(request, std::move(callback));
  }
  Result<bool> cancel(const std::string& job_id) override { return client_->cancel(job_id); }
  Result<bench::Snapshot> snapshot(std::optional<std::uint64_t> spans_after) override {
    CUZK_TRY(const auto texts, client_->snapshot(spans_after));
    try {
      bench::Snapshot out = snapshot_of_status(json::parse(texts.status_json));
      if (spans_after) add_spans(out, json::parse(texts.spans_json));
      return out;
    } catch (const json::exception& e) {
      return fail(ErrorCode::kCorruptInput, "{}: its status is not what was expected: {}", name(),
                  e.what());
    }
  }
  Status preload(const std::string& circuit_id) override {
    const auto loaded = client_->preload(circuit_id);
    if (!loaded) return fail(loaded.error());
    return {};
  }

 private:
  const std::unique_ptr<daemon::Client> client_;
};

Result<std::vector<daemon::Override>> overrides_of(const LocalService& local) {
  std::vector<daemon::Override> out = {{"jobs.journal", "none", "cuzk-bench"}};
  const auto add = [&](const char* key, const std::string& value, const char* flag) {
    if (!value.empty()) out.push_back({key, value, flag});
  };
  const auto add_number = [&](const char* key, const std::optional<unsigned>& n, const char* flag) {
    if (n) out.push_back({key, std::to_string(*n), flag});
  };
  for (const std::string& setting : local.settings) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail(ErrorCode::kInvalidArgument, "--set: '{}' is not KEY=VALUE", setting);
    }
    out.push_back({setting.substr(0, equals), setting.substr(equals + 1), "--set"});
  }
  add("memory.total_budget", local.memory, "--memory");
  add("srs.param_cache", local.params_dir, "--params");
  add("srs.circuit_cache", local.cache_dir, "--cache-dir");
  add_number("synthesis.threads", local.threads, "--threads");
  add_number("cpu.workers", local.workers, "--workers");
  add_number("gpus.gpu_workers_per_device", local.workers, "--workers");
  add_number("pipeline.synthesis_concurrency", local.synthesis_workers, "--synthesis-workers");
  add_number("pipeline.synthesis_lookahead", local.lookahead, "--lookahead");
  if (local.insecure_dev) {
    out.push_back({"srs.insecure_dev", "true", "--insecure-dev"});
    out.push_back({"srs.make_dev_keys", "true", "--insecure-dev"});
  }
  return out;
}

}  // namespace

void DaemonAddress::add(CLI::App& app) {
  app.add_option("-a,--addr", address,
                 "Daemon: unix:///PATH, http://HOST:PORT, or https:// with TLS (default: "
                 "http://127.0.0.1:9820, else the socket in /run/cuzk or /run/curio)")
      ->envname("CUZK_ADDR");
  app.add_option("--token", token, "Bearer token")->envname("CUZK_TOKEN");
  app.add_option("--token-file", token_file, "File whose first line is the token");
  app.add_option("--tls-ca", tls_ca, "PEM file of the CA that signed the daemon's certificate");
  app.add_option("--tls-certificate", tls_certificate, "PEM client certificate");
  app.add_option("--tls-key", tls_key, "PEM key of the client certificate");
  app.add_option("--tls-server-name", tls_server_name,
                 "Name in the daemon's certificate, when it is not the address");
  app.add_option("--log-level", log_level, "trace, debug, info, warn or error; info shows progress")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error"}))
      ->capture_default_str();
}

Result<std::unique_ptr<daemon::Client>> connect(const DaemonAddress& address) {
  daemon::ClientOptions options;
  options.token = address.token;
  if (!address.token_file.empty()) {
    CUZK_TRY(const auto bytes, read_file(address.token_file, kMaxTokenFileBytes));
    const std::string text(bytes.begin(), bytes.end());
    options.token = text.substr(0, text.find_first_of("\r\n"));
  }
  options.tls_ca = address.tls_ca;
  options.tls_certificate = address.tls_certificate;
  options.tls_key = address.tls_key;
  options.tls_server_name = address.tls_server_name;
  if (!address.address.empty()) {
    options.address = address.address;
    return daemon::Client::connect(options);
  }
  std::string tried;
  for (const char* place : kUsualPlaces) {
    const std::string_view path = std::string_view(place).substr(7);
    std::error_code error;
    if (std::string_view(place).starts_with("unix://") && !std::filesystem::exists(path, error)) {
      continue;
    }
    options.address = place;
    auto client = daemon::Client::connect(options);
    if (client || client.error().code != ErrorCode::kIo) return client;
    tried += (tried.empty() ? "" : "; ") + client.error().message;
  }
  return fail(ErrorCode::kIo, "{} (--addr names another place, --local needs no daemon)", tried);
}

void LocalService::add(CLI::App& app) {
  app.add_flag("--local,--embedded", is_local, "Prove in this process, without a daemon");
  const std::string group = "With --local";
  app.add_option("--config", config_file, "Configuration file of the daemon")->group(group);
  app.add_option("--set", settings, "KEY=VALUE of that configuration, may be repeated")
      ->group(group);
  app.add_option("--memory", memory, "Memory budget, e.g. 6GiB")->group(group);
  app.add_option("--threads", threads, "Threads of one synthesis or CPU proof")->group(group);
  app.add_option("--workers", workers, "Partitions at once on each device")->group(group);
  app.add_option("--synthesis-workers", synthesis_workers, "Partitions synthesized at once")
      ->group(group);
  app.add_option("--lookahead", lookahead, "Partitions that may wait synthesized")->group(group);
  app.add_option("--cache-dir", cache_dir, "Where compiled circuits are kept")->group(group);
  const std::string keys = "Keys, of --local and --verify";
  app.add_option("--params", params_dir, "Directory of parameter files")->group(keys);
  app.add_flag("--insecure-dev", insecure_dev,
               "Allow locally made keys; with --local, make the missing ones")
      ->group(keys);
}

std::filesystem::path LocalService::parameter_directory() const {
  return params_dir.empty() ? engine::ParameterStore::default_directory()
                            : std::filesystem::path(params_dir);
}

engine::KeyPolicy LocalService::key_policy() const {
  return insecure_dev ? engine::KeyPolicy::kAllowInsecureDev : engine::KeyPolicy::kCeremonyOnly;
}

Result<std::unique_ptr<bench::Target>> open_local(const LocalService& local) {
  CUZK_TRY(const auto overrides, overrides_of(local));
  std::optional<std::filesystem::path> file;
  if (!local.config_file.empty()) file = local.config_file;
  CUZK_TRY(const daemon::LoadedConfig loaded, daemon::load_config(file, overrides));
  CUZK_TRY(engine::ServiceOptions options, daemon::service_options(loaded.config));
  CUZK_TRY(auto service, engine::Service::start(std::move(options)));
  return bench::make_local_target(std::move(service), CUZK_VERSION);
}

Result<std::unique_ptr<bench::Target>> open_target(const DaemonAddress& address,
                                                   const LocalService& local) {
  if (local.is_local) return open_local(local);
  CUZK_TRY(auto client, connect(address));
  return std::unique_ptr<bench::Target>(std::make_unique<RemoteTarget>(std::move(client)));
}

}  // namespace cuzk::cli
