#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <numeric>

#include "base/bytes.h"
#include "base/check.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/mapped_file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/tasks.h"
#include "base/timeline.h"

namespace cuzk {
namespace {

using ::testing::HasSubstr;

std::filesystem::path fresh_directory(const char* name) {
  const auto dir =
      std::filesystem::temp_directory_path() / fmt::format("cuzk-{}-{}", name, getpid());
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir;
}

TEST(Bytes, HexRoundTripsAndRefusesOthers) {
  const std::vector<std::uint8_t> bytes = {0x00, 0x7f, 0xff, 0xa5};
  EXPECT_EQ(to_hex(bytes), "007fffa5");
  EXPECT_EQ(from_hex("007FffA5").value(), bytes);
  EXPECT_EQ(from_hex("abc").error().code, ErrorCode::kCorruptInput);
  EXPECT_THAT(from_hex("0g").error().message, HasSubstr("position 1"));
}

TEST(ByteReader, NamesTheFieldThatIsCutOff) {
  const std::vector<std::uint8_t> bytes = {1, 0, 0, 0, 9};
  ByteReader reader(bytes, "sample.bin");
  EXPECT_EQ(reader.u32_le("count").value(), 1u);
  const auto tail = reader.u64_le("length");
  ASSERT_FALSE(tail);
  EXPECT_EQ(tail.error().message,
            "sample.bin: length needs 8 bytes at offset 4, but only 1 are left");
  EXPECT_FALSE(reader.expect_end());
  EXPECT_TRUE(reader.u8("last"));
  EXPECT_TRUE(reader.expect_end());
}

TEST(ByteReader, RefusesACountLargerThanTheFile) {
  const std::vector<std::uint8_t> bytes = {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 1, 2, 3, 4};
  ByteReader le(bytes, "f");
  EXPECT_THAT(le.count_u64_le("points", 96).error().message,
              HasSubstr("declares 4294967295 elements of 96 bytes"));
  ByteReader be(bytes, "f");
  EXPECT_FALSE(be.count_u32_be("points", 1));
}

TEST(Hash, MatchesPublishedVectors) {
  const std::string abc = "abc";
  const ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(abc.data()), abc.size());
  EXPECT_EQ(to_hex(sha256(bytes)),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-4
  EXPECT_EQ(to_hex(blake2b_512(bytes)).substr(0, 32),
            "ba80a53f981c4d0d6a2797b69f12f6e9");  // RFC 7693
  EXPECT_EQ(to_hex(blake2b_256(bytes)),
            "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  Sha256 pieces;
  pieces.update(bytes.first(1));
  pieces.update(bytes.subspan(1));
  EXPECT_EQ(pieces.finish(), sha256(bytes));
}

TEST(MemoryBudget, NeverExceedsItsLimitAndNamesHolders) {
  MemoryBudget budget(1000);
  auto first = budget.reserve("proving key", 700);
  ASSERT_TRUE(first);
  const auto second = budget.reserve("quotient", 301);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kOutOfBudget);
  EXPECT_THAT(second.error().message, HasSubstr("quotient"));
  EXPECT_THAT(second.error().message, HasSubstr("proving key"));
  first->release();
  EXPECT_EQ(budget.used_bytes(), 0u);
  EXPECT_EQ(budget.peak_bytes(), 700u);
  EXPECT_TRUE(budget.reserve("quotient", 1000));
}

TEST(Buffer, GivesItsReservationBackWhenItDies) {
  MemoryBudget budget(std::size_t{8} << 20);
  {
    auto small = Buffer<std::uint64_t>::allocate(budget, "small", 100);
    auto large = Buffer<std::uint64_t>::allocate(budget, "large", (std::size_t{4} << 20) / 8);
    ASSERT_TRUE(small && large);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small->data()) % 64, 0u);
    std::iota(large->begin(), large->end(), 0);
    Buffer<std::uint64_t> moved = std::move(*large);
    EXPECT_EQ(moved[12345], 12345u);
    EXPECT_FALSE(Buffer<std::uint64_t>::allocate(budget, "too much", std::size_t{1} << 20));
    moved = Buffer<std::uint64_t>();
    EXPECT_EQ(budget.used_bytes(), 800u);
  }
  EXPECT_EQ(budget.used_bytes(), 0u);
  EXPECT_FALSE(Buffer<std::uint64_t>::allocate(budget, "absurd", SIZE_MAX));
}

