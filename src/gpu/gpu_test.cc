#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "base/random.h"
#include "gpu/arena.h"
#include "gpu/owners.h"

namespace cuzk::gpu {
namespace {

struct alignas(256) Line {
  std::byte bytes[256];
};

// The arena does not touch its memory: host memory serves.
struct Block {
  explicit Block(std::size_t lines) : memory(lines) {}
  DeviceSpan<std::byte> span() { return {memory[0].bytes, memory.size() * sizeof(Line)}; }
  std::vector<Line> memory;
};

TEST(Arena, LeasesAreAlignedDisjointAndGivenBack) {
  Block block(16);
  Arena arena(block.span());
  auto a = arena.lease("a", 1000);
  auto b = arena.lease("b", 256);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->bytes(), 1024u);
  EXPECT_EQ(b->data(), a->data() + 1024);
  EXPECT_EQ(arena.free_bytes(), 16u * 256 - 1280);
  a->release();
  EXPECT_EQ(a->bytes(), 0u);
  b = Lease();
  EXPECT_EQ(arena.largest_free_bytes(), 16u * 256);
  EXPECT_EQ(arena.peak_bytes(), 1280u);
}

TEST(Arena, WhatDoesNotFitIsRefusedWithTheNumbers) {
  Block block(4);
  Arena arena(block.span());
  auto first = arena.lease("bases", 512);
  auto hole = arena.lease("a", 256);
  ASSERT_TRUE(first && hole);
  first->release();
  const auto refused = arena.lease("h sum", 768);  // 768 are free, but not in one part
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfBudget);
  EXPECT_NE(refused.error().message.find("h sum wants 768 bytes; 768 of 1024"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(arena.lease("too much", SIZE_MAX));
}

TEST(Arena, ALeaseShrinksFromItsEnd) {
  Block block(8);
  Arena arena(block.span());
  auto lease = arena.lease("a and b", 2048);
  ASSERT_TRUE(lease);
  lease->shrink(5000);
  EXPECT_EQ(lease->bytes(), 2048u);
  lease->shrink(700);
  EXPECT_EQ(lease->bytes(), 768u);
  auto next = arena.lease("next", 1280);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->data(), lease->data() + 768);
  lease->shrink(0);
  EXPECT_EQ(arena.free_bytes(), 768u);
}

TEST(Arena, SpansOfALeaseStayInside) {
  Block block(2);
  Arena arena(block.span());
  auto lease = arena.lease("numbers", 512);
  ASSERT_TRUE(lease);
  EXPECT_TRUE(lease->at<std::uint64_t>(256, 32));
  EXPECT_FALSE(lease->at<std::uint64_t>(256, 33));
  EXPECT_FALSE(lease->at<std::uint64_t>(4, 1));
  EXPECT_FALSE(lease->at<std::uint64_t>(513, 0));
}

TEST(Arena, RandomLeasesFromManyThreadsNeverOverlap) {
  Block block(256);
  Arena arena(block.span());
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(t);
      std::vector<Lease> held;
      const auto mark = static_cast<unsigned char>(t + 1);
      for (int i = 0; i < 3000; ++i) {
        if (held.size() > 8 || (!held.empty() && random.next_u64() % 2)) {
          Lease lease = std::move(held.back());
          held.pop_back();
          for (std::size_t k = 0; k < lease.bytes(); ++k) {
            ASSERT_EQ(static_cast<unsigned char>(lease.data()[k]), mark);
          }
          if (random.next_u64() % 4 == 0) {
            lease.shrink(lease.bytes() / 2);
            held.push_back(std::move(lease));
          }
          continue;
        }
        auto lease = arena.lease("test", 1 + random.next_u64() % 5000);
        if (!lease) continue;
        std::memset(lease->data(), mark, lease->bytes());
        held.push_back(std::move(*lease));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(arena.free_bytes(), arena.total_bytes());
  EXPECT_EQ(arena.largest_free_bytes(), arena.total_bytes());
}

TEST(DeviceList, IsEmptyWithoutCuda) {
  if (built_with_cuda()) GTEST_SKIP() << "this build has CUDA";
  EXPECT_TRUE(list_devices().empty());
  const auto stream = Stream::create();
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, ErrorCode::kInvalidArgument);
}

TEST(Owners, CarryDataToTheDeviceAndBack) {
  if (list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  auto stream = Stream::create();
  auto from = PinnedBuffer<int>::allocate(1000);
  auto to = PinnedBuffer<int>::allocate(1000);
  auto device = DeviceBuffer<int>::allocate(1000);
  auto done = Event::create();
  ASSERT_TRUE(stream && from && to && device && done);
  for (int i = 0; i < 1000; ++i) from->span()[static_cast<std::size_t>(i)] = i;
  ASSERT_TRUE(upload(stream->handle(), device->span(), std::span<const int>(from->span())));
  ASSERT_TRUE(download(stream->handle(), to->span(), device->const_span()));
  ASSERT_TRUE(done->record(stream->handle()));
  ASSERT_TRUE(done->synchronize());
  EXPECT_TRUE(std::ranges::equal(to->span(), from->span()));
  *device = std::move(*DeviceBuffer<int>::allocate(10));
  EXPECT_EQ(device->size(), 10u);
}

}  // namespace
}  // namespace cuzk::gpu
