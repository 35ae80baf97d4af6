#include "format/input_bytes.h"

namespace cuzk::format {

Result<InputBytes> InputBytes::open(const std::filesystem::path& path) {
  CUZK_TRY(MappedFile file, MappedFile::open(path));
  auto source = std::make_shared<Source>();
  source->name = path.string();
  source->file = std::move(file);
  source->bytes = source->file.bytes();
  return InputBytes(std::move(source));
}

InputBytes InputBytes::own(std::vector<std::uint8_t> bytes, std::string_view name) {
  auto source = std::make_shared<Source>();
  source->name = name;
  source->owned = std::move(bytes);
  source->bytes = source->owned;
  return InputBytes(std::move(source));
}

InputBytes InputBytes::borrow(ByteSpan bytes, std::string_view name) {
  auto source = std::make_shared<Source>();
  source->name = name;
  source->bytes = bytes;
  return InputBytes(std::move(source));
}

}  // namespace cuzk::format
