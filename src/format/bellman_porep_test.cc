// The 2 KiB PoRep against the reference's setup and prover: the parameters from the golden secrets
// and every sum of the golden proof, byte for byte. The strongest single check that circuit,
// generator, prover and format are right.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/hash.h"
#include "filecoin/porep_circuit.h"
#include "format/bellman_key.h"
#include "format/bellman_proof.h"
#include "groth16/prover.h"
#include "groth16/quotient.h"
#include "groth16/setup.h"
#include "groth16/test_golden.h"
#include "groth16/verifier.h"

namespace cuzk::bellman {
namespace {

using bls12_381::Fr;
using groth16::testing::read_bytes;
using groth16::testing::read_json;
using nlohmann::json;

const std::string kGolden = CUZK_TESTDATA_DIR "/golden/porep_2kib_v1_1/";

// Just enough of the C1 JSON for one that is known to be good.
filecoin::MerkleProof merkle_proof(const json& j) {
  const auto& [kind, data] = *j.at("data").items().begin();
  filecoin::MerkleProof proof;
  proof.root = data.at("root").template get<filecoin::Node>();
  proof.leaf = data.at("leaf").template get<filecoin::Node>();
  for (const auto& step : data.at("path").at("path")) {
    auto& out = proof.path.emplace_back();
    for (const auto& hash : step.at("hashes")) out.siblings.push_back(hash.get<filecoin::Node>());
    out.index = step.at("index");
  }
  return proof;
}
filecoin::ColumnProof column_proof(const json& j) {
  filecoin::ColumnProof proof;
  proof.index = j.at("column").at("index");
  for (const auto& row : j.at("column").at("rows")) {
    proof.rows.push_back(row.get<filecoin::Node>());
  }
  proof.inclusion = merkle_proof(j.at("inclusion_proof"));
  return proof;
}
std::vector<filecoin::PorepChallengeProof> challenge_proofs(const json& c1) {
  std::vector<filecoin::PorepChallengeProof> out;
  for (const auto& j : c1.at("vanilla_proofs").items().begin().value().at(0)) {
    auto& proof = out.emplace_back();
    proof.comm_d_proof = merkle_proof(j.at("comm_d_proofs"));
    proof.comm_r_last_proof = merkle_proof(j.at("comm_r_last_proof"));
    const auto& columns = j.at("replica_column_proofs");
    proof.c_x = column_proof(columns.at("c_x"));
    for (const auto& c : columns.at("drg_parents")) proof.drg_parents.push_back(column_proof(c));
    for (const auto& c : columns.at("exp_parents")) proof.exp_parents.push_back(column_proof(c));
  }
  return out;
}

Digest32 sha256_of_file(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  EXPECT_TRUE(file) << file.error().message;
  return sha256(file->bytes());
}

TEST(GoldenPorep, KeySumsAndProofAreTheReferences) {
  Tasks tasks;
  MemoryBudget memory(std::size_t{8} << 30);
  Timeline timeline;
  const groth16::Context context{tasks, memory, timeline};
  const auto golden =
      groth16::testing::golden_proof(read_json(kGolden + "porep.proof.json")["partitions"][0]);
  const auto params = read_json(kGolden + "porep.params.json");
  const auto r1cs = filecoin::compile_porep(*filecoin::porep_shape(2048));
  ASSERT_TRUE(r1cs) << r1cs.error().message;
  const auto density = compute_density(*r1cs);

  // The setup writes the reference's file.
  const auto key = groth16::insecure_dev_setup(
      context, *r1cs, density, groth16::testing::golden_toxic_waste(params["toxic_waste"]));
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(encode_vk(key->vk), read_bytes(kGolden + "porep.vk"));
  const std::size_t setup_peak = memory.peak_bytes();
  std::string directory = ::testing::TempDir() + "porep_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::filesystem::path file = std::filesystem::path(directory) / "porep.params";
  {
    const auto span = timeline.span("write_params");
    const auto written = write_params(tasks, memory, file, *key);
    ASSERT_TRUE(written) << written.error().message;
  }
  EXPECT_EQ(std::filesystem::file_size(file), params["files"]["params"]["bytes"]);
  EXPECT_EQ(to_hex(sha256_of_file(file)), params["files"]["params"]["sha256"]);

  // The file, read back, proves.
  const auto mapped = ParamsFile::open(file);
  ASSERT_TRUE(mapped) << mapped.error().message;
  {
    const auto span = timeline.span("load_key");
    const auto loaded = mapped->load(tasks, memory, PointCheck::kFormOnly);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_TRUE(std::equal(loaded->h_query.begin(), loaded->h_query.end(), key->h_query.begin()));
    EXPECT_TRUE(std::equal(loaded->l_query.begin(), loaded->l_query.end(), key->l_query.begin()));
  }
  std::filesystem::remove_all(directory);

  // The witness, the quotient, every sum and the proof are the reference's.
  const auto c1 = read_json(CUZK_TESTDATA_DIR "/filecoin/c1/porep_2kib_v1_1.c1.json");
  const auto witness = filecoin::synthesize_porep_witness(
      tasks, *filecoin::porep_shape(2048), challenge_proofs(c1), golden.public_inputs);
  ASSERT_TRUE(witness) << witness.error().message;
  {
    const auto digests =
        read_json(CUZK_TESTDATA_DIR "/golden/porep/porep_2kib_v1_1.p0.circuit.json");
    const auto h = groth16::compute_quotient(context, *r1cs, *witness);
    ASSERT_TRUE(h) << h.error().message;
    const ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(h->coefficients.data()),
                         h->coefficients.size_bytes());
    EXPECT_EQ(to_hex(blake2b_256(bytes)), digests["h_coeffs_blake2b256"]);
  }
  MemoryBudget prove_memory(std::size_t{8} << 30);
  Timeline prove_timeline;
  const groth16::Context prove_context{tasks, prove_memory, prove_timeline};
  const auto backend = groth16::make_cpu_backend<Bls12_381>();
  auto pending = groth16::start_proof_with_blinding(
      *backend, prove_context, groth16::ProveInput<Bls12_381>{*r1cs, density, *witness, *key},
      groth16::Blinding<Bls12_381>::insecure_fixed_for_tests(golden.r, golden.s));
  ASSERT_TRUE(pending) << pending.error().message;
  const auto proof = pending->finish();
  ASSERT_TRUE(proof) << proof.error().message;
  const auto& parts = pending->parts();
  EXPECT_EQ(parts.h, golden.parts.h);
  EXPECT_EQ(parts.l, golden.parts.l);
  EXPECT_EQ(parts.a_inputs, golden.parts.a_inputs);
  EXPECT_EQ(parts.a_aux, golden.parts.a_aux);
  EXPECT_EQ(parts.b_g1_inputs, golden.parts.b_g1_inputs);
  EXPECT_EQ(parts.b_g1_aux, golden.parts.b_g1_aux);
  EXPECT_EQ(parts.b_g2_inputs, golden.parts.b_g2_inputs);
  EXPECT_EQ(parts.b_g2_aux, golden.parts.b_g2_aux);
  EXPECT_EQ(to_hex(encode_proof(*proof)), golden.proof_hex);
  const auto verified = verify(tasks, groth16::PreparedVerifyingKey<Bls12_381>(key->vk),
                               groth16::Claim<Bls12_381>{*proof, golden.public_inputs});
  EXPECT_TRUE(verified) << verified.error().message;
  std::printf("setup: peak %zu MiB, %s\nprove: peak %zu MiB without key and circuit, %s\n",
              setup_peak >> 20, timeline.key_values().c_str(), prove_memory.peak_bytes() >> 20,
              prove_timeline.key_values().c_str());
}

}  // namespace
}  // namespace cuzk::bellman
