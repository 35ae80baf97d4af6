// Proofs: whatever decodes encodes to the same bytes.

#include <algorithm>

#include "base/check.h"
#include "format/bellman_proof.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cuzk::ByteSpan bytes(data, size);
  if (const auto proofs = cuzk::bellman::decode_proofs(bytes, "fuzz")) {
    CUZK_CHECK(std::ranges::equal(cuzk::bellman::encode_proofs(*proofs), bytes));
  }
  return 0;
}
