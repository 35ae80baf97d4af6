#include "base/memory.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "base/check.h"

namespace cuzk {

void Reservation::release() {
  if (budget_) budget_->give_back(owner_, bytes_);
  budget_ = nullptr;
  bytes_ = 0;
}

namespace {

// A cgroup limit file holds a number or "max"; a missing file is no limit.
std::size_t read_limit_file(const char* path) {
  std::ifstream in(path);
  std::size_t value = 0;
  return in >> value ? value : SIZE_MAX;
}

}  // namespace

std::size_t MemoryBudget::detect_limit_bytes() {
  struct sysinfo info {};
  sysinfo(&info);
  std::size_t limit = static_cast<std::size_t>(info.totalram) * info.mem_unit;
  limit = std::min(limit, read_limit_file("/sys/fs/cgroup/memory.max"));
  limit = std::min(limit, read_limit_file("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
  return limit - limit / 16;
}

MemoryBudget& MemoryBudget::process() {
  static MemoryBudget budget(detect_limit_bytes());
  return budget;
}

Result<Reservation> MemoryBudget::reserve(std::string_view owner, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > limit_ - used_) {
    std::vector<std::pair<std::size_t, std::string>> holders;
    for (const auto& [name, held] : by_owner_) holders.emplace_back(held, name);
    std::sort(holders.rbegin(), holders.rend());
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, holders.size()); ++i) {
      list += fmt::format("{}{} {:.1f} MiB", i ? ", " : "", holders[i].second,
                          static_cast<double>(holders[i].first) / (1 << 20));
    }
    return fail(ErrorCode::kOutOfBudget,
                "{} needs {:.1f} MiB, but {:.1f} of {:.1f} MiB are in use ({})", owner,
                static_cast<double>(bytes) / (1 << 20), static_cast<double>(used_) / (1 << 20),
                static_cast<double>(limit_) / (1 << 20), list.empty() ? "nothing reserved" : list);
  }
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  by_owner_[std::string(owner)] += bytes;
  return Reservation(this, std::string(owner), bytes);
}

std::size_t MemoryBudget::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_;
}

std::size_t MemoryBudget::peak_bytes() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

void MemoryBudget::give_back(const std::string& owner, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  CUZK_CHECK(bytes <= used_);
  used_ -= bytes;
  auto it = by_owner_.find(owner);
  if (it != by_owner_.end() && (it->second -= bytes) == 0) by_owner_.erase(it);
}

namespace internal {

namespace {
constexpr std::size_t kMapBytes = std::size_t{1}
                                  << 21;  // from here on whole mappings, on huge pages where given
}

void* allocate_pages(std::size_t bytes) {
  if (bytes < kMapBytes) {
    void* p = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!p) throw std::bad_alloc();
    return p;
  }
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

void free_pages(void* p, std::size_t bytes) {
  if (bytes < kMapBytes) {
    std::free(p);
  } else {
    munmap(p, bytes);
  }
}

}  // namespace internal
}  // namespace cuzk
