// Aggregates: whatever decodes encodes to the same bytes.

#include <algorithm>

#include "base/check.h"
#include "format/aggregate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static cuzk::Tasks tasks(1);
  const cuzk::ByteSpan bytes(data, size);
  if (const auto proof = cuzk::format::decode_aggregate(tasks, bytes, "fuzz")) {
    const auto encoded = cuzk::format::encode_aggregate(*proof);
    CUZK_CHECK(encoded && std::ranges::equal(*encoded, bytes));
  }
  return 0;
}
