#include "format/c1_bincode.h"

#include <algorithm>

#include "base/bytes.h"
#include "filecoin/statement.h"
#include "format/bincode.h"
#include "format/c1.h"

namespace cuzk::format {

using bincode::kMerkleBytes;
using bincode::read_list;
using bincode::read_merkle;
using bincode::read_node;
using bincode::read_nodes;
using filecoin::Node;

namespace {

// Smallest number of bytes that an element of each list can take: what bounds a declared length.
constexpr std::size_t kColumnBytes = 4 + 8 + kMerkleBytes;
constexpr std::size_t kLabelingBytes = 8 + 4 + 8;
constexpr std::size_t kChallengeBytes = 2 * kMerkleBytes + kColumnBytes + 3 * 8 + kLabelingBytes;

Result<filecoin::ColumnProof> column(ByteReader& r) {
  filecoin::ColumnProof out;
  CUZK_TRY(out.index, r.u32_le("column.index"));
  CUZK_TRY(out.rows, read_nodes(r, "column.rows"));
  CUZK_TRY(out.inclusion, read_merkle(r));
  return out;
}

Result<filecoin::LabelingProof> labeling(ByteReader& r) {
  filecoin::LabelingProof out;
  CUZK_TRY(out.parents, read_nodes(r, "parents"));
  CUZK_TRY(out.layer, r.u32_le("layer_index"));
  CUZK_TRY(out.node, r.u64_le("node"));
  return out;
}

Result<filecoin::PorepChallengeProof> challenge(ByteReader& r) {
  filecoin::PorepChallengeProof out;
  CUZK_TRY(out.comm_d_proof, read_merkle(r));
  CUZK_TRY(out.comm_r_last_proof, read_merkle(r));
  CUZK_TRY(out.c_x, column(r));
  CUZK_TRY(out.drg_parents,
           read_list<filecoin::ColumnProof>(r, "drg_parents", kColumnBytes, column));
  CUZK_TRY(out.exp_parents,
           read_list<filecoin::ColumnProof>(r, "exp_parents", kColumnBytes, column));
  CUZK_TRY(out.labeling,
           read_list<filecoin::LabelingProof>(r, "labeling_proofs", kLabelingBytes, labeling));
  CUZK_TRY(out.encoding, labeling(r));
  return out;
}

using Partitions = std::vector<std::vector<filecoin::PorepChallengeProof>>;

Result<Partitions> partitions(ByteReader& r) {
  return read_list<std::vector<filecoin::PorepChallengeProof>>(
      r, "vanilla_proofs", 8, [](ByteReader& in) {
        return read_list<filecoin::PorepChallengeProof>(in, "challenges of a partition",
                                                        kChallengeBytes, challenge);
      });
}

// The proofs and five nodes.
Status inner_form(ByteReader& r, filecoin::PorepC1& out) {
  CUZK_TRY(out.partitions, partitions(r));
  CUZK_TRY(out.comm_r, read_node(r, "comm_r"));
  CUZK_TRY(out.comm_d, read_node(r, "comm_d"));
  CUZK_TRY(out.replica_id, read_node(r, "replica_id"));
  CUZK_TRY(out.seed, read_node(r, "seed"));
  CUZK_TRY(out.ticket, read_node(r, "ticket"));
  return {};
}

// Registered proof, the vanilla proofs' V1 tag, the inner form.
Result<filecoin::PorepC1> api_form(ByteReader& r) {
  filecoin::PorepC1 out;
  CUZK_TRY(const std::uint32_t number, r.u32_le("registered_proof"));
  auto proof = filecoin::seal_proof(number);
  if (!proof)
    return fail(ErrorCode::kCorruptInput, "{}: registered_proof: {}", r.what(),
                proof.error().message);
  out.proof = std::move(*proof);
  CUZK_TRY(const std::uint32_t tag, r.u32_le("kind of vanilla_proofs"));
  if (tag != number % 5) {
    return fail(ErrorCode::kMismatch, "{}: vanilla_proofs of kind {} do not fit {}, which has {}",
                r.what(), tag, out.proof.name, number % 5);
  }
  CUZK_TRY_VOID(inner_form(r, out));
  return out;
}

Result<filecoin::PorepC1> bare_form(ByteSpan bytes, std::string_view what) {
  ByteReader r(bytes, what);
  CUZK_TRY(auto c1, api_form(r));
  CUZK_TRY_VOID(r.expect_end());
  return c1;
}

// A request: variant 0, the C1, the prover's id and the sector, which must give the replica id.
Result<filecoin::PorepC1> request_form(ByteSpan bytes, std::string_view what) {
  ByteReader r(bytes, what);
  CUZK_TRY(const std::uint32_t variant, r.u32_le("variant"));
  if (variant != 0)
    return fail(ErrorCode::kCorruptInput, "{}: variant {} is not known", what, variant);
  CUZK_TRY(auto c1, api_form(r));
  filecoin::ReplicaIdentity identity;
  CUZK_TRY(identity.prover_id, read_node(r, "prover_id"));
  CUZK_TRY(identity.sector, r.u64_le("sector_id"));
  CUZK_TRY_VOID(r.expect_end());
  identity.ticket = c1.ticket;
  if (filecoin::replica_id_of(identity, c1.comm_d, c1.proof.porep_id()) != c1.replica_id) {
    return fail(ErrorCode::kMismatch,
                "{}: replica_id is not that of the prover id and sector {} behind it", what,
                identity.sector);
  }
  return c1;
}

class C1Writer : public bincode::Writer {
 public:
  void column(const filecoin::ColumnProof& c) {
    integer<std::uint32_t>(c.index);
    nodes(c.rows);
    merkle(c.inclusion);
  }
  void labeling(const filecoin::LabelingProof& l) {
    nodes(l.parents);
    integer<std::uint32_t>(l.layer);
    integer<std::uint64_t>(l.node);
  }
  void challenge(const filecoin::PorepChallengeProof& p) {
    merkle(p.comm_d_proof);
    merkle(p.comm_r_last_proof);
    column(p.c_x);
    list(p.drg_parents, [&](const auto& c) { column(c); });
    list(p.exp_parents, [&](const auto& c) { column(c); });
    list(p.labeling, [&](const auto& l) { labeling(l); });
    labeling(p.encoding);
  }
  void partitions(const Partitions& all) {
    list(all,
         [&](const auto& partition) { list(partition, [&](const auto& p) { challenge(p); }); });
  }
};

}  // namespace

namespace internal {

Result<filecoin::PorepC1> parse_c1_bincode(ByteSpan bytes, std::string_view what) {
  auto bare = bare_form(bytes, what);
  if (bare) return bare;
  auto request = request_form(bytes, what);
  // A request begins with variant 0, a small proof number and its tag; say what its reader says.
  const bool like_request =
      bytes.size() >= 12 && load_le<std::uint32_t>(bytes.data()) == 0 &&
      load_le<std::uint32_t>(bytes.data() + 4) % 5 == load_le<std::uint32_t>(bytes.data() + 8);
  if (request || like_request) return request;
  // What the bytes of something else would mean in bincode helps nobody.
  const bool like_bare =
      bytes.size() >= 8 && filecoin::seal_proof(load_le<std::uint32_t>(bytes.data())).has_value();
  if (!like_bare) {
    return fail(
        ErrorCode::kCorruptInput,
        "{}: it is no output of commit phase 1: neither a JSON object nor bincode, which "
        "begins with the number of a registered proof, 0 to 19; it has {} bytes and begins with "
        "{}",
        what, bytes.size(), to_hex(bytes.first(std::min<std::size_t>(bytes.size(), 8))));
  }
  return fail(bare.error().code, "{} (read as bincode, for it is no JSON object)",
              bare.error().message);
}

}  // namespace internal

Result<std::vector<std::uint8_t>> write_c1_bincode(const filecoin::PorepC1& c1) {
  CUZK_TRY(const filecoin::SealProof registered, filecoin::seal_proof(c1.proof.number));
  if (registered.name != c1.proof.name) {
    return fail(ErrorCode::kInvalidArgument, "{} has no registered number, which bincode needs",
                c1.proof.name);
  }
  C1Writer w;
  w.integer<std::uint32_t>(c1.proof.number);
  w.integer<std::uint32_t>(c1.proof.number % 5);
  w.partitions(c1.partitions);
  for (const Node* n : {&c1.comm_r, &c1.comm_d, &c1.replica_id, &c1.seed, &c1.ticket}) w.node(*n);
  return w.take();
}

std::vector<std::uint8_t> write_vanilla_bincode(const filecoin::PorepC1& c1) {
  C1Writer w;
  w.partitions(c1.partitions);
  return w.take();
}

Result<filecoin::PorepC1> parse_c1_inner_bincode(ByteSpan bytes, std::string_view what,
                                                 const filecoin::SealProof& proof) {
  ByteReader r(bytes, what);
  filecoin::PorepC1 c1;
  c1.proof = proof;
  CUZK_TRY_VOID(inner_form(r, c1));
  CUZK_TRY_VOID(r.expect_end());
  if (auto status = filecoin::check_shape(c1); !status) return fail(status.error().in(what));
  return c1;
}

Result<Partitions> parse_vanilla_bincode(ByteSpan bytes, std::string_view what) {
  ByteReader r(bytes, what);
  CUZK_TRY(auto out, partitions(r));
  CUZK_TRY_VOID(r.expect_end());
  return out;
}

}  // namespace cuzk::format
