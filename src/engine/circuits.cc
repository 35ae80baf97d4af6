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
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    auto& known = entries_[spec.identifier];
    if (!known) known = std::make_shared<Entry>();
    entry = known;
  }
  const std::lock_guard lock(entry->mutex);
  if (!entry->circuit) {
    CUZK_TRY(entry->circuit, read_or_compile(context, spec));
  }
  return entry->circuit;
}

Result<std::shared_ptr<const CompiledCircuit>> CircuitStore::read_or_compile(
    const Context& context, const filecoin::CircuitSpec& spec) {
  const std::string& key = spec.identifier;
  const fs::path file = directory_.empty() ? fs::path() : r1cs_cache_path(directory_, key);
  if (!file.empty()) {
    auto span = context.timeline.span("load_circuit");
    if (auto cached = read_r1cs<bls12_381::Fr>(file, key)) {
      return finish(std::move(*cached), true);
    } else if (cached.error().code != ErrorCode::kNotFound) {
      warn(cached.error().message + "; compiled anew");
    }
  }
  auto span = context.timeline.span("compile");
  CUZK_TRY(R1cs compiled, spec.compile());
  if (!file.empty()) {
    std::error_code error;
    fs::create_directories(directory_, error);
    if (const Status written = write_r1cs(file, key, compiled); !written) {
      warn("the compiled circuit was not kept: " + written.error().message);
    }
  }
  return finish(std::move(compiled), false);
}

void CircuitStore::drop(const std::string& identifier) {
  const std::lock_guard lock(mutex_);
  entries_.erase(identifier);
}

void CircuitStore::warn(std::string warning) {
  const std::lock_guard lock(mutex_);
  warning_ = std::move(warning);
}

std::string CircuitStore::take_warning() {
  std::lock_guard lock(mutex_);
  return std::exchange(warning_, {});
}

}  // namespace cuzk::engine
