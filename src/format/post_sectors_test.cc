// The sectors of a proof of spacetime as JSON: each spelling, and each mistake with its place.

#include "format/post_sectors.h"

#include <gtest/gtest.h>

#include "filecoin/cid.h"

namespace cuzk::format {
namespace {

constexpr const char* kHex = "df691086e3c673c95a45908713d4c5938e5ced43f21b888bd9bc6e181c9f326b";
constexpr const char* kCid = "bagboea4b5abcbx3jccdohrttzfneleehcpkmle4oltwuh4q3rcf5tpdodaoj6mtl";

Result<PostSectorsFile> parse(const std::string& text) {
  return parse_post_sectors({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()},
                            "sectors.json");
}

TEST(PostSectors, CidAndHexadecimalAreTheSameCommitment) {
  const auto file = parse(fmt::format(
      R"([{{"sector": 7, "comm_r": "{0}"}}, {{"sector": 18446744073709551615, "comm_r": "{1}"}},
          {{"SectorNumber": 3, "SealedCID": "{0}", "SealProof": 8}},
          {{"SectorNumber": 4, "SealedCID": {{"/": "{0}"}}}}])",
      kCid, kHex));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->sectors.size(), 4u);
  EXPECT_EQ(file->sectors[1].number, ~std::uint64_t{0});
  for (const auto& s : file->sectors) EXPECT_EQ(to_hex(s.comm_r), kHex);
  EXPECT_FALSE(file->randomness || file->registered_proof || file->miner);
}

TEST(PostSectors, WhatCurioVerifiesFromIsRead) {
  const auto file = read_post_sectors(CUZK_TESTDATA_DIR "/filecoin/post/curio-postpub.json");
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->sectors.size(), 1u);
  EXPECT_EQ(file->sectors[0].number, 1u);
  EXPECT_EQ(to_hex(file->sectors[0].comm_r), kHex);
  EXPECT_EQ(file->randomness, filecoin::Node{});
  EXPECT_EQ(file->registered_proof, 8u);
  EXPECT_EQ(file->miner, 1000u);
}

TEST(PostSectors, MistakesAreNamedByTheirPlace) {
  const auto expect = [](const std::string& text, const char* words) {
    const auto file = parse(text);
    ASSERT_FALSE(file) << text;
    EXPECT_TRUE(file.error().code == ErrorCode::kCorruptInput ||
                file.error().code == ErrorCode::kMismatch);
    EXPECT_TRUE(file.error().message.starts_with("sectors.json: ")) << file.error().message;
    EXPECT_NE(file.error().message.find(words), std::string::npos) << file.error().message;
  };
  const std::string good = fmt::format(R"({{"sector": 7, "comm_r": "{}"}})", kHex);
  expect("", "JSON");
  expect("7", "array of sectors");
  expect("[]", "no sectors");
  expect("{}", "ChallengedSectors");
  expect("[" + good + ", 7]", "[1]: an object");
  expect("[" + good + R"(, {"comm_r": "00"}])", "[1]: \"sector\"");
  expect(R"([{"sector": 7}])", "sector 7: \"comm_r\"");
  expect(R"([{"sector": -1, "comm_r": "00"}])", "no number");
  expect(R"([{"sector": "7", "comm_r": "00"}])", "no number");
  expect(R"([{"sector": 7, "comm_r": 5}])", "sector 7: the commitment");
  expect(R"([{"sector": 7, "comm_r": {"/": 5}}])", "sector 7: the commitment");
  expect(R"([{"sector": 7, "comm_r": "00"}])", "sector 7: comm_r");
  expect(fmt::format(R"([{{"sector": 7, "comm_r": "{}x"}}])", kCid), "sector 7: comm_r");
  const auto lotus = [&](const char* rest) {
    return fmt::format(R"({{"ChallengedSectors": [{}], {}}})", good, rest);
  };
  expect(lotus(R"("Randomness": "AAAA")"), "32 bytes");
  expect(lotus(R"("Randomness": 7)"), "Randomness");
  expect(lotus(R"("Proofs": [{"PoStProof": 15}])"), "0 to 14");
  expect(lotus(R"("Proofs": [{"PoStProof": 8}, {"PoStProof": 9}])"), "8 and 9");
  expect(lotus(R"("Prover": "f01000")"), "actor id");
}

}  // namespace
}  // namespace cuzk::format
