#pragma once
// Every Filecoin circuit that this engine proves, by kind and sector size.

#include <span>
#include <string_view>
#include <vector>

#include "filecoin/circuit_spec.h"

namespace cuzk::engine {

// "porep", "winning-post", ...: as commands and requests spell them.
std::vector<std::string_view> proof_kinds();

// Errors: kInvalidArgument for a kind or a size that is not known, naming those that are.
Result<filecoin::CircuitSpec> find_circuit(std::string_view kind, std::uint64_t sector_bytes);

}  // namespace cuzk::engine
