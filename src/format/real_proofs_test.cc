// Every real proof that is at hand parses, and each of its points lies in the subgroup.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "format/bellman_proof.h"

namespace cuzk::bellman {
namespace {

const std::filesystem::path kInputs = std::filesystem::path(CUZK_SHARED_DIR) / "inputs/filecoin";

// Hexadecimal text or an array of numbers, as the two sources spell proofs.
std::vector<std::uint8_t> bytes_of(const nlohmann::json& proof) {
  if (proof.is_array()) return proof.get<std::vector<std::uint8_t>>();
  return from_hex(proof.get<std::string>()).value();
}

// Decodes every "proof" anywhere below `json`; returns how many partitions there were.
std::size_t decode_all(const nlohmann::json& json) {
  std::size_t partitions = 0;
  for (const auto& [key, value] : json.items()) {
    if (json.is_object() && key == "proof") {
      const auto bytes = bytes_of(value);
      const auto proofs = decode_proofs(bytes, "proof");
      EXPECT_TRUE(proofs) << proofs.error().message;
      if (proofs) {
        EXPECT_EQ(encode_proofs(*proofs), bytes);
        partitions += proofs->size();
      }
    } else if (value.is_structured()) {
      partitions += decode_all(value);
    }
  }
  return partitions;
}

class RealProofFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kInputs)) {
      GTEST_SKIP() << "skipped: real proofs are not at " << kInputs;
    }
  }
  static nlohmann::json load(const char* name) {
    std::ifstream in(kInputs / name);
    return nlohmann::json::parse(in);
  }
};

TEST_F(RealProofFiles, OfMainnetMessagesLieInTheSubgroup) {
  EXPECT_EQ(decode_all(load("mainnet/prove_commit_sector.json")), 400u);
  EXPECT_EQ(decode_all(load("mainnet/prove_replica_updates.json")), 256u);
  EXPECT_EQ(decode_all(load("mainnet/window_post_verified_onchain.json")), 16u);
  EXPECT_EQ(decode_all(load("rust-filecoin-proofs-api/window_post_32gib.json")), 1u);
}

TEST_F(RealProofFiles, OfRegressionRecordsLieInTheSubgroup) {
  std::ifstream in(kInputs / "rust-fil-proofs/seal_regression_records-v16.json");
  std::size_t partitions = 0;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) partitions += decode_all(nlohmann::json::parse(line));
  }
  EXPECT_EQ(partitions, 502u);
}

}  // namespace
}  // namespace cuzk::bellman
