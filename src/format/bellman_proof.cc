#include "format/bellman_proof.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "curve/encoding.h"

namespace cuzk::bellman {

namespace {

template <class G>
Result<Affine<G>> decode_element(ByteSpan bytes, std::string_view what, std::string_view name) {
  auto point = decode_compressed<G>(bytes, PointCheck::kSubgroup);
  if (!point) return fail(point.error().in(name).in(what));
  if (point->is_identity()) {
    return fail(ErrorCode::kCorruptInput, "{}: {}: the identity is not allowed in a proof", what,
                name);
  }
  return point;
}

}  // namespace

ProofBytes encode_proof(const Proof<Bls12_381>& proof) {
  ProofBytes out;
  auto* at = std::ranges::copy(encode_compressed(proof.a), out.begin()).out;
  at = std::ranges::copy(encode_compressed(proof.b), at).out;
  std::ranges::copy(encode_compressed(proof.c), at);
  return out;
}

std::vector<std::uint8_t> encode_proofs(std::span<const Proof<Bls12_381>> proofs) {
  std::vector<std::uint8_t> out;
  out.reserve(kProofBytes * proofs.size());
  for (const auto& proof : proofs) {
    const ProofBytes bytes = encode_proof(proof);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

Result<Proof<Bls12_381>> decode_proof(ByteSpan bytes, std::string_view what) {
  if (bytes.size() != kProofBytes) {
    return fail(ErrorCode::kCorruptInput, "{}: a proof has {} bytes, found {}", what, kProofBytes,
                bytes.size());
  }
  Proof<Bls12_381> proof;
  CUZK_TRY(proof.a, decode_element<Bls12_381G1>(bytes.subspan(0, 48), what, "A"));
  CUZK_TRY(proof.b, decode_element<Bls12_381G2>(bytes.subspan(48, 96), what, "B"));
  CUZK_TRY(proof.c, decode_element<Bls12_381G1>(bytes.subspan(144, 48), what, "C"));
  return proof;
}

Result<std::vector<Proof<Bls12_381>>> decode_proofs(ByteSpan bytes, std::string_view what) {
  if (bytes.empty() || bytes.size() % kProofBytes != 0) {
    return fail(ErrorCode::kCorruptInput,
                "{}: proofs have {} bytes each, found {} bytes, which is {} proofs and {} bytes",
                what, kProofBytes, bytes.size(), bytes.size() / kProofBytes,
                bytes.size() % kProofBytes);
  }
  const std::size_t count = bytes.size() / kProofBytes;
  std::vector<Proof<Bls12_381>> proofs;
  proofs.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = fmt::format("{}: proof {} of {}", what, i + 1, count);
    CUZK_TRY(proofs.emplace_back(),
             decode_proof(bytes.subspan(i * kProofBytes, kProofBytes), name));
  }
  return proofs;
}

Result<std::vector<Proof<Bls12_381>>> read_proofs(const std::filesystem::path& path,
                                                  std::size_t max_proofs) {
  CUZK_TRY(const std::vector<std::uint8_t> bytes, read_file(path, kProofBytes * max_proofs));
  return decode_proofs(bytes, path.string());
}

}  // namespace cuzk::bellman
