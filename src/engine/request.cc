#include "engine/request.h"

#include <algorithm>
#include <array>

#include "engine/circom_circuits.h"
#include "engine/porep.h"
#include "engine/post.h"
#include "engine/update.h"

namespace cuzk::engine {

namespace {

// "cuzk request, form 1".
constexpr std::array<std::uint8_t, 8> kMagic = {'c', 'u', 'z', 'k', 'r', 'q', 0, 1};

class Writer {
 public:
  void number(std::uint64_t v) {
    std::array<std::uint8_t, 8> b;
    store_le(b.data(), v);
    out_.insert(out_.end(), b.begin(), b.end());
  }
  void bytes(ByteSpan v) {
    number(v.size());
    out_.insert(out_.end(), v.begin(), v.end());
  }
  void text(std::string_view v) {
    bytes({reinterpret_cast<const std::uint8_t*>(v.data()), v.size()});
  }
  void raw(ByteSpan v) { out_.insert(out_.end(), v.begin(), v.end()); }
  void reserve(std::size_t n) { out_.reserve(n); }
  std::vector<std::uint8_t> take() { return std::move(out_); }

 private:
  std::vector<std::uint8_t> out_;
};

Result<std::vector<std::uint8_t>> read_bytes(ByteReader& reader, std::string_view field) {
  CUZK_TRY(const std::uint64_t size, reader.count_u64_le(field, 1));
  CUZK_TRY(const ByteSpan bytes, reader.take(size, field));
  return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
}

Result<std::string> read_text(ByteReader& reader, std::string_view field) {
  CUZK_TRY(const auto bytes, read_bytes(reader, field));
  return std::string(bytes.begin(), bytes.end());
}

// What is proved, in one order: for the digest and the journal alike.
void write_content(Writer& w, const ProofRequest& r) {
  w.number(static_cast<std::uint64_t>(r.kind));
  for (const std::uint64_t v :
       {r.registered_proof, r.sector_bytes, r.sector, r.miner, std::uint64_t{r.partition_index}}) {
    w.number(v);
  }
  for (const auto* v : {&r.randomness, &r.comm_r_old, &r.comm_r_new, &r.comm_d_new}) w.bytes(*v);
  // Of this kind alone: the digests of the others stay what they were in every journal.
  if (r.kind == ProofKind::kCircom) {
    w.text(r.circuit);
    w.bytes(r.key_digest);
  }
  w.number(r.payloads.size());
}

Status read_content(ByteReader& reader, ProofRequest& r) {
  CUZK_TRY(const std::uint64_t kind, reader.u64_le("kind"));
  const bool known = std::any_of(std::begin(kProofKinds), std::end(kProofKinds), [&](ProofKind k) {
    return static_cast<std::uint64_t>(k) == kind;
  });
  if (!known) {
    return fail(ErrorCode::kCorruptInput, "{}: no proof kind has the number {}", reader.what(),
                kind);
  }
  r.kind = static_cast<ProofKind>(kind);
  CUZK_TRY(r.registered_proof, reader.u64_le("registered_proof"));
  CUZK_TRY(r.sector_bytes, reader.u64_le("sector_bytes"));
  CUZK_TRY(r.sector, reader.u64_le("sector"));
  CUZK_TRY(r.miner, reader.u64_le("miner"));
  CUZK_TRY(const std::uint64_t partition, reader.u64_le("partition_index"));
  r.partition_index = static_cast<std::uint32_t>(partition);
  CUZK_TRY(r.randomness, read_bytes(reader, "randomness"));
  CUZK_TRY(r.comm_r_old, read_bytes(reader, "comm_r_old"));
  CUZK_TRY(r.comm_r_new, read_bytes(reader, "comm_r_new"));
  CUZK_TRY(r.comm_d_new, read_bytes(reader, "comm_d_new"));
  if (r.kind == ProofKind::kCircom) {
    CUZK_TRY(r.circuit, read_text(reader, "circuit"));
    CUZK_TRY(r.key_digest, read_bytes(reader, "key_digest"));
  }
  CUZK_TRY(const std::uint64_t payloads, reader.count_u64_le("payloads", 8));
  for (std::uint64_t i = 0; i < payloads; ++i) {
    CUZK_TRY(auto payload, read_bytes(reader, "payload"));
    r.payloads.push_back(std::move(payload));
  }
  return {};
}

Result<Job> parse_porep_request(const Context& context, const ProofRequest& request) {
  if (request.payloads.size() != 1) {
    return fail(ErrorCode::kInvalidArgument,
                "a PoRep request has one payload, the output of commit phase 1, this one has {}",
                request.payloads.size());
  }
  PorepClaim claim;
  if (request.miner) {
    claim.prover_id = filecoin::prover_id_of_actor(request.miner);
    claim.sector = request.sector;
  }
  CUZK_TRY(auto parsed, parse_porep(context, ByteSpan(request.payloads[0]), "C1", claim));
  return std::move(parsed.job);
}

Result<filecoin::Node> node_of(const std::vector<std::uint8_t>& bytes, std::string_view field) {
  filecoin::Node out{};
  if (bytes.size() != out.size()) {
    return fail(ErrorCode::kInvalidArgument, "{} must be exactly {} bytes, got {}", field,
                out.size(), bytes.size());
  }
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

Result<std::uint32_t> proof_number(std::uint64_t number) {
  if (number > UINT32_MAX) {
    return fail(ErrorCode::kInvalidArgument, "no registered proof has the number {}", number);
  }
  return static_cast<std::uint32_t>(number);
}

std::vector<ByteSpan> spans_of(const ProofRequest& request) {
  return {request.payloads.begin(), request.payloads.end()};
}

// A WinningPoSt, of the first payload; or one partition of a WindowPoSt, a payload for each sector,
// where partition_index is the requester's name for it: all sectors given are that partition.
Result<Job> parse_post_request(const Context& context, const ProofRequest& request) {
  PostClaim claim;
  CUZK_TRY(const std::uint32_t number, proof_number(request.registered_proof));
  CUZK_TRY(claim.proof, filecoin::post_proof(number));
  const bool winning = request.kind == ProofKind::kWinningPost;
  if ((claim.proof.shape.kind == filecoin::PostKind::kWinning) != winning) {
    return fail(ErrorCode::kInvalidArgument, "registered proof {} is {}, the request is for {}",
                number, claim.proof.name, proof_kind_name(request.kind));
  }
  CUZK_TRY(claim.randomness, node_of(request.randomness, "randomness"));
  if (request.payloads.empty()) {
    return fail(ErrorCode::kInvalidArgument, "the request has no vanilla proofs");
  }
  std::vector<ByteSpan> vanilla = spans_of(request);
  if (winning) vanilla.resize(1);
  const std::size_t most = claim.proof.shape.sectors_per_partition();
  const auto too_many = [&](std::size_t sectors) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: {} sectors are more than the {} of one partition: send a request for each",
                claim.proof.name, sectors, most);
  };
  if (vanilla.size() > most) return too_many(vanilla.size());
  auto parsed = parse_post(context, vanilla, "vanilla proof", claim);
  // In V1 a sector's challenges depend on its place. Curio counts it within the partition; who
  // counts across partitions means the index.
  const bool counts_across = claim.proof.indexing == filecoin::PostIndexing::kAcrossSectors;
  if (!parsed && !winning && counts_across && request.partition_index > 0) {
    claim.first_partition = request.partition_index;
    if (auto again = parse_post(context, vanilla, "vanilla proof", claim))
      parsed = std::move(again);
  }
  if (!parsed) return fail(parsed.error());
  if (parsed->job.partitions() != 1) return too_many(parsed->statement.sectors().size());
  return std::move(parsed->job);
}

Result<Job> parse_update_request(const Context& context, const ProofRequest& request) {
  filecoin::UpdateStatement statement;
  CUZK_TRY(const std::uint32_t number, proof_number(request.registered_proof));
  CUZK_TRY(statement.proof, filecoin::update_proof(number));
  CUZK_TRY(statement.comm_r_old, node_of(request.comm_r_old, "comm_r_old"));
  CUZK_TRY(statement.comm_r_new, node_of(request.comm_r_new, "comm_r_new"));
  CUZK_TRY(statement.comm_d_new, node_of(request.comm_d_new, "comm_d_new"));
  statement.h = statement.proof.shape.default_h();
  CUZK_TRY(auto parsed, parse_update(context, spans_of(request), "vanilla proof", statement));
  return std::move(parsed.job);
}

}  // namespace

