#include "format/post_vanilla.h"

#include "base/mapped_file.h"
#include "format/base64.h"
#include "format/bincode.h"

namespace cuzk::format {

using filecoin::PostSectorProof;

namespace {

// sector_id, comm_r, a list of one { inclusion_proofs, comm_c, comm_r_last }.
Result<PostSectorProof> sector_proof(ByteReader& r) {
  PostSectorProof out;
  CUZK_TRY(out.sector, r.u64_le("sector_id"));
  CUZK_TRY(out.comm_r, bincode::read_node(r, "comm_r"));
  CUZK_TRY(const std::uint64_t parts, r.u64_le("number of sectors in vanilla_proof"));
  if (parts != 1) {
    return fail(ErrorCode::kCorruptInput,
                "{}: {} sectors in one vanilla_proof at offset {}; one is expected", r.what(),
                parts, r.offset() - 8);
  }
  CUZK_TRY(out.inclusion, bincode::read_list<filecoin::MerkleProof>(
                              r, "inclusion_proofs", bincode::kMerkleBytes, bincode::read_merkle));
  CUZK_TRY(out.comm_c, bincode::read_node(r, "comm_c"));
  CUZK_TRY(out.comm_r_last, bincode::read_node(r, "comm_r_last"));
  return out;
}

Result<std::vector<PostSectorProof>> back_to_back(ByteSpan bytes, std::string_view what) {
  ByteReader r(bytes, what);
  std::vector<PostSectorProof> out;
  while (out.empty() || r.remaining() > 0) {
    auto proof = sector_proof(r);
    if (!proof && out.empty()) return fail(proof.error());
    if (!proof) {
      return fail(ErrorCode::kCorruptInput, "{} (after the proofs of {} sectors)",
                  proof.error().message, out.size());
    }
    out.push_back(std::move(*proof));
  }
  return out;
}

}  // namespace

Result<PostSectorProof> parse_post_sector_proof(ByteSpan bytes, std::string_view what) {
  ByteReader r(bytes, what);
  CUZK_TRY(auto proof, sector_proof(r));
  CUZK_TRY_VOID(r.expect_end());
  return proof;
}

Result<std::vector<PostSectorProof>> parse_post_vanilla(ByteSpan bytes, std::string_view what) {
  if (!looks_like_json_array(bytes)) return back_to_back(bytes, what);
  CUZK_TRY(const auto items, parse_base64_array(bytes, what));
  std::vector<PostSectorProof> out;
  for (const auto& item : items) {
    CUZK_TRY(auto proof,
             parse_post_sector_proof(item, fmt::format("{}: item {}", what, out.size())));
    out.push_back(std::move(proof));
  }
  if (out.empty()) return fail(ErrorCode::kCorruptInput, "{}: an array of no proofs", what);
  return out;
}

Result<std::vector<PostSectorProof>> read_post_vanilla(const std::filesystem::path& path) {
  CUZK_TRY(const MappedFile file, MappedFile::open(path));
  return parse_post_vanilla(file.bytes(), path.string());
}

std::vector<std::uint8_t> write_post_sector_proof(const PostSectorProof& proof) {
  bincode::Writer w;
  w.integer<std::uint64_t>(proof.sector);
  w.node(proof.comm_r);
  w.integer<std::uint64_t>(1);
  w.list(proof.inclusion, [&](const filecoin::MerkleProof& p) { w.merkle(p); });
  w.node(proof.comm_c);
  w.node(proof.comm_r_last);
  return w.take();
}

std::string write_post_vanilla_json(std::span<const PostSectorProof> proofs) {
  std::vector<std::vector<std::uint8_t>> items;
  for (const PostSectorProof& proof : proofs) items.push_back(write_post_sector_proof(proof));
  return write_base64_array(items);
}

}  // namespace cuzk::format
