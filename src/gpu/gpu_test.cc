#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "base/random.h"
#include "gpu/arena.h"
#include "gpu/card.h"
#include "gpu/gate.h"
#include "gpu/memory_plan.h"
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

TEST(Arena, WhatLastsLiesAtTheOtherEnd) {
  Block block(16);
  Arena arena(block.span());
  auto brief = arena.lease("partition", 4 * 256);
  auto key = arena.lease("key", 3 * 256, Hold::kLasting);
  auto circuit = arena.lease("circuit", 256, Hold::kLasting);
  ASSERT_TRUE(brief && key && circuit);
  EXPECT_EQ(brief->data(), block.span().data());
  EXPECT_EQ(key->data(), block.span().data() + 13 * 256);
  EXPECT_EQ(circuit->data(), block.span().data() + 12 * 256);
  EXPECT_EQ(arena.lasting_bytes(), 4u * 256);
  EXPECT_EQ(arena.room_bytes(), 12u * 256);
  EXPECT_EQ(arena.largest_free_bytes(), 8u * 256);
  key->release();
  EXPECT_EQ(arena.room_bytes(), 12u * 256);
  EXPECT_EQ(arena.lasting_bytes(), 256u);
  auto other = arena.lease("key", 2 * 256, Hold::kLasting);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->data(), block.span().data() + 14 * 256);
  other->shrink(256);
  EXPECT_EQ(arena.lasting_bytes(), 2u * 256);
  circuit->release();
  other->release();
  brief->release();
  EXPECT_EQ(arena.room_bytes(), 16u * 256);
  EXPECT_EQ(arena.free_bytes(), 16u * 256);
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

TEST(MemoryPlan, BuffersShareBytesOnlyWhenNoPhaseNeedsBoth) {
  SeededRandom random(3);
  for (int round = 0; round < 200; ++round) {
    MemoryPlan plan;
    struct Wanted {
      MemoryPlan::Id id;
      unsigned first, last;
    };
    std::vector<Wanted> wanted;
    for (int i = 0; i < 12; ++i) {
      const auto first = static_cast<unsigned>(random.next_u64() % 5);
      const auto last = first + static_cast<unsigned>(random.next_u64() % (5 - first));
      wanted.push_back({plan.add("b", random.next_u64() % 5000, first, last), first, last});
    }
    plan.place();
    for (const Wanted& a : wanted) {
      EXPECT_EQ(plan.offset(a.id) % MemoryPlan::kAlignment, 0u);
      for (unsigned phase = 0; phase <= a.last; ++phase) {
        EXPECT_LE(plan.offset(a.id) + plan.bytes(a.id), plan.bytes_from(phase));
      }
      for (const Wanted& b : wanted) {
        if (a.id == b.id || a.last < b.first || b.last < a.first) continue;
        EXPECT_TRUE(plan.offset(a.id) + plan.bytes(a.id) <= plan.offset(b.id) ||
                    plan.offset(b.id) + plan.bytes(b.id) <= plan.offset(a.id));
      }
    }
  }
}

TEST(MemoryPlan, WhatEndsEarlyLeavesItsBytesToWhatComesLater) {
  MemoryPlan plan;
  const auto lasting = plan.add("lasting", 1000, 0, 3);
  const auto early = plan.add("early", 4096, 0, 1);
  const auto late = plan.add("late", 2048, 2, 3);
  plan.place();
  EXPECT_EQ(plan.offset(lasting), 0u);
  EXPECT_EQ(plan.offset(late), 1024u);
  EXPECT_EQ(plan.offset(early), 1024u);
  EXPECT_EQ(plan.total_bytes(), 1024u + 4096);
  EXPECT_EQ(plan.bytes_from(2), 3072u);
  EXPECT_EQ(plan.bytes_from(4), 0u);
}

