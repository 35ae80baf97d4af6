#pragma once
// Parameter files: found by their official names, told from the ceremony's by digest, made locally
// for development.
//
// Source:  the names and digests of the ceremony: data/parameters-v28.json.
// Threads: may be shared.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "curve/bls12_381.h"
#include "engine/circuits.h"
#include "engine/context.h"
#include "groth16/key_check.h"
#include "groth16/keys.h"

namespace cuzk::engine {

enum class KeyPolicy {
  kCeremonyOnly,      // the published parameters, nothing else
  kAllowInsecureDev,  // and locally made ones, marked in every answer
};

struct KeyFiles {
  std::filesystem::path params;  // empty when only the verifying key is there
  std::filesystem::path vk;      // empty when there is only .params
  bool insecure_dev = false;
};

// One published circuit and what of it is on disk.
struct ParameterEntry {
  std::string stem;
  std::uint64_t sector_bytes = 0;
  std::string params_digest;  // as published
  std::string vk_digest;
  std::optional<std::uint64_t> params_bytes;  // on disk
  std::optional<std::uint64_t> vk_bytes;
  bool dev_params = false;  // an insecure-dev key stands beside
};

class ParameterStore {
 public:
  explicit ParameterStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // $FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters.
  static std::filesystem::path default_directory();
  const std::filesystem::path& directory() const { return directory_; }

  // Every published circuit, in the list's order.
  Result<std::vector<ParameterEntry>> list() const;

  // The files for a circuit; an official name before an insecure-dev one.
  // Errors: kNotFound names what was looked for and where, and the command that makes or fetches
  // it.
  Result<KeyFiles> find(const filecoin::CircuitSpec& spec, KeyPolicy policy) const;

  // The same, and with `make_missing` an insecure-dev key is made where there is none.
  Result<KeyFiles> find_or_make(const Context& context, const filecoin::CircuitSpec& spec,
                                const CompiledCircuit& circuit, KeyPolicy policy,
                                bool make_missing) const;

  // Everything of a .params file but the points of its queries: structure, verifying key, trust,
  // and that it is the circuit's. Errors: those of the reader; kInsecureKey for a file under an
  // official name whose verifying key is not the ceremony's, or a forgeable key, unless the policy
  // allows it; kMismatch.
  Result<VerifyingKey<Bls12_381>> check_proving_key(const KeyFiles& files,
                                                    const CompiledCircuit& circuit,
                                                    KeyPolicy policy) const;
  // The same, and loads the queries. Span load_key.
  Result<ProvingKey<Bls12_381>> load_proving_key(const Context& context, const KeyFiles& files,
                                                 const CompiledCircuit& circuit,
                                                 KeyPolicy policy) const;
  Result<VerifyingKey<Bls12_381>> load_verifying_key(const KeyFiles& files, KeyPolicy policy) const;

  // Makes a development key (spans of groth16/setup.h, then write_key) and writes .params, .vk and
  // .meta under insecure-dev names. `seed`: reproducible, for tests; without it the system's
  // randomness.
  Result<KeyFiles> make_insecure_dev(const Context& context, const filecoin::CircuitSpec& spec,
                                     const CompiledCircuit& circuit,
                                     std::optional<std::uint64_t> seed) const;

  // Compares a file with the digest that parameters.json publishes for its name.
  // Errors: kInvalidArgument for a name that is not published, kMismatch with both digests.
  static Status check_digest(const std::filesystem::path& file);

 private:
  std::filesystem::path directory_;
};

struct ParameterFileInfo {
  std::string kind;  // "params" or "vk"
  std::uint64_t bytes = 0;
  bool insecure_dev_name = false;
  bool published = false;  // the name is one of the ceremony's
  groth16::KeyCounts counts;
};

// By its structure alone; no point is decoded beyond the verifying key.
Result<ParameterFileInfo> describe_parameter_file(const std::filesystem::path& file);

// Structure and forgeability; the digest when the name is published (span check_digest); with
// `full` every point of a .params file (span check_points).
Status check_parameter_file(const Context& context, const std::filesystem::path& file, bool full);

}  // namespace cuzk::engine
