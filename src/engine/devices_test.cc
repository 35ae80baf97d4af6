// Which devices are taken, how a circuit is proved on one, and what lasts in its memory: everything
// that needs no card. The arena lies in host memory, which it does not touch.

#include "engine/devices.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace cuzk::engine {
namespace {

using Kind = DeviceChoice::Kind;

struct Desk {
  Tasks tasks{2};
  MemoryBudget memory{std::size_t{1} << 30};
  Timeline timeline;
  Context context{tasks, memory, timeline};
};

TEST(DeviceChoice, IsReadFromWords) {
  EXPECT_EQ(parse_device_choice("auto")->kind, Kind::kAuto);
  EXPECT_EQ(parse_device_choice("cpu")->kind, Kind::kCpu);
  const auto all = parse_device_choice("cuda");
  EXPECT_EQ(all->kind, Kind::kCuda);
  EXPECT_TRUE(all->cards.empty());
  const auto two = parse_device_choice("cuda:0,cuda:12");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->kind, Kind::kCuda);
  EXPECT_EQ(two->cards, (std::vector<int>{0, 12}));
}

TEST(DeviceChoice, AnythingElseIsRefused) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cuda:0,", "cuda:0,cpu", "0", "cuda:-1",
                           "cuda:0,cuda:0", ",cuda:0"}) {
    const auto parsed = parse_device_choice(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(OpenCards, WithoutACardAutoSaysWhyAndCudaFails) {
  if (!gpu::list_devices().empty()) GTEST_SKIP() << "there is a card: nothing was run";
  Desk desk;
  const auto found = open_cards(desk.context, {});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->cards.empty());
  ASSERT_EQ(found->notes.size(), 1u);
  EXPECT_NE(found->notes[0].find("no CUDA card: "), std::string::npos) << found->notes[0];
  for (const std::vector<int>& cards : {std::vector<int>{}, std::vector<int>{3}}) {
    const auto forced = open_cards(desk.context, {.choice = {Kind::kCuda, cards}});
    ASSERT_FALSE(forced);
    EXPECT_EQ(forced.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(forced.error().message.find(gpu::no_device_reason()), std::string::npos)
        << forced.error().message;
  }
  const auto cpu = open_cards(desk.context, {.choice = {Kind::kCpu, {}}});
  ASSERT_TRUE(cpu);
  EXPECT_TRUE(cpu->cards.empty());
  EXPECT_TRUE(cpu->notes.empty());
}

TEST(OpenCards, ABadCardIsNamedAndTheOthersProve) {
  const auto open = [](int ordinal) -> Result<OpenedCard> {
    if (ordinal == 1) return fail(ErrorCode::kInternal, "its proof does not verify");
    if (ordinal == 4) return fail(ErrorCode::kOutOfBudget, "it has 10 bytes");
    return OpenedCard{nullptr, "a card"};
  };
  const std::vector<int> there = {0, 1, 2, 3, 4};
  const auto all = open_cards_with(open, there, "", {});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->cards.size(), 3u);
  EXPECT_EQ(all->notes,
            (std::vector<std::string>{
                "cuda:0: a card", "cuda:1 is not used: its proof does not verify", "cuda:2: a card",
                "cuda:3: a card", "cuda:4 is not used: it has 10 bytes"}));
  // No more than are wanted, and a bad one is none of them.
  const auto two = open_cards_with(open, there, "", {.at_most = 2});
  ASSERT_TRUE(two);
  EXPECT_EQ(two->cards.size(), 2u);
  EXPECT_EQ(two->notes.back(), "cuda:2: a card");
  // Only bad ones: the CPU for auto, an error that names each where cards were asked for.
  const auto none = open_cards_with(open, {1, 4}, "", {});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->cards.empty());
  EXPECT_EQ(none->notes.size(), 2u);
  const auto named = open_cards_with(open, there, "", {.choice = {Kind::kCuda, {4, 1}}});
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().code, ErrorCode::kInternal);
  EXPECT_NE(named.error().message.find("cuda:4: it has 10 bytes; cuda:1: its proof"),
            std::string::npos)
      << named.error().message;
  const auto beside = open_cards_with(open, there, "", {.choice = {Kind::kCuda, {1, 3}}});
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->cards.size(), 1u);
}

