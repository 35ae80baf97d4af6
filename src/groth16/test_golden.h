#pragma once
// Reads the golden files of testdata/golden: toxic waste, fixed blinding, every sum of a proof.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "curve/encoding.h"
#include "groth16/proof_parts.h"
#include "groth16/test_circuits.h"
#include "groth16/toxic_waste.h"

namespace cuzk::groth16::testing {

inline nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return nlohmann::json::parse(file);
}

inline std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bls12_381::Fr fr_from_hex_le(const std::string& hex) {
  const auto bytes = from_hex(hex).value();
  return bls12_381::Fr::from_bytes_le(std::span<const std::uint8_t, 32>(bytes)).value();
}
inline bls12_381::Fr fr_from_hex_be(const std::string& hex) {
  const auto bytes = from_hex(hex).value();
  return bls12_381::Fr::from_bytes_be(std::span<const std::uint8_t, 32>(bytes)).value();
}

inline ToxicWaste<Bls12_381> golden_toxic_waste(const nlohmann::json& waste) {
  ToxicWaste<Bls12_381> out;
  const auto point = [&]<class G>(const char* name, Affine<G>& p) {
    const auto bytes = from_hex(waste.at(name).get<std::string>()).value();
    p = decode_uncompressed<G>(bytes, PointCheck::kSubgroup).value();
  };
  point("g1", out.g1);
  point("g2", out.g2);
  out.alpha = fr_from_hex_le(waste.at("alpha"));
  out.beta = fr_from_hex_le(waste.at("beta"));
  out.gamma = fr_from_hex_le(waste.at("gamma"));
  out.delta = fr_from_hex_le(waste.at("delta"));
  out.tau = fr_from_hex_le(waste.at("tau"));
  return out;
}

struct GoldenProof {
  ProofParts<Bls12_381> parts;
  bls12_381::Fr r, s;
  Proof<Bls12_381> proof;
  std::string proof_hex;
  std::vector<bls12_381::Fr> public_inputs;
};

inline GoldenProof golden_proof(const nlohmann::json& partition) {
  const auto& parts = partition.at("parts");
  GoldenProof out;
  const auto point = [&]<class G>(const char* name, Affine<G>& p) {
    const auto bytes = from_hex(parts.at(name).get<std::string>()).value();
    p = decode_compressed<G>(bytes, PointCheck::kSubgroup).value();
  };
  point("msm_h", out.parts.h);
  point("msm_l", out.parts.l);
  point("msm_a_inputs", out.parts.a_inputs);
  point("msm_a_aux", out.parts.a_aux);
  point("msm_b_g1_inputs", out.parts.b_g1_inputs);
  point("msm_b_g1_aux", out.parts.b_g1_aux);
  point("msm_b_g2_inputs", out.parts.b_g2_inputs);
  point("msm_b_g2_aux", out.parts.b_g2_aux);
  point("proof_a", out.proof.a);
  point("proof_b", out.proof.b);
  point("proof_c", out.proof.c);
  out.r = fr_from_hex_le(parts.at("r"));
  out.s = fr_from_hex_le(parts.at("s"));
  out.proof_hex = parts.at("proof");
  for (const auto& input : partition.at("public_inputs_le_hex")) {
    out.public_inputs.push_back(fr_from_hex_le(input));
  }
  return out;
}

// The golden circuit: MiMC with 16 rounds, bound to the preimage of testdata/golden/mimc.
inline CircuitCase<bls12_381::Fr> golden_mimc(const nlohmann::json& inputs) {
  std::vector<bls12_381::Fr> constants;
  for (const auto& c : inputs.at("round_constants")) constants.push_back(fr_from_hex_le(c));
  return mimc_circuit<bls12_381::Fr>(fr_from_hex_le(inputs.at("xl")),
                                     fr_from_hex_le(inputs.at("xr")), constants);
}

}  // namespace cuzk::groth16::testing