// Two vectors, of which the first gives way to a scratch half its size: that once lay below the
// streaming buffers, and left a gap that the vector could not use.
TEST(MemoryPlan, WhatComesLateLeavesNoGapBelowWhatIsThereBefore) {
  constexpr std::size_t kVector = std::size_t{4} << 30, kScratch = kVector / 2, kHalf = kVector / 4;
  MemoryPlan plan;
  for (int half = 0; half < 2; ++half) plan.add("streamed", kHalf, 0, 3);
  plan.add("sums", kVector, 1, 1);
  plan.add("kept", kVector, 2, 3);
  plan.add("given up", kVector, 2, 2);
  plan.add("scratch", kScratch, 3, 3);
  plan.place();
  EXPECT_EQ(plan.total_bytes(), 2 * kHalf + 2 * kVector);
  EXPECT_EQ(plan.bytes_from(3), 2 * kHalf + kVector + kScratch);
}

TEST(Gate, LeasesAreGrantedInTheOrderInWhichTheyWereAskedFor) {
  Block block(16);
  Arena arena(block.span());
  Gate gate(arena);
  std::mutex mutex;
  std::vector<int> order;
  std::vector<std::jthread> threads;
  auto first = gate.enter("first", 16 * 256);
  ASSERT_TRUE(first);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      // One after the other; the first one has its lease.
      while (gate.asked() != static_cast<std::uint64_t>(t) + 1) std::this_thread::yield();
      // The whole arena: each waits for the one before.
      auto mine = gate.enter("mine", 16 * 256);
      ASSERT_TRUE(mine) << mine.error().message;
      {
        const std::lock_guard lock(mutex);
        order.push_back(t);
      }
      auto turn = gate.compute_turn(**mine);
      // Who leaves without having said when memory comes back would be refused others.
      (*mine)->settle();
      turn.leave(nullptr);
    });
  }
  while (gate.asked() != 5) std::this_thread::yield();
  EXPECT_EQ(gate.tenants(), 1u);
  first->reset();
  threads.clear();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(arena.free_bytes(), arena.total_bytes());
}

