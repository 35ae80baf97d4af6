#include "filecoin/shapes.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/bytes.h"
#include "base/hash.h"

namespace cuzk::filecoin {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;

struct SizeRow {
  std::string_view name;
  std::uint64_t bytes;
  TreeShape tree;
  std::optional<std::uint32_t> number;  // of the first registered proof of this size
};

constexpr std::array<SizeRow, 10> kSizes = {{
    {"2KiB", 2 * kKiB, {8, 0, 0}, 0},
    {"4KiB", 4 * kKiB, {8, 2, 0}, {}},
    {"16KiB", 16 * kKiB, {8, 8, 0}, {}},
    {"32KiB", 32 * kKiB, {8, 8, 2}, {}},
    {"8MiB", 8 * kMiB, {8, 0, 0}, 1},
    {"16MiB", 16 * kMiB, {8, 2, 0}, {}},
    {"512MiB", 512 * kMiB, {8, 0, 0}, 2},
    {"1GiB", kGiB, {8, 2, 0}, {}},
    {"32GiB", 32 * kGiB, {8, 8, 0}, 3},
    {"64GiB", 64 * kGiB, {8, 8, 2}, 4},
}};

struct VersionRow {
  std::string_view suffix;  // of the registered proof's name
  ApiVersion api;
  PorepFeature feature;
};

// In the order of the registered numbers: five sizes each.
constexpr std::array<VersionRow, 4> kVersions = {{
    {"V1", ApiVersion::kV1_0, PorepFeature::kNone},
    {"V1_1", ApiVersion::kV1_1, PorepFeature::kNone},
    {"V1_1_Feat_SyntheticPoRep", ApiVersion::kV1_2, PorepFeature::kSynthetic},
    {"V1_2_Feat_NonInteractivePoRep", ApiVersion::kV1_2, PorepFeature::kNonInteractive},
}};
constexpr std::uint32_t kNumberedSizes = 5;

bool is_production(std::uint64_t sector_bytes) { return sector_bytes >= 32 * kGiB; }

std::uint32_t partitions_of(std::uint64_t sector_bytes, PorepFeature feature) {
  if (feature == PorepFeature::kNonInteractive) return is_production(sector_bytes) ? 126 : 13;
  return is_production(sector_bytes) ? 10 : 1;
}

PorepShape shape_of(const SizeRow& row) {
  PorepShape shape;
  shape.sector_bytes = row.bytes;
  shape.tree = row.tree;
  shape.layers = is_production(row.bytes) ? 11 : 2;
  shape.challenges_per_partition = is_production(row.bytes) ? 18 : 2;
  return shape;
}

SealProof make_proof(const SizeRow& size, std::uint32_t version) {
  SealProof p;
  p.number = version * kNumberedSizes + size.number.value_or(0);
  p.name = fmt::format("StackedDrg{}{}", size.name, kVersions[version].suffix);
  p.sector_bytes = size.bytes;
  p.api = kVersions[version].api;
  p.feature = kVersions[version].feature;
  p.partitions = partitions_of(size.bytes, p.feature);
  p.shape = shape_of(size);
  return p;
}

std::string known_sizes() {
  std::string out;
  for (const SizeRow& row : kSizes) out += fmt::format("{}{}", out.empty() ? "" : ", ", row.name);
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

const SizeRow* find_size(std::uint64_t bytes) {
  const auto it = std::find_if(kSizes.begin(), kSizes.end(),
                               [&](const SizeRow& row) { return row.bytes == bytes; });
  return it == kSizes.end() ? nullptr : &*it;
}

}  // namespace

std::string TreeShape::name() const { return fmt::format("{}-{}-{}", base, sub, top); }

std::vector<std::uint32_t> TreeShape::path_arities(std::uint64_t nodes) const {
  std::uint64_t base_leaves = nodes / (sub ? sub : 1) / (top ? top : 1);
  std::vector<std::uint32_t> arities;
  for (; base_leaves > 1; base_leaves /= base) arities.push_back(base);
  if (sub) arities.push_back(sub);
  if (top) arities.push_back(top);
  return arities;
}

std::string PorepShape::parameter_identifier() const {
  return fmt::format(
      "layered_drgporep::PublicParams{{ graph: stacked_graph::StackedGraph{{expansion_degree: 8 "
      "base_graph: drgraph::BucketGraph{{size: {}; degree: 6; hasher: poseidon_hasher}} }}, "
      "challenges: LayerChallenges {{ layers: {}, max_count: {} }}, tree: "
      "merkletree-poseidon_hasher-{} }}",
      nodes(), layers, challenges_per_partition, tree.name());
}

std::string PorepShape::parameter_stem() const {
  const std::string id = parameter_identifier();
  const Digest32 digest = sha256({reinterpret_cast<const std::uint8_t*>(id.data()), id.size()});
  return fmt::format(
      "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-{}-sha256_hasher-{}",
      tree.name(), to_hex(digest));
}

Result<PorepShape> porep_shape(std::uint64_t sector_bytes) {
  if (const SizeRow* row = find_size(sector_bytes)) return shape_of(*row);
  return fail(ErrorCode::kInvalidArgument,
              "there is no sector size of {} bytes; expected one of {}", sector_bytes,
              known_sizes());
}

std::vector<std::uint64_t> sector_sizes() {
  std::vector<std::uint64_t> out;
  for (const SizeRow& row : kSizes) out.push_back(row.bytes);
  return out;
}

std::string sector_size_name(std::uint64_t sector_bytes) {
  const SizeRow* row = find_size(sector_bytes);
  return row ? std::string(row->name) : fmt::format("{}B", sector_bytes);
}

Result<std::uint64_t> parse_sector_size(std::string_view text) {
  for (const SizeRow& row : kSizes) {
    if (equal_ignoring_case(row.name, text)) return row.bytes;
  }
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (error == std::errc() && end == text.data() + text.size() && find_size(bytes)) return bytes;
  return fail(ErrorCode::kInvalidArgument,
              "\"{}\" is not a sector size; expected one of {}, or its number of bytes", text,
              known_sizes());
}

std::array<std::uint8_t, 32> SealProof::porep_id() const {
  std::array<std::uint8_t, 32> id{};
  store_le<std::uint64_t>(id.data(), number);
  return id;
}

std::string SealProof::size_tag() const {
  return fmt::format("StackedDrg{}V1", sector_size_name(sector_bytes));
}

Result<SealProof> seal_proof(std::uint32_t number) {
  if (number >= kVersions.size() * kNumberedSizes) {
    return fail(ErrorCode::kInvalidArgument,
                "there is no registered seal proof {}; the numbers are 0 to 19", number);
  }
  const auto it = std::find_if(kSizes.begin(), kSizes.end(), [&](const SizeRow& row) {
    return row.number == number % kNumberedSizes;
  });
  return make_proof(*it, number / kNumberedSizes);
}

Result<SealProof> seal_proof(std::string_view name) {
  for (const SizeRow& size : kSizes) {
    for (std::uint32_t version = 0; version < kVersions.size(); ++version) {
      SealProof p = make_proof(size, version);
      if (p.name == name) return p;
    }
  }
  return fail(ErrorCode::kInvalidArgument,
              "\"{}\" is not a seal proof; expected StackedDrg<size><version> with a size of {} "
              "and a version of V1, V1_1, V1_1_Feat_SyntheticPoRep, V1_2_Feat_NonInteractivePoRep",
              name, known_sizes());
}

std::vector<SealProof> all_seal_proofs() {
  std::vector<SealProof> out;
  for (std::uint32_t version = 0; version < kVersions.size(); ++version) {
    for (const SizeRow& size : kSizes) out.push_back(make_proof(size, version));
  }
  return out;
}

}  // namespace cuzk::filecoin
