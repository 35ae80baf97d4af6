#pragma once
// The circom circuits that a service proves: which key an id names, and that it is the key it was.
//
// A circuit is known by configuration, by register(), or by name: `<directory>/<id>.zkey`. Adding
// one looks at everything that takes no memory: the file's structure, the header's points, whether
// proofs under it can be forged. The coefficients are checked when it is loaded (residency.h), each
// proof when it is made.
//
// Changes: a file of another size or modification time than when it was looked at is looked at
//          again by the next find(). A CircomCircuit is one key as it was once: requests keep that,
//          whatever the id names later, and load() refuses a file that is another key by then.
//          Replace keys by renaming: what is written into a file in use is seen by proofs under
//          way, which then do not verify and fail.
// Errors:  kInvalidArgument for an id or a path that is not allowed; kNotFound for one that names
//          nothing; kInsecureKey names what is wrong with the key; those of format/zkey.h.
// Threads: CircomCircuits may be shared; a CircomCircuit is immutable but for its row count.

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "engine/circom.h"
#include "engine/circom_options.h"
#include "engine/footprint.h"

namespace cuzk::engine {

// One key.
class CircomCircuit {
 public:
  // Everything that can be known without memory.
  static Result<std::shared_ptr<const CircomCircuit>> open(CircomCircuitOptions options,
                                                           std::uint64_t generation);

  const CircomCircuitOptions& options() const { return options_; }
  const std::string& id() const { return options_.id; }
  // Of this key and no other: the name of it for scheduler and residency.
  const std::string& identifier() const { return identifier_; }
  const format::ZkeyHeader& header() const { return header_; }
  std::uint64_t file_bytes() const { return file_bytes_; }
  // SHA-256 over curve, sizes, verifying key and contributions: a proof under a key of the same
  // digest is a proof under this one.
  const Digest32& digest() const { return digest_; }
  // Why proofs under it can be forged; empty: they cannot.
  const std::string& insecure_reason() const { return insecure_reason_; }
  const std::string& verification_key_json() const { return verification_key_json_; }
  CircomFootprint footprint(int threads) const;
  // Of the .r1cs, or once it was loaded; 0: not known yet.
  std::uint32_t num_constraints() const { return num_constraints_; }
  // Do its files have the sizes and times that they had?
  bool is_current() const;

  // The key with its coefficients checked. Errors: kMismatch when the file is another key now.
  Result<CircomProver> load(const Context& context) const;

  explicit CircomCircuit(CircomCircuitOptions options) : options_(std::move(options)) {}

 private:
  struct Stamp {
    std::uint64_t bytes = 0;
    std::int64_t modified_ns = -1;  // -1: no such file
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static Stamp stamp_of(const std::filesystem::path& file);
  std::vector<Stamp> stamps() const;
  Status look_at_key(const format::InputBytes& zkey);
  Status look_at_circuit();

  const CircomCircuitOptions options_;
  std::string identifier_;
  format::ZkeyHeader header_;
  std::vector<Stamp> stamps_;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t r1cs_bytes_ = 0;
  std::uint64_t sym_bytes_ = 0;
  Digest32 digest_{};
  std::string insecure_reason_;
  std::string verification_key_json_;
  mutable std::atomic<std::uint32_t> num_constraints_{0};
};

class CircomCircuits {
 public:
  static constexpr std::size_t kMaxCircuits = 1024;

  // `directory`: where circuits are found by name; empty: nowhere.
  explicit CircomCircuits(std::filesystem::path directory) : directory_(std::move(directory)) {}

  using Circuit = std::shared_ptr<const CircomCircuit>;
  // `replaced`: the key that the id named before, if it is another.
  struct Found {
    Circuit circuit;
    Circuit replaced;
  };

  // The id names this from now on. A circuit of the configuration also when its key cannot be used
  // now: then find() says why and tries again. Errors: those of CircomCircuit::open.
  Result<Found> add(CircomCircuitOptions options);
  // A key that no id names yet; the one that an id names already when that is the same, unchanged.
  Result<Circuit> open(CircomCircuitOptions options);
  // The id names it from now on; what it named before, if that is another.
  Result<Circuit> add(Circuit circuit);
  // Nothing when there is none. A circuit of the directory may be found again.
  struct Removed {
    bool was_known = false;
    Circuit circuit;
  };
  Removed remove(const std::string& id);
  Result<Found> find(const std::string& id);

  // What an id and paths relative to the directory stand for. Errors: kInvalidArgument for a path
  // that leads out of the directory, or when there is none.
  Result<CircomCircuitOptions> in_directory(CircomCircuitOptions options) const;

  struct Entry {
    CircomCircuitOptions options;
    Circuit circuit;      // null: not usable now
    std::string problem;  // why not
  };
  std::vector<Entry> list() const;
  const std::filesystem::path& directory() const { return directory_; }

 private:
  struct Known {
    CircomCircuitOptions options;
    Circuit circuit;
    std::optional<Error> error;
  };
  Result<Found> look(Known& known);                // under the lock
  Status check_room(const std::string& id) const;  // likewise
  Result<std::filesystem::path> inside(const std::filesystem::path& path) const;

  const std::filesystem::path directory_;
  mutable std::mutex mutex_;
  std::map<std::string, Known> known_;
  std::uint64_t next_generation_ = 1;
};

// A request's witness and the key it is for.
struct CircomOrder {
  std::shared_ptr<const CircomCircuit> circuit;
  format::InputBytes wtns;
};

}  // namespace cuzk::engine
