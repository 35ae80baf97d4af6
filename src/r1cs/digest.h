#pragma once
// Digests that say whether a circuit, an assignment or its evaluations equal another
// implementation's, byte for byte.
//
// Form:    everything is hashed with BLAKE2b-256 over canonical little-endian encodings.
//   circuit     num_inputs, num_aux, num_rows as u64; then for each row, for A, B, C: the number of
//               terms as u64, and each term as u8 (0 input, 1 auxiliary), index u64, coefficient.
//               The appended input rows are not part of it.
//   segment     the same body, without the head, of a run of rows; the first 8 bytes of the hash.
//   witness     num_inputs, num_aux as u64; inputs; auxiliaries.
//   evaluations the elements, nothing else.
// Cost:    41 bytes hashed for each term: about a second for 25 million terms.
// Threads: pure functions.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/hash.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk {

using SegmentDigest = std::array<std::uint8_t, 8>;

template <class Fr>
Digest32 r1cs_digest(const CompactR1cs<Fr>& r1cs);

// Hands the bytes that r1cs_digest hashes to `sink`, in pieces.
template <class Fr>
void r1cs_encode(const CompactR1cs<Fr>& r1cs, const std::function<void(ByteSpan)>& sink);

// One digest for each run of `rows_per_segment` rows, the last run shorter.
template <class Fr>
std::vector<SegmentDigest> r1cs_segment_digests(const CompactR1cs<Fr>& r1cs,
                                                std::size_t rows_per_segment);

template <class Fr>
Digest32 witness_digest(const CompactWitness<Fr>& witness);

template <class Fr>
Digest32 evaluation_digest(std::span<const Fr> values);

// Terms of each matrix over the whole circuit.
struct TermCounts {
  std::uint64_t a = 0, b = 0, c = 0;
  friend bool operator==(const TermCounts&, const TermCounts&) = default;
};
template <class Fr>
TermCounts count_terms(const CompactR1cs<Fr>& r1cs);

}  // namespace cuzk
