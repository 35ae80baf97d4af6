#pragma once
// The bincode forms of a C1; see c1.h.
//
// bincode 1.3 with default options: little-endian integers, u64 lengths, u32 enum tags, fixed
// arrays without length, Option as one byte, PhantomData as nothing.

#include <string_view>

#include "base/bytes.h"
#include "filecoin/vanilla.h"

namespace cuzk::format::internal {

Result<filecoin::PorepC1> parse_c1_bincode(ByteSpan bytes, std::string_view what);

}  // namespace cuzk::format::internal
