#pragma once
// [gpus] and [cpu] of the configuration, made devices that prove.
//
// Threads: a function without state; takes the memory of cards.

#include <string>
#include <vector>

#include "daemon/config.h"
#include "engine/service.h"

namespace cuzk::daemon {

// gpus.devices as a choice. Errors: kInvalidArgument names the key and the entry.
Result<std::vector<int>> card_ordinals(const Config& config, bool& no_cards);

// The cards that are there and pass their self-test, and the CPU as cpu.use says. `notes`: what was
// taken, what was not, and why.
// Errors: kInvalidArgument for cards that were named and are not there, or when nothing is left to
// prove on.
Result<std::vector<engine::DeviceOptions>> open_devices(const Config& config,
                                                        std::vector<std::string>& notes);

}  // namespace cuzk::daemon
