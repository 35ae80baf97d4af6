#include "daemon/daemon.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>

#include "base/memory.h"
#include "daemon/access.h"
#include "daemon/address.h"
#include "daemon/device_config.h"
#include "daemon/grpc_log.h"
#include "daemon/grpc_server.h"
#include "daemon/http_server.h"
#include "daemon/job_log.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/units.h"

namespace cuzk::daemon {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kTick = 200ms;
constexpr auto kStatusEvery = 10s;
constexpr auto kReplyGrace = 3s;  // for answers that are on their way when the server ends

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

// Every thread made from now on leaves them to the loop below.
void take_signals() {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

// 0 when none came within the time.
int next_signal(std::chrono::milliseconds wait) {
  const sigset_t set = handled_signals();
  const timespec time{wait.count() / 1000, (wait.count() % 1000) * 1'000'000};
  const int signal = ::sigtimedwait(&set, nullptr, &time);
  return signal > 0 ? signal : 0;
}

// Thousands of connections may idle.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

std::size_t budget_bytes(const Config& config) {
  if (config.total_budget_bytes) return *config.total_budget_bytes;
  const std::size_t detected = MemoryBudget::detect_limit_bytes();
  if (!config.safety_margin_bytes) return detected;
  // The detected limit is short of what there is by a sixteenth; the margin stands in its place.
  const std::size_t whole = detected / 15 * 16;
  return whole - std::min(whole / 2, *config.safety_margin_bytes);
}

class Daemon {
 public:
  explicit Daemon(DaemonOptions options)
      : options_(std::move(options)), log_(config().log_level, config().log_format == "json") {}

  Status start();
  DaemonEnd loop();

 private:
  const Config& config() const { return options_.loaded.config; }
  Status start_fronts();
  void warn_about_config();
  void tick();
  void reload();
  void take_over(LoadedConfig next);
  void take_over_circuits(const Config& next);
  void begin_drain(int signal);
  DaemonEnd stop();
  std::string status_line() const;

  DaemonOptions options_;
  Log log_;
  GrpcLog grpc_log_{log_};
  std::optional<AccessControl> access_;
  std::unique_ptr<engine::Service> service_;
  std::unique_ptr<JobLog> job_log_;
  std::unique_ptr<GrpcServer> grpc_;
  std::unique_ptr<HttpServer> http_;

  bool serving_ = false;
  Clock::time_point next_status_{};
  Clock::time_point next_ping_{};
  std::atomic<bool> drained_{false};
  std::optional<bool> drain_complete_;
  std::jthread drain_;     // last: they use the service
  std::jthread circuits_;  // registers what a reload brought
};

void Daemon::warn_about_config() {
  for (const std::string& note : options_.notes) log_.info(note);
  for (const std::string& warning : options_.loaded.warnings) {
    log_.warn("config", {{"warning", warning}});
  }
  const auto listen = parse_address(config().listen, "daemon.listen");
  if (!listen->is_local() && config().tls_certificate.empty()) {
    log_.warn("gRPC is reachable from other machines without TLS",
              {{"listen", config().listen},
               {"anonymous_role", role_name(config().effective_anonymous_role())}});
  }
  if (config().insecure_dev) {
    log_.warn("locally made keys are taken: anyone can forge proofs that verify under them");
  }
}

Status Daemon::start() {
  take_signals();
  raise_file_limit();
  log_.info("cuzk starts", {{"version", options_.version},
                            {"pid", static_cast<std::int64_t>(::getpid())},
                            {"memory_budget", format_size(budget_bytes(config()))}});
  warn_about_config();
  CUZK_TRY(Access access, Access::load(config()));
  access_.emplace(std::move(access));
  std::vector<std::string> devices;
  CUZK_TRY(engine::ServiceOptions service, service_options(config(), &devices));
  for (const std::string& note : devices) log_.info("device", {{"note", note}});
  service.on_partition_timing = [this](const groth16::PartitionTiming& t) { log_.info(t.line()); };
  CUZK_TRY(service_, engine::Service::start(std::move(service)));
  job_log_ = std::make_unique<JobLog>(*service_, log_);
  for (const engine::Problem& p : service_->problems()) {
    log_.warn("problem", {{"subject", p.subject}, {"message", p.message}});
  }
  return start_fronts();
}

Status Daemon::start_fronts() {
  if (!config().status_listen.empty()) {
    HttpOptions http;
    CUZK_TRY(http.listen, parse_address(config().status_listen, "daemon.status_listen"));
    http.cors_origin = config().status_cors;
    http.version = options_.version;
    CUZK_TRY(http_, HttpServer::start(*service_, log_, http));
    log_.info("listening for HTTP", {{"address", http_->address().text()}});
  }
  GrpcOptions grpc;
  CUZK_TRY(grpc.listen, parse_address(config().listen, "daemon.listen"));
  grpc.socket_mode = static_cast<unsigned>(std::stoul(config().socket_mode, nullptr, 8));
  grpc.max_message_bytes = config().max_message_bytes;
  grpc.tls_certificate = config().tls_certificate;
  grpc.tls_key = config().tls_key;
  grpc.tls_client_ca = config().tls_client_ca;
  grpc.cancel_on_disconnect = config().cancel_on_disconnect;
  grpc.version = options_.version;
  CUZK_TRY(grpc_, GrpcServer::start(*service_, *access_, log_, grpc));
  grpc_->set_serving(false);  // until tick() has seen it ready
  log_.info("listening for gRPC", {{"address", grpc_->address().text()},
                                   {"tls", !config().tls_certificate.empty()},
                                   {"tokens", access_->current()->tokens()}});
  return {};
}

std::string Daemon::status_line() const {
  const engine::ServiceStatus s = service_->status();
  return fmt::format("{}: {} unfinished, {} completed, {} failed",
                     s.draining ? "draining" : (s.ready ? "ready" : "not ready"), s.jobs.size(),
                     s.completed, s.failed);
}

// What is due between signals.
void Daemon::tick() {
  const Clock::time_point now = Clock::now();
  const bool ready = service_->ready();
  if (ready != serving_) {
    serving_ = ready;
    grpc_->set_serving(ready);
    log_.info(ready ? "ready" : "not ready");
  }
  // The ping is sent after the service has answered: a service that hangs is not pinged for.
  if (const auto interval = watchdog_interval(); interval && now >= next_ping_) {
    notify("WATCHDOG=1");
    next_ping_ = now + *interval / 3;
  }
  if (now >= next_status_) {
    const std::string line = status_line();
    notify("STATUS=" + line);
    if (drain_.joinable()) log_.info("draining", {{"status", line}});
    next_status_ = now + kStatusEvery;
  }
}

DaemonEnd Daemon::loop() {
  notify("READY=1");
  while (true) {
    const int signal = next_signal(kTick);
    if (signal == SIGHUP) {
      reload();
    } else if (signal != 0 && drain_.joinable()) {
      log_.warn("second signal: ends at once");
      return stop();
    } else if (signal != 0) {
      begin_drain(signal);
    }
    tick();
    if (drained_) return stop();
  }
}

void Daemon::begin_drain(int signal) {
  log_.info("drains", {{"signal", signal == SIGTERM ? "SIGTERM" : "SIGINT"},
                       {"limit", format_duration(config().drain_timeout_ms)},
                       {"unfinished", service_->status().jobs.size()}});
  notify("STOPPING=1");
  const auto deadline = Clock::now() + std::chrono::milliseconds(config().drain_timeout_ms);
  drain_ = std::jthread([this, deadline] {
    drain_complete_ = service_->drain(deadline);
    drained_ = true;
  });
}

DaemonEnd Daemon::stop() {
  grpc_->set_serving(false);
  const std::size_t unfinished = service_->status().jobs.size();
  service_->stop_now();
  drain_.join();
  grpc_->shutdown(kReplyGrace);
  http_.reset();
  job_log_.reset();
  const bool complete = drain_complete_.value_or(false) && unfinished == 0;
  log_.info("ends", {{"unfinished", complete ? std::size_t{0} : unfinished}});
  return complete ? DaemonEnd::kDrained : DaemonEnd::kUnfinished;
}

void Daemon::reload() {
  notify("RELOADING=1\n" + monotonic_field());
  log_.info("reloads");
  if (auto next = options_.reload()) {
    take_over(std::move(*next));
  } else {
    log_.error("reload failed, everything stays as it was", {{"reason", next.error().message}});
  }
  notify("READY=1");
}

// Those that are gone go; those that are new or another are loaded and checked beside the work. One
// that is wrong changes nothing: the key that its id named stays.
void Daemon::take_over_circuits(const Config& next) {
  const auto& before = config().circom_circuits;
  std::vector<engine::CircomCircuitOptions> todo;
  for (const auto& [id, circuit] : before) {
    if (!next.circom_circuits.contains(id)) service_->unregister_circom(id);
  }
  for (const auto& [id, circuit] : next.circom_circuits) {
    const auto known = before.find(id);
    if (known == before.end() || known->second != circuit) todo.push_back(circuit);
  }
  if (todo.empty()) return;
  circuits_ = std::jthread([this, todo](const std::stop_token& stop) {
    for (const engine::CircomCircuitOptions& circuit : todo) {
      if (stop.stop_requested()) return;
      const auto registered = service_->register_circom(circuit, stop);
      if (registered) {
        log_.info("circuit registered",
                  {{"circuit", circuit.id}, {"digest", registered->key_digest}});
      } else {
        log_.error("circuit refused",
                   {{"circuit", circuit.id}, {"reason", registered.error().message}});
      }
    }
  });
}

void Daemon::take_over(LoadedConfig next) {
  for (const std::string& warning : next.warnings) log_.warn("config", {{"warning", warning}});
  auto access = Access::load(next.config);
  if (!access) {
    log_.error("reload failed, everything stays as it was", {{"reason", access.error().message}});
    return;
  }
  for (const ConfigChange& change : config_changes(config(), next.config)) {
    const std::vector<LogField> fields = {
        {"key", change.key}, {"before", change.before}, {"after", change.after}};
    if (change.reloadable) {
      log_.info("changed", fields);
    } else {
      log_.warn("changed, but needs a restart", fields);
    }
  }
  if (const auto tls = grpc_->reload_tls(); !tls) {
    log_.error("the certificates stay as they were", {{"reason", tls.error().message}});
  } else if (*tls) {
    log_.info("certificates changed", {{"certificate", config().tls_certificate}});
  }
  take_over_circuits(next.config);
  access_->replace(std::move(*access));
  log_.set_level(next.config.log_level);
  Config& now = options_.loaded.config;
  now.log_level = next.config.log_level;
  now.drain_timeout_ms = next.config.drain_timeout_ms;
  now.tokens_file = next.config.tokens_file;
  now.unix_role = next.config.unix_role;
  now.anonymous_role = next.config.anonymous_role;
  now.circom_circuits = std::move(next.config.circom_circuits);
  log_.info("reloaded", {{"tokens", access_->current()->tokens()}});
}

}  // namespace

Result<engine::ServiceOptions> service_options(const Config& config,
                                               std::vector<std::string>* notes) {
  engine::ServiceOptions out;
  std::vector<std::string> own_notes;
  CUZK_TRY(out.devices, open_devices(config, notes ? *notes : own_notes));
  if (!config.parameter_directory.empty()) out.parameter_directory = config.parameter_directory;
  if (!config.circuit_directory.empty()) out.circuit_directory = config.circuit_directory;
  out.journal = config.journal_file();
  if (config.insecure_dev) out.keys.policy = engine::KeyPolicy::kAllowInsecureDev;
  out.keys.make_missing_dev_key = config.make_dev_keys;
  out.memory_bytes = budget_bytes(config);
  out.pinned_bytes = config.pinned_bytes;
  out.critical_reserve_percent = static_cast<unsigned>(config.critical_reserve_percent);
  out.threads = static_cast<int>(config.threads);
  out.synthesis_workers = static_cast<unsigned>(config.synthesis_workers);
  out.synthesis_lookahead = static_cast<unsigned>(config.synthesis_lookahead);
  out.finish_workers = static_cast<unsigned>(config.finish_workers);
  out.quarantine_after = static_cast<unsigned>(config.quarantine_after);
  out.max_queued_jobs = static_cast<std::size_t>(config.max_queued);
  out.max_queued_bytes = config.max_queued_bytes;
  out.max_jobs_per_client = static_cast<std::size_t>(config.max_per_client);
  out.result_ttl_ms = config.result_ttl_ms;
  out.max_results = static_cast<std::size_t>(config.max_results);
  out.preload = config.preload;
  out.circom.directory = config.circom_directory;
  out.circom.journal_witness = config.circom_journal_witness;
  for (const auto& [id, circuit] : config.circom_circuits) out.circom.circuits.push_back(circuit);
  out.verify_parameters = config.verify_parameters;
  return out;
}

Result<DaemonEnd> run_daemon(DaemonOptions options) {
  Daemon daemon(std::move(options));
  CUZK_TRY_VOID(daemon.start());
  return daemon.loop();
}

}  // namespace cuzk::daemon
