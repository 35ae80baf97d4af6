#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/bytes.h"
#include "base/hash.h"
#include "gadget/poseidon_hash.h"

namespace cuzk::gadget {
namespace {

using bls12_381::Fr;
using nlohmann::json;

json read_json(const std::string& name) {
  std::ifstream file(std::string(CUZK_TESTDATA_DIR "/filecoin/poseidon/") + name);
  EXPECT_TRUE(file.good()) << name;
  return json::parse(file);
}

Fr element_le(const std::string& hex) {
  const auto bytes = from_hex(hex);
  EXPECT_TRUE(bytes && bytes->size() == 32) << hex;
  const auto v = Fr::from_bytes_le(std::span<const std::uint8_t, 32>(bytes->data(), 32));
  EXPECT_TRUE(v.has_value()) << hex;
  return *v;
}

Fr element_be(const std::string& hex) {
  const auto bytes = from_hex(hex);
  EXPECT_TRUE(bytes && bytes->size() == 32) << hex;
  return *Fr::from_bytes_be(std::span<const std::uint8_t, 32>(bytes->data(), 32));
}

const PoseidonParams& params_of(const json& entry) {
  return poseidon_params(entry["arity"], entry["name"] == "arity2_gen_randomness"
                                             ? PoseidonDomain::kRandomness
                                             : PoseidonDomain::kMerkleTree);
}

// All constants in neptune's order, canonical little-endian.
std::vector<std::uint8_t> serialise(const PoseidonParams& p) {
  std::vector<std::uint8_t> out;
  const auto append = [&](const std::vector<Fr>& values) {
    for (const Fr& v : values) {
      const auto bytes = v.to_bytes_le();
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
  };
  append(p.round_constants);
  append(p.mds);
  append(p.compressed_round_constants);
  append(p.pre_sparse);
  for (const auto& m : p.sparse) {
    append(m.w_hat);
    append(m.v_rest);
  }
  return out;
}

TEST(PoseidonParams, EqualNeptunesConstants) {
  for (const json& entry : read_json("poseidon.json")) {
    const PoseidonParams& p = params_of(entry);
    const auto bytes = serialise(p);
    EXPECT_EQ(bytes.size(), entry["constants_bin_bytes"].get<std::size_t>()) << entry["name"];
    EXPECT_EQ(to_hex(blake2b_256(bytes)), entry["constants_blake2b256"].get<std::string>())
        << entry["name"];
    EXPECT_EQ(p.domain_tag, element_le(entry["domain_tag"])) << entry["name"];
    EXPECT_EQ(p.round_constants.size(), entry["n_round_constants"].get<std::size_t>());
    EXPECT_EQ(p.compressed_round_constants.size(),
              entry["n_compressed_round_constants"].get<std::size_t>());
    EXPECT_EQ(p.sparse.size(), entry["n_sparse_matrixes"].get<std::size_t>());
    EXPECT_EQ(p.width, entry["width"].get<std::size_t>());
  }
}

TEST(PoseidonParams, UnknownArityBreaksAnInvariant) {
  EXPECT_THROW(poseidon_params(3), std::logic_error);
  EXPECT_THROW(poseidon_params(0), std::logic_error);
  EXPECT_THROW(poseidon_params(64), std::logic_error);
}

TEST(PoseidonHash, ReproducesNeptunesDigests) {
  int count = 0;
  for (const json& entry : read_json("poseidon.json")) {
    for (const json& vector : entry["vectors"]) {
      std::vector<Fr> inputs;
      for (const auto& x : vector["preimage"]) inputs.push_back(element_le(x));
      EXPECT_EQ(poseidon_hash(params_of(entry), inputs), element_le(vector["digest"]));
      ++count;
    }
  }
  EXPECT_EQ(count, 42);
}

TEST(PoseidonHash, ReproducesNeptunesOwnTestVectors) {
  int count = 0;
  for (const json& entry : read_json("neptune_hash_values.json")) {
    if (entry["case"] != "standard/MerkleTree") continue;
    const std::size_t arity = entry["arity"];
    if (arity > 16) continue;  // wider than any tree of Filecoin
    std::vector<Fr> inputs;
    for (const auto& x : entry["inputs"]) inputs.push_back(Fr::from_u64(x.get<std::uint64_t>()));
    const std::string expected = entry["expected_fr"].get<std::string>().substr(2);
    const Fr digest = poseidon_hash(poseidon_params(arity), inputs);
    EXPECT_EQ(digest, element_be(std::string(64 - expected.size(), '0') + expected)) << arity;
    ++count;
  }
  EXPECT_EQ(count, 5);
}

TEST(PoseidonHash, FastFormEqualsTheDefinition) {
  SeededRandom random(1);
  for (const std::size_t arity : {2, 4, 8, 11, 16}) {
    for (const auto domain : {PoseidonDomain::kMerkleTree, PoseidonDomain::kRandomness}) {
      const PoseidonParams& p = poseidon_params(arity, domain);
      for (int i = 0; i < 20; ++i) {
        std::vector<Fr> inputs(arity);
        for (Fr& x : inputs) x = Fr::random(random);
        EXPECT_EQ(poseidon_hash(p, inputs), poseidon_hash_reference(p, inputs)) << arity;
      }
      for (const Fr& edge : {Fr::zero(), Fr::one(), -Fr::one()}) {
        const std::vector<Fr> inputs(arity, edge);
        EXPECT_EQ(poseidon_hash(p, inputs), poseidon_hash_reference(p, inputs)) << arity;
      }
    }
  }
}

TEST(PoseidonHash, DomainsGiveDifferentDigests) {
  const std::vector<Fr> inputs(2, Fr::one());
  EXPECT_NE(poseidon_hash(poseidon_params(2), inputs),
            poseidon_hash(poseidon_params(2, PoseidonDomain::kRandomness), inputs));
}

TEST(PoseidonHash, WrongNumberOfInputsBreaksAnInvariant) {
  EXPECT_THROW(poseidon_hash(poseidon_params(2), std::vector<Fr>(3)), std::logic_error);
}

}  // namespace
}  // namespace cuzk::gadget
