#include "r1cs/cache.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/mapped_file.h"
#include "field/bn254.h"
#include "r1cs/digest.h"
#include "r1cs/test_circuits.h"
#include "r1cs/validate.h"

namespace cuzk {
namespace {

using namespace test_circuits;

class R1csCache : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::temp_directory_path() / ("cuzk-cache-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(directory_);
    path_ = r1cs_cache_path(directory_, kKey);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::vector<std::uint8_t> bytes() const { return read_file(path_, 1 << 24).value(); }
  void overwrite(const std::vector<std::uint8_t>& content) const {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()),
               static_cast<std::streamsize>(content.size()));
  }

  static constexpr std::string_view kKey = "circuit revision 1";
  std::filesystem::path directory_, path_;
};

TEST_F(R1csCache, WhatIsReadEqualsWhatWasWritten) {
  const auto r1cs = repeated(1);
  ASSERT_TRUE(write_r1cs(path_, kKey, r1cs));
  const auto read = read_r1cs<Fr>(path_, kKey);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(r1cs_digest(*read), r1cs_digest(r1cs));
  EXPECT_EQ(read->name, r1cs.name);
  ASSERT_EQ(read->paths.size(), r1cs.paths.size());
  EXPECT_EQ(read->paths[4].name, "body 4");
  EXPECT_EQ(read->paths[4].first_row, r1cs.paths[4].first_row);
  EXPECT_EQ(read->blocks[1].path, "body");
  // Written again, it is the same file.
  const auto first = bytes();
  ASSERT_TRUE(write_r1cs(path_, kKey, *read));
  EXPECT_EQ(bytes(), first);
}

TEST_F(R1csCache, MissingFileIsNotFound) {
  EXPECT_EQ(read_r1cs<Fr>(path_, kKey).error().code, ErrorCode::kNotFound);
}

TEST_F(R1csCache, AnotherKeyOrFieldIsAMismatch) {
  ASSERT_TRUE(write_r1cs(path_, kKey, repeated(1)));
  EXPECT_EQ(read_r1cs<Fr>(path_, "circuit revision 2").error().code, ErrorCode::kMismatch);
  EXPECT_EQ(read_r1cs<bn254::Fr>(path_, kKey).error().code, ErrorCode::kMismatch);
}

TEST_F(R1csCache, EveryTruncationIsCorruptInput) {
  ASSERT_TRUE(write_r1cs(path_, kKey, repeated(2)));
  const auto whole = bytes();
  for (std::size_t n = 0; n < whole.size(); n += 1 + n / 16) {
    overwrite({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)});
    const auto read = read_r1cs<Fr>(path_, kKey);
    ASSERT_FALSE(read) << n;
    EXPECT_EQ(read.error().code, ErrorCode::kCorruptInput) << read.error().message;
  }
}

TEST_F(R1csCache, EveryFlippedByteIsRefused) {
  ASSERT_TRUE(write_r1cs(path_, kKey, repeated(2)));
  const auto whole = bytes();
  for (std::size_t i = 0; i < whole.size(); i += 1 + i / 64) {
    auto flipped = whole;
    flipped[i] ^= 0x41;
    overwrite(flipped);
    EXPECT_FALSE(read_r1cs<Fr>(path_, kKey)) << i;
  }
}

// With the digest made right again, what the digest guards against reaches the parser.
TEST_F(R1csCache, ForgedPayloadNeverLeadsOutside) {
  ASSERT_TRUE(write_r1cs(path_, kKey, repeated(2)));
  const auto whole = bytes();
  constexpr std::size_t kHead = 60;
  SeededRandom rng(9);
  int refused = 0;
  for (int round = 0; round < 1000; ++round) {
    auto forged = whole;
    const std::size_t at = kHead + below(rng, static_cast<std::uint32_t>(whole.size() - kHead));
    forged[at] = static_cast<std::uint8_t>(rng.next_u64());
    const Digest32 digest = blake2b_256(ByteSpan(forged).subspan(kHead));
    std::copy(digest.begin(), digest.end(), forged.begin() + 20);
    overwrite(forged);
    const auto read = read_r1cs<Fr>(path_, kKey);
    if (!read) {
      ++refused;
      continue;
    }
    ASSERT_TRUE(validate_r1cs(*read));
    r1cs_digest(*read);  // walks every row
  }
  EXPECT_GT(refused, 150);
}

TEST(ValidateR1cs, TermsSegmentsAndPortsOutsideAreCorruptInput) {
  const auto expect_corrupt = [](auto&& damage) {
    auto r1cs = repeated(4);
    damage(r1cs);
    const Status status = validate_r1cs(r1cs);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kCorruptInput);
  };
  ASSERT_TRUE(validate_r1cs(repeated(4)));
  const auto first_term = [](auto& r) -> Term& { return r.blocks[1].matrices[0].terms[0]; };
  const auto name = [](ColumnRef::Kind kind, std::uint32_t i) { return ColumnRef::make(kind, i); };
  expect_corrupt([&](auto& r) { first_term(r).column = name(ColumnRef::kLocalAux, 67); });
  expect_corrupt([&](auto& r) { first_term(r).column = name(ColumnRef::kAux, r.num_aux); });
  expect_corrupt([&](auto& r) { first_term(r).column = name(ColumnRef::kInput, r.num_inputs); });
  expect_corrupt([&](auto& r) { first_term(r).column = name(ColumnRef::kPort, 2); });
  expect_corrupt([&](auto& r) { first_term(r).column.raw = 0xffffffff; });
  expect_corrupt([&](auto& r) { first_term(r).coefficient = 4; });
  expect_corrupt([](auto& r) { r.blocks[0].matrices[1].row_end.pop_back(); });
  expect_corrupt([](auto& r) {
    std::swap(r.blocks[1].matrices[2].row_end[0], r.blocks[1].matrices[2].row_end[8]);
  });
  expect_corrupt([](auto& r) { r.blocks[1].matrices[2].terms.pop_back(); });
  expect_corrupt([](auto& r) { r.segments[2].block = 2; });
  expect_corrupt([](auto& r) { r.segments[2].row_base += 1; });
  expect_corrupt([](auto& r) { r.segments[5].aux_base += 1; });
  expect_corrupt([](auto& r) { r.segments.pop_back(); });
  expect_corrupt([&](auto& r) { r.ports[1] = name(ColumnRef::kLocalAux, 0); });
  expect_corrupt([](auto& r) { r.ports.pop_back(); });
  expect_corrupt([](auto& r) { r.dictionary[2].limbs[3] = ~std::uint64_t{0}; });
  expect_corrupt([](auto& r) { std::swap(r.dictionary[0], r.dictionary[1]); });
}

}  // namespace
}  // namespace cuzk
