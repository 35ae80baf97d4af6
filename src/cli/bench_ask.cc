#include "cli/bench_ask.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace cuzk::cli {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMiB = 1 << 20;

json status_json(const daemon::WireStatus& s) {
  json out = {{"uptime_seconds", s.uptime_seconds},
              {"proofs_completed", s.completed},
              {"proofs_failed", s.failed},
              {"pinned_bytes", s.pinned_bytes},
              {"pinned_limit_bytes", s.pinned_limit_bytes},
              {"gpus", json::array()},
              {"circuits", json::array()},
              {"queues", json::array()}};
  for (const auto& g : s.gpus) {
    out["gpus"].push_back({{"ordinal", g.ordinal},
                           {"name", g.name},
                           {"vram_total_bytes", g.vram_total_bytes},
                           {"vram_free_bytes", g.vram_free_bytes},
                           {"job_id", g.job_id},
                           {"proof_kind", g.proof_kind}});
  }
  for (const auto& c : s.circuits) {
    out["circuits"].push_back(
        {{"circuit_id", c.circuit_id}, {"tier", c.tier}, {"bytes", c.bytes}, {"uses", c.uses}});
  }
  for (const auto& q : s.queues) {
    out["queues"].push_back(
        {{"proof_kind", q.proof_kind}, {"pending", q.pending}, {"in_progress", q.in_progress}});
  }
  return out;
}

void print_status(const daemon::WireStatus& s) {
  fmt::print("=== cuzk daemon status ===\n");
  fmt::print("uptime:           {}s\n", s.uptime_seconds);
  fmt::print("proofs completed: {}\n", s.completed);
  fmt::print("proofs failed:    {}\n", s.failed);
  fmt::print("pinned memory:    {} / {} bytes\n", s.pinned_bytes, s.pinned_limit_bytes);
  if (!s.gpus.empty()) fmt::print("\nGPUs:\n");
  for (const auto& g : s.gpus) {
    const std::string work =
        g.job_id.empty() ? "idle"
                         : fmt::format("proving {} ({})", g.proof_kind, g.job_id.substr(0, 8));
    fmt::print("  [{}] {} — {} MiB / {} MiB VRAM — {}\n", g.ordinal, g.name,
               g.vram_free_bytes / kMiB, g.vram_total_bytes / kMiB, work);
  }
  if (!s.circuits.empty()) fmt::print("\nLoaded SRS:\n");
  for (const auto& c : s.circuits) {
    fmt::print("  {} (tier={}, size={} bytes, refs={})\n", c.circuit_id, c.tier, c.bytes, c.uses);
  }
  if (!s.queues.empty()) fmt::print("\nQueues:\n");
  for (const auto& q : s.queues) {
    fmt::print("  {}: pending={}, in_progress={}\n", q.proof_kind, q.pending, q.in_progress);
  }
}

Result<ExitCode> status(const DaemonAddress& address, bool as_json) {
  CUZK_TRY(const auto client, connect(address));
  CUZK_TRY(const daemon::WireStatus s, client->status());
  // More of it where the daemon is ours.
  const auto info = client->info();
  if (as_json) {
    json out = status_json(s);
    out["address"] = client->address();
    out["version"] = info ? json(info->version) : json(nullptr);
    out["role"] = info ? json(info->role) : json(nullptr);
    if (const auto texts = client->snapshot(std::nullopt)) {
      out["status"] = json::parse(texts->status_json, nullptr, false);
    }
    fmt::print("{}\n", out.dump(2, ' ', false, json::error_handler_t::replace));
    return kOk;
  }
  print_status(s);
  if (info) {
    fmt::print("\ncuzk {} at {}; you are {}, role {}\n", info->version, client->address(),
               info->caller, info->role);
  }
  return kOk;
}

Result<ExitCode> preload(const DaemonAddress& address, const std::string& circuit_id) {
  CUZK_TRY(const auto client, connect(address));
  CUZK_TRY(const auto loaded, client->preload(circuit_id));
  if (loaded.already_loaded) {
    fmt::print("{} already loaded\n", circuit_id);
  } else {
    fmt::print("{} loaded in {} ms\n", circuit_id, loaded.load_ms);
  }
  return kOk;
}

Result<ExitCode> metrics(const DaemonAddress& address) {
  CUZK_TRY(const auto client, connect(address));
  CUZK_TRY(const std::string text, client->metrics());
  std::fputs(text.c_str(), stdout);
  return kOk;
}

}  // namespace

void add_bench_ask(CLI::App& app, const DaemonAddress& address, Runner& run) {
  CLI::App* status_command = app.add_subcommand("status", "What a daemon is doing");
  auto as_json = std::make_shared<bool>(false);
  status_command->add_flag("--json", *as_json, "Print one JSON object");
  status_command->fallthrough();
  status_command->callback([&address, as_json, &run] {
    run = [&address, as_json] { return status(address, *as_json); };
  });

  CLI::App* preload_command =
      app.add_subcommand("preload", "Load a circuit's parameters into a daemon, and wait for it");
  auto circuit_id = std::make_shared<std::string>();
  preload_command->add_option("-c,--circuit-id", *circuit_id, "porep-32g, wpost-32g, ...")
      ->required();
  preload_command->fallthrough();
  preload_command->callback([&address, circuit_id, &run] {
    run = [&address, circuit_id] { return preload(address, *circuit_id); };
  });

  CLI::App* metrics_command = app.add_subcommand("metrics", "A daemon's Prometheus text");
  metrics_command->fallthrough();
  metrics_command->callback([&address, &run] { run = [&address] { return metrics(address); }; });
}

}  // namespace cuzk::cli
