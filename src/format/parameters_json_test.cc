#include "format/parameters_json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace cuzk::format {
namespace {

std::string published() {
  std::ifstream in(CUZK_TESTDATA_DIR "/filecoin/params/parameters-v28.json");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(ParameterList, HoldsTheTwentyTwoPublishedCircuits) {
  const auto list = parse_parameter_list(published(), "parameters-v28.json");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->files.size(), 44u);
  const ParameterFile* file = list->find(
      "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-8-8-0-sha256_hasher-"
      "82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820.params");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->sector_bytes, std::uint64_t{32} << 30);
  EXPECT_EQ(file->digest.size(), 32u);
  EXPECT_EQ(list->find("v28-nothing.params"), nullptr);
}

TEST(ParameterList, EveryCutIsRefused) {
  const std::string text = published();
  for (std::size_t n = 0; n + 2 < text.size(); n += 97) {
    EXPECT_FALSE(parse_parameter_list(text.substr(0, n), "cut")) << n;
  }
}

TEST(ParameterList, WrongEntriesAreNamed) {
  const std::string good =
      R"({"cid":"Q","digest":"00112233445566778899aabbccddeeff","sector_size":2048})";
  ASSERT_TRUE(parse_parameter_list(R"({"a.vk":)" + good + "}", "f"));
  const std::pair<std::string, const char*> bad[] = {
      {"[]", "JSON object"},
      {R"({"a.vk":7})", "a.vk"},
      {R"({"a.vk":{"cid":"Q","digest":"00"}})", "a.vk"},
      {R"({"a.vk":{"cid":"Q","digest":"00","sector_size":2048}})", "32 hexadecimal digits"},
      {R"({"a.vk":{"cid":"Q","digest":"zz112233445566778899aabbccddeeff","sector_size":2048}})",
       "digest"},
      {R"({"a.vk":{"cid":"Q","digest":"00112233445566778899aabbccddeeff","sector_size":-1}})",
       "sector_size"},
      {R"({"a.vk":)" + good + R"(,"a.vk":)" + good + "}", "stands twice"},
  };
  for (const auto& [text, word] : bad) {
    const auto list = parse_parameter_list(text, "f");
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.error().code, ErrorCode::kCorruptInput);
    EXPECT_NE(list.error().message.find(word), std::string::npos) << list.error().message;
  }
}

}  // namespace
}  // namespace cuzk::format
