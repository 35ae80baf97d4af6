#pragma once
// Compiled circuits on disk, so that a shape is compiled once for a machine.
//
// A file is found by its key, a text that says everything the rows depend on; the key is in the
// file too. The format is cuzk's own, of this version and this byte order; nothing else reads it.
//
// Form:    head: magic, version, low limb of the field's modulus, BLAKE2b-256 and length of the
//          payload. Payload: key, counts, dictionary (Montgomery), blocks, segments, ports, paths;
//          every array as a u64 count and its elements.
// Threads: pure functions; two writers of one file leave one whole file.

#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "r1cs/compact_r1cs.h"

namespace cuzk {

// directory / "<hash of the key>.cuzk-r1cs"
std::filesystem::path r1cs_cache_path(const std::filesystem::path& directory, std::string_view key);

// Errors: kIo.
template <class Fr>
Status write_r1cs(const std::filesystem::path& path, std::string_view key,
                  const CompactR1cs<Fr>& r1cs);

// Errors: kNotFound; kCorruptInput for anything that write_r1cs did not write, a damaged file, and
//         another version; kMismatch for another key or field. The caller compiles anew then.
template <class Fr>
Result<CompactR1cs<Fr>> read_r1cs(const std::filesystem::path& path, std::string_view key);

}  // namespace cuzk
