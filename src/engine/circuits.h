#pragma once
// Compiled circuits and where they are kept: in memory for the process, on disk for the next one.
//
// Threads: may be shared. Who asks for a circuit that another compiles waits for it; other circuits
//          do not.

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "engine/context.h"
#include "filecoin/circuit_spec.h"
#include "r1cs/density.h"

namespace cuzk::engine {

struct CompiledCircuit {
  CompactR1cs<bls12_381::Fr> r1cs;
  Density density;
  bool from_cache = false;  // read from disk rather than compiled
};

class CircuitStore {
 public:
  // An empty directory path: compiled circuits are not kept on disk.
  explicit CircuitStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // $XDG_CACHE_HOME/cuzk/circuits, else ~/.cache/cuzk/circuits, else no directory.
  static std::filesystem::path default_directory();

  // Spans: compile, or load_circuit. A cached file that is damaged or of another version is
  // compiled anew and replaced; a directory that cannot be written is not an error (`warning` says
  // so).
  Result<std::shared_ptr<const CompiledCircuit>> get(const Context& context,
                                                     const filecoin::CircuitSpec& spec);

  // Out of memory; whoever holds it keeps it. The file stays.
  void drop(const std::string& identifier);

  // What the last call could not do but went on without, e.g. write its cache; empty if nothing.
  std::string take_warning();

 private:
  struct Entry {
    std::mutex mutex;  // held while it is read or compiled
    std::shared_ptr<const CompiledCircuit> circuit;
  };
  Result<std::shared_ptr<const CompiledCircuit>> read_or_compile(const Context& context,
                                                                 const filecoin::CircuitSpec& spec);
  void warn(std::string warning);

  std::filesystem::path directory_;
  std::mutex mutex_;  // of what follows; taken after an entry's, never before
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  std::string warning_;
};

}  // namespace cuzk::engine
