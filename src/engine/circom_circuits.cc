#include "engine/circom_circuits.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "format/r1cs_file.h"

namespace cuzk::engine {

namespace {

namespace fs = std::filesystem;
using format::InputBytes;

constexpr std::size_t kMaxIdBytes = 64;

Result<std::optional<InputBytes>> open_if_named(const fs::path& path) {
  if (path.empty()) return std::nullopt;
  CUZK_TRY(auto input, InputBytes::open(path));
  return std::optional<InputBytes>(std::move(input));
}

template <class F>
void hash_number(F& hash, std::uint64_t v) {
  std::array<std::uint8_t, 8> bytes;
  store_le(bytes.data(), v);
  hash.update(bytes);
}

}  // namespace

Status check_circom_id(std::string_view id) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  if (!id.empty() && id.size() <= kMaxIdBytes && std::all_of(id.begin(), id.end(), is_plain)) {
    return {};
  }
  return fail(ErrorCode::kInvalidArgument,
              "circuit id '{}': it must be 1 to {} letters, digits, '-' and '_'",
              id.substr(0, kMaxIdBytes), kMaxIdBytes);
}

std::string_view circom_origin_name(CircomOrigin origin) {
  switch (origin) {
    case CircomOrigin::kConfiguration:
      return "configuration";
    case CircomOrigin::kRegistered:
      return "registered";
    case CircomOrigin::kDirectory:
      return "directory";
  }
  return "unknown";
}

CircomCircuit::Stamp CircomCircuit::stamp_of(const fs::path& file) {
  struct stat info {};
  if (file.empty() || stat(file.c_str(), &info) != 0) return {};
  return {static_cast<std::uint64_t>(info.st_size),
          info.st_mtim.tv_sec * std::int64_t{1000000000} + info.st_mtim.tv_nsec};
}

std::vector<CircomCircuit::Stamp> CircomCircuit::stamps() const {
  return {stamp_of(options_.zkey), stamp_of(options_.r1cs), stamp_of(options_.sym)};
}

bool CircomCircuit::is_current() const { return stamps() == stamps_; }

Result<std::shared_ptr<const CircomCircuit>> CircomCircuit::open(CircomCircuitOptions options,
                                                                 std::uint64_t generation) {
  CUZK_TRY_VOID(check_circom_id(options.id));
  auto out = std::make_shared<CircomCircuit>(std::move(options));
  out->identifier_ = fmt::format("circom:{}:{}", out->id(), generation);
  out->stamps_ = out->stamps();  // before the look: what changes meanwhile is seen
  CUZK_TRY(const InputBytes zkey, InputBytes::open(out->options_.zkey));
  CUZK_TRY_VOID(out->look_at_key(zkey));
  CUZK_TRY_VOID(out->look_at_circuit());
  return std::shared_ptr<const CircomCircuit>(std::move(out));
}

Status CircomCircuit::look_at_key(const InputBytes& zkey) {
  file_bytes_ = zkey.bytes().size();
  CUZK_TRY(const auto file, format::ZkeyFile::parse(zkey));
  CUZK_TRY(header_, file.header());
  if (const Status trust = check_zkey_trust(file); !trust) {
    const bool allowed =
        trust.error().code == ErrorCode::kInsecureKey && options_.allow_insecure_key;
    if (!allowed) return trust;
    insecure_reason_ = trust.error().message;
  }
  CUZK_TRY(verification_key_json_, verification_key_json_of(file));
  CUZK_TRY(const auto contributions, file.contributions());
  Sha256 hash;
  for (const std::uint64_t v :
       {static_cast<std::uint64_t>(header_.curve), std::uint64_t{header_.num_wires},
        std::uint64_t{header_.num_public}, std::uint64_t{header_.domain_size},
        std::uint64_t{header_.num_coefficients}, std::uint64_t{contributions.size()}}) {
    hash_number(hash, v);
  }
  hash.update({reinterpret_cast<const std::uint8_t*>(verification_key_json_.data()),
               verification_key_json_.size()});
  digest_ = hash.finish();
  return {};
}

