// The 2 KiB sector update against the reference's setup and prover: the key from the golden secrets
// and every sum of the golden proof, byte for byte.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/hash.h"
#include "filecoin/update_circuit.h"
#include "format/bellman_key.h"
#include "format/bellman_proof.h"
#include "format/update_vanilla.h"
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

const std::string kGolden = CUZK_TESTDATA_DIR "/golden/update_2kib/";
const auto kShape = filecoin::update_shape(2048).value();

CompactWitness<Fr> golden_witness(Tasks& tasks, std::span<const Fr> public_inputs) {
  const auto proofs =
      format::read_update_vanilla(CUZK_TESTDATA_DIR "/filecoin/update/update_2kib.p0.bincode");
  EXPECT_TRUE(proofs) << proofs.error().message;
  auto witness = filecoin::synthesize_update_witness(tasks, kShape, proofs->at(0), public_inputs);
  EXPECT_TRUE(witness) << witness.error().message;
  return std::move(*witness);
}

TEST(GoldenUpdate, KeyQuotientSumsAndProofAreTheReferences) {
  Tasks tasks;
  MemoryBudget memory(std::size_t{4} << 30);
  Timeline timeline;
  const groth16::Context context{tasks, memory, timeline};
  const auto r1cs = filecoin::compile_update(kShape).value();
  const Density density = compute_density(r1cs);
  const auto params = read_json(kGolden + "update.params.json");
  const auto key = groth16::insecure_dev_setup(
      context, r1cs, density, groth16::testing::golden_toxic_waste(params["toxic_waste"]));
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(encode_vk(key->vk), read_bytes(kGolden + "update.vk"));

  const auto golden =
      groth16::testing::golden_proof(read_json(kGolden + "update.proof.json")["partitions"][0]);
  const auto witness = golden_witness(tasks, golden.public_inputs);
  {
    const auto h = groth16::compute_quotient(context, r1cs, witness);
    ASSERT_TRUE(h) << h.error().message;
    const ByteSpan bytes(reinterpret_cast<const std::uint8_t*>(h->coefficients.data()),
                         h->coefficients.size_bytes());
    const auto digests = read_json(CUZK_TESTDATA_DIR "/golden/update/update_2kib.p0.circuit.json");
    EXPECT_EQ(to_hex(blake2b_256(bytes)), digests["h_coeffs_blake2b256"]);
  }
  const auto backend = groth16::make_cpu_backend<Bls12_381>();
  auto pending = groth16::start_proof_with_blinding(
      *backend, context, groth16::ProveInput<Bls12_381>{r1cs, density, witness, *key},
      groth16::Blinding<Bls12_381>::insecure_fixed_for_tests(golden.r, golden.s));
  ASSERT_TRUE(pending) << pending.error().message;
  const auto proof = pending->finish();
  ASSERT_TRUE(proof) << proof.error().message;
  EXPECT_EQ(pending->parts().h, golden.parts.h);
  EXPECT_EQ(pending->parts().l, golden.parts.l);
  EXPECT_EQ(pending->parts().a_aux, golden.parts.a_aux);
  EXPECT_EQ(pending->parts().b_g1_aux, golden.parts.b_g1_aux);
  EXPECT_EQ(pending->parts().b_g2_aux, golden.parts.b_g2_aux);
  EXPECT_EQ(to_hex(encode_proof(*proof)), golden.proof_hex);

  // What the reference's own API made of the same sector verifies too, and only for it.
  const groth16::PreparedVerifyingKey<Bls12_381> verifying_key(key->vk);
  for (const char* name : {"update.proof.bin", "update_api.proof.bin"}) {
    const auto bytes = read_bytes(kGolden + name);
    const auto decoded = decode_proofs(bytes, name);
    ASSERT_TRUE(decoded) << decoded.error().message;
    auto inputs = golden.public_inputs;
    EXPECT_TRUE(verify(tasks, verifying_key, groth16::Claim<Bls12_381>{decoded->at(0), inputs}));
    for (Fr& input : inputs) {
      input += Fr::one();
      EXPECT_FALSE(verify(tasks, verifying_key, groth16::Claim<Bls12_381>{decoded->at(0), inputs}));
      input -= Fr::one();
    }
  }
  std::printf("peak %zu MiB, %s\n", memory.peak_bytes() >> 20, timeline.key_values().c_str());
}

// Real proofs that mainnet accepted are points of the right subgroup, sixteen to a message.
TEST(RealUpdates, EveryProofParses) {
  const auto messages = read_json(CUZK_TESTDATA_DIR "/filecoin/update/mainnet.json");
  for (const auto& message : messages) {
    const auto bytes = from_hex(message["proof"].get<std::string>());
    ASSERT_TRUE(bytes);
    const auto proofs = decode_proofs(*bytes, message["vector"].get<std::string>());
    ASSERT_TRUE(proofs) << proofs.error().message;
    EXPECT_EQ(proofs->size(), 16u);
  }
}

}  // namespace
}  // namespace cuzk::bellman
