#include "format/c1_bincode.h"

#include <algorithm>

#include "filecoin/statement.h"
#include "format/c1.h"

namespace cuzk::format {

using filecoin::Node;

namespace {

// Smallest number of bytes that an element of each list can take: what bounds a declared length.
constexpr std::size_t kNodeBytes = 32;
constexpr std::size_t kStepBytes = 16;
constexpr std::size_t kMerkleBytes = 4 + 64 + 8;
constexpr std::size_t kColumnBytes = 4 + 8 + kMerkleBytes;
constexpr std::size_t kLabelingBytes = 8 + 4 + 8;
constexpr std::size_t kChallengeBytes = 2 * kMerkleBytes + kColumnBytes + 3 * 8 + kLabelingBytes;

Result<Node> node(ByteReader& r, std::string_view field) {
  CUZK_TRY(const ByteSpan bytes, r.take(32, field));
  Node out;
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

template <class T, class F>
Result<std::vector<T>> list(ByteReader& r, std::string_view field, std::size_t element_bytes,
                            F&& parse) {
  CUZK_TRY(const std::uint64_t count, r.count_u64_le(field, element_bytes));
  std::vector<T> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    CUZK_TRY(T v, parse(r));
    out.push_back(std::move(v));
  }
  return out;
}

Result<std::vector<Node>> nodes(ByteReader& r, std::string_view field) {
  return list<Node>(r, field, kNodeBytes, [&](ByteReader& in) { return node(in, field); });
}

Result<std::uint32_t> path(ByteReader& r, std::string_view field, filecoin::MerkleProof& proof) {
  CUZK_TRY(auto steps,
           list<filecoin::MerkleStep>(r, field, kStepBytes,
                                      [&](ByteReader& in) -> Result<filecoin::MerkleStep> {
                                        filecoin::MerkleStep s;
                                        CUZK_TRY(s.siblings, nodes(in, "hashes of a path"));
                                        CUZK_TRY(s.index, in.u64_le("index of a path"));
                                        return s;
                                      }));
  for (auto& step : steps) proof.path.push_back(std::move(step));
  return static_cast<std::uint32_t>(steps.size());
}

Result<filecoin::MerkleProof> merkle(ByteReader& r) {
  filecoin::MerkleProof out;
  CUZK_TRY(const std::uint32_t kind, r.u32_le("kind of a Merkle proof"));
  if (kind > 2) {
    return fail(ErrorCode::kCorruptInput,
                "{}: Merkle proof of kind {} at offset {}: 0, 1 and 2 are known", r.what(), kind,
                r.offset() - 4);
  }
  out.kind = static_cast<filecoin::MerkleKind>(kind);
  if (out.kind == filecoin::MerkleKind::kSingle) {
    CUZK_TRY(out.root, node(r, "root"));
    CUZK_TRY(out.leaf, node(r, "leaf"));
    CUZK_TRY(out.base_steps, path(r, "path", out));
    return out;
  }
  CUZK_TRY(out.base_steps, path(r, "base_proof", out));
  CUZK_TRY(out.sub_steps, path(r, "sub_proof", out));
  if (out.kind == filecoin::MerkleKind::kTop) CUZK_TRY_VOID(path(r, "top_proof", out));
  CUZK_TRY(out.root, node(r, "root"));
  CUZK_TRY(out.leaf, node(r, "leaf"));
  return out;
}

Result<filecoin::ColumnProof> column(ByteReader& r) {
  filecoin::ColumnProof out;
  CUZK_TRY(out.index, r.u32_le("column.index"));
  CUZK_TRY(out.rows, nodes(r, "column.rows"));
  CUZK_TRY(out.inclusion, merkle(r));
  return out;
}

Result<filecoin::LabelingProof> labeling(ByteReader& r) {
  filecoin::LabelingProof out;
  CUZK_TRY(out.parents, nodes(r, "parents"));
  CUZK_TRY(out.layer, r.u32_le("layer_index"));
  CUZK_TRY(out.node, r.u64_le("node"));
  return out;
}

Result<filecoin::PorepChallengeProof> challenge(ByteReader& r) {
  filecoin::PorepChallengeProof out;
  CUZK_TRY(out.comm_d_proof, merkle(r));
  CUZK_TRY(out.comm_r_last_proof, merkle(r));
  CUZK_TRY(out.c_x, column(r));
  CUZK_TRY(out.drg_parents, list<filecoin::ColumnProof>(r, "drg_parents", kColumnBytes, column));
  CUZK_TRY(out.exp_parents, list<filecoin::ColumnProof>(r, "exp_parents", kColumnBytes, column));
  CUZK_TRY(out.labeling,
           list<filecoin::LabelingProof>(r, "labeling_proofs", kLabelingBytes, labeling));
  CUZK_TRY(out.encoding, labeling(r));
  return out;
}

using Partitions = std::vector<std::vector<filecoin::PorepChallengeProof>>;

Result<Partitions> partitions(ByteReader& r) {
  return list<std::vector<filecoin::PorepChallengeProof>>(
      r, "vanilla_proofs", 8, [](ByteReader& in) {
        return list<filecoin::PorepChallengeProof>(in, "challenges of a partition", kChallengeBytes,
                                                   challenge);
      });
}

// The proofs and five nodes.
Status inner_form(ByteReader& r, filecoin::PorepC1& out) {
  CUZK_TRY(out.partitions, partitions(r));
  CUZK_TRY(out.comm_r, node(r, "comm_r"));
  CUZK_TRY(out.comm_d, node(r, "comm_d"));
  CUZK_TRY(out.replica_id, node(r, "replica_id"));
  CUZK_TRY(out.seed, node(r, "seed"));
  CUZK_TRY(out.ticket, node(r, "ticket"));
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
  CUZK_TRY(identity.prover_id, node(r, "prover_id"));
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

class Writer {
 public:
  std::vector<std::uint8_t> take() { return std::move(out_); }

  template <class T>
  void integer(T v) {
    std::uint8_t b[sizeof v];
    store_le(b, v);
    out_.insert(out_.end(), b, b + sizeof v);
  }
  void node(const Node& n) { out_.insert(out_.end(), n.begin(), n.end()); }
  template <class T, class F>
  void list(const std::vector<T>& items, F&& write) {
    integer<std::uint64_t>(items.size());
    for (const T& item : items) write(item);
  }
  void nodes(const std::vector<Node>& items) {
    list(items, [&](const Node& n) { node(n); });
  }
  void path(const filecoin::MerkleProof& p, std::size_t begin, std::size_t end) {
    integer<std::uint64_t>(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      nodes(p.path[i].siblings);
      integer<std::uint64_t>(p.path[i].index);
    }
  }
  void merkle(const filecoin::MerkleProof& p) {
    integer<std::uint32_t>(static_cast<std::uint32_t>(p.kind));
    if (p.kind == filecoin::MerkleKind::kSingle) {
      node(p.root);
      node(p.leaf);
      path(p, 0, p.path.size());
      return;
    }
    const std::size_t sub = p.base_steps + p.sub_steps;
    path(p, 0, p.base_steps);
    path(p, p.base_steps, sub);
    if (p.kind == filecoin::MerkleKind::kTop) path(p, sub, p.path.size());
    node(p.root);
    node(p.leaf);
  }
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

 private:
  std::vector<std::uint8_t> out_;
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
  Writer w;
  w.integer<std::uint32_t>(c1.proof.number);
  w.integer<std::uint32_t>(c1.proof.number % 5);
  w.partitions(c1.partitions);
  for (const Node* n : {&c1.comm_r, &c1.comm_d, &c1.replica_id, &c1.seed, &c1.ticket}) w.node(*n);
  return w.take();
}

std::vector<std::uint8_t> write_vanilla_bincode(const filecoin::PorepC1& c1) {
  Writer w;
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
