#pragma once
// SnarkPack aggregates as Filecoin keeps them.
//
// Form:    docs/formats/snarkpack.md; 2260 + 2976 log2(n) bytes for n proofs, no version byte.
// Errors:  kCorruptInput names the source and the element: a number of proofs that is no power of
//          two from 2 to 2^20, another length than follows from it, bytes that are no element, an
//          element outside its group. The length is checked before anything is allocated.
// Cost:    reading: 10 log2(n) + 5 membership tests in GT, which are nearly all of it.
// Threads: pure functions; decode_aggregate uses `tasks` and has joined when it returns.

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "aggregate/proof.h"
#include "base/bytes.h"
#include "base/tasks.h"

namespace cuzk::format {

// Of an aggregate of n proofs, n a power of two.
std::size_t aggregate_bytes(std::size_t n);

// kInvalidArgument for an aggregate with an element 1 of GT, which has no bytes.
Result<std::vector<std::uint8_t>> encode_aggregate(const aggregate::AggregateProof& proof);

// Every element of the result is in its group; the identity of G1 and G2 is accepted.
Result<aggregate::AggregateProof> decode_aggregate(Tasks& tasks, ByteSpan bytes,
                                                   std::string_view what);
Result<aggregate::AggregateProof> read_aggregate(Tasks& tasks, const std::filesystem::path& path);

}  // namespace cuzk::format
