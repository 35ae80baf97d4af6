#pragma once
// What is said about a circom circuit when it is made known to the service.
//
// Threads: values.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cuzk::engine {

enum class CircomOrigin { kConfiguration, kRegistered, kDirectory };
std::string_view circom_origin_name(CircomOrigin origin);

// Errors: kInvalidArgument for an id that is none.
Status check_circom_id(std::string_view id);

struct CircomCircuitOptions {
  std::string id;  // letters, digits, '-' and '_', at most 64
  std::filesystem::path zkey;
  std::filesystem::path r1cs;  // empty: none; with it a wrong witness is told its constraint
  std::filesystem::path sym;
  bool allow_insecure_key = false;
  bool preload = false;   // loaded at start and never evicted
  bool resident = false;  // with the key's points; otherwise each proof reads those it sums
  CircomOrigin origin = CircomOrigin::kConfiguration;

  friend bool operator==(const CircomCircuitOptions&, const CircomCircuitOptions&) = default;
};

struct CircomServiceOptions {
  // Where circuits are found by name, <id>.zkey with <id>.r1cs and <id>.sym beside it, and where
  // those lie that are registered; empty: nowhere.
  std::filesystem::path directory;
  std::vector<CircomCircuitOptions> circuits;
  // Witnesses are secrets. Without this they are in memory alone: a request that a killed process
  // had accepted is then answered as failed, to be submitted again.
  bool journal_witness = false;
};

// What the service knows of one.
struct CircomCircuitStatus {
  CircomCircuitOptions options;
  std::string curve;  // "bn128", "bls12381"; empty while it is not usable
  std::uint32_t num_public = 0;
  std::uint32_t num_wires = 0;
  std::uint32_t num_constraints = 0;  // 0: not known before it is loaded
  std::uint32_t domain_size = 0;
  std::uint64_t file_bytes = 0;
  std::size_t resident_bytes = 0;
  std::size_t prove_bytes = 0;  // with the witness
  std::string key_digest;       // hex
  std::string insecure_reason;  // why proofs under it can be forged; empty: they cannot
  bool loaded = false;
  std::string problem;  // why it cannot be used now
};

}  // namespace cuzk::engine
