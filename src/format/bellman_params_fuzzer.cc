// Parameters: a file that loads has the counts that its layout says, and holds them in its budget.

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "format/bellman_key.h"

namespace {

// A file that lives in memory only.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : fd_(memfd_create("fuzz", 0)) {
    CUZK_CHECK(fd_ >= 0);
    CUZK_CHECK(write(fd_, data, size) == static_cast<ssize_t>(size));
  }
  ~MemoryFile() { close(fd_); }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_); }

 private:
  int fd_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static cuzk::Tasks tasks(1);
  cuzk::MemoryBudget memory(std::size_t{1} << 24);
  const MemoryFile file(data, size);
  const auto params = cuzk::bellman::ParamsFile::open(file.path());
  if (!params) return 0;
  for (const auto check : {cuzk::PointCheck::kFormOnly, cuzk::PointCheck::kOnCurve}) {
    const auto key = params->load(tasks, memory, check);
    if (!key) continue;
    CUZK_CHECK(cuzk::groth16::key_counts(*key) == params->counts());
    CUZK_CHECK(memory.used_bytes() == params->loaded_bytes());
  }
  return 0;
}
