#include "filecoin/update_shapes.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "base/bytes.h"
#include "base/hash.h"

namespace cuzk::filecoin {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;

constexpr std::array<std::uint32_t, 6> kSmallH = {1, 1, 1, 1, 1, 1};
constexpr std::array<std::uint32_t, 6> kLargeH = {7, 8, 9, 10, 11, 12};

struct UpdateRow {
  std::uint64_t bytes;
  std::uint32_t partitions;
  std::uint32_t challenges;
  std::uint32_t apex_leafs;
  const std::array<std::uint32_t, 6>& h_values;
  std::optional<std::uint32_t> number;  // of the registered proof
};

constexpr UpdateRow kRows[] = {
    {2 * kKiB, 1, 10, 8, kSmallH, 0},      {4 * kKiB, 1, 10, 8, kSmallH, {}},
    {16 * kKiB, 2, 10, 128, kSmallH, {}},  {32 * kKiB, 2, 10, 128, kSmallH, {}},
    {8 * kMiB, 4, 10, 128, kLargeH, 1},    {16 * kMiB, 4, 10, 128, kLargeH, {}},
    {512 * kMiB, 16, 86, 128, kLargeH, 2}, {32 * kGiB, 16, 86, 128, kLargeH, 3},
    {64 * kGiB, 16, 86, 128, kLargeH, 4},
};
constexpr std::uint32_t kNumberedProofs = 5;

constexpr std::string_view kStem = "v28-empty-sector-update-merkletree-poseidon_hasher-";
constexpr std::string_view kPoseidonStem =
    "v28-empty-sector-update-poseidon-merkletree-poseidon_hasher-";

std::string known_update_sizes() {
  std::string out;
  for (const UpdateRow& row : kRows) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", sector_size_name(row.bytes));
  }
  return out;
}

const UpdateRow* find_row(std::uint64_t bytes) {
  const auto it = std::find_if(std::begin(kRows), std::end(kRows),
                               [&](const UpdateRow& row) { return row.bytes == bytes; });
  return it == std::end(kRows) ? nullptr : &*it;
}

UpdateShape shape_of(const UpdateRow& row) {
  UpdateShape shape;
  shape.sector_bytes = row.bytes;
  shape.tree = porep_shape(row.bytes).value().tree;
  shape.partitions = row.partitions;
  shape.challenges = row.challenges;
  shape.apex_leafs = row.apex_leafs;
  shape.h_values = row.h_values;
  return shape;
}

std::uint32_t log2_of(std::uint64_t power_of_two) {
  return static_cast<std::uint32_t>(std::countr_zero(power_of_two));
}

std::string identifier_digest(const UpdateShape& shape) {
  const std::string id = shape.parameter_identifier();
  return to_hex(sha256({reinterpret_cast<const std::uint8_t*>(id.data()), id.size()}));
}

bool mentions_poseidon(std::string_view name) {
  return name.find("oseidon") != std::string_view::npos;
}

}  // namespace

std::uint32_t UpdateShape::node_bits() const { return log2_of(nodes()); }
std::uint32_t UpdateShape::partition_bits() const { return log2_of(partitions); }
std::uint32_t UpdateShape::apex_bits() const { return log2_of(apex_leafs); }

std::vector<std::uint32_t> UpdateShape::path_arities() const { return tree.path_arities(nodes()); }

Result<std::uint32_t> UpdateShape::h_index(std::uint32_t h) const {
  const auto it = std::find(h_values.begin(), h_values.end(), h);
  if (it != h_values.end()) return static_cast<std::uint32_t>(it - h_values.begin());
  const bool one = h_values.front() == h_values.back();
  return fail(ErrorCode::kInvalidArgument, "h is {}, an update of {} allows {}", h,
              sector_size_name(sector_bytes),
              one ? fmt::format("only {}", h_values.front())
                  : fmt::format("{} to {}", h_values.front(), h_values.back()));
}

std::string UpdateShape::parameter_identifier() const {
  return fmt::format("empty_sector_update::PublicParams{{ sector_nodes: {} }}", nodes());
}

std::string UpdateShape::parameter_stem() const {
  return fmt::format("{}{}-{}", kStem, tree.name(), identifier_digest(*this));
}

std::string UpdateShape::poseidon_parameter_stem() const {
  return fmt::format("{}{}-{}", kPoseidonStem, tree.name(), identifier_digest(*this));
}

Result<UpdateShape> update_shape(std::uint64_t sector_bytes) {
  if (const UpdateRow* row = find_row(sector_bytes)) return shape_of(*row);
  return fail(ErrorCode::kInvalidArgument,
              "there are no sector updates for {}; expected a sector size of {}",
              sector_size_name(sector_bytes), known_update_sizes());
}

std::vector<std::uint64_t> update_sector_sizes() {
  std::vector<std::uint64_t> out;
  for (const UpdateRow& row : kRows) out.push_back(row.bytes);
  return out;
}

UpdateProof update_proof_of(const UpdateShape& shape) {
  const UpdateRow* row = find_row(shape.sector_bytes);
  return {row ? row->number.value_or(0) : 0,
          fmt::format("StackedDrg{}V1", sector_size_name(shape.sector_bytes)), shape};
}

Result<UpdateProof> update_proof(std::uint32_t number) {
  for (const UpdateRow& row : kRows) {
    if (row.number == number) return update_proof_of(shape_of(row));
  }
  return fail(ErrorCode::kInvalidArgument,
              "there is no registered update proof {}; the numbers are 0 to {}", number,
              kNumberedProofs - 1);
}

Result<UpdateProof> update_proof(std::string_view name) {
  std::uint32_t number = 0;
  const char* const end = name.data() + name.size();
  if (const auto [stop, error] = std::from_chars(name.data(), end, number);
      error == std::errc() && stop == end) {
    return update_proof(number);
  }
  for (const UpdateRow& row : kRows) {
    UpdateProof proof = update_proof_of(shape_of(row));
    if (proof.name == name) return proof;
  }
  if (mentions_poseidon(name)) {
    return fail(ErrorCode::kInvalidArgument,
                "\"{}\": updates with a Poseidon tree D (empty-sector-update-poseidon) are not "
                "supported: no registered proof uses them",
                name);
  }
  return fail(ErrorCode::kInvalidArgument,
              "\"{}\" is not an update proof; expected StackedDrg<size>V1 with a size of {}", name,
              known_update_sizes());
}

bool is_poseidon_update_parameter(std::string_view file_name) {
  return file_name.substr(0, kPoseidonStem.size()) == kPoseidonStem;
}

}  // namespace cuzk::filecoin
