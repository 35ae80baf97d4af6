// Verifying keys: whatever decodes encodes to the same bytes.

#include <algorithm>

#include "base/check.h"
#include "format/bellman_key.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cuzk::ByteSpan bytes(data, size);
  for (const auto check : {cuzk::PointCheck::kFormOnly, cuzk::PointCheck::kSubgroup}) {
    if (const auto vk = cuzk::bellman::decode_vk(bytes, "fuzz", check)) {
      CUZK_CHECK(std::ranges::equal(cuzk::bellman::encode_vk(*vk), bytes));
    }
  }
  return 0;
}
