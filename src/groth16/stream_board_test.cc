#include "groth16/stream_board.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

namespace cuzk::groth16 {
namespace {

using Partitions = std::vector<void*>;

StreamBoard::Kind kind(std::size_t chunk) {
  return {nullptr, {.is_streamed = true, .stream_chunk = 1024 * chunk}};
}

TEST(StreamBoard, ThoseOfOneKindAreClaimedAsTheyCame) {
  StreamBoard board;
  std::array<int, 5> p{};
  for (std::size_t i = 0; i < p.size(); ++i) board.post(&p[i], kind(i == 1 ? 7 : 3));
  EXPECT_TRUE(board.claim(kind(8), 10).partitions().empty());
  EXPECT_TRUE(board.claim(kind(3), 0).partitions().empty());
  const auto first = board.claim(kind(3), 2);
  EXPECT_EQ(first.partitions(), (Partitions{&p[0], &p[2]}));
  // Nobody else has them meanwhile.
  const auto second = board.claim(kind(3), 10);
  EXPECT_EQ(second.partitions(), (Partitions{&p[3], &p[4]}));
  // Another circuit under the same key is another kind.
  EXPECT_TRUE(board.claim({&board, kind(7).mode}, 10).partitions().empty());
  EXPECT_EQ(board.claim(kind(7), 10).partitions(), (Partitions{&p[1]}));
}

TEST(StreamBoard, WhoWasClaimedOrWithdrewIsNotThereAnyMore) {
  StreamBoard board;
  std::array<int, 3> p{};
  for (int& one : p) board.post(&one, kind(1));
  { const auto claim = board.claim(kind(1), 1); }
  board.withdraw(&p[0]);
  board.withdraw(&p[1]);
  EXPECT_EQ(board.claim(kind(1), 10).partitions(), (Partitions{&p[2]}));
  board.withdraw(&p[2]);
  board.post(&p[2], kind(1));
  EXPECT_EQ(board.claim(kind(1), 10).partitions(), (Partitions{&p[2]}));
}

TEST(StreamBoard, WhoIsClaimedWithdrawsWhenThatEndsAndSeesWhatWasDone) {
  StreamBoard board;
  int partition = 0;
  board.post(&partition, kind(1));
  auto claim = board.claim(kind(1), 1);
  std::atomic<bool> withdrew = false;
  std::thread waiter([&] {
    board.withdraw(&partition);
    EXPECT_EQ(partition, 5);
    withdrew = true;
  });
  EXPECT_FALSE(withdrew);
  partition = 5;
  StreamBoard::Claim moved(std::move(claim));
  EXPECT_EQ(moved.partitions().size(), 1u);
  moved = {};
  waiter.join();
  EXPECT_TRUE(withdrew);
}

// Every partition is done exactly once, by itself or by another.
TEST(StreamBoard, ManyThreadsDoEachPartitionOnce) {
  struct Partition {
    int done = 0;
  };
  StreamBoard board;
  std::mutex turn;
  std::atomic<int> shared = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        Partition mine;
        board.post(&mine, kind(t % 2));
        if (i % 7 == 3) {  // given up
          board.withdraw(&mine);
          EXPECT_LE(mine.done, 1);
          continue;
        }
        const std::lock_guard lock(turn);
        board.withdraw(&mine);
        if (mine.done == 0) {
          ++mine.done;
          const auto claim = board.claim(kind(t % 2), 2);
          for (void* other : claim.partitions()) {
            ++static_cast<Partition*>(other)->done;
            ++shared;
          }
        }
        EXPECT_EQ(mine.done, 1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(board.claim(kind(0), 10).partitions().empty());
  EXPECT_TRUE(board.claim(kind(1), 10).partitions().empty());
}

}  // namespace
}  // namespace cuzk::groth16
