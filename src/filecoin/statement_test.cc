#include "filecoin/statement.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/hash.h"
#include "filecoin/challenges.h"
#include "filecoin/test_support.h"

namespace cuzk::filecoin {
namespace {

using nlohmann::json;
using testing::node_from_hex;
using testing::proof_for;
using testing::read_text;
using testing::testdata_json;

// SHA-256 over the inputs, 32 bytes big-endian each.
std::string inputs_sha256(const std::vector<Fr>& inputs) {
  Sha256 hash;
  for (const Fr& input : inputs) hash.update(input.to_bytes_be());
  return to_hex(hash.finish());
}

TEST(Challenges, EqualTheReferences) {
  const json vectors = testdata_json("graph/challenges.json");
  const Node replica_id = node_from_hex(vectors["replica_id"]);
  const Node comm_r = node_from_hex(vectors["comm_r"]);
  const Node seed = node_from_hex(vectors["seed"]);
  int count = 0;
  for (const json& entry : vectors["porep"]) {
    const auto per_partition = entry["challenges_per_partition"].get<std::uint32_t>();
    for (std::uint32_t k = 0; k < entry["partitions"].size(); ++k) {
      const ChallengeRange range = {entry["leaves"].get<std::uint64_t>(), k * per_partition,
                                    per_partition};
      const auto expected = entry["partitions"][k].get<std::vector<std::uint32_t>>();
      if (entry["kind"] == "interactive") {
        EXPECT_EQ(interactive_challenges(range, replica_id, seed), expected);
      } else if (entry["kind"] == "synthetic") {
        EXPECT_EQ(synthetic_challenges(range, replica_id, comm_r, seed), expected);
      } else {
        EXPECT_EQ(non_interactive_challenges(range, replica_id, comm_r), expected);
      }
      ++count;
    }
  }
  EXPECT_EQ(count, 36);
}

TEST(Labels, EqualTheReferencesOverAWholeSector) {
  for (const json& entry : testdata_json("graph/labels_2kib.json")) {
    const SealProof proof = *seal_proof(entry["registered_seal_proof"].get<std::string>());
    const ReplicaIdentity identity = {node_from_hex(entry["prover_id"]),
                                      entry["sector_id"].get<std::uint64_t>(),
                                      node_from_hex(entry["ticket"])};
    const Node replica_id =
        replica_id_of(identity, node_from_hex(entry["comm_d"]), proof.porep_id());
    EXPECT_EQ(replica_id, node_from_hex(entry["replica_id"]));
    EXPECT_EQ(identity.prover_id, prover_id_of_actor(1000));

    const SectorGraph graph(64, proof.porep_id(), proof.api);
    std::vector<std::vector<Node>> layers(2);
    for (std::uint32_t layer = 1; layer <= 2; ++layer) {
      for (std::uint32_t node = 0; node < 64; ++node) {
        std::vector<Node> parents;
        for (const std::uint32_t p : graph.drg_parents(node)) {
          if (node) parents.push_back(layers[layer - 1][p]);
        }
        for (const std::uint32_t p : graph.expander_parents(node)) {
          if (node && layer > 1) parents.push_back(layers[layer - 2][p]);
        }
        for (std::size_t i = 0; node && parents.size() < kLabelParents; ++i) {
          parents.push_back(parents[i]);
        }
        layers[layer - 1].push_back(create_label(replica_id, layer, node, parents));
        EXPECT_EQ(layers[layer - 1].back(),
                  node_from_hex(entry[layer == 1 ? "layer1" : "layer2"][node]));
      }
    }
  }
}

// Fields of one record: sector_size, porep_id, api, features, comm_r, comm_d, prover_id, sector,
// ticket, seed; expected: replica_id, challenges (or null), inputs_sha256.
void expect_statement(const json& record) {
  PorepStatement statement;
  statement.proof = proof_for(record["sector_size"], record["api"], record["features"]);
  statement.porep_id = node_from_hex(record["porep_id"]);
  statement.comm_d = node_from_hex(record["comm_d"]);
  statement.comm_r = node_from_hex(record["comm_r"]);
  statement.seed = node_from_hex(record["seed"]);
  statement.replica_id =
      replica_id_of({node_from_hex(record["prover_id"]), record["sector"].get<std::uint64_t>(),
                     node_from_hex(record["ticket"])},
                    statement.comm_d, statement.porep_id);
  EXPECT_EQ(statement.replica_id, node_from_hex(record["replica_id"]));
  ASSERT_EQ(record["inputs_sha256"].size(), statement.proof.partitions);
  for (std::uint32_t k = 0; k < statement.proof.partitions; ++k) {
    if (!record["challenges"].is_null()) {
      EXPECT_EQ(*porep_challenges(statement, k),
                record["challenges"][k].get<std::vector<std::uint32_t>>());
    }
    const auto inputs = porep_public_inputs(statement, k);
    ASSERT_TRUE(inputs) << inputs.error().message;
    EXPECT_EQ(inputs->size(), statement.proof.shape.num_public_inputs());
    EXPECT_EQ(inputs_sha256(*inputs), record["inputs_sha256"][k].get<std::string>());
  }
}

TEST(PorepStatement, PublicInputsOfRealStatementsAreReproduced) {
  int count = 0;
  for (const json& record : testdata_json("statement/statements.json")) {
    SCOPED_TRACE(record["source"].get<std::string>());
    expect_statement(record);
    if (record.contains("miner_id")) {
      EXPECT_EQ(prover_id_of_actor(record["miner_id"].get<std::uint64_t>()),
                node_from_hex(record["prover_id"]));
    }
    if (record.contains("seal_proof")) {
      const SealProof proof = *seal_proof(record["seal_proof"].get<std::uint32_t>());
      EXPECT_EQ(proof.porep_id(), node_from_hex(record["porep_id"]));
      EXPECT_EQ(proof.partitions, record["partitions"].get<std::uint32_t>());
    }
    ++count;
  }
  EXPECT_EQ(count, 31);
}

TEST(PorepStatement, PublicInputsOfGoldenSectorsAreReproduced) {
  for (const char* name : {"porep_2kib_v1", "porep_2kib_v1_1", "porep_2kib_v1_1_synth",
                           "porep_2kib_v1_2_ni", "c1_16kib_v1_1", "c1_32kib_v1_1"}) {
    SCOPED_TRACE(name);
    const json golden = testdata_json(std::string("c1/") + name + ".inputs.json");
    PorepStatement statement;
    statement.proof = *seal_proof(golden["registered_seal_proof"].get<std::string>());
    statement.porep_id = node_from_hex(golden["porep_id"]);
    statement.comm_d = node_from_hex(golden["comm_d"]);
    statement.comm_r = node_from_hex(golden["comm_r"]);
    statement.seed = node_from_hex(golden["seed"]);
    statement.replica_id =
        replica_id_of({node_from_hex(golden["prover_id"]), golden["sector_id"].get<std::uint64_t>(),
                       node_from_hex(golden["ticket"])},
                      statement.comm_d, statement.porep_id);
    EXPECT_EQ(statement.replica_id, node_from_hex(golden["replica_id"]));
    ASSERT_EQ(golden["partitions"].get<std::uint32_t>(), statement.proof.partitions);
    EXPECT_EQ(comm_r_of(*node_to_fr(node_from_hex(golden["comm_c"])),
                        *node_to_fr(node_from_hex(golden["comm_r_last"]))),
              *node_to_fr(statement.comm_r));
    for (std::uint32_t k = 0; k < statement.proof.partitions; ++k) {
      const auto inputs = porep_public_inputs(statement, k);
      ASSERT_TRUE(inputs);
      const auto& expected = golden["public_inputs_le_hex"][k];
      ASSERT_EQ(inputs->size(), expected.size());
      for (std::size_t i = 0; i < inputs->size(); ++i) {
        EXPECT_EQ(fr_to_node((*inputs)[i]), node_from_hex(expected[i])) << "input " << i;
      }
    }
  }
}

TEST(PorepStatement, MissingPartitionAndNonCanonicalCommitmentsAreRefused) {
  PorepStatement statement;
  statement.proof = *seal_proof(5);
  EXPECT_EQ(porep_public_inputs(statement, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(porep_public_inputs(statement, 0));
  for (Node PorepStatement::*field :
       {&PorepStatement::replica_id, &PorepStatement::comm_d, &PorepStatement::comm_r}) {
    PorepStatement bad = statement;
    (bad.*field).fill(0xff);
    EXPECT_EQ(porep_public_inputs(bad, 0).error().code, ErrorCode::kCorruptInput);
  }
}

TEST(ProverId, IsLeb128OfTheActor) {
  EXPECT_EQ(to_hex(prover_id_of_actor(0)).substr(0, 4), "0000");
  EXPECT_EQ(to_hex(prover_id_of_actor(127)).substr(0, 4), "7f00");
  EXPECT_EQ(to_hex(prover_id_of_actor(128)).substr(0, 6), "800100");
  EXPECT_EQ(to_hex(prover_id_of_actor(1000)).substr(0, 6), "e80700");
  EXPECT_EQ(to_hex(prover_id_of_actor(~std::uint64_t{0})).substr(0, 22), "ffffffffffffffffff0100");
}

// The complete collections, where they lie beside the checkout.
TEST(PorepStatement, AllRegressionRecordsAndMainnetMessages) {
  const std::string base = CUZK_SHARED_DIR "/inputs/filecoin/";
  if (!std::filesystem::exists(base)) {
    GTEST_SKIP() << "skipped: the 448 regression records and 40 mainnet messages are not in "
                 << base;
  }
  const json derived =
      json::parse(read_text(base + "rust-fil-proofs/seal_regression_records-v16.derived.json"));
  std::istringstream lines(read_text(base + "rust-fil-proofs/seal_regression_records-v16.json"));
  const auto hex = [](const json& bytes) { return to_hex(bytes.get<std::vector<std::uint8_t>>()); };
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json r = json::parse(line);
    const json& config = r["porep_config"];
    json record = derived[count];
    SCOPED_TRACE(count);
    record["porep_id"] = hex(config["porep_id"]);
    for (const char* key : {"comm_r", "comm_d", "prover_id", "ticket", "seed"}) {
      record[key] = hex(r[key]);
    }
    record["sector"] = r["sector_id"];
    expect_statement(record);
  }
  EXPECT_EQ(count, 448u);
  for (json record : json::parse(read_text(base + "mainnet/prove_commit_sector.json"))) {
    record["sector"] = record["sector_number"];
    record["features"] = json::array();
    expect_statement(record);
    ++count;
  }
  EXPECT_EQ(count, 488u);
}

TEST(PorepStatement, ParentsInRealMainnetEraProofsAreReproduced) {
  const std::string path = CUZK_SHARED_DIR "/inputs/filecoin/fil-blst/seal32_x10.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "skipped: " << path << " is not there";
  const json record = json::parse(read_text(path));
  const SectorGraph graph(std::uint64_t{1} << 30, node_from_hex(record["porep_id"]),
                          ApiVersion::kV1_0);
  int count = 0;
  for (const json& partition : record["partitions"]) {
    const auto& inputs = partition["public_inputs_be"];
    const auto number = [&](std::size_t i) {
      return static_cast<std::uint32_t>(
          std::stoull(inputs[i].get<std::string>().substr(48), nullptr, 16));
    };
    for (std::size_t c = 0; c < 18; ++c) {
      const std::size_t at = 3 + 18 * c;
      const DrgParents drg = graph.drg_parents(number(at));
      const ExpanderParents expander = graph.expander_parents(number(at));
      for (std::size_t i = 0; i < drg.size(); ++i) EXPECT_EQ(drg[i], number(at + 1 + i));
      for (std::size_t i = 0; i < expander.size(); ++i) EXPECT_EQ(expander[i], number(at + 7 + i));
      for (std::size_t i = 15; i < 18; ++i) EXPECT_EQ(number(at + i), number(at));
      ++count;
    }
  }
  EXPECT_EQ(count, 180);
}

}  // namespace
}  // namespace cuzk::filecoin
