// Aggregates of Filecoin's sectors: bindings, padding and partitions as the network has them, for
// every kind and for production sizes, under a key whose secrets are known.

#include "engine/aggregate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "aggregate/test_claims.h"
#include "base/mapped_file.h"
#include "format/aggregate.h"

namespace cuzk::engine {
namespace {

using aggregate::Version;
using aggregate::testing::ClaimMaker;
using nlohmann::json;

const std::string kTestdata = CUZK_TESTDATA_DIR;

json json_of_file(const std::string& path) { return json::parse(read_file(path, 1 << 20).value()); }

class AggregateEngine : public ::testing::Test {
 protected:
  Context context() { return {tasks_, MemoryBudget::process(), timeline_}; }

  format::AggregateStatement parse(const json& document) {
    const std::string text = document.dump();
    auto out = format::parse_aggregate_statement(
        ByteSpan(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), "statement");
    EXPECT_TRUE(out) << out.error().message;
    return *out;
  }

  // A string for up to 128 proofs, made once.
  const OpenSrs& srs() {
    static const OpenSrs opened = [&] {
      const std::string path = ::testing::TempDir() + "cuzk_engine.srs";
      EXPECT_TRUE(
          make_insecure_dev_srs(context(), ParameterStore(::testing::TempDir()), 128, path));
      auto srs = open_srs(context(), ParameterStore(::testing::TempDir()),
                          {path, KeyPolicy::kAllowInsecureDev, false}, 128)
                     .value();
      std::filesystem::remove(path);  // it stays mapped
      return srs;
    }();
    return opened;
  }

  struct Made {
    VerifyingKey<Bls12_381> key;
    std::vector<aggregate::Groth16Proof> proofs;
  };
  static Made prove_all(const AggregateTarget& target) {
    const auto& inputs = target.statement.public_inputs;
    ClaimMaker maker(91, inputs[0].size());
    Made out{maker.key(), {}};
    for (const auto& statement : inputs) out.proofs.push_back(maker.make(statement).proof);
    return out;
  }

  // Creates and verifies; the bytes must have the padded count's length.
  void check_round_trip(const AggregateTarget& target, std::size_t proofs, std::size_t padded) {
    ASSERT_EQ(target.num_proofs(), proofs);
    const Made made = prove_all(target);
    const auto reply = create_aggregate(context(), srs(), made.key, target, made.proofs);
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->padded_proofs, padded);
    EXPECT_EQ(reply->aggregate.size(), format::aggregate_bytes(padded));
    const auto verdict = [&](const AggregateTarget& t) {
      return verify_aggregate(context(), srs(), made.key, t, reply->aggregate, "aggregate");
    };
    EXPECT_TRUE(verdict(target));
    AggregateTarget other = target;
    other.binding[0] ^= 1;
    EXPECT_EQ(verdict(other).error().code, ErrorCode::kInvalidProof);
    other = target;
    other.statement.public_inputs.back()[1] += bls12_381::Fr::one();
    EXPECT_EQ(verdict(other).error().code, ErrorCode::kInvalidProof);
  }

  static std::string node(unsigned i) { return fmt::format("{:062x}00", i + 1); }
  static json porep(const std::string& proof, unsigned sectors) {
    json out = {{"kind", "porep"}, {"registered_proof", proof}, {"miner", 1000}};
    for (unsigned i = 0; i < sectors; ++i) {
      json sector = {{"sector", i},
                     {"ticket", node(10 * i)},
                     {"comm_d", node(10 * i + 1)},
                     {"comm_r", node(10 * i + 2)}};
      if (proof.find("NonInteractive") == std::string::npos) sector["seed"] = node(10 * i + 3);
      out["sectors"].push_back(sector);
    }
    return out;
  }
  static json update(const std::string& proof, unsigned sectors) {
    json out = {{"kind", "update"}, {"registered_proof", proof}};
    for (unsigned i = 0; i < sectors; ++i) {
      out["sectors"].push_back({{"comm_r_old", node(10 * i)},
                                {"comm_r_new", node(10 * i + 1)},
                                {"comm_d_new", node(10 * i + 2)}});
    }
    return out;
  }

  Tasks tasks_{2};
  Timeline timeline_;
};

TEST_F(AggregateEngine, BindingsAreTheReferences) {
  const json one = json_of_file(kTestdata + "/filecoin/c1/porep_2kib_v1_1.inputs.json");
  const json two = json_of_file(kTestdata + "/filecoin/c1/porep_2kib_v1_1_synth.inputs.json");
  json document = porep("StackedDrg2KiBV1_1", 0);
  for (const json& in : {one, two}) {
    document["sectors"].push_back({{"registered_proof", in["registered_seal_proof"]},
                                   {"sector", in["sector_id"]},
                                   {"ticket", in["ticket"]},
                                   {"seed", in["seed"]},
                                   {"comm_d", in["comm_d"]},
                                   {"comm_r", in["comm_r"]}});
  }
  const auto target = aggregate_target(parse(document), Version::kV1);
  ASSERT_TRUE(target) << target.error().message;
  const json golden = json_of_file(kTestdata + "/golden/snarkpack/porep_2of2.json");
  EXPECT_EQ(to_hex(target->binding), golden["transcript_include"]);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 39; ++k) {
      EXPECT_EQ(to_hex(target->statement.public_inputs[i][k].to_bytes_le()),
                golden["statements_le_hex"][i][k]);
    }
  }

  const json in = json_of_file(kTestdata + "/filecoin/update/update_2kib.inputs.json");
  document = {{"kind", "update"},
              {"registered_proof", "StackedDrg2KiBV1"},
              {"sectors",
               {{{"comm_r_old", in["comm_r_old"]},
                 {"comm_r_new", in["comm_r_new"]},
                 {"comm_d_new", in["comm_d_new"]}}}}};
  const auto updated = aggregate_target(parse(document), Version::kV2);
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_EQ(to_hex(updated->binding),
            json_of_file(kTestdata + "/golden/snarkpack/update_1of2.json")["transcript_include"]);
}

