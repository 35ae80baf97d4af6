#pragma once
// Makes aggregates. Nothing is random: the same proofs, string and binding give the same bytes.
//
// Memory: about 1.1 KB a proof, in `context.memory`, beside the string.
// Spans:  commit, combine, rounds, openings.
// Cost:   for n proofs 21 n Miller functions, 10 n preparations of points of G2, 6 n products in G1
//         and 4 n in G2 (README.md).
// Errors: kInvalidArgument for a number of proofs that is no power of two from 2 to 2^20, or above
//         the string's capacity; kOutOfBudget; kCancelled.
// Threads: uses context.tasks.

#include <span>

#include "aggregate/proof.h"
#include "aggregate/srs.h"
#include "base/bytes.h"
#include "groth16/context.h"

namespace cuzk::aggregate {

// How many proofs an aggregate of `count` has: the next power of two, at least 2. 0 for 0.
std::size_t padded_count(std::size_t count);
// Repeats the last proof up to padded_count; statements are padded by the verifier.
std::vector<Groth16Proof> pad_proofs(std::vector<Groth16Proof> proofs);

// The proofs are not verified here: an aggregate of a wrong one does not verify.
Result<AggregateProof> create(const groth16::Context& context, const Srs& srs, Version version,
                              ByteSpan binding, std::span<const Groth16Proof> proofs);

}  // namespace cuzk::aggregate
