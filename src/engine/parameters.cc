#include "engine/parameters.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/mapped_file.h"
#include "engine/embedded.h"
#include "format/bellman_key.h"
#include "format/parameters_json.h"
#include "groth16/setup.h"

namespace cuzk::engine {

namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> size_on_disk(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const auto size = fs::file_size(path, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(size);
}

// The published list, parsed once.
Result<const format::ParameterList*> published() {
  static const Result<format::ParameterList> list =
      format::parse_parameter_list(published_parameters_json(), "parameters-v28.json");
  if (!list) return fail(list.error());
  return &*list;
}

// BLAKE2b-512's first 16 bytes, as parameters.json spells them.
std::string digest_text(const Digest64& digest) { return to_hex(ByteSpan(digest).first(16)); }
std::string digest_of(ByteSpan bytes) { return digest_text(blake2b_512(bytes)); }

// Of a whole file, which is not kept in memory.
std::string digest_of(const MappedFile& file) {
  constexpr std::size_t kPiece = std::size_t{64} << 20;
  Digest64 digest;
  Blake2b hash(digest.size());
  for (ByteSpan rest = file.bytes(); !rest.empty();) {
    const ByteSpan piece = rest.first(std::min(rest.size(), kPiece));
    hash.update(piece);
    file.forget(piece);
    rest = rest.subspan(piece.size());
  }
  hash.finish(digest);
  return digest_text(digest);
}

// A key under a published name must be the published key. The verifying key's digest settles it
// without reading the queries: nobody can make other queries for it that prove anything.
Status check_ceremony(const std::string& vk_file_name, const VerifyingKey<Bls12_381>& vk,
                      std::string_view source, KeyPolicy policy) {
  if (policy == KeyPolicy::kAllowInsecureDev) return {};
  CUZK_TRY(const format::ParameterList* list, published());
  const format::ParameterFile* entry = list->find(vk_file_name);
  if (!entry) {
    return fail(ErrorCode::kInsecureKey,
                "{}: no published key has this name; a locally made key needs --insecure-dev",
                source);
  }
  const std::string found = digest_of(bellman::encode_vk(vk));
  if (found != entry->digest) {
    return fail(
        ErrorCode::kInsecureKey,
        "{}: its verifying key has digest {}, the ceremony's has {}; a locally made key needs "
        "--insecure-dev",
        source, found, entry->digest);
  }
  return {};
}

}  // namespace

fs::path ParameterStore::default_directory() {
  const char* set = std::getenv("FIL_PROOFS_PARAMETER_CACHE");
  return set && *set ? fs::path(set) : fs::path("/var/tmp/filecoin-proof-parameters");
}

Result<std::vector<ParameterEntry>> ParameterStore::list() const {
  CUZK_TRY(const format::ParameterList* published_list, published());
  std::vector<ParameterEntry> out;
  for (const format::ParameterFile& file : published_list->files) {
    if (!file.name.ends_with(".params")) continue;
    ParameterEntry e;
    e.stem = file.name.substr(0, file.name.size() - std::string_view(".params").size());
    e.sector_bytes = file.sector_bytes;
    e.params_digest = file.digest;
    if (const auto* vk = published_list->find(e.stem + ".vk")) e.vk_digest = vk->digest;
    e.params_bytes = size_on_disk(directory_ / (e.stem + ".params"));
    e.vk_bytes = size_on_disk(directory_ / (e.stem + ".vk"));
    e.dev_params =
        size_on_disk(directory_ / (groth16::insecure_dev_name(e.stem) + ".params")).has_value();
    out.push_back(std::move(e));
  }
  return out;
}

Result<KeyFiles> ParameterStore::find(const filecoin::CircuitSpec& spec, KeyPolicy policy) const {
  const std::string& stem = spec.stem;
  const auto files_of = [&](const std::string& name, bool dev) {
    KeyFiles files;
    if (size_on_disk(directory_ / (name + ".params")))
      files.params = directory_ / (name + ".params");
    if (size_on_disk(directory_ / (name + ".vk"))) files.vk = directory_ / (name + ".vk");
    files.insecure_dev = dev;
    return files;
  };
  const auto found = [](const KeyFiles& f) { return !f.params.empty() || !f.vk.empty(); };
  const KeyFiles official = files_of(stem, false);
  if (found(official)) return official;
  const KeyFiles dev = files_of(groth16::insecure_dev_name(stem), true);
  if (found(dev) && policy == KeyPolicy::kAllowInsecureDev) return dev;
  return fail(
      ErrorCode::kNotFound,
      "no parameters for {} in {}: {}.params is missing{}. Fetch the ceremony's files, point "
      "--params or FIL_PROOFS_PARAMETER_CACHE at them{}",
      spec.name, directory_.string(), stem,
      found(dev) ? " (an insecure-dev key is there; --insecure-dev allows it)" : "",
      spec.development_size ? ", or for development have a key made: --insecure-dev" : "");
}

Result<KeyFiles> ParameterStore::find_or_make(const Context& context,
                                              const filecoin::CircuitSpec& spec,
                                              const CompiledCircuit& circuit, KeyPolicy policy,
                                              bool make_missing) const {
  auto files = find(spec, policy);
  const bool missing = !files && files.error().code == ErrorCode::kNotFound;
  return missing && make_missing ? make_insecure_dev(context, spec, circuit, std::nullopt) : files;
}

Result<VerifyingKey<Bls12_381>> ParameterStore::check_proving_key(const KeyFiles& files,
                                                                  const CompiledCircuit& circuit,
                                                                  KeyPolicy policy) const {
  if (files.params.empty()) {
    return fail(ErrorCode::kNotFound,
                "{}: only the verifying key is there; proving needs the .params file",
                files.vk.string());
  }
  CUZK_TRY(const bellman::ParamsFile file, bellman::ParamsFile::open(files.params));
  CUZK_TRY(auto vk, file.verifying_key(PointCheck::kSubgroup));
  const std::string name = files.params.string();
  if (policy == KeyPolicy::kCeremonyOnly) CUZK_TRY_VOID(groth16::check_verifying_key(vk, name));
  CUZK_TRY_VOID(check_ceremony(files.params.stem().string() + ".vk", vk, name, policy));
  CUZK_TRY_VOID(groth16::check_key_counts(
      file.counts(), groth16::expected_key_counts(circuit.r1cs, circuit.density), name,
      circuit.r1cs.name));
  return vk;
}

Result<ProvingKey<Bls12_381>> ParameterStore::load_proving_key(const Context& context,
                                                               const KeyFiles& files,
                                                               const CompiledCircuit& circuit,
                                                               KeyPolicy policy) const {
  auto span = context.timeline.span("load_key");
  CUZK_TRY_VOID(check_proving_key(files, circuit, policy));
  CUZK_TRY(const bellman::ParamsFile file, bellman::ParamsFile::open(files.params));
  return file.load(context.tasks, context.memory, PointCheck::kFormOnly);
}

Result<VerifyingKey<Bls12_381>> ParameterStore::load_verifying_key(const KeyFiles& files,
                                                                   KeyPolicy policy) const {
  const fs::path& path = files.vk.empty() ? files.params : files.vk;
  VerifyingKey<Bls12_381> vk;
  if (files.vk.empty()) {
    CUZK_TRY(const bellman::ParamsFile file, bellman::ParamsFile::open(path));
    CUZK_TRY(vk, file.verifying_key(PointCheck::kSubgroup));
  } else {
    CUZK_TRY(vk, bellman::read_vk(path));
  }
  if (policy == KeyPolicy::kCeremonyOnly)
    CUZK_TRY_VOID(groth16::check_verifying_key(vk, path.string()));
  CUZK_TRY_VOID(check_ceremony(path.stem().string() + ".vk", vk, path.string(), policy));
  return vk;
}

namespace {

groth16::ToxicWaste<Bls12_381> draw_waste(std::optional<std::uint64_t> seed) {
  if (seed) {
    SeededRandom random(*seed);
    return groth16::ToxicWaste<Bls12_381>::draw(random);
  }
  SystemRandom random;
  return groth16::ToxicWaste<Bls12_381>::draw(random);
}

}  // namespace

Result<KeyFiles> ParameterStore::make_insecure_dev(const Context& context,
                                                   const filecoin::CircuitSpec& spec,
                                                   const CompiledCircuit& circuit,
                                                   std::optional<std::uint64_t> seed) const {
  std::error_code error;
  fs::create_directories(directory_, error);
  const fs::path base = directory_ / groth16::insecure_dev_name(spec.stem);
  CUZK_TRY(const auto key, groth16::insecure_dev_setup<Bls12_381>(
                               context, circuit.r1cs, circuit.density, draw_waste(seed)));
  auto write_span = context.timeline.span("write_key");
  const KeyFiles files = {base.string() + ".params", base.string() + ".vk", true};
  CUZK_TRY_VOID(bellman::write_params(context.tasks, context.memory, files.params, key));
  CUZK_TRY_VOID(bellman::write_vk(files.vk, key.vk));
  const std::string meta = bellman::encode_meta(spec.sector_bytes);
  CUZK_TRY_VOID(write_file_atomically(
      base.string() + ".meta",
      ByteSpan(reinterpret_cast<const std::uint8_t*>(meta.data()), meta.size())));
  return files;
}

Status ParameterStore::check_digest(const fs::path& file) {
  CUZK_TRY(const format::ParameterList* list, published());
  const std::string name = file.filename().string();
  const format::ParameterFile* entry = list->find(name);
  if (!entry)
    return fail(ErrorCode::kInvalidArgument, "{}: no published file has this name", file.string());
  CUZK_TRY(const MappedFile mapped, MappedFile::open(file));
  const std::string found = digest_of(mapped);
  if (found != entry->digest) {
    return fail(ErrorCode::kMismatch, "{}: digest {} is published, {} was found", file.string(),
                entry->digest, found);
  }
  return {};
}

Result<ParameterFileInfo> describe_parameter_file(const fs::path& file) {
  CUZK_TRY(const format::ParameterList* list, published());
  ParameterFileInfo info;
  const std::string name = file.filename().string();
  info.insecure_dev_name = groth16::is_insecure_dev_name(name);
  info.published = list->find(name) != nullptr;
  if (file.extension() == ".vk") {
    info.kind = "vk";
    CUZK_TRY(const auto vk, bellman::read_vk(file, PointCheck::kFormOnly));
    info.counts.ic = vk.ic.size();
    info.bytes = size_on_disk(file).value_or(0);
    return info;
  }
  info.kind = "params";
  CUZK_TRY(const bellman::ParamsFile params, bellman::ParamsFile::open(file));
  const auto& l = params.layout();
  info.counts = {l.ic.count, l.h.count, l.l.count, l.a.count, l.b_g1.count, l.b_g2.count};
  info.bytes = params.file_bytes();
  return info;
}

Status check_parameter_file(const Context& context, const fs::path& file, bool full) {
  CUZK_TRY(const ParameterFileInfo info, describe_parameter_file(file));
  if (info.published) {
    auto span = context.timeline.span("check_digest");
    CUZK_TRY_VOID(ParameterStore::check_digest(file));
  }
  if (info.kind == "vk") {
    CUZK_TRY(const auto vk, bellman::read_vk(file));
    return groth16::check_verifying_key(vk, file.string());
  }
  CUZK_TRY(const bellman::ParamsFile params, bellman::ParamsFile::open(file));
  CUZK_TRY(const auto vk, params.verifying_key(PointCheck::kSubgroup));
  CUZK_TRY_VOID(groth16::check_verifying_key(vk, file.string()));
  if (!full) return {};
  auto span = context.timeline.span("check_points");
  return params.check_points(context.tasks, PointCheck::kSubgroup);
}

}  // namespace cuzk::engine
