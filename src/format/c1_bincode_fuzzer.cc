// The bincode forms of C1: vanilla proofs that are read are written to the same bytes, whatever
// their shape; and no form trips the reader that tells them apart.

#include <algorithm>

#include "base/check.h"
#include "format/c1.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cuzk::ByteSpan bytes(data, size);
  if (auto partitions = cuzk::format::parse_vanilla_bincode(bytes, "fuzz")) {
    cuzk::filecoin::PorepC1 c1;
    c1.partitions = std::move(*partitions);
    CUZK_CHECK(std::ranges::equal(cuzk::format::write_vanilla_bincode(c1), bytes));
  }
  static const cuzk::filecoin::SealProof proof = *cuzk::filecoin::seal_proof(5);
  (void)cuzk::format::parse_c1_inner_bincode(bytes, "fuzz", proof);
  if (const auto c1 = cuzk::format::parse_c1(bytes, "fuzz")) {
    const auto written = cuzk::format::write_c1_bincode(*c1);
    CUZK_CHECK(written && cuzk::format::parse_c1(*written, "again"));
  }
  return 0;
}