TEST(Gate, ComputesInTheOrderOfTheLeasesAndPassesOverTheDropped) {
  Block block(16);
  Arena arena(block.span());
  Gate gate(arena);
  auto one = gate.enter("one", 256), two = gate.enter("two", 256), three = gate.enter("three", 256);
  ASSERT_TRUE(one && two && three);
  std::vector<int> order;
  std::jthread last([&] {
    auto turn = gate.compute_turn(**three);
    order.push_back(3);
    turn.leave(nullptr);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  two->reset();  // never computes
  {
    auto turn = gate.compute_turn(**one);
    EXPECT_EQ(turn.before(), nullptr);
    order.push_back(1);
  }
  last.join();
  EXPECT_EQ(order, (std::vector<int>{1, 3}));
}

TEST(Gate, WhatNobodyWillGiveBackIsRefusedAtOnce) {
  Block block(4);
  Arena arena(block.span());
  Gate gate(arena);
  auto resident = arena.lease("key", 512);
  ASSERT_TRUE(resident);
  const auto refused = gate.enter("partition", 1024);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfBudget);
  auto fits = gate.enter("partition", 512);
  ASSERT_TRUE(fits);
  auto turn = gate.compute_turn(**fits);
  turn.leave(nullptr);
  // The tenant is known to give nothing back before it settles.
  EXPECT_FALSE(gate.enter("another", 512));
}

// A card's memory without a card: 16 lines for all, and 4 in reserve.
class CriticalGate : public ::testing::Test {
 protected:
  static constexpr std::size_t kLine = 256;
  // Whoever holds it gives it back by dying; what it computes takes no time.
  void compute_and_settle(Tenancy& tenancy) {
    auto turn = gate_.compute_turn(tenancy);
    tenancy.settle();
    turn.leave(nullptr);
  }
  std::jthread later(const char* name, std::size_t lines, Urgency urgency) {
    const std::size_t before = gate_.waiting();
    std::jthread thread([this, name, lines, urgency] {
      auto mine = gate_.enter(name, lines * kLine, urgency);
      ASSERT_TRUE(mine) << mine.error().message;
      {
        const std::lock_guard lock(mutex_);
        order_.push_back(name);
      }
      compute_and_settle(**mine);
    });
    while (gate_.waiting() == before) std::this_thread::yield();
    return thread;
  }
  bool in_reserve(const Tenancy& t) const {
    return t.lease().data() >= reserve_block_.memory[0].bytes &&
           t.lease().data() < reserve_block_.memory[0].bytes + 4 * kLine;
  }

  Block block_{16};
  Block reserve_block_{4};
  Arena arena_{block_.span()};
  Arena reserve_{reserve_block_.span()};
  Gate gate_{arena_, &reserve_};
  std::mutex mutex_;
  std::vector<std::string> order_;
};

TEST_F(CriticalGate, TheReserveIsForCriticalWorkAlone) {
  auto all = gate_.enter("all", 16 * kLine);
  ASSERT_TRUE(all);
  // Nobody else has a part of the reserve, even when it would be large enough.
  auto normal = later("normal", 2, Urgency::kNormal);
  auto critical = gate_.enter("critical", 3 * kLine, Urgency::kCritical);
  ASSERT_TRUE(critical) << critical.error().message;
  EXPECT_TRUE(in_reserve(**critical));
  EXPECT_EQ((*critical)->urgency(), Urgency::kCritical);
  EXPECT_TRUE(order_.empty());
  EXPECT_EQ(gate_.waiting(), 1u);
  critical->reset();
  all->reset();
  normal.join();
  EXPECT_EQ(order_, (std::vector<std::string>{"normal"}));
  EXPECT_EQ(reserve_.free_bytes(), 4 * kLine);
  EXPECT_EQ(arena_.free_bytes(), 16 * kLine);
}

TEST_F(CriticalGate, WhatTheReserveCannotHoldTakesTheArena) {
  auto large = gate_.enter("large", 5 * kLine, Urgency::kCritical);
  ASSERT_TRUE(large);
  EXPECT_FALSE(in_reserve(**large));
  auto first = gate_.enter("first", 4 * kLine, Urgency::kCritical);
  auto second = gate_.enter("second", 4 * kLine, Urgency::kCritical);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(in_reserve(**first));
  EXPECT_FALSE(in_reserve(**second));
  compute_and_settle(**large);
  compute_and_settle(**first);
  compute_and_settle(**second);
  const auto refused = gate_.enter("too large", 17 * kLine, Urgency::kCritical);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfBudget);
}

TEST_F(CriticalGate, MemoryGoesToCriticalWorkBeforeThoseThatWaited) {
  auto all = gate_.enter("all", 16 * kLine);
  ASSERT_TRUE(all);
  // Each wants more than half: one after the other.
  auto a = later("a", 9, Urgency::kNormal);
  auto b = later("b", 9, Urgency::kNormal);
  auto c = later("c", 9, Urgency::kCritical);
  auto d = later("d", 9, Urgency::kCritical);
  auto e = later("e", 9, Urgency::kNormal);
  compute_and_settle(**all);
  for (std::jthread* t : {&a, &b, &c, &d, &e}) t->join();
  EXPECT_EQ(order_, (std::vector<std::string>{"c", "d", "a", "b", "e"}));
}

TEST_F(CriticalGate, CriticalWorkTakesTheNextComputeTurn) {
  auto one = gate_.enter("one", kLine), two = gate_.enter("two", kLine);
  ASSERT_TRUE(one && two);
  auto turn = std::make_unique<Gate::ComputeTurn>(gate_.compute_turn(**one));
  std::atomic<int> waiting = 0;
  const auto compute = [&](Tenancy& tenancy, const char* name) {
    ++waiting;
    auto mine = gate_.compute_turn(tenancy);
    order_.push_back(name);  // one at a time
    mine.leave(nullptr);
  };
  std::jthread staged([&] { compute(**two, "two"); });
  while (waiting != 1) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  auto critical = gate_.enter("critical", kLine, Urgency::kCritical);
  ASSERT_TRUE(critical);
  std::jthread urgent([&] { compute(**critical, "critical"); });
  while (waiting != 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(order_.empty());
  turn.reset();
  staged.join();
  urgent.join();
  EXPECT_EQ(order_, (std::vector<std::string>{"critical", "two"}));
}

TEST_F(CriticalGate, AWaiterThatIsStoppedIsInNobodysWay) {
  auto all = gate_.enter("all", 16 * kLine);
  ASSERT_TRUE(all);
  std::atomic<bool> stop = false;
  std::jthread stopped([&] {
    const auto refused =
        gate_.enter("stopped", 16 * kLine, Urgency::kNormal, [&] { return stop.load(); });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kCancelled);
  });
  while (gate_.waiting() != 1) std::this_thread::yield();
  auto behind = later("behind", 1, Urgency::kNormal);
  stop = true;
  stopped.join();
  EXPECT_EQ(gate_.waiting(), 1u);
  all->reset();
  behind.join();
  EXPECT_EQ(order_, (std::vector<std::string>{"behind"}));
}