std::string_view proof_kind_name(ProofKind kind) {
  switch (kind) {
    case ProofKind::kPorep:
      return "porep";
    case ProofKind::kUpdate:
      return "update";
    case ProofKind::kWindowPost:
      return "window-post";
    case ProofKind::kWinningPost:
      return "winning-post";
    case ProofKind::kCircom:
      return "circom";
  }
  return "unknown";
}

Priority default_priority(ProofKind kind) {
  switch (kind) {
    case ProofKind::kWinningPost:
      return Priority::kCritical;
    case ProofKind::kWindowPost:
      return Priority::kHigh;
    default:
      return Priority::kNormal;
  }
}

std::string_view priority_name(Priority priority) {
  constexpr std::array<std::string_view, scheduler::kPriorities> kNames = {"critical", "high",
                                                                           "normal", "low"};
  return kNames.at(static_cast<std::size_t>(priority));
}

std::size_t ProofRequest::payload_bytes() const {
  std::size_t out = 0;
  for (const auto& p : payloads) out += p.size();
  return out;
}

ProofRequest ProofRequest::without_payloads() const {
  ProofRequest out;
  out.request_id = request_id;
  out.client = client;
  out.kind = kind;
  out.priority = priority;
  out.deadline_ms = deadline_ms;
  out.registered_proof = registered_proof;
  out.sector_bytes = sector_bytes;
  out.sector = sector;
  out.miner = miner;
  out.randomness = randomness;
  out.partition_index = partition_index;
  out.comm_r_old = comm_r_old;
  out.comm_r_new = comm_r_new;
  out.comm_d_new = comm_d_new;
  out.circuit = circuit;
  out.key_digest = key_digest;
  return out;
}

