#include "format/bincode.h"

#include <algorithm>

namespace cuzk::format::bincode {

using filecoin::MerkleKind;
using filecoin::MerkleProof;
using filecoin::MerkleStep;
using filecoin::Node;

namespace {

constexpr std::size_t kNodeBytes = 32;
constexpr std::size_t kStepBytes = 16;

Result<MerkleStep> read_step(ByteReader& r) {
  MerkleStep step;
  CUZK_TRY(step.siblings, read_nodes(r, "hashes of a path"));
  CUZK_TRY(step.index, r.u64_le("index of a path"));
  return step;
}

// Appends the steps to the proof's path and says how many there were.
Result<std::uint32_t> read_path(ByteReader& r, std::string_view field, MerkleProof& proof) {
  CUZK_TRY(auto steps, read_list<MerkleStep>(r, field, kStepBytes, read_step));
  for (auto& step : steps) proof.path.push_back(std::move(step));
  return static_cast<std::uint32_t>(steps.size());
}

}  // namespace

Result<Node> read_node(ByteReader& r, std::string_view field) {
  CUZK_TRY(const ByteSpan bytes, r.take(kNodeBytes, field));
  Node out;
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

Result<std::vector<Node>> read_nodes(ByteReader& r, std::string_view field) {
  return read_list<Node>(r, field, kNodeBytes,
                         [&](ByteReader& in) { return read_node(in, field); });
}

Result<MerkleProof> read_merkle(ByteReader& r) {
  MerkleProof out;
  CUZK_TRY(const std::uint32_t kind, r.u32_le("kind of a Merkle proof"));
  if (kind > 2) {
    return fail(ErrorCode::kCorruptInput,
                "{}: Merkle proof of kind {} at offset {}: 0, 1 and 2 are known", r.what(), kind,
                r.offset() - 4);
  }
  out.kind = static_cast<MerkleKind>(kind);
  if (out.kind == MerkleKind::kSingle) {
    CUZK_TRY(out.root, read_node(r, "root"));
    CUZK_TRY(out.leaf, read_node(r, "leaf"));
    CUZK_TRY(out.base_steps, read_path(r, "path", out));
    return out;
  }
  CUZK_TRY(out.base_steps, read_path(r, "base_proof", out));
  CUZK_TRY(out.sub_steps, read_path(r, "sub_proof", out));
  if (out.kind == MerkleKind::kTop) CUZK_TRY_VOID(read_path(r, "top_proof", out));
  CUZK_TRY(out.root, read_node(r, "root"));
  CUZK_TRY(out.leaf, read_node(r, "leaf"));
  return out;
}

void Writer::append(ByteSpan bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }

void Writer::path(const MerkleProof& p, std::size_t begin, std::size_t end) {
  integer<std::uint64_t>(end - begin);
  for (std::size_t i = begin; i < end; ++i) {
    nodes(p.path[i].siblings);
    integer<std::uint64_t>(p.path[i].index);
  }
}

void Writer::merkle(const MerkleProof& p) {
  integer<std::uint32_t>(static_cast<std::uint32_t>(p.kind));
  if (p.kind == MerkleKind::kSingle) {
    node(p.root);
    node(p.leaf);
    path(p, 0, p.path.size());
    return;
  }
  const std::size_t sub = p.base_steps + p.sub_steps;
  path(p, 0, p.base_steps);
  path(p, p.base_steps, sub);
  if (p.kind == MerkleKind::kTop) path(p, sub, p.path.size());
  node(p.root);
  node(p.leaf);
}

}  // namespace cuzk::format::bincode
