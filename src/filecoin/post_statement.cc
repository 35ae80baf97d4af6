#include "filecoin/post_statement.h"

#include <algorithm>

#include "base/bytes.h"
#include "filecoin/merkle_path.h"
#include "filecoin/post_challenges.h"

namespace cuzk::filecoin {
namespace {

// Ascending, each once; a sector that stands twice must be the same.
Result<std::vector<PostSector>> in_order(std::vector<PostSector> sectors) {
  std::stable_sort(sectors.begin(), sectors.end(),
                   [](const auto& a, const auto& b) { return a.number < b.number; });
  std::vector<PostSector> out;
  for (const PostSector& s : sectors) {
    if (auto status = check_element(s.comm_r, "comm_r"); !status) {
      return fail(status.error().in(fmt::format("sector {}", s.number)));
    }
    if (out.empty() || out.back().number != s.number) {
      out.push_back(s);
    } else if (out.back().comm_r != s.comm_r) {
      return fail(ErrorCode::kInvalidArgument, "sector {} stands twice, with comm_r {} and {}",
                  s.number, to_hex(out.back().comm_r), to_hex(s.comm_r));
    }
  }
  return out;
}

}  // namespace

Result<PostStatement> PostStatement::make(PostProof proof, const Node& chain_randomness,
                                          std::vector<PostSector> sectors,
                                          std::uint32_t first_partition) {
  PostStatement out;
  out.proof_ = std::move(proof);
  out.randomness_ = post_randomness(chain_randomness);
  out.first_partition_ = first_partition;
  CUZK_TRY(out.sectors_, in_order(std::move(sectors)));
  if (out.sectors_.empty()) {
    return fail(ErrorCode::kInvalidArgument, "{}: no sectors are given", out.proof_.name);
  }
  if (out.proof_.shape.kind == PostKind::kWinning && out.sectors_.size() != 1) {
    return fail(ErrorCode::kInvalidArgument, "{}: {} sectors are given, a WinningPoSt is about one",
                out.proof_.name, out.sectors_.size());
  }
  return out;
}

std::uint32_t PostStatement::partitions() const {
  const std::size_t each = proof_.shape.sectors_per_partition();
  return static_cast<std::uint32_t>((sectors_.size() + each - 1) / each);
}

std::span<const PostSector> PostStatement::sectors_of(std::uint32_t partition) const {
  const std::size_t each = proof_.shape.sectors_per_partition();
  const std::size_t begin = std::min(sectors_.size(), partition * each);
  return std::span(sectors_).subspan(begin, std::min(each, sectors_.size() - begin));
}

std::vector<std::uint64_t> PostStatement::challenges(std::size_t position) const {
  const std::uint32_t count = proof_.shape.challenges_per_sector();
  std::uint64_t first = 0;
  if (proof_.indexing == PostIndexing::kAcrossSectors) {
    const std::uint64_t before =
        std::uint64_t{first_partition_} * proof_.shape.sectors_per_partition();
    first = (before + position) * count;
  }
  return post_leaf_challenges({proof_.shape.nodes(), first, count}, randomness_,
                              sectors_[position].number);
}

Result<std::vector<Fr>> post_public_inputs(const PostStatement& statement,
                                           std::uint32_t partition) {
  const PostShape& shape = statement.proof().shape;
  const auto sectors = statement.sectors_of(partition);
  if (sectors.empty()) {
    return fail(ErrorCode::kInvalidArgument, "{}: {} sectors make {} partitions; there is no {}",
                statement.proof().name, statement.sectors().size(), statement.partitions(),
                partition);
  }
  std::vector<Fr> inputs;
  inputs.reserve(shape.num_public_inputs());
  std::size_t position = std::size_t{partition} * shape.sectors_per_partition();
  for (const PostSector& sector : sectors) {
    const Fr comm_r = element_of(sector.comm_r);
    const auto challenges = statement.challenges(position++);
    for (std::size_t i = 0; i < challenges.size(); ++i) {
      if (i % shape.circuit_challenges == 0) inputs.push_back(comm_r);  // a place begins
      inputs.push_back(Fr::from_u64(challenges[i]));
    }
  }
  const std::size_t place = 1 + shape.circuit_challenges;
  while (inputs.size() < shape.num_public_inputs()) {
    inputs.push_back(Fr(inputs[inputs.size() - place]));
  }
  return inputs;
}

}  // namespace cuzk::filecoin
