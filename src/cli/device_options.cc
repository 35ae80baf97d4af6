#include "cli/device_options.h"

#include <cstdio>

#include "cli/options.h"

namespace cuzk::cli {

void DeviceOptions::add(CLI::App& app) {
  app.add_option("--device", device,
                 "What proves: auto (a CUDA card that is there and passes its self-test, else the "
                 "CPU), cpu, cuda, or cards such as cuda:0,cuda:1")
      ->capture_default_str();
  app.add_option("--vram-budget", vram_budget,
                 "Most of a card's memory to use, e.g. 16GiB (default: what is free there)");
  app.add_option("--device-workers", workers, "Partitions on a card at once")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
}

Result<engine::CardsOptions> DeviceOptions::cards_options() const {
  engine::CardsOptions out;
  const auto choice = engine::parse_device_choice(device);
  if (!choice) return fail(choice.error().in("--device"));
  out.choice = *choice;
  out.workers = workers;
  if (!vram_budget.empty()) {
    CUZK_TRY(out.vram_budget, parse_bytes(vram_budget, "--vram-budget"));
  }
  return out;
}

void tell_of_device(bool quiet, const std::string& what) {
  if (!quiet) std::fprintf(stderr, "device: %s\n", what.c_str());
}

Result<engine::OpenedCards> open_devices(const engine::Context& context,
                                         const DeviceOptions& options, std::size_t at_most,
                                         bool quiet) {
  CUZK_TRY(engine::CardsOptions wanted, options.cards_options());
  if (wanted.choice.kind == engine::DeviceChoice::Kind::kAuto) wanted.at_most = at_most;
  CUZK_TRY(auto opened, engine::open_cards(context, wanted));
  for (const std::string& note : opened.notes) tell_of_device(quiet, note);
  if (opened.cards.empty()) tell_of_device(quiet, "proving on the CPU");
  return opened;
}

}  // namespace cuzk::cli
