#pragma once
// Host memory as a budget. Every large buffer takes a Reservation, with its owner's name, before it
// exists; a Buffer holds its reservation for as long as it lives.
//
// Threads: MemoryBudget may be used from any thread; Reservation and Buffer belong to one owner.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace cuzk {

class MemoryBudget;

// A part of a budget, given back when it dies or by release().
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept { swap(other); }
  Reservation& operator=(Reservation&& other) noexcept {
    Reservation old(std::move(*this));
    swap(other);
    return *this;
  }
  ~Reservation() { release(); }

  std::size_t bytes() const { return bytes_; }
  void release();

 private:
  friend class MemoryBudget;
  Reservation(MemoryBudget* budget, std::string owner, std::size_t bytes)
      : budget_(budget), owner_(std::move(owner)), bytes_(bytes) {}
  void swap(Reservation& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(owner_, other.owner_);
    std::swap(bytes_, other.bytes_);
  }

  MemoryBudget* budget_ = nullptr;
  std::string owner_;
  std::size_t bytes_ = 0;
};

class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t limit_bytes) : limit_(limit_bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // What this process may use: the smaller of physical memory and the cgroup's limit, less a margin
  // of one sixteenth for code, stacks and the page cache.
  static std::size_t detect_limit_bytes();
  // A budget of detect_limit_bytes(), shared by the process; made on first use.
  static MemoryBudget& process();

  // kOutOfBudget names the owner, the bytes wanted, and the largest holders now.
  Result<Reservation> reserve(std::string_view owner, std::size_t bytes);

  std::size_t limit_bytes() const { return limit_; }
  std::size_t used_bytes() const;
  std::size_t peak_bytes() const;

 private:
  friend class Reservation;
  void give_back(const std::string& owner, std::size_t bytes);

  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
  std::map<std::string, std::size_t> by_owner_;
};

namespace internal {
void* allocate_pages(
    std::size_t bytes);  // 64-byte aligned, huge pages asked for when large; throws std::bad_alloc
void free_pages(void* p, std::size_t bytes);
}  // namespace internal

// An array of trivially copyable elements, reserved before it is allocated. Contents start
// undefined.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer old(std::move(*this));
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (data_) internal::free_pages(data_, count_ * sizeof(T));
  }

  static Result<Buffer> allocate(MemoryBudget& budget, std::string_view owner, std::size_t count) {
    if (count > SIZE_MAX / sizeof(T)) {
      return fail(ErrorCode::kOutOfBudget, "{}: {} elements of {} bytes exceed the address space",
                  owner, count, sizeof(T));
    }
    CUZK_TRY(Reservation reservation, budget.reserve(owner, count * sizeof(T)));
    Buffer out;
    out.reservation_ = std::move(reservation);
    if (count) out.data_ = static_cast<T*>(internal::allocate_pages(count * sizeof(T)));
    out.count_ = count;
    return out;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + count_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + count_; }
  std::span<T> span() { return {data_, count_}; }
  std::span<const T> span() const { return {data_, count_}; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(reservation_, other.reservation_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }

  Reservation reservation_;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace cuzk
