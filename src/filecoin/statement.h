#pragma once
// What a PoRep proof claims, and the public inputs of its circuit that follow from it.
//
// Public inputs are never read from a file: they are computed here from the statement.
//
// Threads: pure functions.
// Source:  rust-fil-proofs 87348a74,
// storage-proofs-porep/src/stacked/{vanilla/params,circuit/proof}.rs.

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "filecoin/graph.h"
#include "filecoin/hash.h"
#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

// A storage provider's actor id as proofs carry it: LEB128, padded with zeros.
Node prover_id_of_actor(std::uint64_t actor_id);

struct ReplicaIdentity {
  Node prover_id{};
  std::uint64_t sector = 0;
  Node ticket{};
};
// Binds a replica to its provider, sector, randomness and data.
Node replica_id_of(const ReplicaIdentity& identity, const Node& comm_d, const PorepId& porep_id);

struct PorepStatement {
  SealProof proof;
  // proof.porep_id() on every public network; tests use others.
  PorepId porep_id{};
  Node replica_id{};
  Node comm_d{};
  Node comm_r{};
  Node seed{};  // not used by non-interactive proofs

  // The statement that a commit phase 1 output is about. It takes the replica id on trust: compare
  // it with replica_id_of where provider and sector are known.
  static PorepStatement of(const PorepC1& c1);
};

// The nodes that partition `partition` opens.
// Errors: kInvalidArgument when there is no such partition.
Result<std::vector<std::uint32_t>> porep_challenges(const PorepStatement& statement,
                                                    std::uint32_t partition);

// The inputs of one partition in the circuit's order, without the constant one:
// replica id, comm_d, comm_r; then for each challenge c: c, its 6 DRG parents, its 8 expander
// parents, c, c, c.
// Errors: kInvalidArgument for a partition that is not there, kCorruptInput for a commitment or
// replica id that is not below the modulus.
Result<std::vector<Fr>> porep_public_inputs(const PorepStatement& statement,
                                            std::uint32_t partition);

}  // namespace cuzk::filecoin
