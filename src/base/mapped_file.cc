#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace cuzk {

namespace {

ErrorCode code_of_errno(int error) {
  return error == ENOENT || error == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
}

// An open descriptor that closes itself.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<std::uint8_t*>(data_), size_);
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) {
    return fail(code_of_errno(errno), "{}: cannot open: {}", path.string(), std::strerror(errno));
  }
  struct stat st {};
  if (fstat(file.fd, &st) != 0)
    return fail(ErrorCode::kIo, "{}: cannot stat: {}", path.string(), std::strerror(errno));
  if (!S_ISREG(st.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, "{}: is {}, a plain file is needed", path.string(),
                S_ISDIR(st.st_mode) ? "a directory" : "not a plain file");
  }
  MappedFile out;
  out.path_ = path;
  out.size_ = static_cast<std::size_t>(st.st_size);
  if (out.size_ == 0) return out;
  void* p = mmap(nullptr, out.size_, PROT_READ, MAP_SHARED, file.fd, 0);
  if (p == MAP_FAILED) {
    out.size_ = 0;
    return fail(ErrorCode::kIo, "{}: cannot map {} bytes: {}", path.string(), st.st_size,
                std::strerror(errno));
  }
  out.data_ = static_cast<const std::uint8_t*>(p);
  return out;
}

void MappedFile::forget(ByteSpan part) const {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(part.data());
  const std::uintptr_t begin = (first + page - 1) / page * page;
  const std::uintptr_t end = (first + part.size()) / page * page;
  // Advice only: where the system does not take it, the pages stay.
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

namespace {
constexpr std::size_t kWriteBufferBytes = std::size_t{1} << 20;

Status write_all(int fd, const std::string& path, ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail(ErrorCode::kIo, "{}: cannot write: {}", path, std::strerror(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}
}  // namespace

FileWriter::FileWriter(int fd, std::string path) : fd_(fd), path_(std::move(path)) {
  buffer_.reserve(kWriteBufferBytes);
}
FileWriter::~FileWriter() = default;

Status FileWriter::write(ByteSpan bytes) {
  if (buffer_.size() + bytes.size() > kWriteBufferBytes) CUZK_TRY_VOID(flush());
  if (bytes.size() >= kWriteBufferBytes) return write_all(fd_, path_, bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return {};
}

Status FileWriter::flush() {
  CUZK_TRY_VOID(write_all(fd_, path_, buffer_));
  buffer_.clear();
  return {};
}

namespace {

Status produce_into(int fd, const std::string& name,
                    const std::function<Status(FileWriter&)>& produce) {
  FileWriter writer(fd, name);
  CUZK_TRY_VOID(produce(writer));
  CUZK_TRY_VOID(writer.flush());
  if (fsync(fd) != 0)
    return fail(ErrorCode::kIo, "{}: cannot sync: {}", name, std::strerror(errno));
  return {};
}

}  // namespace

Status write_file_atomically(const std::filesystem::path& path,
                             const std::function<Status(FileWriter&)>& produce) {
  static std::atomic<unsigned> counter{0};
  const std::string temporary =
      fmt::format("{}.tmp-{}-{}", path.string(), getpid(), counter.fetch_add(1));
  Status status;
  {
    const Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)};
    if (file.fd < 0) {
      return fail(code_of_errno(errno), "{}: cannot create: {}", temporary, std::strerror(errno));
    }
    status = produce_into(file.fd, temporary, produce);
  }
  if (status && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = fail(ErrorCode::kIo, "{}: cannot rename to {}: {}", temporary, path.string(),
                  std::strerror(errno));
  }
  if (!status) ::unlink(temporary.c_str());
  return status;
}

Status write_file_atomically(const std::filesystem::path& path, ByteSpan bytes) {
  return write_file_atomically(path, [&](FileWriter& w) { return w.write(bytes); });
}

Result<std::vector<std::uint8_t>> read_file(const std::filesystem::path& path,
                                            std::size_t max_bytes) {
  CUZK_TRY(MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > max_bytes) {
    return fail(ErrorCode::kInvalidArgument, "{}: has {} bytes, at most {} are expected here",
                path.string(), file.bytes().size(), max_bytes);
  }
  return std::vector<std::uint8_t>(file.bytes().begin(), file.bytes().end());
}

}  // namespace cuzk