TEST_F(CriticalGate, ManyThreadsOfBothKindsAllEnd) {
  std::vector<std::jthread> threads;
  std::atomic<int> served = 0, criticals_in_arena = 0;
  for (unsigned t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(t);
      const Urgency urgency = t < 2 ? Urgency::kCritical : Urgency::kNormal;
      for (int i = 0; i < 200; ++i) {
        auto mine = gate_.enter("part", (1 + random.next_u64() % 9) * kLine, urgency);
        ASSERT_TRUE(mine) << mine.error().message;
        const bool reserved = in_reserve(**mine);
        ASSERT_FALSE(reserved && urgency == Urgency::kNormal);
        criticals_in_arena += urgency == Urgency::kCritical && !reserved;
        // Some never compute.
        if (random.next_u64() % 5) compute_and_settle(**mine);
        ++served;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(served, 1200);
  EXPECT_GT(criticals_in_arena, 0);
  EXPECT_EQ(gate_.tenants(), 0u);
  EXPECT_EQ(arena_.largest_free_bytes(), 16 * kLine);
  EXPECT_EQ(reserve_.largest_free_bytes(), 4 * kLine);
}

TEST(Card, ItsPinnedBuffersAreCounted) {
  const CardOptions options{.workers = 3, .staging_chunk_bytes = 1 << 20, .staging_chunks = 5};
  EXPECT_EQ(Card::pinned_bytes(options), (10u << 20) + 3 * Slot::kResultBytes);
  CardOptions with_reserve = options;
  with_reserve.critical_reserve = 1;
  EXPECT_EQ(Card::pinned_bytes(with_reserve), (10u << 20) + 4 * Slot::kResultBytes);
}

TEST(Card, ItsPinnedBuffersAreReservedAndItsArenaIsSplit) {
  if (list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  MemoryBudget memory(std::size_t{200} << 20);
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const CardOptions options{.vram_budget = 300 * kMiB, .critical_reserve = 100 * kMiB};
  {
    const auto card = Card::open(memory, options);
    ASSERT_TRUE(card) << card.error().message;
    EXPECT_EQ(memory.used_bytes(), Card::pinned_bytes(options));
    EXPECT_EQ((*card)->arena().total_bytes(), 200 * kMiB);
    EXPECT_EQ((*card)->reserve().total_bytes(), 100 * kMiB);
    EXPECT_EQ((*card)->workers(), 2u);
    const auto refused = Card::open(memory, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfBudget);
    EXPECT_NE(refused.error().message.find("pinned buffers of cuda:0"), std::string::npos)
        << refused.error().message;
    // Two for the workers, one more for critical work.
    auto first = (*card)->take_slot(), second = (*card)->take_slot();
    auto urgent = (*card)->take_slot(Urgency::kCritical);
    EXPECT_TRUE(urgent->is_critical);
    EXPECT_FALSE(first->is_critical || second->is_critical);
  }
  EXPECT_EQ(memory.used_bytes(), 0u);
  const auto nothing_left =
      Card::open(memory, {.vram_budget = 100 * kMiB, .critical_reserve = 100 * kMiB});
  ASSERT_FALSE(nothing_left);
  EXPECT_EQ(nothing_left.error().code, ErrorCode::kInvalidArgument);
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
