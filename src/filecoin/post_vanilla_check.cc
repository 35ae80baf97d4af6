#include "filecoin/post_vanilla_check.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "filecoin/merkle_path.h"

namespace cuzk::filecoin {
namespace {

constexpr std::size_t kNamedSectors = 20;  // in one message

Status check_opened_leaves(const PostSectorProof& proof,
                           std::span<const std::uint64_t> challenges) {
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = challenges.size(); i-- > 0;) {
    if (proof.inclusion[i].leaf_index() == challenges[i]) continue;
    ++wrong;
    first = i;
  }
  if (wrong == 0) return {};
  const char* hint = wrong == challenges.size() && wrong > 1
                         ? ", and so with all others: made for another randomness or sector"
                         : "";
  return fail(ErrorCode::kMismatch, "inclusion_proofs[{}] opens leaf {}, the challenge is {}{}",
              first, proof.inclusion[first].leaf_index(), challenges[first], hint);
}

Status check_commitment(const PostSectorProof& proof, const Node& comm_r) {
  const Fr found = comm_r_of(element_of(proof.comm_c), element_of(proof.comm_r_last));
  if (fr_to_node(found) == comm_r) return {};
  return fail(ErrorCode::kMismatch,
              "the hash of comm_c and comm_r_last is {}, comm_r of the statement is {}",
              to_hex(fr_to_node(found)), to_hex(comm_r));
}

Status check_sector(const PostSectorProof& proof, const PostShape& shape, const Node& comm_r,
                    std::span<const std::uint64_t> challenges) {
  CUZK_TRY_VOID(check_post_parts(proof, shape));
  CUZK_TRY_VOID(check_opened_leaves(proof, challenges));
  CUZK_TRY_VOID(check_commitment(proof, comm_r));
  for (std::size_t i = 0; i < challenges.size(); ++i) {
    const MerkleProof& path = proof.inclusion[i];
    if (auto status = check_poseidon_path(path, {challenges[i], path.leaf}, proof.comm_r_last);
        !status) {
      return fail(
          status.error().in(fmt::format("inclusion_proofs[{}] (challenge {})", i, challenges[i])));
    }
  }
  return {};
}

bool same_path(const MerkleProof& a, const MerkleProof& b) {
  return a.kind == b.kind && a.root == b.root && a.leaf == b.leaf && a.base_steps == b.base_steps &&
         a.sub_steps == b.sub_steps &&
         std::equal(a.path.begin(), a.path.end(), b.path.begin(), b.path.end(),
                    [](const MerkleStep& x, const MerkleStep& y) {
                      return x.index == y.index && x.siblings == y.siblings;
                    });
}

bool same_proof(const PostSectorProof& a, const PostSectorProof& b) {
  return a.comm_c == b.comm_c && a.comm_r_last == b.comm_r_last &&
         std::equal(a.inclusion.begin(), a.inclusion.end(), b.inclusion.begin(), b.inclusion.end(),
                    same_path);
}

}  // namespace

Result<std::vector<PostSectorProof>> arrange_post_proofs(const PostStatement& statement,
                                                         std::vector<PostSectorProof> proofs) {
  std::stable_sort(proofs.begin(), proofs.end(),
                   [](const auto& a, const auto& b) { return a.sector < b.sector; });
  std::vector<PostSectorProof> out;
  std::size_t next = 0;
  for (PostSectorProof& proof : proofs) {
    const bool repeated = !out.empty() && out.back().sector == proof.sector;
    const auto sectors = statement.sectors();
    const std::size_t wanted = repeated ? next - 1 : next;
    if (wanted < sectors.size() && sectors[wanted].number < proof.sector) {
      return fail(ErrorCode::kMismatch, "sector {} has no vanilla proof", sectors[wanted].number);
    }
    if (wanted == sectors.size() || sectors[wanted].number != proof.sector) {
      return fail(ErrorCode::kMismatch,
                  "there is a vanilla proof of sector {}, which is not among the {} sectors to be "
                  "proved",
                  proof.sector, sectors.size());
    }
    if (sectors[wanted].comm_r != proof.comm_r) {
      return fail(ErrorCode::kMismatch,
                  "sector {}: comm_r of the vanilla proof is {}, of the statement {}", proof.sector,
                  to_hex(proof.comm_r), to_hex(sectors[wanted].comm_r));
    }
    if (repeated && !same_proof(out.back(), proof)) {
      return fail(ErrorCode::kMismatch, "sector {} has two vanilla proofs that differ",
                  proof.sector);
    }
    if (repeated) continue;
    out.push_back(std::move(proof));
    ++next;
  }
  if (next < statement.sectors().size()) {
    return fail(ErrorCode::kMismatch, "sector {} has no vanilla proof",
                statement.sectors()[next].number);
  }
  return out;
}

Result<std::vector<PostFault>> find_post_faults(Tasks& tasks, const PostStatement& statement,
                                                std::span<const PostSectorProof> proofs) {
  const auto sectors = statement.sectors();
  CUZK_CHECK(proofs.size() == sectors.size());
  std::vector<Status> results(sectors.size());
  tasks.parallel_for(sectors.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      CUZK_CHECK(proofs[i].sector == sectors[i].number);
      results[i] = check_sector(proofs[i], statement.proof().shape, sectors[i].comm_r,
                                statement.challenges(i));
    }
  });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "asked to stop");
  std::vector<PostFault> faults;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) faults.push_back({sectors[i].number, results[i].error()});
  }
  return faults;
}

Status check_post_vanilla(Tasks& tasks, const PostStatement& statement,
                          std::span<const PostSectorProof> proofs) {
  CUZK_TRY(const auto faults, find_post_faults(tasks, statement, proofs));
  if (faults.empty()) return {};
  std::string others;
  if (faults.size() > 1) {
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 1; i < std::min(faults.size(), kNamedSectors + 1); ++i) {
      numbers.push_back(faults[i].sector);
    }
    others =
        fmt::format("; {} more of {} sectors fail: {}{}", faults.size() - 1, proofs.size(),
                    fmt::join(numbers, ", "), faults.size() > kNamedSectors + 1 ? ", ..." : "");
  }
  return fail(faults[0].error.code, "sector {}: {}{}", faults[0].sector, faults[0].error.message,
              others);
}

}  // namespace cuzk::filecoin
