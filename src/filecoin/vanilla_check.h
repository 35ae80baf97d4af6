#pragma once
// Whether vanilla proofs hold, before anything is synthesized: the plain twin of the PoRep circuit.
//
// For every challenge: that it and its parents are the statement's; every Merkle path; every
// column's hash; comm_r from its two roots; every label from its parents' labels; the encoding.
// Also what the circuit does not look at (the labeling and encoding proofs that are carried along),
// so that a changed bit anywhere is found here.
//
// Errors:  kMismatch names the first item that fails, e.g.
//          "vanilla_proofs[3][17] (challenge 20): labeling_proofs[2]: node is 21, expected 20".
// Cost:    a 32 GiB sector (180 challenges): about 29,000 Poseidon hashes of 8 elements, 2,700 of
//          11, and 7,400 SHA-256 hashes.
// Threads: uses `tasks`, a challenge a task.

#include "base/tasks.h"
#include "filecoin/statement.h"

namespace cuzk::filecoin {

// `c1` passed check_shape.
Status check_vanilla(Tasks& tasks, const PorepC1& c1, const PorepStatement& statement);

}  // namespace cuzk::filecoin
