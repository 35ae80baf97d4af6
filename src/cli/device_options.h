#pragma once
// --device, --vram-budget, --device-workers: which card proves, if any, and what is told of it.

#include <CLI/CLI.hpp>
#include <string>

#include "engine/devices.h"

namespace cuzk::cli {

struct DeviceOptions {
  std::string device = "auto";
  std::string vram_budget;  // "16GiB"; empty: what is free, less a margin
  unsigned workers = 2;

  void add(CLI::App& app);
  // kInvalidArgument for what is no device or no size.
  Result<engine::CardsOptions> cards_options() const;
  // Whether the CPU may prove what no card can.
  bool cpu_fallback() const { return device == "auto"; }
};

// The cards that were asked for, no more than `at_most` when nothing was; empty for the CPU. Tells
// on standard error, unless quiet, which device was taken and why.
Result<engine::OpenedCards> open_devices(const engine::Context& context,
                                         const DeviceOptions& options, std::size_t at_most,
                                         bool quiet);
void tell_of_device(bool quiet, const std::string& what);

}  // namespace cuzk::cli
