#pragma once
// A made-up sector of any size with valid vanilla proofs, for tests and benchmarks of shapes that
// are too large to seal: all of its nodes are alike but the challenged ones.
//
// Every hash, path, label and commitment in it is right, and challenges and parents are those of
// its statement; it was only never sealed, for the parents' labels are no labels.
//
// Shape:   the sector must be so large that no challenged node is another one's parent (8 MiB and
//          more; smaller ones by luck).
// Cost:    32 GiB, 10 partitions: under a second.
// Threads: pure function.

#include <cstdint>

#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

// Errors: kInvalidArgument when a challenged node is a parent of another, or the proof's challenges
//         depend on comm_r (synthetic, non-interactive).
Result<PorepC1> make_sparse_sector(const SealProof& proof, std::uint64_t seed);

}  // namespace cuzk::filecoin
