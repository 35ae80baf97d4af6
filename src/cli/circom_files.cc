#include "cli/circom_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/mapped_file.h"

namespace cuzk::cli {

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

}  // namespace

Result<format::InputBytes> read_input(const std::string& path, std::size_t max_bytes) {
  if (path != "-") return format::InputBytes::open(path);
  std::vector<std::uint8_t> bytes;
  for (;;) {
    const std::size_t have = bytes.size();
    bytes.resize(have + kReadBytes);
    const ssize_t n = ::read(STDIN_FILENO, bytes.data() + have, kReadBytes);
    bytes.resize(have + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0) break;
    if (n < 0 && errno != EINTR) {
      return fail(ErrorCode::kIo, "standard input: cannot read: {}", std::strerror(errno));
    }
    if (bytes.size() > max_bytes) {
      return fail(ErrorCode::kInvalidArgument, "standard input: more than {} bytes", max_bytes);
    }
  }
  return format::InputBytes::own(std::move(bytes), "standard input");
}

Status check_one_standard_stream(std::initializer_list<std::string_view> paths,
                                 std::string_view stream) {
  if (std::ranges::count(paths, "-") <= 1) return {};
  return fail(ErrorCode::kInvalidArgument, "only one file can be \"-\", {}", stream);
}

Status write_output(const std::string& path, std::string_view text) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  const bool plain = !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
  if (path != "-" && plain) {
    return write_file_atomically(
        path, ByteSpan(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (!file) return fail(ErrorCode::kIo, "{}: cannot open: {}", path, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0;
  if (written && closed) return {};
  return fail(ErrorCode::kIo, "{}: cannot write: {}", path, std::strerror(errno));
}

}  // namespace cuzk::cli
