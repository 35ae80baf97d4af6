#include "filecoin/post_shapes.h"

#include <charconv>

#include "base/bytes.h"
#include "base/hash.h"

namespace cuzk::filecoin {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::uint32_t kWinningChallenges = 66;
constexpr std::uint32_t kWindowChallenges = 10;

std::uint32_t window_sectors(std::uint64_t sector_bytes) {
  if (sector_bytes == 32 * kGiB) return 2349;
  if (sector_bytes == 64 * kGiB) return 2300;
  return 2;
}

Result<PostShape> shape_of(PostKind kind, std::uint64_t sector_bytes) {
  CUZK_TRY(const PorepShape porep, porep_shape(sector_bytes));
  PostShape shape;
  shape.kind = kind;
  shape.sector_bytes = sector_bytes;
  shape.tree = porep.tree;
  const bool winning = kind == PostKind::kWinning;
  shape.circuit_sectors = winning ? kWinningChallenges : window_sectors(sector_bytes);
  shape.circuit_challenges = winning ? 1 : kWindowChallenges;
  return shape;
}

struct VersionRow {
  PostKind kind;
  std::string_view suffix;
  std::string_view other_suffix;  // another spelling of the same
  PostIndexing indexing;
};

// In the order of the registered numbers: five sizes each.
constexpr VersionRow kVersions[] = {
    {PostKind::kWinning, "V1", "V1", PostIndexing::kAcrossSectors},
    {PostKind::kWindow, "V1", "V1", PostIndexing::kAcrossSectors},
    {PostKind::kWindow, "V1_1", "V1_2", PostIndexing::kWithinSector},
};
constexpr std::uint32_t kNumberedSizes = 5;

// The number of the size's first registered seal proof: sizes are in one order everywhere.
Result<std::uint32_t> size_number(std::uint64_t sector_bytes) {
  CUZK_TRY(const SealProof seal,
           seal_proof(fmt::format("StackedDrg{}V1", sector_size_name(sector_bytes))));
  return seal.number;
}

std::string name_of(const VersionRow& row, std::uint64_t sector_bytes, std::string_view suffix) {
  return fmt::format("StackedDrg{}{}{}", row.kind == PostKind::kWinning ? "Winning" : "Window",
                     sector_size_name(sector_bytes), suffix);
}

Result<PostProof> make_proof(std::uint32_t version, std::uint64_t sector_bytes) {
  const VersionRow& row = kVersions[version];
  PostProof proof;
  CUZK_TRY(const std::uint32_t number, size_number(sector_bytes));
  proof.number = version * kNumberedSizes + number;
  proof.name = name_of(row, sector_bytes, row.suffix);
  proof.indexing = row.indexing;
  CUZK_TRY(proof.shape, shape_of(row.kind, sector_bytes));
  return proof;
}

}  // namespace

std::string_view post_kind_name(PostKind kind) {
  return kind == PostKind::kWinning ? "WinningPoSt" : "WindowPoSt";
}

std::string PostShape::parameter_identifier() const {
  return fmt::format(
      "FallbackPoSt::PublicParams{{sector_size: {}, challenge_count: {}, sector_count: {}}}",
      sector_bytes, circuit_challenges, circuit_sectors);
}

std::string PostShape::parameter_stem() const {
  const std::string id = parameter_identifier();
  const Digest32 digest = sha256({reinterpret_cast<const std::uint8_t*>(id.data()), id.size()});
  return fmt::format("v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-{}-{}",
                     tree.name(), to_hex(digest));
}

Result<PostShape> winning_post_shape(std::uint64_t sector_bytes) {
  return shape_of(PostKind::kWinning, sector_bytes);
}
Result<PostShape> window_post_shape(std::uint64_t sector_bytes) {
  return shape_of(PostKind::kWindow, sector_bytes);
}

Result<PostProof> post_proof(std::uint32_t number) {
  if (number >= std::size(kVersions) * kNumberedSizes) {
    return fail(ErrorCode::kInvalidArgument,
                "there is no registered proof of spacetime {}; the numbers are 0 to 14", number);
  }
  CUZK_TRY(const SealProof seal, seal_proof(number % kNumberedSizes));
  return make_proof(number / kNumberedSizes, seal.sector_bytes);
}

Result<PostProof> post_proof(std::string_view name) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) return post_proof(number);
  for (std::uint32_t version = 0; version < std::size(kVersions); ++version) {
    const VersionRow& row = kVersions[version];
    for (const std::uint64_t bytes : sector_sizes()) {
      if (name == name_of(row, bytes, row.suffix) || name == name_of(row, bytes, row.other_suffix))
        return make_proof(version, bytes);
    }
  }
  return fail(ErrorCode::kInvalidArgument,
              "\"{}\" is not a proof of spacetime; expected a number from 0 to 14, "
              "StackedDrgWinning<size>V1, StackedDrgWindow<size>V1 or StackedDrgWindow<size>V1_1, "
              "e.g. StackedDrgWindow32GiBV1_1",
              name);
}

std::vector<PostProof> all_post_proofs() {
  std::vector<PostProof> out;
  for (std::uint32_t version = 0; version < std::size(kVersions); ++version) {
    for (const std::uint64_t bytes : sector_sizes()) out.push_back(*make_proof(version, bytes));
  }
  return out;
}

}  // namespace cuzk::filecoin
