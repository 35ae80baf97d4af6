#include "format/c1_json.h"

#include <array>
#include <initializer_list>

#include "filecoin/statement.h"
#include "format/base64.h"
#include "format/json_document.h"

namespace cuzk::format::internal {

namespace {

namespace dom = simdjson::dom;
using filecoin::MerkleKind;
using filecoin::Node;

std::string_view type_name(dom::element e) {
  switch (e.type()) {
    case dom::element_type::ARRAY:
      return "an array";
    case dom::element_type::OBJECT:
      return "an object";
    case dom::element_type::STRING:
      return "a string";
    case dom::element_type::BOOL:
      return "a boolean";
    case dom::element_type::NULL_VALUE:
      return "null";
    default:
      return "a number";
  }
}

template <class T>
Result<T> in(Result<T> result, std::string_view context) {
  if (result) return result;
  return fail(result.error().in(context));
}

// The fields of an object that has exactly these keys, once each, in the order of `keys`.
template <std::size_t N>
Result<std::array<dom::element, N>> fields(dom::element e, const char* const (&keys)[N]) {
  dom::object object;
  if (e.get(object)) {
    return fail(ErrorCode::kCorruptInput, "expected an object, found {}", type_name(e));
  }
  std::array<dom::element, N> out;
  std::array<bool, N> seen{};
  for (const auto& field : object) {
    std::size_t i = 0;
    while (i < N && field.key != keys[i]) ++i;
    if (i == N) {
      return fail(ErrorCode::kCorruptInput, "unknown key \"{}\"",
                  std::string_view(field.key).substr(0, 64));
    }
    if (seen[i]) return fail(ErrorCode::kCorruptInput, "key \"{}\" stands twice", keys[i]);
    seen[i] = true;
    out[i] = field.value;
  }
  for (std::size_t i = 0; i < N; ++i) {
    if (!seen[i]) return fail(ErrorCode::kCorruptInput, "key \"{}\" is missing", keys[i]);
  }
  return out;
}

Result<dom::array> array_of(dom::element e) {
  dom::array out;
  if (e.get(out))
    return fail(ErrorCode::kCorruptInput, "expected an array, found {}", type_name(e));
  return out;
}

Result<std::uint64_t> number(dom::element e, std::uint64_t below_or_at) {
  std::uint64_t v = 0;
  if (e.get(v)) {
    return fail(ErrorCode::kCorruptInput, "expected a whole number, found {}",
                e.is_number() ? "one that is negative, too large or not whole" : type_name(e));
  }
  if (v > below_or_at)
    return fail(ErrorCode::kCorruptInput, "expected at most {}, found {}", below_or_at, v);
  return v;
}

Result<std::string_view> text(dom::element e) {
  std::string_view v;
  if (e.get(v)) return fail(ErrorCode::kCorruptInput, "expected a string, found {}", type_name(e));
  return v;
}

// Four in five bytes of a C1 come through here, so the good case makes no Result for each byte.
Result<Node> node(dom::element e) {
  CUZK_TRY(const dom::array bytes, array_of(e));
  Node out;
  std::size_t i = 0;
  for (const dom::element b : bytes) {
    std::uint64_t v = 0;
    if (i == out.size()) return fail(ErrorCode::kCorruptInput, "expected 32 bytes, found more");
    if (b.get(v) || v > 255) return fail(number(b, 255).error().in(fmt::format("byte {}", i)));
    out[i++] = static_cast<std::uint8_t>(v);
  }
  if (i != out.size()) return fail(ErrorCode::kCorruptInput, "expected 32 bytes, found {}", i);
  return out;
}

template <class T, class F>
Result<std::vector<T>> list(dom::element e, F&& parse) {
  CUZK_TRY(const dom::array array, array_of(e));
  std::vector<T> out;
  for (const dom::element item : array) {
    auto v = parse(item);
    if (!v) return fail(v.error().in(fmt::format("[{}]", out.size())));
    out.push_back(std::move(*v));
  }
  return out;
}

Result<filecoin::MerkleStep> merkle_step(dom::element e) {
  CUZK_TRY(const auto f, fields(e, {"hashes", "index"}));
  filecoin::MerkleStep out;
  CUZK_TRY(out.siblings, in(list<Node>(f[0], node), "hashes"));
  CUZK_TRY(out.index, in(number(f[1], UINT64_MAX), "index"));
  return out;
}

// {"path": [steps]}, appended to `proof`; the number of steps.
Result<std::uint32_t> inclusion_path(dom::element e, filecoin::MerkleProof& proof) {
  CUZK_TRY(const auto f, fields(e, {"path"}));
  CUZK_TRY(auto steps, in(list<filecoin::MerkleStep>(f[0], merkle_step), "path"));
  for (auto& step : steps) proof.path.push_back(std::move(step));
  return static_cast<std::uint32_t>(steps.size());
}

Status single_proof(dom::element e, filecoin::MerkleProof& out) {
  CUZK_TRY(const auto f, fields(e, {"root", "leaf", "path"}));
  CUZK_TRY(out.root, in(node(f[0]), "root"));
  CUZK_TRY(out.leaf, in(node(f[1]), "leaf"));
  CUZK_TRY(out.base_steps, in(inclusion_path(f[2], out), "path"));
  return {};
}

Status sub_proof(dom::element e, filecoin::MerkleProof& out) {
  CUZK_TRY(const auto f, fields(e, {"base_proof", "sub_proof", "root", "leaf"}));
  CUZK_TRY(out.base_steps, in(inclusion_path(f[0], out), "base_proof"));
  CUZK_TRY(out.sub_steps, in(inclusion_path(f[1], out), "sub_proof"));
  CUZK_TRY(out.root, in(node(f[2]), "root"));
  CUZK_TRY(out.leaf, in(node(f[3]), "leaf"));
  return {};
}

Status top_proof(dom::element e, filecoin::MerkleProof& out) {
  CUZK_TRY(const auto f, fields(e, {"base_proof", "sub_proof", "top_proof", "root", "leaf"}));
  CUZK_TRY(out.base_steps, in(inclusion_path(f[0], out), "base_proof"));
  CUZK_TRY(out.sub_steps, in(inclusion_path(f[1], out), "sub_proof"));
  CUZK_TRY_VOID(in(inclusion_path(f[2], out), "top_proof"));
  CUZK_TRY(out.root, in(node(f[3]), "root"));
  CUZK_TRY(out.leaf, in(node(f[4]), "leaf"));
  return {};
}

Result<filecoin::MerkleProof> merkle_proof(dom::element e) {
  CUZK_TRY(const auto f, fields(e, {"data"}));
  dom::object data;
  if (f[0].get(data) || data.size() != 1) {
    return fail(ErrorCode::kCorruptInput,
                "data: expected an object of one key, Single, Sub or Top");
  }
  const auto field = *data.begin();
  static constexpr Status (*kParsers[])(dom::element, filecoin::MerkleProof&) = {
      single_proof, sub_proof, top_proof};
  for (std::size_t kind = 0; kind < 3; ++kind) {
    if (field.key != filecoin::kMerkleKindNames[kind]) continue;
    filecoin::MerkleProof out;
    out.kind = static_cast<MerkleKind>(kind);
    if (auto status = kParsers[kind](field.value, out); !status) {
      return fail(status.error().in(fmt::format("data.{}", filecoin::kMerkleKindNames[kind])));
    }
    return out;
  }
  return fail(ErrorCode::kCorruptInput, "data: expected Single, Sub or Top, found \"{}\"",
              std::string_view(field.key).substr(0, 64));
}

Result<filecoin::ColumnProof> column_proof(dom::element e) {
  CUZK_TRY(const auto f, fields(e, {"column", "inclusion_proof"}));
  CUZK_TRY(const auto column, in(fields(f[0], {"index", "rows", "_h"}), "column"));
  filecoin::ColumnProof out;
  CUZK_TRY(const std::uint64_t index, in(number(column[0], UINT32_MAX), "column.index"));
  out.index = static_cast<std::uint32_t>(index);
  CUZK_TRY(out.rows, in(list<Node>(column[1], node), "column.rows"));
  if (!column[2].is_null()) {
    return fail(ErrorCode::kCorruptInput, "column._h: expected null, found {}",
                type_name(column[2]));
  }
  CUZK_TRY(out.inclusion, in(merkle_proof(f[1]), "inclusion_proof"));
  return out;
}

Result<filecoin::LabelingProof> labeling_proof(dom::element e) {
  CUZK_TRY(const auto f, fields(e, {"parents", "layer_index", "node"}));
  filecoin::LabelingProof out;
  CUZK_TRY(out.parents, in(list<Node>(f[0], node), "parents"));
  CUZK_TRY(const std::uint64_t layer, in(number(f[1], UINT32_MAX), "layer_index"));
  out.layer = static_cast<std::uint32_t>(layer);
  CUZK_TRY(out.node, in(number(f[2], UINT64_MAX), "node"));
  return out;
}

Result<filecoin::PorepChallengeProof> challenge_proof(dom::element e) {
  CUZK_TRY(const auto f, fields(e, {"comm_d_proofs", "comm_r_last_proof", "replica_column_proofs",
                                    "labeling_proofs", "encoding_proof"}));
  filecoin::PorepChallengeProof out;
  CUZK_TRY(out.comm_d_proof, in(merkle_proof(f[0]), "comm_d_proofs"));
  CUZK_TRY(out.comm_r_last_proof, in(merkle_proof(f[1]), "comm_r_last_proof"));
  CUZK_TRY(const auto columns,
           in(fields(f[2], {"c_x", "drg_parents", "exp_parents"}), "replica_column_proofs"));
  CUZK_TRY(out.c_x, in(column_proof(columns[0]), "replica_column_proofs.c_x"));
  CUZK_TRY(out.drg_parents, in(list<filecoin::ColumnProof>(columns[1], column_proof),
                               "replica_column_proofs.drg_parents"));
  CUZK_TRY(out.exp_parents, in(list<filecoin::ColumnProof>(columns[2], column_proof),
                               "replica_column_proofs.exp_parents"));
  CUZK_TRY(out.labeling,
           in(list<filecoin::LabelingProof>(f[3], labeling_proof), "labeling_proofs"));
  CUZK_TRY(out.encoding, in(labeling_proof(f[4]), "encoding_proof"));
  return out;
}

// The one key of vanilla_proofs is the V1 name of the size, whatever the proof's version.
Result<dom::element> vanilla_proofs(dom::element e, const filecoin::SealProof& proof) {
  const std::string key = "StackedDrg" + filecoin::sector_size_name(proof.sector_bytes) + "V1";
  dom::object object;
  if (e.get(object) || object.size() != 1) {
    return fail(ErrorCode::kCorruptInput, "expected an object of one key, \"{}\"", key);
  }
  const auto field = *object.begin();
  if (field.key != key) {
    return fail(ErrorCode::kMismatch, "key \"{}\" does not fit {}, which has \"{}\"",
                std::string_view(field.key).substr(0, 64), proof.name, key);
  }
  return field.value;
}

Result<filecoin::PorepC1> raw_c1(dom::element root) {
  CUZK_TRY(const auto f, fields(root, {"registered_proof", "vanilla_proofs", "comm_r", "comm_d",
                                       "replica_id", "seed", "ticket"}));
  filecoin::PorepC1 out;
  CUZK_TRY(const std::string_view name, in(text(f[0]), "registered_proof"));
  auto proof = filecoin::seal_proof(name.substr(0, 64));
  if (!proof) {
    return fail(ErrorCode::kCorruptInput, "registered_proof: {}", proof.error().message);
  }
  out.proof = std::move(*proof);
  CUZK_TRY(const dom::element proofs, in(vanilla_proofs(f[1], out.proof), "vanilla_proofs"));
  CUZK_TRY(out.partitions, in(list<std::vector<filecoin::PorepChallengeProof>>(
                                  proofs,
                                  [](dom::element partition) {
                                    return list<filecoin::PorepChallengeProof>(partition,
                                                                               challenge_proof);
                                  }),
                              "vanilla_proofs"));
  CUZK_TRY(out.comm_r, in(node(f[2]), "comm_r"));
  CUZK_TRY(out.comm_d, in(node(f[3]), "comm_d"));
  CUZK_TRY(out.replica_id, in(node(f[4]), "replica_id"));
  CUZK_TRY(out.seed, in(node(f[5]), "seed"));
  CUZK_TRY(out.ticket, in(node(f[6]), "ticket"));
  return out;
}

Result<filecoin::PorepC1> raw_c1_of_base64(dom::element encoded) {
  CUZK_TRY(const std::string_view letters, text(encoded));
  CUZK_TRY(const auto decoded, decode_base64(letters));
  dom::parser parser;
  CUZK_TRY(const dom::element root, parse_json(parser, decoded, ""));
  return raw_c1(root);
}

Result<filecoin::PorepC1> envelope(dom::element root) {
  CUZK_TRY(const auto f, fields(root, {"SectorNum", "Phase1Out", "SectorSize"}));
  CUZK_TRY_VOID(in(number(f[0], UINT64_MAX), "SectorNum"));
  CUZK_TRY(const std::uint64_t sector_bytes, in(number(f[2], UINT64_MAX), "SectorSize"));
  CUZK_TRY(auto c1, in(raw_c1_of_base64(f[1]), "Phase1Out"));
  if (c1.proof.sector_bytes != sector_bytes) {
    return fail(ErrorCode::kMismatch, "SectorSize is {}, but Phase1Out is a {} of {} bytes",
                sector_bytes, c1.proof.name, c1.proof.sector_bytes);
  }
  return c1;
}

Result<filecoin::PorepC1> body(dom::element root) {
  CUZK_TRY(const auto f, fields(root, {"sector", "proof_type", "commit1_out"}));
  CUZK_TRY(const auto sector,
           in(list<std::uint64_t>(f[0], [](dom::element e) { return number(e, UINT64_MAX); }),
              "sector"));
  if (sector.size() != 2) {
    return fail(ErrorCode::kCorruptInput, "sector: expected [miner, number], found {} numbers",
                sector.size());
  }
  CUZK_TRY(const std::uint64_t proof_number, in(number(f[1], UINT32_MAX), "proof_type"));
  CUZK_TRY(auto c1, in(raw_c1_of_base64(f[2]), "commit1_out"));
  if (c1.proof.number != proof_number) {
    return fail(ErrorCode::kMismatch, "proof_type is {}, but commit1_out is a {}, which is {}",
                proof_number, c1.proof.name, c1.proof.number);
  }
  const filecoin::ReplicaIdentity identity = {filecoin::prover_id_of_actor(sector[0]), sector[1],
                                              c1.ticket};
  if (filecoin::replica_id_of(identity, c1.comm_d, c1.proof.porep_id()) != c1.replica_id) {
    return fail(ErrorCode::kMismatch,
                "commit1_out: replica_id is not that of miner {} and sector {} beside it",
                sector[0], sector[1]);
  }
  return c1;
}

Result<filecoin::PorepC1> any_form(dom::element root) {
  dom::object object;
  if (root.get(object))
    return fail(ErrorCode::kCorruptInput, "expected an object, found {}", type_name(root));
  for (const auto& field : object) {
    if (field.key == "Phase1Out") return envelope(root);
    if (field.key == "commit1_out") return body(root);
  }
  return raw_c1(root);
}

}  // namespace

bool looks_like_json(ByteSpan bytes) {
  for (const std::uint8_t b : bytes) {
    if (b == '{') return true;
    if (b != ' ' && b != '\t' && b != '\n' && b != '\r') return false;
  }
  return false;
}

Result<filecoin::PorepC1> parse_c1_json(ByteSpan bytes, std::string_view what) {
  dom::parser parser;
  CUZK_TRY(const dom::element root, parse_json(parser, bytes, what));
  return in(any_form(root), what);
}

}  // namespace cuzk::format::internal
