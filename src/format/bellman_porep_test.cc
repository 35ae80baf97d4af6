// The 2 KiB PoRep against the reference's setup and prover: the parameters from the golden secrets
// and every sum of the golden proof, byte for byte. The strongest single check that circuit,
// generator, prover and format are right.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "filecoin/porep_circuit.h"
#include "format/bellman_key.h"
#include "format/bellman_proof.h"
#include "format/c1.h"
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

const std::string kGolden = CUZK_TESTDATA_DIR "/golden/porep_2kib_v1_1/";

Digest32 sha256_of_file(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  EXPECT_TRUE(file) << file.error().message;
  return sha256(file->bytes());
}

// Of the mappings of a file in this process.
std::size_t resident_bytes_of(const std::filesystem::path& file) {
  const std::string name = std::filesystem::canonical(file).string();
  std::ifstream maps("/proc/self/smaps");
  std::size_t kib = 0, sum = 0;
  bool is_it = false;
  for (std::string line; std::getline(maps, line);) {
    if (std::isxdigit(static_cast<unsigned char>(line[0])) && line.find('-') < line.find(' ')) {
      is_it = line.ends_with(name);
    } else if (is_it && std::sscanf(line.c_str(), "Rss: %zu kB", &kib) == 1) {
      sum += kib << 10;
    }
  }
  return sum;
}

class GoldenPorep : public ::testing::Test {
 protected:
  // One key for all tests: making it takes half a minute.
  static void SetUpTestSuite() {
    static Tasks tasks;
    static MemoryBudget memory(std::size_t{8} << 30);
    static Timeline timeline;
    context_ = new groth16::Context{tasks, memory, timeline};
    r1cs_ = new CompactR1cs<Fr>(filecoin::compile_porep(*filecoin::porep_shape(2048)).value());
    density_ = new Density(compute_density(*r1cs_));
    auto key = groth16::insecure_dev_setup(*context_, *r1cs_, *density_,
                                           groth16::testing::golden_toxic_waste(read_json(
                                               kGolden + "porep.params.json")["toxic_waste"]));
    ASSERT_TRUE(key) << key.error().message;
    key_ = new ProvingKey<Bls12_381>(std::move(*key));
    std::printf("setup: peak %zu MiB with the key, %s\n", memory.peak_bytes() >> 20,
                timeline.key_values().c_str());
  }
  static void TearDownTestSuite() {
    delete key_;
    delete density_;
    delete r1cs_;
    delete context_;
  }

  void SetUp() override { ASSERT_NE(key_, nullptr); }

  CompactWitness<Fr> witness() {
    const auto c1 = format::read_c1(CUZK_TESTDATA_DIR "/filecoin/c1/porep_2kib_v1_1.c1.json");
    EXPECT_TRUE(c1) << c1.error().message;
    auto out = filecoin::synthesize_porep_witness(context_->tasks, *filecoin::porep_shape(2048),
                                                  c1->partitions.at(0), golden_.public_inputs);
    EXPECT_TRUE(out) << out.error().message;
    return std::move(*out);
  }

  inline static groth16::Context* context_ = nullptr;
  inline static CompactR1cs<Fr>* r1cs_ = nullptr;
  inline static Density* density_ = nullptr;
  inline static ProvingKey<Bls12_381>* key_ = nullptr;
  const groth16::testing::GoldenProof golden_ =
      groth16::testing::golden_proof(read_json(kGolden + "porep.proof.json")["partitions"][0]);
};

