#pragma once
// The table [circom.circuits] of the configuration, whose keys are the circuits' own ids:
//
//   mult = { zkey = "/keys/mult.zkey", r1cs = "/keys/mult.r1cs", preload = true }
//   sum = "/keys/sum.zkey"
//
// Threads: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "daemon/config.h"
#include "daemon/config_keys.h"

namespace cuzk::daemon {

// Whether the key is of that table.
bool is_circom_circuit_key(std::string_view key);
// Errors: kInvalidArgument for an id or a field that there is not, or a value of the wrong type.
Status set_circom_circuit_key(Config& config, const std::string& key, const ConfigValue& value);
// A circuit of which nothing is said but its id; check_circom_circuits says what it lacks.
Status name_circom_circuit(Config& config, const std::string& table);
// Every circuit names its key. Errors: kInvalidArgument.
Status check_circom_circuits(const Config& config);
// As TOML, one table for each.
std::string show_circom_circuits(const Config& config);
// One for each circuit that came, went or is another.
std::vector<ConfigChange> circom_circuit_changes(const Config& before, const Config& after);

}  // namespace cuzk::daemon
