// cuzk doctor

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "cli/command.h"
#include "cli/options.h"
#include "gpu/runtime.h"
#include "groth16/backend_cuda.h"

namespace cuzk::cli {

namespace {

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

nlohmann::json directory_state(const std::filesystem::path& path) {
  nlohmann::json out = {{"path", path.string()}};
  std::error_code error;
  out["exists"] = std::filesystem::is_directory(path, error);
  std::filesystem::path probe = path;
  while (!probe.empty() && !std::filesystem::exists(probe, error) && probe != probe.parent_path()) {
    probe = probe.parent_path();
  }
  struct statvfs fs {};
  if (!probe.empty() && statvfs(probe.c_str(), &fs) == 0) {
    out["free_bytes"] = static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize;
  }
  return out;
}

// Takes a card for a moment and has it prove something.
std::string self_test_of(const gpu::DeviceInfo& device) {
  constexpr std::size_t kArena = std::size_t{1} << 30;
  Tasks tasks;
  Timeline timeline;
  const auto start = std::chrono::steady_clock::now();
  const groth16::Context context{tasks, MemoryBudget::process(), timeline};
  auto card = gpu::Card::open(context.memory,
                              {.device = device.index, .vram_budget = kArena, .workers = 1});
  const Status status = card ? groth16::self_test(context, **card) : fail(card.error());
  if (!status) return "FAILED: " + status.error().message;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return fmt::format("passed in {:.1f} s", seconds.count());
}

nlohmann::json gpu_state() {
  nlohmann::json devices = nlohmann::json::array();
  for (const gpu::DeviceInfo& d : gpu::list_devices()) {
    devices.push_back(
        {{"index", d.index},
         {"name", d.name},
         {"uuid", d.uuid},
         {"memory_bytes", d.memory_bytes},
         {"multiprocessors", d.multiprocessors},
         {"compute_capability", fmt::format("{}.{}", d.capability_major, d.capability_minor)},
         {"self_test", self_test_of(d)}});
  }
  const auto passed = [](const nlohmann::json& d) {
    return d["self_test"].get<std::string>().starts_with("passed");
  };
  std::string takes = "the CPU";
  if (std::ranges::any_of(devices, passed)) {
    takes.clear();
    for (const auto& d : devices) {
      if (!passed(d)) continue;
      takes += fmt::format("{}cuda:{}", takes.empty() ? "" : ", ", d["index"].get<int>());
    }
  }
  return {{"built_with_cuda", gpu::built_with_cuda()},
          {"note", gpu::no_device_reason()},
          {"devices", devices},
          {"prove_takes", takes}};
}

Result<ExitCode> doctor(const CommonOptions& o) {
  const CpuFeatures& features = cpu_features();
  const engine::ParameterStore store(o.parameter_directory());
  CUZK_TRY(const auto entries, store.list());
  std::size_t present = 0;
  for (const auto& e : entries) present += e.params_bytes.has_value() ? 1 : 0;
  nlohmann::json parameters = directory_state(store.directory());
  parameters["published_params_present"] = fmt::format("{} of {}", present, entries.size());
  const nlohmann::json out = {{"version", CUZK_VERSION},
                              {"cpu",
                               {{"name", cpu_name()},
                                {"threads", Tasks().threads()},
                                {"field_code", cpu_variant_name(cpu_variant())},
                                {"mulx_adx", features.bmi2_adx},
                                {"avx512_ifma", features.avx512_ifma},
                                {"sha_ni", features.sha_ni}}},
                              {"memory_budget_bytes", MemoryBudget::detect_limit_bytes()},
                              {"parameters", parameters},
                              {"circuit_cache", directory_state(o.cache_directory())},
                              {"gpu", gpu_state()}};
  if (o.json) {
    std::printf("%s\n", out.dump(2).c_str());
    return kOk;
  }
  for (const auto& [section, value] : out.items()) {
    if (!value.is_object()) {
      std::printf("%-24s %s\n", section.c_str(), value.dump().c_str());
      continue;
    }
    for (const auto& [key, inner] : value.items()) {
      std::printf("%-24s %s\n", (section + "." + key).c_str(), inner.dump().c_str());
    }
  }
  return kOk;
}

}  // namespace

void add_doctor(CLI::App& app, Runner& run) {
  CLI::App* command = app.add_subcommand("doctor", "What this machine offers and what is missing");
  auto o = std::make_shared<CommonOptions>();
  o->add_output(*command);
  o->add_parameters(*command);
  command->add_option("--cache-dir", o->cache_dir, "Where compiled circuits are kept");
  command->callback([o, &run] { run = [o] { return doctor(*o); }; });
}

}  // namespace cuzk::cli
