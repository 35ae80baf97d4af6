#include "daemon/device_config.h"

#include <algorithm>
#include <charconv>

#include "engine/devices.h"

namespace cuzk::daemon {

Result<std::vector<int>> card_ordinals(const Config& config, bool& no_cards) {
  std::vector<int> out;
  no_cards = config.gpu_devices == std::vector<std::string>{"none"};
  if (no_cards) return out;
  for (const std::string& entry : config.gpu_devices) {
    std::string_view digits = entry;
    if (digits.starts_with("cuda:")) digits.remove_prefix(5);
    int ordinal = -1;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error != std::errc() || end != digits.data() + digits.size() || ordinal < 0) {
      return fail(ErrorCode::kInvalidArgument,
                  "gpus.devices: '{}' is no GPU; write ordinals such as 0, or only none", entry);
    }
    if (std::ranges::count(out, ordinal)) {
      return fail(ErrorCode::kInvalidArgument, "gpus.devices: GPU {} is named twice", ordinal);
    }
    out.push_back(ordinal);
  }
  return out;
}

Result<std::vector<engine::DeviceOptions>> open_devices(const Config& config,
                                                        std::vector<std::string>& notes) {
  using Kind = engine::DeviceChoice::Kind;
  bool no_cards = false;
  engine::CardsOptions wanted;
  CUZK_TRY(wanted.choice.cards, card_ordinals(config, no_cards));
  wanted.choice.kind = no_cards                      ? Kind::kCpu
                       : wanted.choice.cards.empty() ? Kind::kAuto
                                                     : Kind::kCuda;
  wanted.vram_budget = config.vram_budget_bytes.value_or(0);
  wanted.workers = static_cast<unsigned>(config.gpu_workers_per_device);
  wanted.critical_reserve = config.vram_critical_reserve_bytes;
  wanted.multiples = config.gpu_multiples;
  Tasks tasks(static_cast<int>(config.gpu_threads ? config.gpu_threads : config.threads));
  Timeline timeline;
  auto opened = engine::open_cards({tasks, MemoryBudget::process(), timeline}, wanted);
  if (!opened) return fail(opened.error().in("gpus.devices"));
  notes = opened->notes;
  std::vector<engine::DeviceOptions> out;
  for (auto& card : opened->cards) {
    out.push_back(engine::card_device(std::move(card)));
    out.back().threads = static_cast<int>(config.gpu_threads);
  }
  if (config.cpu_use != "never") {
    engine::DeviceOptions cpu;
    cpu.workers = static_cast<unsigned>(config.cpu_workers);
    cpu.fallback = !out.empty() && config.cpu_use == "auto";
    notes.push_back(cpu.fallback ? "the CPU proves what no card can" : "the CPU proves");
    out.push_back(std::move(cpu));
  }
  if (out.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "cpu.use is never, and no GPU can be used: {}; nothing is left to prove on",
                notes.empty() ? "gpus.devices is none" : notes.back());
  }
  return out;
}

}  // namespace cuzk::daemon