Status CircomCircuit::look_at_circuit() {
  CUZK_TRY(const auto r1cs, open_if_named(options_.r1cs));
  CUZK_TRY(const auto sym, open_if_named(options_.sym));
  if (sym) sym_bytes_ = sym->bytes().size();
  if (!r1cs) return {};
  r1cs_bytes_ = r1cs->bytes().size();
  CUZK_TRY(const auto file, format::R1csFile::parse(*r1cs));
  const auto& h = file.header();
  if (h.curve != header_.curve || h.num_wires != header_.num_wires ||
      h.num_public() != header_.num_public) {
    return fail(ErrorCode::kMismatch,
                "{} has {} wires and {} public signals over {}, the key {} has {} and {} over {}",
                file.name(), h.num_wires, h.num_public(), circom::display_name(h.curve),
                options_.zkey.string(), header_.num_wires, header_.num_public,
                circom::display_name(header_.curve));
  }
  num_constraints_ = h.num_constraints;
  return {};
}

CircomFootprint CircomCircuit::footprint(int threads) const {
  return circom_footprint(header_, {options_.resident, r1cs_bytes_, sym_bytes_, threads});
}

Result<CircomProver> CircomCircuit::load(const Context& context) const {
  CUZK_TRY(const InputBytes zkey, InputBytes::open(options_.zkey));
  // The file may be another since it was looked at.
  CircomCircuit now(options_);
  CUZK_TRY_VOID(now.look_at_key(zkey));
  CUZK_TRY_VOID(now.look_at_circuit());
  if (now.digest_ != digest_ || now.r1cs_bytes_ != r1cs_bytes_ || now.sym_bytes_ != sym_bytes_) {
    return fail(ErrorCode::kMismatch,
                "{}: it is another key now than when the request was accepted: submit again",
                options_.zkey.string());
  }
  CircomKeyOptions key;
  key.allow_insecure_key = options_.allow_insecure_key;
  key.resident = options_.resident;
  CUZK_TRY(key.r1cs, open_if_named(options_.r1cs));
  CUZK_TRY(key.sym, open_if_named(options_.sym));
  CUZK_TRY(auto prover, CircomProver::open(context, zkey, key));
  num_constraints_ = prover.num_constraints();
  return prover;
}

// ---- which key an id names
// -----------------------------------------------------------------------

Result<CircomCircuits::Found> CircomCircuits::look(Known& known) {
  auto opened = CircomCircuit::open(known.options, next_generation_++);
  if (!opened) {
    known.error = opened.error().in(fmt::format("circuit {}", known.options.id));
    return fail(*known.error);
  }
  known.error.reset();
  Found out{*opened, std::exchange(known.circuit, *opened)};
  return out;
}

Status CircomCircuits::check_room(const std::string& id) const {
  if (known_.contains(id) || known_.size() < kMaxCircuits) return {};
  return fail(ErrorCode::kOutOfBudget, "{} circuits are registered, the most there may be",
              known_.size());
}

Result<CircomCircuits::Circuit> CircomCircuits::open(CircomCircuitOptions options) {
  std::lock_guard lock(mutex_);
  CUZK_TRY_VOID(check_room(options.id));
  if (const auto known = known_.find(options.id); known != known_.end()) {
    const Circuit& now = known->second.circuit;
    if (now && now->options() == options && now->is_current()) return now;
  }
  return CircomCircuit::open(std::move(options), next_generation_++);
}

Result<CircomCircuits::Circuit> CircomCircuits::add(Circuit circuit) {
  std::lock_guard lock(mutex_);
  CUZK_TRY_VOID(check_room(circuit->id()));
  Known& known = known_[circuit->id()];
  known.options = circuit->options();
  known.error.reset();
  Circuit before = std::exchange(known.circuit, circuit);
  return before == circuit ? nullptr : before;
}