template <class T>
bool equal(const Buffer<T>& a, const Buffer<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST_F(GoldenPorep, SetupWritesTheReferencesFileAndReadsItBack) {
  const auto expected = read_json(kGolden + "porep.params.json")["files"]["params"];
  EXPECT_EQ(encode_vk(key_->vk), read_bytes(kGolden + "porep.vk"));
  std::string directory = ::testing::TempDir() + "porep_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::filesystem::path file = std::filesystem::path(directory) / "porep.params";
  const auto written = write_params(context_->tasks, context_->memory, file, *key_);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(std::filesystem::file_size(file), expected["bytes"]);
  EXPECT_EQ(to_hex(sha256_of_file(file)), expected["sha256"]);

  const auto mapped = ParamsFile::open(file);
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(mapped->counts(), groth16::expected_key_counts(*r1cs_, *density_));
  const auto loaded = mapped->load(context_->tasks, context_->memory, PointCheck::kOnCurve);
  // What is in memory decoded does not stay there as it is in the file, too.
  EXPECT_GT(mapped->file_bytes(), std::size_t{1} << 30);
  const std::size_t resident = resident_bytes_of(file);
  EXPECT_GT(resident, 0u);  // pages at the edges, of which only a part was read
  EXPECT_LT(resident, std::size_t{1} << 20);
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(equal(loaded->h_query, key_->h_query));
  EXPECT_TRUE(equal(loaded->l_query, key_->l_query));
  EXPECT_TRUE(equal(loaded->a_query, key_->a_query));
  EXPECT_TRUE(equal(loaded->b_g1_query, key_->b_g1_query));
  EXPECT_TRUE(equal(loaded->b_g2_query, key_->b_g2_query));
}

TEST_F(GoldenPorep, QuotientIsTheReferences) {
  const auto digests = read_json(CUZK_TESTDATA_DIR "/golden/porep/porep_2kib_v1_1.p0.circuit.json");
  const auto h = groth16::compute_quotient(*context_, *r1cs_, witness());
  ASSERT_TRUE(h) << h.error().message;
  const ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(h->coefficients.data()),
                       h->coefficients.size_bytes());
  EXPECT_EQ(to_hex(blake2b_256(bytes)), digests["h_coeffs_blake2b256"]);
}

TEST_F(GoldenPorep, EverySumAndTheProofAreTheReferences) {
  MemoryBudget memory(std::size_t{8} << 30);
  Timeline timeline;
  const groth16::Context context{context_->tasks, memory, timeline};
  const auto assignment = witness();
  const auto backend = groth16::make_cpu_backend<Bls12_381>();
  auto pending = groth16::start_proof_with_blinding(
      *backend, context, groth16::ProveInput<Bls12_381>{*r1cs_, *density_, assignment, *key_},
      groth16::Blinding<Bls12_381>::insecure_fixed_for_tests(golden_.r, golden_.s));
  ASSERT_TRUE(pending) << pending.error().message;
  const auto proof = pending->finish();
  ASSERT_TRUE(proof) << proof.error().message;
  const auto& parts = pending->parts();
  EXPECT_EQ(parts.h, golden_.parts.h);
  EXPECT_EQ(parts.l, golden_.parts.l);
  EXPECT_EQ(parts.a_inputs, golden_.parts.a_inputs);
  EXPECT_EQ(parts.a_aux, golden_.parts.a_aux);
  EXPECT_EQ(parts.b_g1_inputs, golden_.parts.b_g1_inputs);
  EXPECT_EQ(parts.b_g1_aux, golden_.parts.b_g1_aux);
  EXPECT_EQ(parts.b_g2_inputs, golden_.parts.b_g2_inputs);
  EXPECT_EQ(parts.b_g2_aux, golden_.parts.b_g2_aux);
  EXPECT_EQ(to_hex(encode_proof(*proof)), golden_.proof_hex);
  const auto verified = verify(context.tasks, groth16::PreparedVerifyingKey<Bls12_381>(key_->vk),
                               groth16::Claim<Bls12_381>{*proof, golden_.public_inputs});
  EXPECT_TRUE(verified) << verified.error().message;
  std::printf("prove: peak %zu MiB beside key and circuit, %s\n", memory.peak_bytes() >> 20,
              timeline.key_values().c_str());
}

}  // namespace
}  // namespace cuzk::bellman