TEST(Tasks, CoverEveryIndexOnce) {
  Tasks tasks(3);
  std::vector<std::atomic<int>> hits(10007);
  tasks.parallel_for(hits.size(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) hits[i].fetch_add(1);
  });
  for (const auto& h : hits) ASSERT_EQ(h.load(), 1);
  EXPECT_THROW(tasks.parallel_for(1, 1, [](std::size_t, std::size_t) { CUZK_CHECK(false); }),
               InvariantError);
}

TEST(Tasks, SkipRangesAfterAStopRequest) {
  std::stop_source stop;
  Tasks tasks(2, stop.get_token());
  stop.request_stop();
  std::atomic<int> calls{0};
  tasks.parallel_for(100, 1, [&](std::size_t, std::size_t) { calls.fetch_add(1); });
  EXPECT_EQ(calls.load(), 0);
  EXPECT_TRUE(tasks.stop_requested());
}

TEST(Random, SeedsRepeatAndTheSystemDoesNot) {
  SeededRandom a(7), b(7), c(8);
  std::array<std::uint8_t, 5000> x, y, z;
  a.fill(x);
  b.fill(std::span(y).first(17));
  b.fill(std::span(y).subspan(17));
  c.fill(z);
  EXPECT_EQ(x, y);
  EXPECT_NE(x, z);
  SystemRandom system;
  EXPECT_NE(system.next_u64(), system.next_u64());
}

TEST(MappedFile, SaysWhatIsWrongWithAPath) {
  const auto dir = fresh_directory("mapped");
  EXPECT_EQ(MappedFile::open(dir / "absent").error().code, ErrorCode::kNotFound);
  EXPECT_THAT(MappedFile::open(dir).error().message, HasSubstr("a directory"));
  std::ofstream(dir / "empty").close();
  EXPECT_EQ(MappedFile::open(dir / "empty")->bytes().size(), 0u);
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(dir / "pipe").error().code, ErrorCode::kInvalidArgument);
}

TEST(WriteFileAtomically, LeavesTheOldFileWhenWritingFails) {
  const auto dir = fresh_directory("atomic");
  const auto path = dir / "out";
  const std::vector<std::uint8_t> old_bytes(10, 1), new_bytes(std::size_t{3} << 20, 2);
  ASSERT_TRUE(write_file_atomically(path, old_bytes));
  const Status failed = write_file_atomically(path, [&](FileWriter& w) -> Status {
    CUZK_TRY_VOID(w.write(new_bytes));
    return fail(ErrorCode::kCancelled, "stop");
  });
  EXPECT_EQ(failed.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(read_file(path, 100).value(), old_bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir), {}), 1);
  ASSERT_TRUE(write_file_atomically(path, new_bytes));
  EXPECT_EQ(read_file(path, new_bytes.size()).value(), new_bytes);
  EXPECT_EQ(read_file(path, 100).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(write_file_atomically(dir / "no" / "such", old_bytes).error().code,
            ErrorCode::kNotFound);
}

TEST(Timeline, SumsSpansByNameInOrder) {
  Timeline timeline;
  timeline.span("ntt").end();
  timeline.span("h_msm", 3).end();
  timeline.span("ntt", 1).end();
  EXPECT_EQ(timeline.records().size(), 3u);
  EXPECT_THAT(timeline.key_values(), ::testing::MatchesRegex("ntt_ms=[0-9.]+ h_msm_ms=[0-9.]+"));
  EXPECT_THAT(timeline.trace_json(),
              HasSubstr("\"name\":\"h_msm\",\"ph\":\"X\",\"pid\":1,\"tid\":3"));
}

}  // namespace
}  // namespace cuzk
