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
  const auto& [kind, data] = *j.at("data").items().begin();
  MerkleProof proof;
  proof.root = data.at("root").template get<Node>();
  proof.leaf = data.at("leaf").template get<Node>();
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
  for (const auto& j : c1.at("vanilla_proofs").items().begin().value().at(number)) {
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

}  // namespace
}  // namespace cuzk::filecoin
