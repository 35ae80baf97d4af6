#pragma once
// parameters.json: the published list of parameter files.
//
// Threads: pure functions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace cuzk::format {

struct ParameterFile {
  std::string name;    // with its extension
  std::string cid;     // IPFS content id
  std::string digest;  // the first 16 bytes of the file's BLAKE2b-512, in hexadecimal
  std::uint64_t sector_bytes = 0;
};

struct ParameterList {
  std::vector<ParameterFile> files;  // in the list's order

  // Null when the name is not published.
  const ParameterFile* find(std::string_view name) const;
};

// `what` names the source in errors. kCorruptInput names entry and field.
Result<ParameterList> parse_parameter_list(std::string_view text, std::string_view what);

}  // namespace cuzk::format
