#pragma once
// The JSON forms of a C1; see c1.h.

#include <string_view>

#include "base/bytes.h"
#include "filecoin/vanilla.h"

namespace cuzk::format::internal {

// Whether the first byte that is no white space opens a JSON object.
bool looks_like_json(ByteSpan bytes);

// Any of the three JSON forms. Numbers of things are not checked here: see filecoin::check_shape.
Result<filecoin::PorepC1> parse_c1_json(ByteSpan bytes, std::string_view what);

}  // namespace cuzk::format::internal
