// parameters.json: an accepted list has no name twice and digests of their length.

#include "base/check.h"
#include "format/parameters_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto list = cuzk::format::parse_parameter_list(text, "fuzz")) {
    for (const auto& file : list->files) {
      CUZK_CHECK(list->find(file.name) == &file && file.digest.size() == 32);
    }
  }
  return 0;
}
