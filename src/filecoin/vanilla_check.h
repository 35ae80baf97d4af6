#pragma once
// Whether vanilla proofs hold, before anything is synthesized: the plain twin of the PoRep circuit.
//
// For every challenge: that it and its parents are the statement's; every Merkle path; every
// column's hash; comm_r from its two roots; every label from its parents' labels; the encoding.
// Also what the circuit does not look at (the labeling and encoding proofs that are carried along),
// so that a changed bit anywhere is found here.
//
// Errors:  kMismatch names the first item that fails, e.g.
// "vanilla_proofs[3][17].labeling_proofs[2]". Cost:    a 32 GiB sector (180 challenges): some
// 100,000 Poseidon hashes and 9,000 SHA-256 blocks. Threads: uses `tasks`, a challenge a task.

#include "base/tasks.h"
#include "filecoin/statement.h"

namespace cuzk::filecoin {

// `c1` passed check_shape.
Status check_vanilla(Tasks& tasks, const PorepC1& c1, const PorepStatement& statement);

}  // namespace cuzk::filecoin
