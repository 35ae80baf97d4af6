#pragma once
// A made-up sector of any size with valid vanilla proofs, for tests and benchmarks of shapes that
// are too large to seal.
//
// Only what the challenges open is made: the labels of challenged nodes follow from their parents'
// as sealing says, the parents' own labels and everything beside a path are random. So every hash,
// path, label, encoding and commitment holds, replica id, challenges and parents are those of the
// statement, and yet nobody sealed anything.
//
// Where the challenges follow from comm_r (synthetic and non-interactive proofs) nothing can be
// made up: such a sector must be sealed, see seal_sector.h.
//
// Cost:    32 GiB, 10 partitions: about two seconds on one core, some 30 MB.
// Threads: pure function.

#include <cstdint>

#include "filecoin/statement.h"
#include "filecoin/vanilla.h"

namespace cuzk::filecoin {

// Of every made-up sector; with its ticket and comm_d it gives its replica id.
inline constexpr std::uint64_t kMadeUpActor = 1000;
inline constexpr std::uint64_t kMadeUpSector = 1;

// The same proof and seed give the same sector.
// Errors: kInvalidArgument for a proof whose challenges follow from comm_r.
Result<PorepC1> make_sparse_sector(const SealProof& proof, std::uint64_t seed);

}  // namespace cuzk::filecoin
