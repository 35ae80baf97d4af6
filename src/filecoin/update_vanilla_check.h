#pragma once
// Whether update vanilla proofs hold, before anything is synthesized: the plain twin of the update
// circuit.
//
// For every partition: one comm_c for all of them, comm_r_old and comm_r_new from it and the roots,
// the apex leafs under comm_d_new. For every challenge: that it is the statement's; three Merkle
// paths; that the data's path passes its apex leaf; that the new leaf is the old one plus the data
// times rho.
//
// Errors:  kMismatch names the first item that fails, e.g.
//          "partition 3: challenge_proofs[17] (challenge 20): proof_r_new: the path's end is ...".
// Cost:    a 32 GiB sector (16 * 86 challenges): about 31,000 Poseidon hashes and 43,000 SHA-256.
// Threads: uses `tasks`, a challenge a task.

#include <span>

#include "base/tasks.h"
#include "filecoin/update_statement.h"
#include "filecoin/update_vanilla.h"

namespace cuzk::filecoin {

// `proofs` are of partitions 0, 1, ... and passed check_update_shape.
Status check_update_vanilla(Tasks& tasks, std::span<const UpdatePartitionProof> proofs,
                            const UpdateStatement& statement);

}  // namespace cuzk::filecoin
