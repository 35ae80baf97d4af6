// Vanilla proofs of spacetime: the reference's files read and written back to the same bytes,
// checked, turned into its witnesses; and every way to be malformed, stale or of another sector.

#include "format/post_vanilla.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/mapped_file.h"
#include "filecoin/post_circuit.h"
#include "filecoin/post_vanilla_check.h"
#include "filecoin/test_support.h"
#include "format/base64.h"
#include "gadget/golden_test_support.h"

namespace cuzk::format {
namespace {

using filecoin::Node;
using filecoin::PostKind;
using filecoin::PostSectorProof;
using filecoin::PostStatement;
using filecoin::testing::node_from_hex;
using Bytes = std::vector<std::uint8_t>;

const std::filesystem::path kGolden = std::filesystem::path(CUZK_TESTDATA_DIR) / "golden/post";

Bytes file_bytes(const std::filesystem::path& path) { return read_file(path, 1u << 24).value(); }
ByteSpan span_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// One folder of golden/: proofs as they were passed, and the statement they are for.
struct Golden {
  std::filesystem::path folder;
  std::vector<Bytes> files;
  std::vector<PostSectorProof> proofs;
  PostStatement statement;
};

Golden golden(const std::string& name) {
  const auto folder = kGolden / name;
  const auto json = golden::read_json(folder / "inputs.json");
  const bool winning = name.starts_with("winning");
  const auto proof = filecoin::post_proof(
      fmt::format("StackedDrg{}{}{}", winning ? "Winning" : "Window",
                  filecoin::sector_size_name(json.at("sector_size")), winning ? "V1" : "V1_1"));
  std::vector<Bytes> files;
  std::vector<PostSectorProof> proofs;
  std::vector<filecoin::PostSector> sectors;
  for (const auto& s : json.at("sectors")) {
    sectors.push_back({s.at("sector_id"), node_from_hex(s.at("comm_r"))});
    files.push_back(
        file_bytes(folder / fmt::format("vanilla_sector{}.bincode", sectors.back().number)));
    proofs.push_back(parse_post_sector_proof(files.back(), name).value());
  }
  auto statement = PostStatement::make(*proof, node_from_hex(json.at("randomness")), sectors);
  return {folder, std::move(files), std::move(proofs), std::move(statement.value())};
}
constexpr const char* kAll[] = {"winning_post_2kib",
                                "winning_post_32kib",
                                "window_post_2kib_v1_2_1sector",
                                "window_post_2kib_v1_2_2sectors",
                                "window_post_16kib_3sectors",
                                "window_post_32kib_3sectors"};

TEST(PostVanilla, GoldenProofsAreWrittenBackToTheirBytes) {
  for (const char* name : kAll) {
    SCOPED_TRACE(name);
    const Golden g = golden(name);
    Bytes joined;
    for (std::size_t i = 0; i < g.files.size(); ++i) {
      EXPECT_EQ(write_post_sector_proof(g.proofs[i]), g.files[i]);
      joined.insert(joined.end(), g.files[i].begin(), g.files[i].end());
    }
    const auto together = parse_post_vanilla(joined, name);
    ASSERT_TRUE(together) << together.error().message;
    EXPECT_EQ(together->size(), g.files.size());
    const std::string json = write_post_vanilla_json(g.proofs);
    EXPECT_EQ(json, write_base64_array(g.files));
    const auto from_json = parse_post_vanilla(span_of(" " + json + "\n"), name);
    ASSERT_TRUE(from_json) << from_json.error().message;
    EXPECT_EQ(write_post_vanilla_json(*from_json), json);
  }
}

TEST(PostVanilla, ASectorNumberThatLooksLikeJsonIsStillBincode) {
  Golden g = golden("window_post_2kib_v1_2_1sector");
  for (const std::uint64_t sector : {0x5bull, 0x225bull, 0x20ull, 0x5b20ull, 0x20205b0aull}) {
    g.proofs[0].sector = sector;
    const auto parsed = parse_post_vanilla(write_post_sector_proof(g.proofs[0]), "bincode");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ((*parsed)[0].sector, sector);
  }
}

TEST(PostVanilla, EveryCutAndEverySpareByteIsCorruptInput) {
  const Golden g = golden("window_post_32kib_3sectors");
  const Bytes& good = g.files[0];
  for (std::size_t size = 0; size < good.size(); size += size < 200 ? 1 : 61) {
    const auto cut = parse_post_sector_proof(ByteSpan(good).first(size), "cut");
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code, ErrorCode::kCorruptInput);
    EXPECT_TRUE(cut.error().message.starts_with("cut: ")) << cut.error().message;
  }
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(parse_post_sector_proof(longer, "long"));
  const auto spare = parse_post_vanilla(longer, "spare");
  ASSERT_FALSE(spare);
  EXPECT_NE(spare.error().message.find("after the proofs of 1 sectors"), std::string::npos)
      << spare.error().message;
}

TEST(PostVanilla, DeclaredLengthsAreBoundedByTheBytesThatAreThere) {
  const Bytes good = golden("window_post_2kib_v1_2_1sector").files[0];
  const auto message_with = [&](std::size_t offset, std::uint64_t value) {
    Bytes bad = good;
    store_le(bad.data() + offset, value);
    const auto parsed = parse_post_vanilla(bad, "bad");
    EXPECT_FALSE(parsed);
    return parsed ? std::string() : parsed.error().message;
  };
  constexpr std::size_t kParts = 40, kProofs = 48, kTag = 56, kSteps = 56 + 4 + 64;
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{2}, ~std::uint64_t{0}}) {
    EXPECT_NE(message_with(kParts, count).find("one is expected"), std::string::npos);
  }
  for (const std::uint64_t count : {std::uint64_t{11}, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
    EXPECT_FALSE(message_with(kProofs, count).empty());
    EXPECT_FALSE(message_with(kSteps, count).empty());
    EXPECT_FALSE(message_with(kSteps + 8, count).empty());
  }
  EXPECT_NE(message_with(kTag, 3).find("kind 3"), std::string::npos);
}

