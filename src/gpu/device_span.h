#pragma once
// A view of device memory. It compiles without CUDA, can be copied freely, and cannot be read on
// the host: the place is part of the type.
//
// Threads: values.

#include <cstddef>
#include <type_traits>

namespace cuzk::gpu {

template <class T>
class DeviceSpan {
 public:
  constexpr DeviceSpan() = default;
  constexpr DeviceSpan(T* data, std::size_t size) : data_(data), size_(size) {}
  // From a span of mutable elements.
  template <class U>
  requires std::is_same_v<const U, T>
  constexpr DeviceSpan(const DeviceSpan<U>& other) : data_(other.data()), size_(other.size()) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr std::size_t size_bytes() const { return size_ * sizeof(T); }
  constexpr bool empty() const { return size_ == 0; }
  constexpr DeviceSpan first(std::size_t count) const { return {data_, count}; }
  constexpr DeviceSpan subspan(std::size_t offset, std::size_t count) const {
    return {data_ + offset, count};
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cuzk::gpu
