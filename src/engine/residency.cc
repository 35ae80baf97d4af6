#include "engine/residency.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "engine/catalog.h"
#include "engine/embedded.h"
#include "format/parameters_json.h"
#include "r1cs/cache.h"

namespace cuzk::engine {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct FileStamp {
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
};

std::optional<FileStamp> stamp_of(const fs::path& file) {
  struct stat info {};
  if (stat(file.c_str(), &info) != 0) return std::nullopt;
  return FileStamp{static_cast<std::uint64_t>(info.st_size),
                   info.st_mtim.tv_sec * std::int64_t{1000000000} + info.st_mtim.tv_nsec};
}

// The published digest of a file's name; empty when the name is not published.
std::string published_digest(const fs::path& file) {
  static const auto list =
      format::parse_parameter_list(published_parameters_json(), "parameters-v28.json");
  const auto* entry = list ? list->find(file.filename().string()) : nullptr;
  return entry ? entry->digest : std::string();
}

}  // namespace

Residency::Residency(Options options)
    : options_(std::move(options)),
      circuits_(options_.circuit_directory),
      parameters_(options_.parameter_directory) {
  if (options_.circuit_directory.empty()) return;
  memory_file_ = options_.circuit_directory / "verified-parameters.json";
  const auto bytes = read_file(memory_file_, std::size_t{1} << 20);
  if (!bytes) return;
  // Anything unreadable only costs another hash.
  const Json json = Json::parse(bytes->begin(), bytes->end(), nullptr, false);
  if (!json.is_object()) return;
  for (const auto& [path, seen] : json.items()) {
    if (!seen.is_object()) continue;
    verified_[path] = {seen.value("bytes", std::uint64_t{0}),
                       seen.value("modified_ns", std::int64_t{0}),
                       seen.value("digest", std::string())};
  }
}

bool Residency::remembered(const fs::path& file) const {
  const auto stamp = stamp_of(file);
  std::lock_guard lock(mutex_);
  const auto it = verified_.find(file.string());
  return stamp && it != verified_.end() && it->second.bytes == stamp->bytes &&
         it->second.modified_ns == stamp->modified_ns &&
         it->second.digest == published_digest(file);
}

