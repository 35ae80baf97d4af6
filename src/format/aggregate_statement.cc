#include "format/aggregate_statement.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>

#include "base/mapped_file.h"
#include "filecoin/cid.h"
#include "format/json_document.h"

namespace cuzk::format {

namespace {

namespace dom = simdjson::dom;
using filecoin::CommitmentKind;
using filecoin::Node;

// The members of an object, each of which must be one of `known` and stand once.
class Members {
 public:
  static Result<Members> of(dom::element e, std::initializer_list<std::string_view> known) {
    Members out;
    dom::object object;
    if (e.get(object)) return fail(ErrorCode::kCorruptInput, "an object is expected");
    for (const auto [key, value] : object) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        return fail(ErrorCode::kCorruptInput, "the key \"{}\" is not known", key);
      }
      if (out.find(key)) return fail(ErrorCode::kCorruptInput, "key \"{}\" stands twice", key);
      out.members_.emplace_back(key, value);
    }
    return out;
  }

  std::optional<dom::element> find(std::string_view key) const {
    for (const auto& [name, value] : members_) {
      if (name == key) return value;
    }
    return std::nullopt;
  }
  Result<std::string_view> text(std::string_view key) const {
    const auto e = find(key);
    if (!e) return fail(ErrorCode::kCorruptInput, "\"{}\" is missing", key);
    std::string_view out;
    if (e->get(out)) return fail(ErrorCode::kCorruptInput, "{}: a string is expected", key);
    return out;
  }
  Result<std::uint64_t> number(std::string_view key) const {
    const auto e = find(key);
    if (!e) return fail(ErrorCode::kCorruptInput, "\"{}\" is missing", key);
    std::uint64_t out = 0;
    if (e->get(out)) {
      return fail(ErrorCode::kCorruptInput, "{}: a number from 0 to 2^64 - 1 is expected", key);
    }
    return out;
  }
  Result<Node> node(std::string_view key) const {
    CUZK_TRY(const std::string_view digits, text(key));
    const auto bytes = from_hex(digits);
    Node out;
    if (!bytes || bytes->size() != out.size()) {
      return fail(ErrorCode::kCorruptInput, "{}: 64 hexadecimal digits are expected", key);
    }
    std::ranges::copy(*bytes, out.begin());
    return out;
  }
  Result<Node> commitment(std::string_view key, CommitmentKind kind) const {
    CUZK_TRY(const std::string_view spelled, text(key));
    auto out = filecoin::parse_commitment(kind, spelled, key);
    if (!out) return fail(ErrorCode::kCorruptInput, "{}", out.error().message);
    return out;
  }

 private:
  std::vector<std::pair<std::string_view, dom::element>> members_;
};

// What the document, or a sector, says of the registered proof; porep_id follows unless it is
// given.
struct PorepDefaults {
  filecoin::SealProof proof;
  filecoin::PorepId porep_id{};
  std::optional<std::uint64_t> miner;
};

Status read_defaults(const Members& m, PorepDefaults& out) {
  if (m.find("registered_proof")) {
    CUZK_TRY(const std::string_view name, m.text("registered_proof"));
    CUZK_TRY(out.proof, filecoin::seal_proof(name));
    out.porep_id = out.proof.porep_id();
  }
  if (m.find("porep_id")) {
    CUZK_TRY(out.porep_id, m.node("porep_id"));
  }
  if (m.find("miner")) {
    CUZK_TRY(out.miner, m.number("miner"));
  }
  return {};
}

Result<filecoin::PorepStatement> porep_sector(dom::element e, PorepDefaults of_sector) {
  CUZK_TRY(const Members m, Members::of(e, {"registered_proof", "sector", "miner", "porep_id",
                                            "ticket", "seed", "comm_d", "comm_r"}));
  CUZK_TRY_VOID(read_defaults(m, of_sector));
  if (!of_sector.miner) return fail(ErrorCode::kCorruptInput, "\"miner\" is missing");
  filecoin::PorepStatement out;
  out.proof = of_sector.proof;
  out.porep_id = of_sector.porep_id;
  filecoin::ReplicaIdentity identity;
  identity.prover_id = filecoin::prover_id_of_actor(*of_sector.miner);
  CUZK_TRY(identity.sector, m.number("sector"));
  CUZK_TRY(identity.ticket, m.node("ticket"));
  CUZK_TRY(out.comm_d, m.commitment("comm_d", CommitmentKind::kUnsealed));
  CUZK_TRY(out.comm_r, m.commitment("comm_r", CommitmentKind::kSealed));
  const bool seedless = out.proof.feature == filecoin::PorepFeature::kNonInteractive;
  if (seedless && m.find("seed")) {
    return fail(ErrorCode::kCorruptInput, "seed: non-interactive proofs have none");
  }
  if (!seedless) {
    CUZK_TRY(out.seed, m.node("seed"));
  }
  out.replica_id = filecoin::replica_id_of(identity, out.comm_d, out.porep_id);
  return out;
}

