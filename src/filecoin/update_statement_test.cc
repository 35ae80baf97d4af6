// Shapes, registered proofs, challenges and public inputs of sector updates against vectors of
// rust-fil-proofs and mainnet messages; commitments as CIDs.

#include "filecoin/update_statement.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/hash.h"
#include "base/random.h"
#include "filecoin/cid.h"
#include "filecoin/test_support.h"
#include "filecoin/update_challenges.h"

namespace cuzk::filecoin {
namespace {

using nlohmann::json;
using testing::node_from_hex;
using testing::testdata_json;

UpdateShape shape_of_nodes(std::uint64_t nodes) { return *update_shape(nodes * 32); }
Fr element(const json& hex) { return *node_to_fr(node_from_hex(hex)); }

TEST(UpdateShape, ParameterNamesAreThePublishedOnes) {
  std::size_t known = 0;
  for (const json& entry : testdata_json("params/circuit_identifiers.json")) {
    const std::string kind = entry.at("kind");
    if (!kind.starts_with("empty-sector-update")) continue;
    const bool poseidon = kind == "empty-sector-update-poseidon";
    const auto shape = update_shape(entry.at("sector_size"));
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->parameter_identifier(), entry.at("identifier"));
    EXPECT_EQ(poseidon ? shape->poseidon_parameter_stem() : shape->parameter_stem(),
              entry.at("name"));
    EXPECT_EQ(is_poseidon_update_parameter(entry.at("name").get<std::string>() + ".params"),
              poseidon);
    EXPECT_EQ(UpdateShape::kPublicInputs, entry.at("num_public_inputs"));
    ++known;
  }
  EXPECT_EQ(known, 10u);
}

TEST(UpdateShape, NumbersAndNamesOfRegisteredProofs) {
  const std::pair<std::uint32_t, const char*> proofs[] = {
      {0, "2KiB"}, {1, "8MiB"}, {2, "512MiB"}, {3, "32GiB"}, {4, "64GiB"}};
  for (const auto& [number, size] : proofs) {
    const auto proof = update_proof(number);
    ASSERT_TRUE(proof);
    EXPECT_EQ(proof->number, number);
    EXPECT_EQ(proof->name, std::string("StackedDrg") + size + "V1");
    EXPECT_EQ(proof->shape.sector_bytes, *parse_sector_size(size));
    EXPECT_EQ(update_proof(proof->name)->number, number);
  }
  EXPECT_EQ(update_proof("StackedDrg16KiBV1")->shape.partitions, 2u);
  for (const auto& refused :
       {update_proof(5), update_proof("StackedDrg1GiBV1"), update_proof("StackedDrg32GiBV1_1"),
        update_proof("StackedDrg32GiBV1Poseidon")}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_NE(update_proof("empty-sector-update-poseidon").error().message.find("not supported"),
            std::string::npos);
  EXPECT_NE(update_proof(5).error().message.find("0 to 4"), std::string::npos);
}

TEST(UpdateShape, SizesWithoutUpdatesAreRefused) {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 30, std::uint64_t{3}, std::uint64_t{0}}) {
    const auto shape = update_shape(bytes);
    ASSERT_FALSE(shape);
    EXPECT_EQ(shape.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(shape.error().message.find("32GiB"), std::string::npos);
  }
}

TEST(UpdateShape, PartitionsAndApexLeafsDivideTheSector) {
  for (const std::uint64_t bytes : update_sector_sizes()) {
    const UpdateShape s = *update_shape(bytes);
    EXPECT_EQ(std::uint64_t{1} << s.node_bits(), s.nodes());
    EXPECT_GE(s.steps_below_apex(), 1u);
    EXPECT_EQ(s.h_index(s.default_h()).value(), s.default_h() == 1 ? 0u : 3u);
    for (const std::uint32_t h : s.h_values) EXPECT_LE(h, s.node_bits());
    const auto digests = update_digests(s);
    EXPECT_LE(digests.bits * digests.challenges, 254u);
    EXPECT_GE(digests.challenges * digests.per_partition, s.challenges);
  }
}

TEST(UpdateChallenges, AreTheReferences) {
  const auto all = testdata_json("graph/challenges.json");
  const Fr comm_r_new = element(all.at("update_comm_r_new"));
  for (const json& c : all.at("update")) {
    EXPECT_EQ(update_challenges(shape_of_nodes(c.at("sector_nodes")), comm_r_new, c.at("k")),
              c.at("challenges").get<std::vector<std::uint32_t>>());
  }
  const auto own = testdata_json("update/update_challenges.json");
  std::size_t compared = 0;
  for (const json& c : own.at("cases")) {
    const auto shape = update_shape(c.at("nodes").get<std::uint64_t>() * 32);
    if (!shape) continue;  // 1 and 8 KiB: no other part of Filecoin has them
    auto challenges =
        update_challenges(*shape, element(own.at("comm_r_new_le")), c.at("partition"));
    challenges.resize(5);
    EXPECT_EQ(challenges, c.at("first5").get<std::vector<std::uint32_t>>());
    ++compared;
  }
  EXPECT_EQ(compared, 22u);
}

TEST(UpdateChallenges, LieInTheirPartition) {
  SeededRandom random(3);
  for (const std::uint64_t bytes : update_sector_sizes()) {
    const UpdateShape s = *update_shape(bytes);
    const Fr comm_r_new = Fr::random(random);
    for (std::uint32_t k = 0; k < s.partitions; ++k) {
      const auto challenges = update_challenges(s, comm_r_new, k);
      EXPECT_EQ(challenges.size(), s.challenges);
      for (const std::uint32_t c : challenges) {
        EXPECT_EQ(c >> (s.node_bits() - s.partition_bits()), k);
      }
    }
  }
}

TEST(UpdateChallenges, PhiAndRhoAreTheReferences) {
  const auto v = testdata_json("graph/challenges.json").at("phi");
  const Fr phi = update_phi(element(v.at("comm_d_new")), element(v.at("comm_r_old")));
  EXPECT_EQ(phi, element(v.at("phi")));
  EXPECT_EQ(update_rho(phi, 0), element(v.at("rho_0")));
  EXPECT_EQ(update_rho(phi, 1), element(v.at("rho_1")));
  EXPECT_EQ(update_rho(phi, 1023), element(v.at("rho_1023")));
}

UpdateStatement statement_of(const json& inputs, const UpdateProof& proof) {
  return {proof, node_from_hex(inputs.at("comm_r_old")), node_from_hex(inputs.at("comm_r_new")),
          node_from_hex(inputs.at("comm_d_new")), inputs.at("h")};
}

TEST(UpdateStatement, PublicInputsOfGoldenSectors) {
  for (const char* size : {"2kib", "16kib"}) {
    const auto inputs = testdata_json(std::string("update/update_") + size + ".inputs.json");
    const auto shape = update_shape(*parse_sector_size(size));
    const UpdateStatement s = statement_of(inputs, update_proof_of(*shape));
    const auto& expected = inputs.at("public_inputs_le_hex");
    ASSERT_EQ(shape->partitions, expected.size());
    for (std::uint32_t k = 0; k < expected.size(); ++k) {
      const auto found = update_public_inputs(s, k);
      ASSERT_TRUE(found) << found.error().message;
      std::vector<Fr> wanted;
      for (const auto& hex : expected[k]) wanted.push_back(element(hex));
      EXPECT_EQ(*found, wanted);
      EXPECT_EQ(update_challenges(s, k).value(),
                inputs.at("challenges")[k].get<std::vector<std::uint32_t>>());
    }
  }
}

// Messages that mainnet accepted: their CIDs, commitments and public inputs.
TEST(UpdateStatement, PublicInputsOfMainnetMessages) {
  const auto messages = testdata_json("update/mainnet.json");
  EXPECT_EQ(messages.size(), 16u);
  for (const json& m : messages) {
    SCOPED_TRACE(m.at("vector").get<std::string>());
    UpdateStatement s;
    s.proof = *update_proof(m.at("update_proof_type").get<std::uint32_t>());
    s.h = s.proof.shape.default_h();
    using enum CommitmentKind;
    s.comm_r_old = *parse_commitment(kSealed, m.at("old_sealed_cid").get<std::string>(), "old");
    s.comm_r_new = *parse_commitment(kSealed, m.at("new_sealed_cid").get<std::string>(), "new");
    s.comm_d_new = *parse_commitment(kUnsealed, m.at("comm_d_new").get<std::string>(), "data");
    EXPECT_EQ(to_hex(s.comm_r_old), m.at("comm_r_old"));
    EXPECT_EQ(to_hex(s.comm_r_new), m.at("comm_r_new"));
    EXPECT_EQ(cid_of(kSealed, s.comm_r_new), m.at("new_sealed_cid"));
    EXPECT_EQ(m.at("proof").get<std::string>().size(), 2 * 192 * s.proof.shape.partitions);
    for (std::uint32_t k = 0; k < s.proof.shape.partitions; ++k) {
      const auto inputs = update_public_inputs(s, k);
      ASSERT_TRUE(inputs);
      Sha256 hash;
      for (const Fr& x : *inputs) {
        Node bytes = fr_to_node(x);
        std::reverse(bytes.begin(), bytes.end());
        hash.update(bytes);
      }
      EXPECT_EQ(to_hex(hash.finish()), m.at("inputs_sha256").at(k));
    }
  }
}

TEST(UpdateStatement, WhatCannotBeStatedIsRefused) {
  const auto inputs = testdata_json("update/update_16kib.inputs.json");
  const UpdateStatement good = statement_of(inputs, update_proof_of(*update_shape(16 << 10)));
  const auto code = [&](auto&& change, std::uint32_t partition = 0) {
    UpdateStatement s = good;
    change(s);
    const auto found = update_public_inputs(s, partition);
    return found ? ErrorCode::kInternal : found.error().code;
  };
  using enum ErrorCode;
  EXPECT_EQ(code([](auto& s) { s.h = 10; }), kInvalidArgument);
  EXPECT_EQ(code([](auto& s) { s.h = 0; }), kInvalidArgument);
  EXPECT_EQ(code([](auto&) {}, 2), kInvalidArgument);
  EXPECT_EQ(code([](auto& s) { s.comm_r_old.fill(0xff); }), kCorruptInput);
  EXPECT_EQ(code([](auto& s) { s.comm_r_new[31] = 0x74; }), kCorruptInput);
  EXPECT_EQ(code([](auto& s) { s.comm_d_new.fill(0xff); }), kCorruptInput);
  EXPECT_FALSE(update_challenges(good, 2));
}

TEST(UpdateStatement, EveryHSelectsItsPlace) {
  UpdateStatement s;
  s.proof = *update_proof(3);
  for (std::uint32_t h = 7; h <= 12; ++h) {
    s.h = h;
    EXPECT_EQ((*update_public_inputs(s, 5))[0], Fr::from_u64((1u << (h - 7) << 4) + 5));
  }
  for (const std::uint32_t h : {0u, 6u, 13u}) {
    s.h = h;
    EXPECT_NE(update_public_inputs(s, 5).error().message.find("7 to 12"), std::string::npos);
  }
}

// ---- CIDs

const char* const kSealedCid = "bagboea4b5abcaf7zwuxfff75y7cgluh2ivgajkdsrdceabmpcs7bg3cg5bxa372d";
const char* const kUnsealedCid = "baga6ea4seaqjt2efjuq66x2774n7ychwe3yagejegf5qz5kaajc5eac6gioysna";

TEST(Cid, RoundTripsAndTellsHexadecimalApart) {
  using enum CommitmentKind;
  SeededRandom random(8);
  for (int i = 0; i < 200; ++i) {
    Node node;
    random.fill(node);
    for (const CommitmentKind kind : {kSealed, kUnsealed}) {
      const std::string cid = cid_of(kind, node);
      EXPECT_EQ(parse_cid(kind, cid).value(), node);
      EXPECT_EQ(parse_commitment(kind, cid, "x").value(), node);
      EXPECT_EQ(parse_commitment(kind, to_hex(node), "x").value(), node);
      EXPECT_EQ(cid.substr(0, 12), kind == kSealed ? "bagboea4b5ab" : "baga6ea4seaq");
    }
  }
  EXPECT_EQ(cid_of(kUnsealed, *parse_cid(kUnsealed, kUnsealedCid)), kUnsealedCid);
  EXPECT_EQ(to_hex(*parse_cid(kUnsealed, kUnsealedCid)),
            "99e8854d21ef5f5fff1bfc08f626f0031124317b0cf5400245d2005e321d8934");
}

TEST(Cid, AnythingElseIsRefused) {
  using enum CommitmentKind;
  const std::string sealed = kSealedCid, unsealed = kUnsealedCid;
  const auto refused = [](CommitmentKind kind, std::string_view text, std::string_view words) {
    const auto parsed = parse_commitment(kind, text, "--comm-r-old");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_TRUE(parsed.error().message.starts_with("--comm-r-old")) << parsed.error().message;
    EXPECT_NE(parsed.error().message.find(words), std::string::npos) << parsed.error().message;
  };
  refused(kSealed, unsealed, "unsealed");
  refused(kUnsealed, sealed, "sealed");
  refused(kSealed, "", "begins with b");
  refused(kSealed, "b", "1 hexadecimal");
  refused(kSealed, sealed.substr(0, 64), "left over");
  refused(kSealed, sealed.substr(0, 63), "left over");
  refused(kSealed, sealed.substr(0, 61), "holds");
  refused(kSealed, sealed + "aaaaaaaa", "holds");
  refused(kSealed, sealed + "a", "left over");
  refused(kSealed, sealed + " ", "alphabet");
  refused(kSealed, std::string(" ").append(sealed), "begins with b");
  refused(kSealed, std::string("B").append(sealed.substr(1)), "begins with b");
  refused(kSealed, "zb2rhe5P4gXftAwvA4eXQ5HJwsER2owDyS9sKaQRRVQPn93bA", "begins with b");
  refused(kSealed, "bafy2bzacebeeahgtjucejr55x33vsenkq63ghby3rbxasgr3h7lompjudstqa", "not the CID");
  refused(kSealed, std::string(63, 'a'), "63 hexadecimal");
  refused(kSealed, std::string(66, 'a'), "66 hexadecimal");
  refused(kSealed, std::string("0x").append(64, 'a'), "begins with b");
  refused(kSealed, std::string(1 << 16, '\n'), "...");
  std::string spare = unsealed;  // 63 digits hold three bits more than 39 bytes
  spare.back() = 'b';
  refused(kUnsealed, spare, "left over");
  // Every other digit of the header makes another CID.
  for (std::size_t i = 1; i < 13; ++i) {
    std::string changed = sealed;
    changed[i] = changed[i] == 'a' ? 'q' : 'a';
    EXPECT_FALSE(parse_cid(kSealed, changed)) << i;
  }
}

}  // namespace
}  // namespace cuzk::filecoin
