// The 2 KiB WinningPoSt and WindowPoSt against the reference's setup and prover: the parameters
// from the golden secrets and every sum of the golden proofs, byte for byte.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/hash.h"
#include "base/mapped_file.h"
#include "filecoin/post_circuit.h"
#include "filecoin/post_statement.h"
#include "filecoin/test_support.h"
#include "format/bellman_key.h"
#include "format/bellman_proof.h"
#include "format/post_vanilla.h"
#include "groth16/prover.h"
#include "groth16/quotient.h"
#include "groth16/setup.h"
#include "groth16/test_golden.h"
#include "groth16/verifier.h"

namespace cuzk::bellman {
namespace {

using bls12_381::Fr;
using filecoin::PostStatement;
using groth16::testing::read_bytes;
using groth16::testing::read_json;

struct GoldenCase {
  const char* folder;
  const char* proof;
};

class GoldenPost : public ::testing::TestWithParam<GoldenCase> {
 protected:
  void SetUp() override {
    folder_ = std::string(CUZK_TESTDATA_DIR "/golden/post/") + GetParam().folder + "/";
    const auto inputs = read_json(folder_ + "inputs.json");
    std::vector<filecoin::PostSector> sectors;
    for (const auto& s : inputs.at("sectors")) {
      sectors.push_back({s.at("sector_id"), filecoin::testing::node_from_hex(s.at("comm_r"))});
      const std::string file = fmt::format("vanilla_sector{}.bincode", sectors.back().number);
      proofs_.push_back(format::read_post_vanilla(folder_ + file).value()[0]);
    }
    const auto proof = filecoin::post_proof(GetParam().proof);
    const auto statement = PostStatement::make(
        *proof, filecoin::testing::node_from_hex(inputs.at("randomness")), std::move(sectors));
    ASSERT_TRUE(statement) << statement.error().message;
    public_inputs_ = post_public_inputs(*statement, 0).value();
    shape_ = proof->shape;
    r1cs_ = compile_post(shape_).value();
    density_ = compute_density(r1cs_);
    auto key =
        groth16::insecure_dev_setup(context_, r1cs_, density_,
                                    groth16::testing::golden_toxic_waste(
                                        read_json(folder_ + "post.params.json").at("toxic_waste")));
    ASSERT_TRUE(key) << key.error().message;
    key_ = std::move(*key);
    auto witness = synthesize_post_witness(tasks_, shape_, proofs_, public_inputs_);
    ASSERT_TRUE(witness) << witness.error().message;
    witness_ = std::move(*witness);
  }

  Tasks tasks_;
  MemoryBudget memory_{std::size_t{2} << 30};
  Timeline timeline_;
  const groth16::Context context_{tasks_, memory_, timeline_};
  std::string folder_;
  std::vector<filecoin::PostSectorProof> proofs_;
  std::vector<Fr> public_inputs_;
  filecoin::PostShape shape_;
  CompactR1cs<Fr> r1cs_;
  Density density_;
  ProvingKey<Bls12_381> key_;
  CompactWitness<Fr> witness_;
};

TEST_P(GoldenPost, SetupWritesTheReferencesFiles) {
  const auto files = read_json(folder_ + "post.params.json").at("files");
  const auto vk = encode_vk(key_.vk);
  EXPECT_EQ(to_hex(sha256(vk)), files.at("vk").at("sha256"));
  EXPECT_EQ(shape_.parameter_stem() + ".vk", files.at("vk").at("file"));
  std::string directory = ::testing::TempDir() + "post_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::filesystem::path file = std::filesystem::path(directory) / "post.params";
  const auto written = write_params(tasks_, memory_, file, key_);
  ASSERT_TRUE(written) << written.error().message;
  {
    const auto mapped = MappedFile::open(file);
    ASSERT_TRUE(mapped) << mapped.error().message;
    EXPECT_EQ(mapped->bytes().size(), files.at("params").at("bytes"));
    EXPECT_EQ(to_hex(sha256(mapped->bytes())), files.at("params").at("sha256"));
  }
  std::filesystem::remove_all(directory);
}

TEST_P(GoldenPost, QuotientEverySumAndTheProofAreTheReferences) {
  const auto digests = read_json(folder_ + "post_p0.circuit.json");
  const auto h = groth16::compute_quotient(context_, r1cs_, witness_);
  ASSERT_TRUE(h) << h.error().message;
  EXPECT_EQ(to_hex(blake2b_256({reinterpret_cast<const std::uint8_t*>(h->coefficients.data()),
                                h->coefficients.size_bytes()})),
            digests.at("h_coeffs_blake2b256"));

  const auto golden =
      groth16::testing::golden_proof(read_json(folder_ + "post.proof.json").at("partitions")[0]);
  EXPECT_EQ(public_inputs_, golden.public_inputs);
  const auto backend = groth16::make_cpu_backend<Bls12_381>();
  auto pending = groth16::start_proof_with_blinding(
      *backend, context_, groth16::ProveInput<Bls12_381>{r1cs_, density_, witness_, key_},
      groth16::Blinding<Bls12_381>::insecure_fixed_for_tests(golden.r, golden.s));
  ASSERT_TRUE(pending) << pending.error().message;
  const auto proof = pending->finish();
  ASSERT_TRUE(proof) << proof.error().message;
  const auto& parts = pending->parts();
  EXPECT_EQ(parts.h, golden.parts.h);
  EXPECT_EQ(parts.l, golden.parts.l);
  EXPECT_EQ(parts.a_inputs, golden.parts.a_inputs);
  EXPECT_EQ(parts.a_aux, golden.parts.a_aux);
  EXPECT_EQ(parts.b_g1_aux, golden.parts.b_g1_aux);
  EXPECT_EQ(parts.b_g2_inputs, golden.parts.b_g2_inputs);
  EXPECT_EQ(parts.b_g2_aux, golden.parts.b_g2_aux);
  EXPECT_EQ(to_hex(encode_proof(*proof)), golden.proof_hex);
}

TEST_P(GoldenPost, TheReferencesOwnProofVerifiesAndEveryChangedInputIsRefused) {
  const auto bytes = read_bytes(folder_ + "post_api.proof.bin");
  const auto proof = decode_proof(bytes, "post_api.proof.bin");
  ASSERT_TRUE(proof) << proof.error().message;
  const groth16::PreparedVerifyingKey<Bls12_381> key(key_.vk);
  const auto verified =
      groth16::verify(tasks_, key, groth16::Claim<Bls12_381>{*proof, public_inputs_});
  EXPECT_TRUE(verified) << verified.error().message;
  for (std::size_t i = 0; i < public_inputs_.size(); ++i) {
    auto changed = public_inputs_;
    changed[i] += Fr::one();
    EXPECT_FALSE(
        groth16::verify(tasks_, key, groth16::Claim<Bls12_381>{*proof, std::move(changed)}))
        << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, GoldenPost,
    ::testing::Values(GoldenCase{"winning_post_2kib", "StackedDrgWinning2KiBV1"},
                      GoldenCase{"window_post_2kib_v1_2_1sector", "StackedDrgWindow2KiBV1_1"},
                      GoldenCase{"window_post_2kib_v1_2_2sectors", "StackedDrgWindow2KiBV1_1"}),
    [](const auto& instance) { return std::string(instance.param.folder); });

}  // namespace
}  // namespace cuzk::bellman