TEST_F(AggregateEngine, NonInteractiveSectorsAreAggregatesOfTheirPartitions) {
  for (const auto& [proof, partitions, padded] :
       {std::tuple{"StackedDrg2KiBV1_2_Feat_NonInteractivePoRep", 13, 16},
        std::tuple{"StackedDrg32GiBV1_2_Feat_NonInteractivePoRep", 126, 128}}) {
    SCOPED_TRACE(proof);
    const auto target = aggregate_target(parse(porep(proof, 1)), Version::kV2);
    ASSERT_TRUE(target) << target.error().message;
    check_round_trip(*target, static_cast<std::size_t>(partitions),
                     static_cast<std::size_t>(padded));
  }
  // The binding has no seed: comm_r alone.
  const auto target = aggregate_target(
      parse(porep("StackedDrg2KiBV1_2_Feat_NonInteractivePoRep", 1)), Version::kV2);
  EXPECT_EQ(target->binding, sha256(from_hex(node(2)).value()));
}

TEST_F(AggregateEngine, SectorsOfProductionSizeAreTenPartitionsEach) {
  for (const Version version : {Version::kV1, Version::kV2}) {
    const auto target = aggregate_target(parse(porep("StackedDrg32GiBV1_1", 7)), version);
    ASSERT_TRUE(target) << target.error().message;
    EXPECT_EQ(target->sectors, 7u);
    check_round_trip(*target, 70, 128);
  }
}

TEST_F(AggregateEngine, UpdatesOfProductionSizeAreSixteenPartitionsEach) {
  const auto target = aggregate_target(parse(update("StackedDrg32GiBV1", 3)), Version::kV2);
  ASSERT_TRUE(target) << target.error().message;
  check_round_trip(*target, 48, 64);
  EXPECT_EQ(aggregate_target(parse(update("StackedDrg32GiBV1", 3)), Version::kV1).error().code,
            ErrorCode::kInvalidArgument);
}

TEST_F(AggregateEngine, OneSmallSectorIsPaddedToTwo) {
  const auto target = aggregate_target(parse(porep("StackedDrg2KiBV1_1", 1)), Version::kV2);
  ASSERT_TRUE(target) << target.error().message;
  check_round_trip(*target, 1, 2);
}

TEST_F(AggregateEngine, LimitsAndMixturesAreRefused) {
  const std::string ni = "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep";
  EXPECT_TRUE(aggregate_target(parse(porep(ni, 65)), Version::kV2));
  EXPECT_EQ(aggregate_target(parse(porep(ni, 66)), Version::kV2).error().code,
            ErrorCode::kInvalidArgument);
  json mixed = porep("StackedDrg2KiBV1_1", 2);
  mixed["sectors"][1]["registered_proof"] = "StackedDrg8MiBV1_1";
  EXPECT_EQ(aggregate_target(parse(mixed), Version::kV2).error().code, ErrorCode::kMismatch);
  mixed["sectors"][1]["registered_proof"] = ni;
  mixed["sectors"][1].erase("seed");
  EXPECT_EQ(aggregate_target(parse(mixed), Version::kV2).error().code, ErrorCode::kMismatch);
  json large = porep("StackedDrg2KiBV1_1", 1);
  large["sectors"][0]["comm_r"] = std::string(64, 'f');
  const auto target = aggregate_target(parse(large), Version::kV2);
  ASSERT_FALSE(target);
  EXPECT_NE(target.error().message.find("sectors[0]"), std::string::npos) << target.error().message;
}

TEST_F(AggregateEngine, AWrongProofIsNamed) {
  const auto target = aggregate_target(parse(porep("StackedDrg2KiBV1_1", 3)), Version::kV2);
  ASSERT_TRUE(target);
  Made made = prove_all(*target);
  std::swap(made.proofs[1], made.proofs[2]);
  const auto reply = create_aggregate(context(), srs(), made.key, *target, made.proofs);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kInvalidProof);
  EXPECT_NE(reply.error().message.find("2, 3"), std::string::npos) << reply.error().message;
  made.proofs.pop_back();
  EXPECT_EQ(create_aggregate(context(), srs(), made.key, *target, made.proofs).error().code,
            ErrorCode::kMismatch);
}

TEST_F(AggregateEngine, AnotherSrsThanTheCeremonysNeedsPermission) {
  const std::string golden = kTestdata + "/golden/snarkpack/srs_generic.bin";
  const ParameterStore nowhere("/nonexistent");
  const auto open = [&](std::optional<std::filesystem::path> file, KeyPolicy policy) {
    return open_srs(context(), nowhere, {std::move(file), policy, false}, 2);
  };
  EXPECT_EQ(open(golden, KeyPolicy::kCeremonyOnly).error().code, ErrorCode::kInsecureKey);
  const auto opened = open(golden, KeyPolicy::kAllowInsecureDev);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_FALSE(opened->ceremony);
  EXPECT_EQ(open(std::nullopt, KeyPolicy::kCeremonyOnly).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(open(std::nullopt, KeyPolicy::kAllowInsecureDev).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace cuzk::engine
