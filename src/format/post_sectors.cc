#include "format/post_sectors.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "filecoin/cid.h"
#include "format/base64.h"
#include "format/json_document.h"

namespace cuzk::format {

namespace {

namespace dom = simdjson::dom;
using filecoin::Node;

template <class T>
std::optional<T> as(dom::element e) {
  T value;
  if (e.get(value)) return std::nullopt;
  return value;
}

// The member under whichever of the keys is there; the first wins.
std::optional<dom::element> member(dom::object object, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    dom::element found;
    if (!object.at_key(key).get(found)) return found;
  }
  return std::nullopt;
}

Result<Node> commitment(dom::element e) {
  std::optional<std::string_view> text = as<std::string_view>(e);
  if (const auto link = as<dom::object>(e); link && link->size() == 1) {
    if (const auto cid = member(*link, {"/"})) text = as<std::string_view>(*cid);
  }
  if (!text) {
    return fail(ErrorCode::kCorruptInput,
                "the commitment is neither a string nor a link {{\"/\": CID}}");
  }
  auto node = filecoin::parse_commitment(filecoin::CommitmentKind::kSealed, *text, "comm_r");
  if (!node) return fail(ErrorCode::kCorruptInput, "{}", node.error().message);
  return node;
}

Result<filecoin::PostSector> sector(dom::element e) {
  const auto object = as<dom::object>(e);
  if (!object) return fail(ErrorCode::kCorruptInput, "an object is expected");
  filecoin::PostSector out;
  const auto number = member(*object, {"sector", "SectorNumber"});
  if (!number) return fail(ErrorCode::kCorruptInput, "\"sector\" (or \"SectorNumber\") is missing");
  const auto value = as<std::uint64_t>(*number);
  if (!value) return fail(ErrorCode::kCorruptInput, "the sector is no number from 0 to 2^64 - 1");
  out.number = *value;
  const auto comm_r = member(*object, {"comm_r", "SealedCID"});
  if (!comm_r) {
    return fail(ErrorCode::kCorruptInput, "sector {}: \"comm_r\" (or \"SealedCID\") is missing",
                out.number);
  }
  auto node = commitment(*comm_r);
  if (!node) return fail(node.error().in(fmt::format("sector {}", out.number)));
  out.comm_r = *node;
  return out;
}

Result<std::vector<filecoin::PostSector>> sector_list(dom::element e, std::string_view path) {
  const auto array = as<dom::array>(e);
  if (!array)
    return fail(ErrorCode::kCorruptInput, "{}{}an array of sectors is expected", path,
                path.empty() ? "" : ": ");
  std::vector<filecoin::PostSector> out;
  for (const dom::element item : *array) {
    auto s = sector(item);
    if (!s) return fail(s.error().in(fmt::format("{}[{}]", path, out.size())));
    out.push_back(*s);
  }
  if (out.empty())
    return fail(ErrorCode::kCorruptInput, "{}{}no sectors are listed", path,
                path.empty() ? "" : ": ");
  return out;
}

Result<Node> randomness(dom::element e) {
  const auto text = as<std::string_view>(e);
  if (!text) return fail(ErrorCode::kCorruptInput, "Randomness: base64 is expected");
  CUZK_TRY(const auto bytes, decode_base64(*text));
  if (bytes.size() != 32) {
    return fail(ErrorCode::kCorruptInput, "Randomness: 32 bytes are expected, found {}",
                bytes.size());
  }
  Node out;
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

// The number that every entry of "Proofs" has; none for an empty list.
Result<std::optional<std::uint32_t>> registered_proof(dom::element e) {
  const auto array = as<dom::array>(e);
  if (!array) return fail(ErrorCode::kCorruptInput, "Proofs: an array is expected");
  std::optional<std::uint32_t> out;
  for (const dom::element item : *array) {
    const auto object = as<dom::object>(item);
    const auto number = object ? member(*object, {"PoStProof"}) : std::nullopt;
    const auto value = number ? as<std::uint64_t>(*number) : std::nullopt;
    if (!value || *value > 14) {
      return fail(ErrorCode::kCorruptInput, "Proofs: PoStProof is no number from 0 to 14");
    }
    if (out && *out != *value) {
      return fail(ErrorCode::kMismatch, "Proofs: PoStProof is {} and {}", *out, *value);
    }
    out = static_cast<std::uint32_t>(*value);
  }
  return out;
}

Result<PostSectorsFile> document(dom::element root) {
  PostSectorsFile out;
  const auto object = as<dom::object>(root);
  if (!object) {
    CUZK_TRY(out.sectors, sector_list(root, ""));
    return out;
  }
  const auto listed = member(*object, {"ChallengedSectors", "sectors"});
  if (!listed) {
    return fail(ErrorCode::kCorruptInput,
                "an array of sectors, or an object with \"ChallengedSectors\", is expected");
  }
  CUZK_TRY(out.sectors, sector_list(*listed, "ChallengedSectors"));
  if (const auto e = member(*object, {"Randomness"})) {
    CUZK_TRY(out.randomness, randomness(*e));
  }
  if (const auto e = member(*object, {"Proofs"})) {
    CUZK_TRY(out.registered_proof, registered_proof(*e));
  }
  if (const auto e = member(*object, {"Prover"})) {
    out.miner = as<std::uint64_t>(*e);
    if (!out.miner) return fail(ErrorCode::kCorruptInput, "Prover: an actor id is expected");
  }
  return out;
}

}  // namespace

Result<PostSectorsFile> parse_post_sectors(ByteSpan bytes, std::string_view what) {
  dom::parser parser;
  CUZK_TRY(const dom::element root, parse_json(parser, bytes, what));
  auto out = document(root);
  return out ? out : fail(out.error().in(what));
}

Result<PostSectorsFile> read_post_sectors(const std::filesystem::path& path) {
  CUZK_TRY(const MappedFile file, MappedFile::open(path));
  return parse_post_sectors(file.bytes(), path.string());
}

}  // namespace cuzk::format
