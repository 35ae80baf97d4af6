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

// Of the memory, at most, while the circuit is compiled, its rows included: half again what was
// seen. 0 for a circuit that is not of this catalog.
std::size_t compile_bytes(const filecoin::CircuitSpec& spec);

}  // namespace cuzk::engine
