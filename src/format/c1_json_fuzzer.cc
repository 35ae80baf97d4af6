// The JSON forms of C1: whatever is read is written to JSON that reads to the same bytes again.

#include "base/check.h"
#include "format/c1.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto c1 = cuzk::format::parse_c1({data, size}, "fuzz");
  if (!c1) return 0;
  const std::string text = cuzk::format::write_c1_json(*c1);
  const auto again = cuzk::format::parse_c1(
      {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "again");
  CUZK_CHECK(again && cuzk::format::write_c1_json(*again) == text);
  return 0;
}