void Residency::remember(const fs::path& file) {
  const auto stamp = stamp_of(file);
  if (!stamp) return;
  std::lock_guard lock(mutex_);
  verified_[file.string()] = {stamp->bytes, stamp->modified_ns, published_digest(file)};
  if (memory_file_.empty()) return;
  Json json = Json::object();
  for (const auto& [path, seen] : verified_) {
    json[path] = {
        {"bytes", seen.bytes}, {"modified_ns", seen.modified_ns}, {"digest", seen.digest}};
  }
  const std::string text = json.dump(2);
  // Without the memory the next start hashes again: slower, and as right.
  (void)write_file_atomically(
      memory_file_, ByteSpan(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
}

Status Residency::verify_digest(const Context& context, const KeyFiles& files) {
  if (!options_.verify_digests || published_digest(files.params).empty()) return {};
  if (remembered(files.params)) return {};
  const auto before = stamp_of(files.params);
  auto span = context.timeline.span("check_digest");
  CUZK_TRY_VOID(ParameterStore::check_digest(files.params));
  const auto after = stamp_of(files.params);
  // What changed under the hash has not been hashed.
  if (before && after && before->bytes == after->bytes &&
      before->modified_ns == after->modified_ns) {
    remember(files.params);
  }
  return {};
}

std::size_t Residency::measure_bytes(const filecoin::CircuitSpec& spec) const {
  std::error_code error;
  if (!options_.circuit_directory.empty()) {
    const auto file = r1cs_cache_path(options_.circuit_directory, spec.identifier);
    // Its bytes, and the rows that they become.
    if (const auto bytes = fs::file_size(file, error); !error) return 2 * bytes;
  }
  return compile_bytes(spec);
}

Result<Residency::Measured> Residency::measure(const Context& context,
                                               const filecoin::CircuitSpec& spec) {
  // A missing file is known before a large circuit is compiled, which takes a minute.
  if (!options_.keys.make_missing_dev_key) {
    CUZK_TRY_VOID(parameters_.find(spec, options_.keys.policy));
  }
  CUZK_TRY(auto circuit, circuits_.get(context, spec));
  CUZK_TRY(const KeyFiles files,
           parameters_.find_or_make(context, spec, *circuit, options_.keys.policy,
                                    options_.keys.make_missing_dev_key));
  CUZK_TRY(const std::size_t bytes, resident_bytes(files, *circuit));
  CUZK_TRY(const std::size_t key, key_bytes(files));
  return Measured{bytes, key, std::move(circuit)};
}

Status Residency::load(const Context& context, const filecoin::CircuitSpec& spec, bool with_key) {
  CUZK_TRY(auto circuit, circuits_.get(context, spec));
  CUZK_TRY(const KeyFiles files, parameters_.find(spec, options_.keys.policy));
  CUZK_TRY_VOID(verify_digest(context, files));
  CUZK_TRY(std::size_t bytes, resident_bytes(files, *circuit));
  CUZK_TRY(Reservation rows, context.memory.reserve("compiled circuits", circuit->r1cs.bytes()));
  ProvingKey<Bls12_381> key;
  if (with_key) {
    CUZK_TRY(key, parameters_.load_proving_key(context, files, *circuit, options_.keys.policy));
  } else {
    CUZK_TRY(key.vk, parameters_.check_proving_key(files, *circuit, options_.keys.policy));
    CUZK_TRY(const std::size_t queries, key_bytes(files));
    bytes -= queries;
  }
  groth16::PreparedVerifyingKey<Bls12_381> vk(key.vk);
  auto resident = std::make_shared<const ResidentCircuit>(
      ResidentCircuit{std::move(circuit), std::move(key), std::move(vk), files, std::move(rows),
                      bytes, spec.identifier});
  std::lock_guard lock(mutex_);
  resident_[spec.identifier] = std::move(resident);
  return {};
}

Result<std::shared_ptr<const ProvingKey<Bls12_381>>> Residency::host_key(
    const Context& context, const std::shared_ptr<const ResidentCircuit>& resident) {
  using Shared = std::shared_ptr<const ProvingKey<Bls12_381>>;
  if (!resident->key.h_query.empty()) return Shared(resident, &resident->key);
  const std::lock_guard lock(host_key_mutex_);
  auto& known = host_keys_[resident->files.params.string()];
  if (Shared there = known.lock()) return there;
  CUZK_TRY(auto key, parameters_.load_proving_key(context, resident->files, *resident->circuit,
                                                  options_.keys.policy));
  const auto made = std::make_shared<const ProvingKey<Bls12_381>>(std::move(key));
  known = made;
  return made;
}

Status Residency::load(const Context& context, std::shared_ptr<const CircomCircuit> circuit) {
  CUZK_TRY(auto prover, circuit->load(context));
  const std::string identifier = circuit->identifier();
  const std::size_t bytes = circuit->footprint(context.tasks.threads()).resident_bytes;
  auto resident = std::make_shared<const ResidentCircom>(
      ResidentCircom{std::move(circuit), std::move(prover), bytes});
  std::lock_guard lock(mutex_);
  resident_circom_[identifier] = std::move(resident);
  return {};
}

std::shared_ptr<const ResidentCircom> Residency::get_circom(const std::string& identifier) const {
  std::lock_guard lock(mutex_);
  const auto it = resident_circom_.find(identifier);
  return it == resident_circom_.end() ? nullptr : it->second;
}

std::shared_ptr<const ResidentCircuit> Residency::get(const std::string& identifier) const {
  std::lock_guard lock(mutex_);
  const auto it = resident_.find(identifier);
  return it == resident_.end() ? nullptr : it->second;
}

std::size_t Residency::evict(const std::string& identifier) {
  // Freed after the lock.
  std::shared_ptr<const ResidentCircuit> last;
  std::shared_ptr<const ResidentCircom> last_circom;
  {
    std::lock_guard lock(mutex_);
    if (const auto circom = resident_circom_.find(identifier); circom != resident_circom_.end()) {
      last_circom = std::move(circom->second);
      resident_circom_.erase(circom);
      return last_circom->bytes;
    }
    const auto it = resident_.find(identifier);
    if (it == resident_.end()) return 0;
    last = std::move(it->second);
    resident_.erase(it);
  }
  circuits_.drop(identifier);
  return last->bytes;
}

std::vector<Problem> Residency::check_files(const filecoin::CircuitSpec& spec) const {
  std::vector<Problem> out;
  const auto files = parameters_.find(spec, options_.keys.policy);
  if (!files) {
    if (!options_.keys.make_missing_dev_key) out.push_back({spec.name, files.error().message});
    return out;
  }
  const fs::path& file = files->params.empty() ? files->vk : files->params;
  if (files->params.empty()) {
    out.push_back({file.string(), spec.stem + ".params is missing, only the .vk is there"});
    return out;
  }
  if (const auto vk = parameters_.load_verifying_key({files->params, {}, files->insecure_dev},
                                                     options_.keys.policy);
      !vk) {
    out.push_back({file.string(), vk.error().message});
  }
  std::lock_guard lock(mutex_);
  const auto seen = verified_.find(file.string());
  const auto stamp = stamp_of(file);
  if (seen != verified_.end() && stamp && seen->second.bytes != stamp->bytes) {
    out.push_back({file.string(), fmt::format("it had {} bytes when its digest was right, now {}",
                                              seen->second.bytes, stamp->bytes)});
  }
  return out;
}

CircuitStatus Residency::describe(const CircomCircuit& circuit) const {
  CircuitStatus out;
  out.circuit_id = circuit.identifier();
  out.name = "circom " + circuit.id();
  out.file = circuit.options().zkey.string();
  out.insecure_dev = !circuit.insecure_reason().empty();
  out.tier = Tier::kWarm;
  if (const auto resident = get_circom(circuit.identifier())) {
    out.tier = Tier::kHot;
    out.bytes = resident->bytes;
  }
  return out;
}

CircuitStatus Residency::describe(const filecoin::CircuitSpec& spec) const {
  CircuitStatus out;
  out.circuit_id = spec.identifier;
  out.name = spec.name;
  if (const auto resident = get(spec.identifier)) {
    out.tier = Tier::kHot;
    out.bytes = resident->bytes;
    out.file = resident->files.params.string();
    out.insecure_dev = resident->files.insecure_dev;
    return out;
  }
  const auto files = parameters_.find(spec, options_.keys.policy);
  if (!files || files->params.empty()) return out;
  out.file = files->params.string();
  out.insecure_dev = files->insecure_dev;
  // A key of one's own has no published digest to be compared with.
  if (files->insecure_dev || remembered(files->params)) out.tier = Tier::kWarm;
  return out;
}

}  // namespace cuzk::engine