Result<filecoin::UpdateStatement> update_sector(dom::element e,
                                                const filecoin::UpdateStatement& defaults) {
  CUZK_TRY(const Members m, Members::of(e, {"comm_r_old", "comm_r_new", "comm_d_new"}));
  filecoin::UpdateStatement out = defaults;
  CUZK_TRY(out.comm_r_old, m.commitment("comm_r_old", CommitmentKind::kSealed));
  CUZK_TRY(out.comm_r_new, m.commitment("comm_r_new", CommitmentKind::kSealed));
  CUZK_TRY(out.comm_d_new, m.commitment("comm_d_new", CommitmentKind::kUnsealed));
  return out;
}

template <class Statement, class One>
Result<std::vector<Statement>> sectors(const Members& document, const One& one) {
  const auto e = document.find("sectors");
  dom::array array;
  if (!e || e->get(array)) {
    return fail(ErrorCode::kCorruptInput, "sectors: an array of objects is expected");
  }
  std::vector<Statement> out;
  for (const dom::element item : array) {
    auto statement = one(item);
    if (!statement) return fail(statement.error().in(fmt::format("sectors[{}]", out.size())));
    out.push_back(std::move(*statement));
  }
  if (out.empty()) return fail(ErrorCode::kCorruptInput, "sectors: none is listed");
  return out;
}

Result<AggregateStatement> porep_document(dom::element root) {
  CUZK_TRY(const Members m,
           Members::of(root, {"kind", "registered_proof", "miner", "porep_id", "sectors"}));
  PorepDefaults defaults;
  if (!m.find("registered_proof")) {
    return fail(ErrorCode::kCorruptInput, "\"registered_proof\" is missing");
  }
  CUZK_TRY_VOID(read_defaults(m, defaults));
  return sectors<filecoin::PorepStatement>(
      m, [&](dom::element e) { return porep_sector(e, defaults); });
}

Result<AggregateStatement> update_document(dom::element root) {
  CUZK_TRY(const Members m, Members::of(root, {"kind", "registered_proof", "h", "sectors"}));
  filecoin::UpdateStatement defaults;
  CUZK_TRY(const std::string_view name, m.text("registered_proof"));
  CUZK_TRY(defaults.proof, filecoin::update_proof(name));
  defaults.h = defaults.proof.shape.default_h();
  if (m.find("h")) {
    CUZK_TRY(const std::uint64_t h, m.number("h"));
    defaults.h = static_cast<std::uint32_t>(std::min<std::uint64_t>(h, UINT32_MAX));
    if (const auto place = defaults.proof.shape.h_index(defaults.h); !place) {
      return fail(ErrorCode::kCorruptInput, "h: {}", place.error().message);
    }
  }
  return sectors<filecoin::UpdateStatement>(
      m, [&](dom::element e) { return update_sector(e, defaults); });
}

Result<AggregateStatement> document(dom::element root) {
  dom::element kind_element;
  std::string_view kind;
  if (root["kind"].get(kind_element) || kind_element.get(kind)) {
    return fail(ErrorCode::kCorruptInput, "an object with a \"kind\" is expected");
  }
  if (kind == "porep") return porep_document(root);
  if (kind == "update") return update_document(root);
  return fail(ErrorCode::kCorruptInput, "kind: \"porep\" or \"update\" is expected, found \"{}\"",
              kind);
}

}  // namespace

Result<AggregateStatement> parse_aggregate_statement(ByteSpan bytes, std::string_view what) {
  dom::parser parser;
  CUZK_TRY(const dom::element root, parse_json(parser, bytes, what));
  auto out = document(root);
  if (!out) return fail(out.error().in(what));
  return out;
}

Result<AggregateStatement> read_aggregate_statement(const std::filesystem::path& path) {
  CUZK_TRY(const MappedFile file, MappedFile::open(path));
  return parse_aggregate_statement(file.bytes(), path.string());
}

}  // namespace cuzk::format