Digest32 request_digest(const ProofRequest& request) {
  Writer head;
  write_content(head, request);
  Sha256 hash;
  hash.update(head.take());
  for (const auto& payload : request.payloads) {
    std::array<std::uint8_t, 8> size;
    store_le(size.data(), std::uint64_t{payload.size()});
    hash.update(size);
    hash.update(payload);
  }
  return hash.finish();
}

std::vector<std::uint8_t> encode_request(const ProofRequest& request) {
  Writer w;
  w.reserve(request.payload_bytes() + 1024);
  w.raw(kMagic);
  w.text(request.request_id);
  w.text(request.client);
  w.number(request.priority ? 1 + static_cast<std::uint64_t>(*request.priority) : 0);
  w.number(request.deadline_ms.has_value());
  w.number(static_cast<std::uint64_t>(request.deadline_ms.value_or(0)));
  write_content(w, request);
  for (const auto& payload : request.payloads) w.bytes(payload);
  return w.take();
}

Result<ProofRequest> decode_request(ByteSpan bytes, std::string_view what) {
  ByteReader reader(bytes, what);
  CUZK_TRY(const ByteSpan magic, reader.take(kMagic.size(), "magic"));
  if (!std::equal(magic.begin(), magic.end(), kMagic.begin())) {
    return fail(ErrorCode::kCorruptInput, "{}: it does not begin as a request does", what);
  }
  ProofRequest r;
  CUZK_TRY(r.request_id, read_text(reader, "request_id"));
  CUZK_TRY(r.client, read_text(reader, "client"));
  CUZK_TRY(const std::uint64_t priority, reader.u64_le("priority"));
  if (priority > scheduler::kPriorities) {
    return fail(ErrorCode::kCorruptInput, "{}: no priority has the number {}", what, priority);
  }
  if (priority) r.priority = static_cast<Priority>(priority - 1);
  CUZK_TRY(const std::uint64_t has_deadline, reader.u64_le("deadline"));
  CUZK_TRY(const std::uint64_t deadline, reader.u64_le("deadline"));
  if (has_deadline) r.deadline_ms = static_cast<std::int64_t>(deadline);
  CUZK_TRY_VOID(read_content(reader, r));
  CUZK_TRY_VOID(reader.expect_end());
  return r;
}

Result<Job> parse_circom_request(const Context& context,
                                 std::shared_ptr<const ProofRequest> request,
                                 std::shared_ptr<const CircomCircuit> circuit) {
  if (request->payloads.size() != 1) {
    return fail(ErrorCode::kInvalidArgument, "a circom request has one witness, this one has {}",
                request->payloads.size());
  }
  const auto span = context.timeline.span("parse");
  const format::ZkeyHeader& key = circuit->header();
  const auto given = format::InputBytes::borrow(request->payloads[0], "witness");
  CUZK_TRY(auto wtns, wtns_of(key.curve, given));
  CUZK_TRY_VOID(check_wtns_header(wtns, key));
  Job job;
  job.name = circuit->id();
  job.circuit.name = "circom " + circuit->id();
  job.circuit.identifier = circuit->identifier();
  job.public_inputs.resize(1);  // they are in the witness, of the curve of the key
  // Borrowed bytes live as long as the request.
  job.circom =
      std::shared_ptr<const CircomOrder>(new CircomOrder{std::move(circuit), std::move(wtns)},
                                         [request](const CircomOrder* order) { delete order; });
  return job;
}

Result<Job> parse_request(const Context& context, const ProofRequest& request) {
  switch (request.kind) {
    case ProofKind::kPorep:
      return parse_porep_request(context, request);
    case ProofKind::kUpdate:
      return parse_update_request(context, request);
    case ProofKind::kWindowPost:
    case ProofKind::kWinningPost:
      return parse_post_request(context, request);
    case ProofKind::kCircom:
      break;
  }
  return fail(ErrorCode::kInvalidArgument, "no proof kind has the number {}",
              static_cast<unsigned>(request.kind));
}

}  // namespace cuzk::engine
