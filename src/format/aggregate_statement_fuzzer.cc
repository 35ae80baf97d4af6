// Statements of aggregates: an accepted document lists at least one sector.

#include "base/check.h"
#include "format/aggregate_statement.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (const auto s = cuzk::format::parse_aggregate_statement(cuzk::ByteSpan(data, size), "fuzz")) {
    std::visit([](const auto& sectors) { CUZK_CHECK(!sectors.empty()); }, *s);
  }
  return 0;
}
