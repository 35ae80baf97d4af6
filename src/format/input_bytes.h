#pragma once
// The bytes of an input, wherever they are: a mapped file, memory of one's own, or the caller's.
//
// Threads: copies share the bytes, which are immutable; any thread may read.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace cuzk::format {

class InputBytes {
 public:
  // Maps a file. Errors: those of MappedFile::open.
  static Result<InputBytes> open(const std::filesystem::path& path);
  // `name` stands for the source in errors.
  static InputBytes own(std::vector<std::uint8_t> bytes, std::string_view name);
  // The caller keeps the bytes for as long as copies of this live.
  static InputBytes borrow(ByteSpan bytes, std::string_view name);

  ByteSpan bytes() const { return source_->bytes; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes().data()), bytes().size()};
  }
  const std::string& name() const { return source_->name; }
  // `part` of bytes() will not be read again soon: a mapped file gives up its pages.
  void done_with(ByteSpan part) const {
    if (!source_->file.bytes().empty()) source_->file.forget(part);
  }

 private:
  struct Source {
    std::string name;
    MappedFile file;  // one of the two, or neither
    std::vector<std::uint8_t> owned;
    ByteSpan bytes;
  };
  explicit InputBytes(std::shared_ptr<const Source> source) : source_(std::move(source)) {}
  std::shared_ptr<const Source> source_;
};

}  // namespace cuzk::format
