#include "format/update_vanilla.h"

#include "base/mapped_file.h"
#include "format/base64.h"
#include "format/bincode.h"

namespace cuzk::format {

using filecoin::UpdateChallengeProof;
using filecoin::UpdatePartitionProof;

namespace {

Result<UpdateChallengeProof> challenge(ByteReader& r) {
  UpdateChallengeProof out;
  CUZK_TRY(out.proof_r_old, bincode::read_merkle(r));
  CUZK_TRY(out.proof_d_new, bincode::read_merkle(r));
  CUZK_TRY(out.proof_r_new, bincode::read_merkle(r));
  return out;
}

Result<UpdatePartitionProof> partition(ByteReader& r) {
  UpdatePartitionProof out;
  CUZK_TRY(out.comm_c, bincode::read_node(r, "comm_c"));
  CUZK_TRY(out.apex_leafs, bincode::read_nodes(r, "apex_leafs"));
  CUZK_TRY(out.challenges, bincode::read_list<UpdateChallengeProof>(
                               r, "challenge_proofs", 3 * bincode::kMerkleBytes, challenge));
  return out;
}

Result<std::vector<UpdatePartitionProof>> back_to_back(ByteSpan bytes, std::string_view what) {
  ByteReader r(bytes, what);
  std::vector<UpdatePartitionProof> out;
  while (out.empty() || r.remaining() > 0) {
    auto proof = partition(r);
    if (!proof && out.empty()) return fail(proof.error());
    if (!proof) {
      return fail(ErrorCode::kCorruptInput, "{} (after the proofs of {} partitions)",
                  proof.error().message, out.size());
    }
    out.push_back(std::move(*proof));
  }
  return out;
}

bool begins_like_json_array(ByteSpan bytes) {
  for (const std::uint8_t b : bytes) {
    if (b != ' ' && b != '\t' && b != '\n' && b != '\r') return b == '[';
  }
  return false;
}

}  // namespace

Result<UpdatePartitionProof> parse_update_partition(ByteSpan bytes, std::string_view what) {
  ByteReader r(bytes, what);
  CUZK_TRY(auto proof, partition(r));
  CUZK_TRY_VOID(r.expect_end());
  return proof;
}

Result<std::vector<UpdatePartitionProof>> parse_update_vanilla(ByteSpan bytes,
                                                               std::string_view what) {
  // comm_c, which comes first, may begin with any byte; but no text has a length in bytes 32 to 39
  // that bincode could take.
  auto proofs = back_to_back(bytes, what);
  if (proofs || !begins_like_json_array(bytes)) return proofs;
  CUZK_TRY(const auto items, parse_base64_array(bytes, what));
  std::vector<UpdatePartitionProof> out;
  for (const auto& item : items) {
    CUZK_TRY(auto proof,
             parse_update_partition(item, fmt::format("{}: item {}", what, out.size())));
    out.push_back(std::move(proof));
  }
  if (out.empty()) return fail(ErrorCode::kCorruptInput, "{}: an array of no proofs", what);
  return out;
}

Result<std::vector<UpdatePartitionProof>> read_update_vanilla(const std::filesystem::path& path) {
  CUZK_TRY(const MappedFile file, MappedFile::open(path));
  return parse_update_vanilla(file.bytes(), path.string());
}

std::vector<std::uint8_t> write_update_partition(const UpdatePartitionProof& proof) {
  bincode::Writer w;
  w.node(proof.comm_c);
  w.nodes(proof.apex_leafs);
  w.list(proof.challenges, [&](const UpdateChallengeProof& p) {
    w.merkle(p.proof_r_old);
    w.merkle(p.proof_d_new);
    w.merkle(p.proof_r_new);
  });
  return w.take();
}

std::string write_update_vanilla_json(std::span<const UpdatePartitionProof> proofs) {
  std::vector<std::vector<std::uint8_t>> items;
  for (const UpdatePartitionProof& proof : proofs) items.push_back(write_update_partition(proof));
  return write_base64_array(items);
}

}  // namespace cuzk::format
