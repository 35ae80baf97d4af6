#include "filecoin/statement.h"

#include <array>

#include "base/bytes.h"
#include "base/hash.h"
#include "filecoin/challenges.h"

namespace cuzk::filecoin {
namespace {

Result<Fr> canonical(const Node& node, std::string_view what) {
  if (const auto v = node_to_fr(node)) return *v;
  return fail(ErrorCode::kCorruptInput,
              "{}: {} (little-endian) is not below the modulus of the scalar field", what,
              to_hex(node));
}

}  // namespace

Node prover_id_of_actor(std::uint64_t actor_id) {
  Node id{};
  std::size_t used = 0;
  for (; actor_id >= 0x80; actor_id >>= 7) {
    id[used++] = static_cast<std::uint8_t>(actor_id & 0x7f) | 0x80;
  }
  id[used] = static_cast<std::uint8_t>(actor_id);
  return id;
}

Node replica_id_of(const ReplicaIdentity& identity, const Node& comm_d, const PorepId& porep_id) {
  std::array<std::uint8_t, 8> sector;
  store_be64(sector.data(), identity.sector);
  Sha256 hash;
  hash.update(identity.prover_id);
  hash.update(sector);
  hash.update(identity.ticket);
  hash.update(comm_d);
  hash.update(porep_id);
  Node id = hash.finish();
  id[31] &= 0x3f;
  return id;
}

PorepStatement PorepStatement::of(const PorepC1& c1) {
  return {c1.proof, c1.proof.porep_id(), c1.replica_id, c1.comm_d, c1.comm_r, c1.seed};
}

Result<std::vector<std::uint32_t>> porep_challenges(const PorepStatement& statement,
                                                    std::uint32_t partition) {
  const SealProof& proof = statement.proof;
  if (partition >= proof.partitions) {
    return fail(ErrorCode::kInvalidArgument, "{} has {} partitions; there is no partition {}",
                proof.name, proof.partitions, partition);
  }
  const std::uint32_t count = proof.shape.challenges_per_partition;
  const ChallengeRange range = {proof.shape.nodes(), partition * count, count};
  switch (proof.feature) {
    case PorepFeature::kNone:
      return interactive_challenges(range, statement.replica_id, statement.seed);
    case PorepFeature::kSynthetic:
      return synthetic_challenges(range, statement.replica_id, statement.comm_r, statement.seed);
    case PorepFeature::kNonInteractive:
      return non_interactive_challenges(range, statement.replica_id, statement.comm_r);
  }
  return fail(ErrorCode::kInternal, "{}: unknown PoRep feature", proof.name);
}

Result<std::vector<Fr>> porep_public_inputs(const PorepStatement& statement,
                                            std::uint32_t partition) {
  CUZK_TRY(const auto challenges, porep_challenges(statement, partition));
  std::vector<Fr> inputs;
  inputs.reserve(statement.proof.shape.num_public_inputs());
  CUZK_TRY(inputs.emplace_back(), canonical(statement.replica_id, "replica_id"));
  CUZK_TRY(inputs.emplace_back(), canonical(statement.comm_d, "comm_d"));
  CUZK_TRY(inputs.emplace_back(), canonical(statement.comm_r, "comm_r"));
  const SectorGraph graph(statement.proof.shape.nodes(), statement.porep_id, statement.proof.api);
  for (const std::uint32_t challenge : challenges) {
    const Fr c = Fr::from_u64(challenge);
    inputs.push_back(c);
    for (const std::uint32_t p : graph.drg_parents(challenge)) inputs.push_back(Fr::from_u64(p));
    for (const std::uint32_t p : graph.expander_parents(challenge)) {
      inputs.push_back(Fr::from_u64(p));
    }
    inputs.insert(inputs.end(), 3, c);
  }
  return inputs;
}

}  // namespace cuzk::filecoin
