// Vanilla proofs of updates: whatever is read is written to the same bytes, in either form, and the
// check of a proof's form stands any of it.

#include <algorithm>

#include "base/check.h"
#include "format/update_vanilla.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuzk::format;
  static const auto shape = *cuzk::filecoin::update_shape(2048);
  const cuzk::ByteSpan bytes(data, size);
  if (const auto proof = parse_update_partition(bytes, "fuzz")) {
    CUZK_CHECK(std::ranges::equal(write_update_partition(*proof), bytes));
    (void)cuzk::filecoin::check_update_partition_shape(shape, *proof);
  }
  const auto proofs = parse_update_vanilla(bytes, "fuzz");
  if (!proofs) return 0;
  const std::string json = write_update_vanilla_json(*proofs);
  const auto again = parse_update_vanilla(
      {reinterpret_cast<const std::uint8_t*>(json.data()), json.size()}, "again");
  CUZK_CHECK(again && write_update_vanilla_json(*again) == json);
  return 0;
}
