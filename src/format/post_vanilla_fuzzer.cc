// Vanilla proofs of spacetime: whatever is read is written to the same bytes, in either form, and
// the check of a proof's form stands any of it.

#include <algorithm>

#include "base/check.h"
#include "format/post_vanilla.h"

namespace {

const cuzk::filecoin::PostShape& shape() {
  static const auto s = *cuzk::filecoin::window_post_shape(2048);
  return s;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cuzk::format;
  const cuzk::ByteSpan bytes(data, size);
  if (const auto proof = parse_post_sector_proof(bytes, "fuzz")) {
    CUZK_CHECK(std::ranges::equal(write_post_sector_proof(*proof), bytes));
    (void)cuzk::filecoin::check_post_shape(*proof, shape());
  }
  const auto proofs = parse_post_vanilla(bytes, "fuzz");
  if (!proofs) return 0;
  const std::string json = write_post_vanilla_json(*proofs);
  const auto again = parse_post_vanilla(
      {reinterpret_cast<const std::uint8_t*>(json.data()), json.size()}, "again");
  CUZK_CHECK(again && write_post_vanilla_json(*again) == json);
  return 0;
}
