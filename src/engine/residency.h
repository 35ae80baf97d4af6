#pragma once
// Keys and compiled circuits in memory: loaded when the scheduler says so, dropped when it says so,
// never while somebody holds one. A user's file is read and never written, renamed or deleted.
//
// Tiers:   hot: in memory; warm: on disk, and its digest was found right; cold: anything else.
// Digests: a file under a published name is hashed once, before its first use. Its size,
//          modification time and digest are remembered in `verified-parameters.json` beside the
//          compiled circuits, so that the next start does not read it again. A file that does not
//          match is not used; the error names both digests.
// Threads: may be shared; two calls for one circuit must not overlap (the scheduler sees to that).

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/circom_circuits.h"
#include "engine/footprint.h"
#include "engine/job.h"
#include "engine/service_status.h"

namespace cuzk::engine {

// A circuit that can be proved now.
struct ResidentCircuit {
  std::shared_ptr<const CompiledCircuit> circuit;
  ProvingKey<Bls12_381> key;  // vk alone where the queries stay in their file
  groth16::PreparedVerifyingKey<Bls12_381> verifying_key;
  KeyFiles files;
  Reservation rows;  // of the compiled circuit, which reserves nothing itself
  std::size_t bytes = 0;
  std::string identifier;
};

// Likewise of circom.
struct ResidentCircom {
  std::shared_ptr<const CircomCircuit> circuit;
  CircomProver prover;
  std::size_t bytes = 0;
};

class Residency {
 public:
  struct Options {
    std::filesystem::path parameter_directory;
    std::filesystem::path circuit_directory;
    KeyChoice keys;
    bool verify_digests = true;
  };
  explicit Residency(Options options);

  struct Measured {
    std::size_t resident_bytes = 0;
    std::size_t key_bytes = 0;                       // of those, the key's queries
    std::shared_ptr<const CompiledCircuit> circuit;  // for the cost of each device
  };
  // What measure may take of the memory, for the circuit that it compiles or reads; less than that
  // remains, as part of what load takes.
  std::size_t measure_bytes(const filecoin::CircuitSpec& spec) const;
  // Compiles the circuit, finds the key (makes it, if that is allowed) and tells the sizes.
  // Errors: kNotFound, kInsecureKey, those of the readers.
  Result<Measured> measure(const Context& context, const filecoin::CircuitSpec& spec);

  // Without `with_key` the queries stay in the file, for devices that read them from there.
  // Errors: also kMismatch for a published file whose digest is another, kOutOfBudget.
  Status load(const Context& context, const filecoin::CircuitSpec& spec, bool with_key = true);
  // The queries in memory all the same, for as long as somebody holds them.
  Result<std::shared_ptr<const ProvingKey<Bls12_381>>> host_key(
      const Context& context, const std::shared_ptr<const ResidentCircuit>& resident);
  // Its size is known from its header (CircomCircuit::footprint). Errors: those of
  // CircomCircuit::load, kOutOfBudget.
  Status load(const Context& context, std::shared_ptr<const CircomCircuit> circuit);
  // Null when it is not loaded.
  std::shared_ptr<const ResidentCircuit> get(const std::string& identifier) const;
  std::shared_ptr<const ResidentCircom> get_circom(const std::string& identifier) const;
  // Bytes that were freed, or will be when the last who holds it lets go.
  std::size_t evict(const std::string& identifier);

  // Of a circuit's files, without reading them whole: missing, of the wrong size or structure,
  // insecure, or changed since they were found right.
  std::vector<Problem> check_files(const filecoin::CircuitSpec& spec) const;
  // Tier, file, bytes; what the scheduler knows is filled in by the pipeline.
  CircuitStatus describe(const filecoin::CircuitSpec& spec) const;
  CircuitStatus describe(const CircomCircuit& circuit) const;
  std::string take_warning() { return circuits_.take_warning(); }

 private:
  Status verify_digest(const Context& context, const KeyFiles& files);
  bool remembered(const std::filesystem::path& file) const;
  void remember(const std::filesystem::path& file);

  const Options options_;
  CircuitStore circuits_;
  const ParameterStore parameters_;
  std::filesystem::path memory_file_;  // of the digests; empty: not kept

  std::mutex host_key_mutex_;  // taken before `mutex_`
  std::map<std::string, std::weak_ptr<const ProvingKey<Bls12_381>>> host_keys_;  // by file
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const ResidentCircuit>> resident_;
  std::map<std::string, std::shared_ptr<const ResidentCircom>> resident_circom_;
  struct Seen {
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = 0;
    std::string digest;
  };
  std::map<std::string, Seen> verified_;  // by path
};

}  // namespace cuzk::engine
