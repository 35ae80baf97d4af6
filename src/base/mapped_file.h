#pragma once
// Read-only mapping of a whole file, and atomic writing of one.

#include <filesystem>
#include <functional>
#include <string>

#include "base/bytes.h"

namespace cuzk {

class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    MappedFile old(std::move(*this));
    swap(other);
    return *this;
  }
  ~MappedFile();

  // kNotFound for a missing file, kInvalidArgument for a directory or another thing that is no
  // plain file, kIo for one that cannot be read. An empty file gives an empty span.
  static Result<MappedFile> open(const std::filesystem::path& path);

  ByteSpan bytes() const { return {data_, size_}; }
  // Gives up the memory of the whole pages inside `part` of bytes(); who reads them again waits for
  // the file again. A large file that is read once so never lies in memory as a whole.
  void forget(ByteSpan part) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(path_, other.path_);
  }
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::filesystem::path path_;
};

// Appends through a buffer; see write_file_atomically.
class FileWriter {
 public:
  FileWriter(int fd, std::string path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  Status write(ByteSpan bytes);
  Status flush();

 private:
  int fd_;
  std::string path_;
  std::vector<std::uint8_t> buffer_;
};

// Writes `path` through a temporary neighbour that is synced and renamed only when `produce`
// succeeds, so that a reader sees the old file or the whole new one.
Status write_file_atomically(const std::filesystem::path& path,
                             const std::function<Status(FileWriter&)>& produce);
Status write_file_atomically(const std::filesystem::path& path, ByteSpan bytes);

// A whole small file; kInvalidArgument when it is larger than max_bytes.
Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path,
                                            std::size_t max_bytes);

}  // namespace cuzk
