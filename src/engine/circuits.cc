#include "engine/circuits.h"

#include <cstdlib>

#include "r1cs/cache.h"

namespace cuzk::engine {

namespace {

namespace fs = std::filesystem;
using R1cs = CompactR1cs<bls12_381::Fr>;

std::shared_ptr<const CompiledCircuit> finish(R1cs r1cs, bool from_cache) {
  auto out = std::make_shared<CompiledCircuit>();
  out->r1cs = std::move(r1cs);
  out->density = compute_density(out->r1cs);
  out->from_cache = from_cache;
  return out;
}

}  // namespace

fs::path CircuitStore::default_directory() {
  if (const char* set = std::getenv("XDG_CACHE_HOME"); set && *set) {
    return fs::path(set) / "cuzk" / "circuits";
  }
  if (const char* home = std::getenv("HOME"); home && *home) {
    return fs::path(home) / ".cache" / "cuzk" / "circuits";
  }
  return {};
}

Result<std::shared_ptr<const CompiledCircuit>> CircuitStore::get(
    const Context& context, const filecoin::CircuitSpec& spec) {
  std::lock_guard lock(mutex_);
  const std::string& key = spec.identifier;
  if (const auto it = loaded_.find(key); it != loaded_.end()) return it->second;
  const fs::path file = directory_.empty() ? fs::path() : r1cs_cache_path(directory_, key);
  if (!file.empty()) {
    auto span = context.timeline.span("load_circuit");
    if (auto cached = read_r1cs<bls12_381::Fr>(file, key)) {
      return loaded_[key] = finish(std::move(*cached), true);
    } else if (cached.error().code != ErrorCode::kNotFound) {
      warning_ = cached.error().message + "; compiled anew";
    }
  }
  auto span = context.timeline.span("compile");
  CUZK_TRY(R1cs compiled, spec.compile());
  if (!file.empty()) {
    std::error_code error;
    fs::create_directories(directory_, error);
    if (const Status written = write_r1cs(file, key, compiled); !written) {
      warning_ = "the compiled circuit was not kept: " + written.error().message;
    }
  }
  return loaded_[key] = finish(std::move(compiled), false);
}

void CircuitStore::drop(const std::string& identifier) {
  std::lock_guard lock(mutex_);
  loaded_.erase(identifier);
}

std::string CircuitStore::take_warning() {
  std::lock_guard lock(mutex_);
  return std::exchange(warning_, {});
}

}  // namespace cuzk::engine