TEST(PostVanilla, JsonThatIsNoListOfProofsIsCorruptInput) {
  const Golden g = golden("window_post_2kib_v1_2_2sectors");
  const std::string one = '"' + encode_base64(g.files[0]) + '"';
  const auto message = [](const std::string& json) {
    const auto parsed = parse_post_vanilla(span_of(json), "list.json");
    EXPECT_FALSE(parsed) << json.substr(0, 40);
    if (parsed) return std::string();
    EXPECT_EQ(parsed.error().code, ErrorCode::kCorruptInput);
    EXPECT_TRUE(parsed.error().message.starts_with("list.json: ")) << parsed.error().message;
    return parsed.error().message;
  };
  EXPECT_NE(message("[              ]").find("no proofs"), std::string::npos);
  EXPECT_NE(message("[" + one + ",7]").find("item 1"), std::string::npos);
  EXPECT_NE(message("[" + one + ",\"AAAA\"]").find("item 1"), std::string::npos);
  EXPECT_NE(message("[" + one + ",\"AA*A\"]").find("base64"), std::string::npos);
  EXPECT_NE(message("[" + one).find("JSON"), std::string::npos);
  message("<html>not found</html>");
  message("");
}

TEST(PostVanilla, ARealSectorsProofHolds) {
  const std::filesystem::path folder = std::filesystem::path(CUZK_TESTDATA_DIR) / "filecoin/post";
  const auto expected = golden::read_json(folder / "curio-post.vproof.expected.json");
  const auto bytes = file_bytes(folder / "curio-post.vproof");
  const auto proof = parse_post_sector_proof(bytes, "curio-post.vproof");
  ASSERT_TRUE(proof) << proof.error().message;
  EXPECT_EQ(write_post_sector_proof(*proof), bytes);
  EXPECT_EQ(to_hex(proof->comm_r), expected.at("comm_r"));
  EXPECT_EQ(to_hex(proof->comm_c), expected.at("comm_c"));
  const auto statement = PostStatement::make(*filecoin::post_proof("StackedDrgWindow32GiBV1_1"),
                                             Node{}, {{proof->sector, proof->comm_r}});
  EXPECT_EQ(statement->challenges(0), expected.at("challenges").get<std::vector<std::uint64_t>>());
  Tasks tasks(2);
  const auto arranged = arrange_post_proofs(*statement, {*proof});
  ASSERT_TRUE(arranged) << arranged.error().message;
  const Status checked = check_post_vanilla(tasks, *statement, *arranged);
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST(PostVanilla, WitnessesAreTheReferences) {
  Tasks tasks(2);
  for (const char* name : kAll) {
    SCOPED_TRACE(name);
    const Golden g = golden(name);
    const auto& shape = g.statement.proof().shape;
    const Status checked = check_post_vanilla(tasks, g.statement, g.proofs);
    EXPECT_TRUE(checked) << checked.error().message;
    const auto r1cs = compile_post(shape);
    for (std::uint32_t p = 0; p < g.statement.partitions(); ++p) {
      const auto inputs = post_public_inputs(g.statement, p);
      const std::size_t begin = std::size_t{p} * shape.sectors_per_partition();
      const auto witness = synthesize_post_witness(
          tasks, shape, std::span(g.proofs).subspan(begin, g.statement.sectors_of(p).size()),
          *inputs);
      ASSERT_TRUE(witness) << witness.error().message;
      golden::expect_witness(tasks, *r1cs, *witness,
                             golden::read_json(g.folder / fmt::format("post_p{}.circuit.json", p)));
    }
  }
}

// What the check says after `damage`; the circuit must refuse as well, by whatever means.
template <class F>
std::string message_after(const char* name, F&& damage, bool circuit_refuses = true) {
  static Tasks tasks(2);
  Golden g = golden(name);
  damage(g.proofs);
  const Status checked = check_post_vanilla(tasks, g.statement, g.proofs);
  EXPECT_FALSE(checked);
  const auto& shape = g.statement.proof().shape;
  const auto witness = synthesize_post_witness(
      tasks, shape, std::span(g.proofs).first(g.statement.sectors_of(0).size()),
      *post_public_inputs(g.statement, 0));
  if (witness && circuit_refuses) {
    const Status satisfied = check_satisfied(tasks, *compile_post(shape), *witness);
    EXPECT_FALSE(satisfied);
  }
  return checked ? std::string() : checked.error().message;
}

TEST(PostVanillaCheck, AnyChangedPartIsFoundAndItsSectorNamed) {
  using Proofs = std::vector<PostSectorProof>;
  const auto expect = [](const char* text, auto&& damage, bool circuit_refuses = true) {
    const std::string message =
        message_after("window_post_16kib_3sectors", damage, circuit_refuses);
    EXPECT_TRUE(message.starts_with("sector 2: ")) << message;
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  expect("inclusion_proofs[3] (challenge 47): the path's end",
         [](Proofs& p) { p[1].inclusion[3].path[1].siblings[5][7] ^= 1; });
  expect("the path's end", [](Proofs& p) { p[1].inclusion[0].leaf[0] ^= 1; });
  // The circuit goes by comm_r_last; a path's own root is carried along.
  expect(
      "root is", [](Proofs& p) { p[1].inclusion[9].root[0] ^= 1; }, false);
  expect("the hash of comm_c and comm_r_last", [](Proofs& p) { p[1].comm_c[31] ^= 1; });
  expect("the hash of comm_c and comm_r_last", [](Proofs& p) { p[1].comm_r_last[3] ^= 8; });
  expect("opens leaf", [](Proofs& p) { p[1].inclusion[2].path[0].index ^= 1; });
  expect("inclusion_proofs of a 16KiB WindowPoSt: expected 10, found 9",
         [](Proofs& p) { p[1].inclusion.pop_back(); });
  expect("steps", [](Proofs& p) { p[1].inclusion[4].path.pop_back(); });
  expect("hashes of step 2", [](Proofs& p) { p[1].inclusion[4].path[2].siblings.pop_back(); });
  expect("index of step 0", [](Proofs& p) { p[1].inclusion[4].path[0].index = 8; });
  expect("expected a Sub proof, found Single",
         [](Proofs& p) { p[1].inclusion[4].kind = filecoin::MerkleKind::kSingle; });
  expect("not below the modulus", [](Proofs& p) { p[1].inclusion[1].leaf.fill(0xff); });
  expect("not below the modulus", [](Proofs& p) { p[1].comm_c.fill(0xff); });
}

TEST(PostVanillaCheck, AnotherSectorsOrStaleProofIsToldApart) {
  // Sector 1's openings under sector 2's name.
  const std::string swapped =
      message_after("window_post_2kib_v1_2_2sectors", [](std::vector<PostSectorProof>& p) {
        p[1].inclusion = p[0].inclusion;
        p[1].comm_c = p[0].comm_c;
        p[1].comm_r_last = p[0].comm_r_last;
      });
  EXPECT_NE(swapped.find("another randomness or sector"), std::string::npos) << swapped;

  Golden g = golden("window_post_16kib_3sectors");
  Node later = g.statement.randomness();
  later[5] ^= 1;
  const auto sectors = g.statement.sectors();
  const auto stale =
      PostStatement::make(g.statement.proof(), later, {sectors.begin(), sectors.end()});
  Tasks tasks(1);
  const Status status = check_post_vanilla(tasks, *stale, g.proofs);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kMismatch);
  EXPECT_NE(status.error().message.find("sector 1: "), std::string::npos);
  EXPECT_NE(status.error().message.find("2 more of 3 sectors fail: 2, 3"), std::string::npos)
      << status.error().message;
}

TEST(PostVanillaCheck, OneCorruptSectorLeavesTheOthersAlone) {
  Golden g = golden("window_post_32kib_3sectors");
  g.proofs[2].inclusion[7].path[3].siblings[0][0] ^= 1;
  Tasks tasks(2);
  const auto faults = find_post_faults(tasks, g.statement, g.proofs);
  ASSERT_TRUE(faults);
  ASSERT_EQ(faults->size(), 1u);
  EXPECT_EQ((*faults)[0].sector, 3u);
}

TEST(PostVanillaCheck, ProofsAreArrangedByTheStatement) {
  const Golden g = golden("window_post_16kib_3sectors");
  const auto arranged =
      arrange_post_proofs(g.statement, {g.proofs[2], g.proofs[0], g.proofs[2], g.proofs[1]});
  ASSERT_TRUE(arranged) << arranged.error().message;
  ASSERT_EQ(arranged->size(), 3u);
  EXPECT_EQ((*arranged)[0].sector, 1u);
  EXPECT_EQ((*arranged)[2].sector, 3u);

  const auto expect = [&](const char* text, std::vector<PostSectorProof> proofs) {
    const auto result = arrange_post_proofs(g.statement, std::move(proofs));
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, ErrorCode::kMismatch);
    EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
  };
  expect("sector 3 has no vanilla proof", {g.proofs[0], g.proofs[1]});
  expect("sector 2 has no vanilla proof", {g.proofs[0], g.proofs[2]});
  expect("sector 1 has no vanilla proof", {});
  auto other = g.proofs[1];
  other.sector = 17;
  expect("proof of sector 17", {g.proofs[0], g.proofs[1], g.proofs[2], other});
  other.sector = 0;
  expect("proof of sector 0", {g.proofs[0], g.proofs[1], g.proofs[2], other});
  other = g.proofs[1];
  other.inclusion[6].path[2].siblings[1][30] ^= 1;
  expect("sector 2 has two vanilla proofs that differ", {g.proofs[1], g.proofs[0], other});
  other = g.proofs[1];
  other.comm_r[0] ^= 1;
  expect("sector 2: comm_r", {g.proofs[0], other, g.proofs[2]});
}

TEST(PostCircuitWitness, OpensOnlyWhatTheStatementAsksFor) {
  const Golden g = golden("winning_post_2kib");
  const auto& shape = g.statement.proof().shape;
  Tasks tasks(2);
  auto inputs = *post_public_inputs(g.statement, 0);
  inputs[2 * 30 + 1] += bls12_381::Fr::one();
  const auto witness = synthesize_post_witness(tasks, shape, g.proofs, inputs);
  ASSERT_FALSE(witness);
  EXPECT_EQ(witness.error().code, ErrorCode::kMismatch);
  EXPECT_NE(witness.error().message.find("sector 1: inclusion_proofs[30] opens leaf"),
            std::string::npos)
      << witness.error().message;
  inputs.pop_back();
  EXPECT_FALSE(synthesize_post_witness(tasks, shape, g.proofs, inputs));
  EXPECT_FALSE(synthesize_post_witness(tasks, shape, {}, *post_public_inputs(g.statement, 0)));
}

}  // namespace
}  // namespace cuzk::format