// Resident in two ways, streamed in four.
CardNeeds made_up_needs() {
  using groth16::CudaWay;
  const auto way = [](std::size_t chunk, std::size_t pairs, std::size_t bytes, double cost) {
    return CudaWay{chunk, pairs, MsmAdditions::kAuto, bytes, cost};
  };
  return {100,
          4000,
          0,
          {{way(0, 1024, 1000, 1), way(0, 256, 800, 2)},
           {way(0, 4096, 2000, 0.5), way(0, 1024, 1600, 1)}},
          {},
          {way(8192, 1024, 900, 3), way(8192, 256, 700, 4), way(4096, 1024, 750, 5),
           way(2048, 1024, 600, 6)}};
}

TEST(CardPlan, AKeyStaysOnTheCardIfItFitsBesideAPartition) {
  const CardNeeds needs = made_up_needs();
  const auto roomy = choose_card_plan(needs, 8000, 2, "c");
  ASSERT_TRUE(roomy);
  EXPECT_FALSE(roomy->is_streamed);
  EXPECT_EQ(roomy->awaited_bytes(), 1000u);
  EXPECT_EQ(roomy->lasting_bytes, 4100u);
  EXPECT_EQ(roomy->way.lease_bytes, 1000u);
  EXPECT_FALSE(roomy->multiples);
  // In the quickest way of which there is room for two.
  EXPECT_EQ(roomy->roomy_way.lease_bytes, 1600u);
  EXPECT_EQ(choose_card_plan(needs, 8100, 2, "c")->roomy_way.pairs_per_batch, 4096u);
  EXPECT_EQ(choose_card_plan(needs, 7299, 2, "c")->roomy_way.lease_bytes, 0u);
  EXPECT_FALSE(choose_card_plan(needs, 5100, 2, "c")->is_streamed);
  // In smaller batches, if need be.
  const auto narrow = choose_card_plan(needs, 5099, 2, "c");
  ASSERT_TRUE(narrow);
  EXPECT_FALSE(narrow->is_streamed);
  EXPECT_EQ(narrow->way.pairs_per_batch, 256u);
  EXPECT_EQ(narrow->way.lease_bytes, 800u);
}

TEST(CardPlan, ElseItIsStreamedInTheQuickestWayThatFits) {
  const CardNeeds needs = made_up_needs();
  const auto large = choose_card_plan(needs, 4899, 2, "c");
  ASSERT_TRUE(large);
  EXPECT_TRUE(large->is_streamed);
  EXPECT_EQ(large->awaited_bytes(), 0u);  // they wait at the card, where they share what goes up
  EXPECT_EQ(large->way.stream_chunk, 8192u);
  EXPECT_EQ(large->way.pairs_per_batch, 1024u);
  EXPECT_EQ(large->lasting_bytes, 100u);
  EXPECT_EQ(large->roomy_way.lease_bytes, 0u);
  // A large chunk in small batches before a small chunk.
  const auto batches = choose_card_plan(needs, 999, 2, "c");
  EXPECT_EQ(batches->way.stream_chunk, 8192u);
  EXPECT_EQ(batches->way.pairs_per_batch, 256u);
  EXPECT_EQ(choose_card_plan(needs, 799, 2, "c")->way.stream_chunk, 2048u);
  const auto refused = choose_card_plan(needs, 699, 2, "PoRep 2KiB");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfBudget);
  EXPECT_NE(refused.error().message.find("PoRep 2KiB"), std::string::npos);
}

