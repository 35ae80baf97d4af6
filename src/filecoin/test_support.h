#pragma once
// Helpers of the tests here and in format: vectors from testdata/ and hexadecimal nodes.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "filecoin/statement.h"

namespace cuzk::filecoin::testing {

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::string testdata_path(const std::string& name) {
  return std::string(CUZK_TESTDATA_DIR "/filecoin/") + name;
}
inline nlohmann::json testdata_json(const std::string& name) {
  return nlohmann::json::parse(read_text(testdata_path(name)));
}

inline Node node_from_hex(const std::string& hex) {
  const auto bytes = from_hex(hex);
  EXPECT_TRUE(bytes && bytes->size() == 32) << hex;
  Node node{};
  if (bytes && bytes->size() == 32) std::copy(bytes->begin(), bytes->end(), node.begin());
  return node;
}

inline ApiVersion api_from_text(const std::string& text) {
  if (text == "V1_0_0" || text == "1.0.0") return ApiVersion::kV1_0;
  if (text == "V1_1_0" || text == "1.1.0") return ApiVersion::kV1_1;
  EXPECT_TRUE(text == "V1_2_0" || text == "1.2.0") << text;
  return ApiVersion::kV1_2;
}

// Which proof to use for vectors that name version and features apart from each other.
inline SealProof proof_for(std::uint64_t sector_bytes, const std::string& api,
                           const nlohmann::json& features) {
  SealProof proof = *seal_proof("StackedDrg" + sector_size_name(sector_bytes) + "V1_1");
  for (const auto& feature : features) {
    const bool synthetic = feature == "SyntheticPoRep";
    proof = *seal_proof("StackedDrg" + sector_size_name(sector_bytes) +
                        (synthetic ? "V1_1_Feat_SyntheticPoRep" : "V1_2_Feat_NonInteractivePoRep"));
  }
  proof.api = api_from_text(api);
  return proof;
}

}  // namespace cuzk::filecoin::testing
