#pragma once
// Base64 as Go writes byte slices in JSON (standard alphabet, padded), alone and as an array.
//
// Errors:  kCorruptInput.
// Threads: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace cuzk::format {

Result<std::vector<std::uint8_t>> decode_base64(std::string_view text);
std::string encode_base64(ByteSpan bytes);

// Whether bytes that may be bincode are rather a JSON array: '[' comes first, and no byte is zero
// near it, as it would be in a count or a sector number.
bool looks_like_json_array(ByteSpan bytes);

// ["base64", ...]: how Go writes a list of byte slices. `what` names the source in errors.
Result<std::vector<std::vector<std::uint8_t>>> parse_base64_array(ByteSpan bytes,
                                                                  std::string_view what);
std::string write_base64_array(const std::vector<std::vector<std::uint8_t>>& items);

}  // namespace cuzk::format
