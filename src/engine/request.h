#pragma once
// A request for a proof as it arrives, whatever it came through: bytes in memory and what the
// requester says about them. And its own form at rest, for the journal.
//
// Threads: values and pure functions.
// Source:  the fields are those that Curio's client sends (docs/daemon.md).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "engine/job.h"
#include "scheduler/scheduler.h"

namespace cuzk::engine {

class CircomCircuit;  // circom_circuits.h

enum class ProofKind : std::uint8_t {
  kPorep = 1,
  kUpdate = 2,
  kWindowPost = 3,
  kWinningPost = 4,
  kCircom = 5,
};
inline constexpr ProofKind kProofKinds[] = {ProofKind::kPorep, ProofKind::kUpdate,
                                            ProofKind::kWindowPost, ProofKind::kWinningPost,
                                            ProofKind::kCircom};
// "porep", "update", "window-post", "winning-post", "circom".
std::string_view proof_kind_name(ProofKind kind);

using scheduler::Priority;
// WinningPoSt critical, WindowPoSt high, the others normal.
Priority default_priority(ProofKind kind);
std::string_view priority_name(Priority priority);

struct ProofRequest {
  // The requester's name for it; empty: the service makes one.
  std::string request_id;
  // Who asks, for fairness: a token's name, a peer's address. Not part of what is proved.
  std::string client;
  ProofKind kind = ProofKind::kPorep;
  std::optional<Priority> priority;         // the kind's default otherwise
  std::optional<std::int64_t> deadline_ms;  // Unix time; earliest first within a priority

  // PoRep: one entry, a C1 output in any form. Circom: one entry, the witness, a .wtns or a JSON
  // array of decimals. The others: as each kind's parser says.
  std::vector<std::vector<std::uint8_t>> payloads;
  std::uint64_t registered_proof = 0;
  std::uint64_t sector_bytes = 0;
  std::uint64_t sector = 0;
  std::uint64_t miner = 0;  // actor id; 0: not said
  std::vector<std::uint8_t> randomness;
  std::uint32_t partition_index = 0;
  std::vector<std::uint8_t> comm_r_old;
  std::vector<std::uint8_t> comm_r_new;
  std::vector<std::uint8_t> comm_d_new;
  // Circom: the circuit's id, and the digest of the key that it named when the request came, which
  // the service fills in.
  std::string circuit;
  std::vector<std::uint8_t> key_digest;

  std::size_t payload_bytes() const;
  ProofRequest without_payloads() const;
};

// Of everything that determines what is proved: not the id, the client, the priority, the deadline.
Digest32 request_digest(const ProofRequest& request);

// For the journal; read back with kCorruptInput for bytes that encode_request did not make.
std::vector<std::uint8_t> encode_request(const ProofRequest& request);
Result<ProofRequest> decode_request(ByteSpan bytes, std::string_view what);

// The job of a request, by its kind: what parse_porep (porep.h) and its siblings do, on bytes.
// Errors: those of the kind's parser; kInvalidArgument for a kind that this build does not prove.
// A circom request needs its circuit too: parse_circom_request.
Result<Job> parse_request(const Context& context, const ProofRequest& request);
// The witness has the form, the curve and the length that the circuit wants; its values are looked
// at when it is read (Job::circom). The job keeps the request.
Result<Job> parse_circom_request(const Context& context,
                                 std::shared_ptr<const ProofRequest> request,
                                 std::shared_ptr<const CircomCircuit> circuit);

}  // namespace cuzk::engine