TEST(CardPlan, MultiplesStayWhereAllWorkersHaveRoomBesideThem) {
  CardNeeds needs = made_up_needs();
  needs.multiples_bytes = 20000;
  needs.with_multiples = {{{0, 1024, MsmAdditions::kAuto, 900, 1}},
                          {{0, 1024, MsmAdditions::kAuto, 1500, 1}}};
  const auto both = choose_card_plan(needs, 27100, 2, "c");
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->multiples);
  EXPECT_EQ(both->lasting_bytes, 24100u);
  EXPECT_EQ(both->way.lease_bytes, 900u);
  EXPECT_EQ(both->roomy_way.lease_bytes, 1500u);
  const auto frugal = choose_card_plan(needs, 27099, 2, "c");
  EXPECT_TRUE(frugal->multiples);
  EXPECT_EQ(frugal->roomy_way.lease_bytes, 0u);
  EXPECT_TRUE(choose_card_plan(needs, 25900, 2, "c")->multiples);
  // One partition would fit, not two: the key alone leaves room for the roomiest.
  const auto without = choose_card_plan(needs, 25899, 2, "c");
  EXPECT_FALSE(without->multiples);
  EXPECT_EQ(without->lasting_bytes, 4100u);
  EXPECT_EQ(without->roomy_way.lease_bytes, 2000u);
}

struct alignas(256) Line {
  std::byte bytes[256];
};

class CardKeysTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kLine = 256;
  CardKeys::Loader loader(std::size_t lines) {
    return [this, lines]() -> Result<std::shared_ptr<void>> {
      ++loaded_;
      auto lease = std::make_shared<gpu::Lease>();
      CUZK_TRY(*lease, arena_.lease("key", lines * kLine, gpu::Hold::kLasting));
      return std::shared_ptr<void>(std::move(lease));
    };
  }
  Result<CardKeys::Use> use(const std::string& name, std::size_t lines, std::size_t lease_lines,
                            std::size_t larger_lines = 0) {
    return keys_.use(tasks_, {name, lines * kLine, lease_lines * kLine, "resident"},
                     larger_lines * kLine, 2 * larger_lines * kLine, loader(lines));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& held : keys_.held()) out.push_back(held.name);
    return out;
  }

  std::vector<Line> memory_ = std::vector<Line>(100);
  gpu::Arena arena_{{memory_[0].bytes, memory_.size() * sizeof(Line)}};
  CardKeys keys_{arena_};
  Tasks tasks_{1};
  std::atomic<int> loaded_ = 0;
};

TEST_F(CardKeysTest, WhatIsThereIsNotLoadedAgain) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(use("a", 40, 10));
  EXPECT_EQ(loaded_, 1);
  EXPECT_EQ(keys_.loads(), 1u);
  EXPECT_EQ(arena_.lasting_bytes(), 40 * kLine);
}

TEST_F(CardKeysTest, TheLeastRecentlyUsedLeaves) {
  ASSERT_TRUE(use("a", 30, 10));
  ASSERT_TRUE(use("b", 30, 10));
  ASSERT_TRUE(use("c", 30, 10));
  ASSERT_TRUE(use("a", 30, 10));
  ASSERT_TRUE(use("d", 30, 10));
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "c", "d"}));
  EXPECT_EQ(keys_.evictions(), 1u);
}

TEST_F(CardKeysTest, RoomIsKeptForThePartitionOfWhoeverIsInUse) {
  const auto a = use("a", 30, 40);
  ASSERT_TRUE(a);
  ASSERT_TRUE(use("b", 30, 10));
  // c would fit, but not beside a's partition: b goes.
  ASSERT_TRUE(use("c", 30, 10));
  EXPECT_EQ(names(), (std::vector<std::string>{"a", "c"}));
  EXPECT_GE(arena_.room_bytes(), 40 * kLine);
}

