// The JSON of a proof of spacetime's sectors: no bytes trip its reader.

#include "format/post_sectors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)cuzk::format::parse_post_sectors({data, size}, "fuzz");
  return 0;
}
