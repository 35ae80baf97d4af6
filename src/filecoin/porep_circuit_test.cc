// The PoRep circuit against the reference: rows of every shape, witnesses of whole sectors.

#include "filecoin/porep_circuit.h"

#include <gtest/gtest.h>

#include "filecoin/porep_circuit.inl"
#include "filecoin/porep_golden_test_support.h"
#include "filecoin/statement.h"
#include "filecoin/test_support.h"

namespace cuzk::filecoin {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(CUZK_TESTDATA_DIR) / "golden";

PorepShape shape_named(const std::string& size) { return *porep_shape(*parse_sector_size(size)); }
using testing::compiled;

// Just enough of the C1 JSON for vectors that are known to be good.
namespace json {

void append_steps(MerkleProof& proof, const nlohmann::json& path) {
  for (const auto& j : path.at("path")) {
    MerkleStep& step = proof.path.emplace_back();
    for (const auto& hash : j.at("hashes")) step.siblings.push_back(hash.get<Node>());
    step.index = j.at("index");
  }
}

MerkleProof merkle(const nlohmann::json& j) {
  const auto& data = j.at("data").front();  // under the name of its kind
  MerkleProof proof;
  proof.root = data.at("root").get<Node>();
  proof.leaf = data.at("leaf").get<Node>();
  for (const char* part : {"path", "base_proof", "sub_proof", "top_proof"}) {
    if (data.contains(part)) append_steps(proof, data.at(part));
  }
  return proof;
}

ColumnProof column(const nlohmann::json& j) {
  ColumnProof proof;
  proof.index = j.at("column").at("index");
  for (const auto& row : j.at("column").at("rows")) proof.rows.push_back(row.get<Node>());
  proof.inclusion = merkle(j.at("inclusion_proof"));
  return proof;
}

std::vector<PorepChallengeProof> partition(const nlohmann::json& c1, std::size_t number) {
  std::vector<PorepChallengeProof> out;
  for (const auto& j : c1.at("vanilla_proofs").front().at(number)) {
    PorepChallengeProof& proof = out.emplace_back();
    proof.comm_d_proof = merkle(j.at("comm_d_proofs"));
    proof.comm_r_last_proof = merkle(j.at("comm_r_last_proof"));
    const auto& columns = j.at("replica_column_proofs");
    proof.c_x = column(columns.at("c_x"));
    for (const auto& c : columns.at("drg_parents")) proof.drg_parents.push_back(column(c));
    for (const auto& c : columns.at("exp_parents")) proof.exp_parents.push_back(column(c));
  }
  return out;
}

}  // namespace json

// A sector whose C1 output and statement lie in testdata.
struct Sector {
  std::string size;
  std::vector<PorepChallengeProof> proofs;
  std::vector<Fr> public_inputs;
};
Sector sector(const std::string& name, const std::string& size) {
  Sector s{size, json::partition(testing::testdata_json("c1/" + name + ".c1.json"), 0), {}};
  const auto inputs = testing::testdata_json("c1/" + name + ".inputs.json");
  for (const auto& hex : inputs.at("public_inputs_le_hex").at(0)) {
    s.public_inputs.push_back(*node_to_fr(testing::node_from_hex(hex)));
  }
  return s;
}
Result<CompactWitness<Fr>> synthesize(Tasks& tasks, const Sector& s) {
  return synthesize_porep_witness(tasks, shape_named(s.size), s.proofs, s.public_inputs);
}

TEST(PorepCircuit, LabelRowsAreTheReferences) {
  for (const std::uint32_t layer : {1u, 2u}) {
    const std::size_t num_parents = layer == 1 ? 6 : 14;
    gadget::Recorder<Fr> cs("label");
    std::vector<gadget::RecordedNum> nums(1 + num_parents);
    for (auto& n : nums) n = cs.alloc({});
    const auto words = [&](gadget::RecordedNum n) {
      return gadget::message_words<gadget::Recorder<Fr>>(gadget::to_bits_le(cs, n));
    };
    const auto replica_id = words(nums[0]);
    const auto node = cs.alloc_bits_u64(0, 64);
    gadget::pack_into_inputs<gadget::Recorder<Fr>>(cs, node);
    std::vector<std::vector<gadget::RecordedWord>> parents;
    for (std::size_t i = 0; i < num_parents; ++i) parents.push_back(words(nums[1 + i]));
    circuit::create_label<gadget::Recorder<Fr>>(cs, replica_id, layer, node, parents);
    const auto r1cs = cs.finish();
    const std::string name = "create_label_layer" + std::to_string(layer);
    golden::expect_segments(r1cs, kGolden / "gadgets" / (name + ".r1cs_segments.tsv"), 1024);
    golden::expect_circuit(r1cs, golden::read_json(kGolden / "gadgets" / (name + ".circuit.json")));
  }
}

TEST(PorepCircuit, RowsOf2KiBAreTheReferences) {
  const auto r1cs = compiled("2KiB");
  golden::expect_segments(r1cs, kGolden / "porep/porep_2kib.r1cs_segments.tsv", 1024);
  for (const char* name : {"porep_2kib_v1_1", "porep_2kib_v1_1_synth"}) {
    golden::expect_circuit(
        r1cs, golden::read_json(kGolden / "porep" / (std::string(name) + ".p0.circuit.json")));
  }
}

TEST(PorepCircuit, RowsOfOtherShapesAreTheReferences) {
  for (const char* size : {"4KiB", "16KiB", "32KiB", "8MiB", "16MiB", "512MiB", "1GiB"}) {
    SCOPED_TRACE(size);
    testing::expect_reference_rows(size);
  }
}

TEST(PorepCircuit, WitnessesAreTheReferences) {
  Tasks tasks(2);
  const std::pair<const char*, const char*> sectors[] = {{"porep_2kib_v1_1", "2KiB"},
                                                         {"porep_2kib_v1_1_synth", "2KiB"},
                                                         {"c1_16kib_v1_1", "16KiB"},
                                                         {"c1_32kib_v1_1", "32KiB"}};
  for (const auto& [name, size] : sectors) {
    SCOPED_TRACE(name);
    const auto witness = synthesize(tasks, sector(name, size));
    ASSERT_TRUE(witness) << witness.error().message;
    golden::expect_witness(
        tasks, compiled(size), *witness,
        golden::read_json(kGolden / "porep" / (std::string(name) + ".p0.circuit.json")));
  }
}

// The rows tie every part of the proof to the commitments: whatever is changed, some row fails, and
// the error names the gadget.
TEST(PorepCircuit, AnyChangedPartIsUnsatisfied) {
  Tasks tasks(2);
  const Sector good = sector("porep_2kib_v1_1", "2KiB");
  const auto r1cs = compiled("2KiB");
  const auto message_after = [&](auto&& damage) -> std::string {
    Sector bad = good;
    damage(bad);
    const auto witness = synthesize(tasks, bad);
    if (!witness) return witness.error().message;
    const Status status = check_satisfied(tasks, r1cs, *witness);
    if (status) return "satisfied";
    EXPECT_EQ(status.error().code, ErrorCode::kUnsatisfied);
    return status.error().message;
  };
  const auto expect_failure = [&](const std::string& where, auto&& damage) {
    const std::string message = message_after(damage);
    EXPECT_NE(message.find(where), std::string::npos) << where << ": " << message;
  };
  EXPECT_EQ(message_after([](Sector&) {}), "satisfied");
  expect_failure("comm_d inclusion",
                 [](Sector& s) { s.proofs[0].comm_d_proof.path[3].siblings[0][5] ^= 1; });
  expect_failure("comm_d inclusion", [](Sector& s) { s.proofs[1].comm_d_proof.leaf[0] ^= 1; });
  expect_failure("drg parent 2", [](Sector& s) { s.proofs[1].drg_parents[2].rows[1][9] ^= 4; });
  expect_failure("expander parent 7", [](Sector& s) {
    s.proofs[0].exp_parents[7].inclusion.path[1].siblings[6][1] ^= 1;
  });
  expect_failure("comm_r_last inclusion",
                 [](Sector& s) { s.proofs[0].comm_r_last_proof.path[0].siblings[0][0] ^= 1; });
  expect_failure("comm_c inclusion",
                 [](Sector& s) { s.proofs[1].c_x.inclusion.path[1].siblings[2][0] ^= 1; });
  expect_failure("> comm_r)", [](Sector& s) { s.proofs[0].c_x.inclusion.root[0] ^= 1; });
  expect_failure("challenge 0 >", [](Sector& s) { s.public_inputs[0] += Fr::one(); });
  expect_failure("comm_d inclusion", [](Sector& s) { s.public_inputs[1] += Fr::one(); });
  expect_failure("> comm_r)", [](Sector& s) { s.public_inputs[2] += Fr::one(); });
}

TEST(PorepCircuit, ProofsOfOtherNodesThanTheStatementsAreAMismatch) {
  Tasks tasks(1);
  const Sector good = sector("porep_2kib_v1_1", "2KiB");
  const std::pair<std::size_t, const char*> cases[] = {
      {3, "challenge 0: comm_d_proofs opens node"},
      {3 + 18 + 2, "challenge 1: drg_parents[1] opens node"},
      {3 + 9, "challenge 0: exp_parents[2] opens node"},
      {3 + 16, "challenge 0: comm_r_last_proof opens node"},
      {3 + 18 + 17, "challenge 1: c_x opens node"}};
  for (const auto& [input, text] : cases) {
    Sector bad = good;
    bad.public_inputs[input] += Fr::one();
    const auto witness = synthesize(tasks, bad);
    ASSERT_FALSE(witness);
    EXPECT_EQ(witness.error().code, ErrorCode::kMismatch);
    EXPECT_NE(witness.error().message.find(text), std::string::npos) << witness.error().message;
  }
}

TEST(PorepCircuit, ProofsOfAnotherShapeAreRefused) {
  Tasks tasks(1);
  const Sector good = sector("porep_2kib_v1_1", "2KiB");
  const auto code_after = [&](auto&& damage) {
    Sector bad = good;
    damage(bad);
    const auto witness = synthesize(tasks, bad);
    return witness ? ErrorCode::kInternal : witness.error().code;
  };
  using enum ErrorCode;
  EXPECT_EQ(code_after([](Sector& s) { s.proofs.pop_back(); }), kMismatch);
  EXPECT_EQ(code_after([](Sector& s) { s.public_inputs.pop_back(); }), kMismatch);
  EXPECT_EQ(code_after([](Sector& s) { s.proofs[1].drg_parents.pop_back(); }), kMismatch);
  EXPECT_EQ(code_after([](Sector& s) { s.proofs[1].exp_parents[0].rows.pop_back(); }), kMismatch);
  EXPECT_EQ(code_after([](Sector& s) { s.proofs[0].c_x.inclusion.path.pop_back(); }), kMismatch);
  EXPECT_EQ(code_after([](Sector& s) { s.proofs[0].c_x.inclusion.path[0].index = 8; }), kMismatch);
  EXPECT_EQ(
      code_after([](Sector& s) { s.proofs[0].comm_r_last_proof.path[1].siblings.pop_back(); }),
      kMismatch);
  EXPECT_EQ(code_after([](Sector& s) { s.proofs[1].comm_d_proof.path[0].siblings[0].fill(0xff); }),
            kCorruptInput);
  EXPECT_EQ(code_after([](Sector& s) { s.size = "16KiB"; }), kMismatch);
}

TEST(PorepCircuit, SparseSectorsSatisfyTheirCircuit) {
  Tasks tasks(2);
  for (const char* size : {"8MiB", "1GiB"}) {
    SCOPED_TRACE(size);
    testing::expect_sparse_sector_satisfies(tasks, size);
  }
}

TEST(PorepCircuit, ShapesWithoutACircuitAreRefused) {
  const auto code_of = [](auto&& change) {
    PorepShape shape = shape_named("2KiB");
    change(shape);
    const auto r1cs = compile_porep(shape);
    return r1cs ? ErrorCode::kInternal : r1cs.error().code;
  };
  using enum ErrorCode;
  EXPECT_EQ(code_of([](PorepShape& s) { s.layers = 3; }), kInvalidArgument);
  EXPECT_EQ(code_of([](PorepShape& s) { s.challenges_per_partition = 0; }), kInvalidArgument);
  EXPECT_EQ(code_of([](PorepShape& s) { s.sector_bytes = 96; }), kInvalidArgument);
}

}  // namespace
}  // namespace cuzk::filecoin