Result<CircomCircuits::Found> CircomCircuits::add(CircomCircuitOptions options) {
  CUZK_TRY_VOID(check_circom_id(options.id));
  std::lock_guard lock(mutex_);
  CUZK_TRY_VOID(check_room(options.id));
  const auto known = known_.find(options.id);
  Known fresh{std::move(options), known == known_.end() ? nullptr : known->second.circuit, {}};
  auto found = look(fresh);
  // One that is registered by somebody at work is right or not there.
  if (!found && fresh.options.origin != CircomOrigin::kConfiguration) return found;
  const std::string id = fresh.options.id;
  if (!found) fresh.circuit = nullptr;
  known_.insert_or_assign(id, std::move(fresh));
  return found;
}

CircomCircuits::Removed CircomCircuits::remove(const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto known = known_.find(id);
  if (known == known_.end()) return {};
  Removed out{true, known->second.circuit};
  known_.erase(known);
  return out;
}

Result<CircomCircuits::Found> CircomCircuits::find(const std::string& id) {
  CUZK_TRY_VOID(check_circom_id(id));
  {
    std::lock_guard lock(mutex_);
    if (const auto it = known_.find(id); it != known_.end()) {
      Known& known = it->second;
      if (known.circuit && known.circuit->is_current()) return Found{known.circuit, nullptr};
      return look(known);
    }
  }
  CircomCircuitOptions named;
  named.id = id;
  named.origin = CircomOrigin::kDirectory;
  const auto by_name = in_directory(std::move(named));
  std::error_code none;
  if (!by_name || !fs::exists(by_name->zkey, none)) {
    std::string where = directory_.empty() ? std::string()
                                           : fmt::format(", and {} is not there",
                                                         (directory_ / id).string() + ".zkey");
    if (!by_name && !directory_.empty()) where = ": " + by_name.error().message;
    return fail(ErrorCode::kNotFound, "no circom circuit is registered as {}{}", id, where);
  }
  return add(*by_name);
}

// Where a path leads, which must be inside the directory, links and all.
Result<fs::path> CircomCircuits::inside(const fs::path& path) const {
  if (directory_.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "circom.directory is not set: keys are named by the configuration only");
  }
  std::error_code error;
  const fs::path root = fs::weakly_canonical(directory_, error);
  const fs::path full = fs::weakly_canonical(directory_ / path, error);
  const auto [in_root, in_full] = std::mismatch(root.begin(), root.end(), full.begin(), full.end());
  if (error || in_root != root.end() || in_full == full.end()) {
    return fail(ErrorCode::kInvalidArgument, "{} is not inside circom.directory, {}", path.string(),
                directory_.string());
  }
  return full;
}

Result<CircomCircuitOptions> CircomCircuits::in_directory(CircomCircuitOptions options) const {
  CUZK_TRY_VOID(check_circom_id(options.id));
  if (options.zkey.empty()) {
    CUZK_TRY(options.zkey, inside(options.id + ".zkey"));
    for (const auto& [field, ending] :
         {std::pair{&options.r1cs, ".r1cs"}, std::pair{&options.sym, ".sym"}}) {
      std::error_code none;
      if (field->empty() && fs::exists(directory_ / (options.id + ending), none)) {
        *field = options.id + ending;
      }
    }
  } else {
    CUZK_TRY(options.zkey, inside(options.zkey));
  }
  for (fs::path* field : {&options.r1cs, &options.sym}) {
    if (field->empty()) continue;
    CUZK_TRY(*field, inside(*field));
  }
  return options;
}

std::vector<CircomCircuits::Entry> CircomCircuits::list() const {
  std::lock_guard lock(mutex_);
  std::vector<Entry> out;
  for (const auto& [id, known] : known_) {
    out.push_back({known.options, known.circuit, known.error ? known.error->message : ""});
  }
  return out;
}

}  // namespace cuzk::engine