TEST_F(CardKeysTest, WhatIsInUseIsNeverDropped) {
  const auto a = use("a", 60, 20);
  ASSERT_TRUE(a);
  keys_.forget("a");
  keys_.forget_all();
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));
  std::atomic<bool> got = false;
  std::jthread other([&] {
    const auto b = use("b", 60, 20);
    EXPECT_TRUE(b);
    got = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(got);
  {
    CardKeys::Use last;
    std::swap(last, const_cast<CardKeys::Use&>(*a));
  }
  other.join();
  EXPECT_TRUE(got);
  EXPECT_EQ(names(), (std::vector<std::string>{"b"}));
}

TEST_F(CardKeysTest, CriticalUsesGoFirst) {
  auto a = use("a", 60, 20);
  ASSERT_TRUE(a);
  std::mutex mutex;
  std::vector<std::string> order;
  const auto later = [&](const char* name, gpu::Urgency urgency, std::size_t lease_lines) {
    return std::jthread([&, name, urgency, lease_lines] {
      Tasks tasks(1);
      const auto mine = keys_.use(
          tasks, {name, 50 * kLine, lease_lines * kLine, "resident", urgency}, 0, 0, loader(50));
      ASSERT_TRUE(mine) << mine.error().message;
      const std::lock_guard lock(mutex);
      order.push_back(name);
    });
  };
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(80)); };
  // The first one waits for `a` to end when the critical ones come.
  auto b = later("b", gpu::Urgency::kNormal, 20);
  pause();
  auto c = later("c", gpu::Urgency::kCritical, 20);
  pause();
  auto d = later("d", gpu::Urgency::kCritical, 0);  // its lease is in the reserve
  pause();
  EXPECT_TRUE(order.empty());
  {
    CardKeys::Use last;
    std::swap(last, *a);
  }
  for (std::jthread* t : {&b, &c, &d}) t->join();
  EXPECT_EQ(order, (std::vector<std::string>{"c", "d", "b"}));
}

TEST_F(CardKeysTest, AWaiterCanBeStopped) {
  const auto a = use("a", 60, 20);
  ASSERT_TRUE(a);
  std::stop_source stop;
  Tasks tasks(1, stop.get_token());
  std::jthread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  const auto b = keys_.use(tasks, {"b", 60 * kLine, 20 * kLine}, 0, 0, loader(60));
  ASSERT_FALSE(b);
  EXPECT_EQ(b.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));
}

TEST_F(CardKeysTest, WhatCanNeverFitIsAnError) {
  ASSERT_TRUE(use("a", 30, 10));
  const auto refused = use("b", 95, 10);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfBudget);
  ASSERT_TRUE(use("a", 30, 10));
}

TEST_F(CardKeysTest, TheLargerLeaseIsForThoseWithRoom) {
  EXPECT_EQ(use("a", 30, 10, 30)->lease_bytes(), 30 * kLine);
  ASSERT_TRUE(use("b", 30, 10));
  EXPECT_EQ(use("a", 30, 10, 30)->lease_bytes(), 10 * kLine);
}

TEST_F(CardKeysTest, ALoaderThatFailsLeavesNothing) {
  const auto refused = keys_.use(
      tasks_, {"a", kLine, kLine}, 0, 0,
      []() -> Result<std::shared_ptr<void>> { return fail(ErrorCode::kCorruptInput, "bad file"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCorruptInput);
  EXPECT_TRUE(names().empty());
  EXPECT_TRUE(use("a", 10, 10));
}

TEST_F(CardKeysTest, ManyThreadsNeverFindLessRoomThanTheirLease) {
  std::vector<std::jthread> threads;
  std::atomic<int> short_of_room = 0, used = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const int which = (7 * t + 3 * i) % 5;
        const std::size_t lines = 15 + 5 * static_cast<std::size_t>(which), lease = 40 - lines / 2;
        const auto held = use(std::string(1, static_cast<char>('a' + which)), lines, lease);
        if (!held) continue;
        ++used;
        if (arena_.room_bytes() < lease * kLine) ++short_of_room;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(used, 400);
  EXPECT_EQ(short_of_room, 0);
  keys_.forget_all();
  EXPECT_EQ(arena_.lasting_bytes(), 0u);
}

}  // namespace
}  // namespace cuzk::engine
