// The SRS file: whatever its structure, reading stays inside the bytes and within its capacity.

#include "base/check.h"
#include "format/inner_product_srs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static cuzk::Tasks tasks(1);
  static cuzk::MemoryBudget memory(std::size_t{1} << 28);
  const auto file = cuzk::format::InnerProductSrsFile::parse(cuzk::ByteSpan(data, size), "fuzz");
  if (!file) return 0;
  static_cast<void>(file->load_verifier());
  const std::size_t n = file->capacity();
  if (const auto srs = file->load(tasks, memory, n, cuzk::PointCheck::kSubgroup)) {
    CUZK_CHECK(srs->capacity() == n);
  }
  CUZK_CHECK(!file->load(tasks, memory, n + 1, cuzk::PointCheck::kSubgroup));
  return 0;
}
