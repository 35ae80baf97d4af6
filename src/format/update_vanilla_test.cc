// Update vanilla proofs: the reference's are read and written to the same bytes, hold against their
// statement and synthesize to its witnesses; every way to be malformed is named.

#include "format/update_vanilla.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"
#include "filecoin/test_support.h"
#include "filecoin/update_circuit.h"
#include "filecoin/update_vanilla_check.h"
#include "format/base64.h"
#include "gadget/golden_test_support.h"

namespace cuzk::format {
namespace {

using filecoin::Node;
using filecoin::UpdateChallengeProof;
using filecoin::UpdatePartitionProof;
using filecoin::UpdateStatement;
using filecoin::testing::node_from_hex;
using filecoin::testing::testdata_json;
using filecoin::testing::testdata_path;

ByteSpan bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// A sector updated by the reference, with all its partitions.
struct Golden {
  explicit Golden(const std::string& size) {
    const auto inputs = testdata_json("update/update_" + size + ".inputs.json");
    const auto shape = filecoin::update_shape(*filecoin::parse_sector_size(size));
    statement = {filecoin::update_proof_of(*shape), node_from_hex(inputs["comm_r_old"]),
                 node_from_hex(inputs["comm_r_new"]), node_from_hex(inputs["comm_d_new"]),
                 inputs["h"]};
    for (std::uint32_t k = 0; k < shape->partitions; ++k) {
      const std::string name = fmt::format("update/update_{}.p{}.bincode", size, k);
      files.push_back(golden::read_bytes(testdata_path(name)));
      proofs.push_back(parse_update_partition(files.back(), name).value());
    }
  }

  Status judge(Tasks& tasks, const std::vector<UpdatePartitionProof>& candidate) const {
    CUZK_TRY_VOID(filecoin::check_update_shape(statement.proof.shape, candidate));
    return filecoin::check_update_vanilla(tasks, candidate, statement);
  }

  UpdateStatement statement;
  std::vector<std::vector<std::uint8_t>> files;
  std::vector<UpdatePartitionProof> proofs;
};

TEST(UpdateVanilla, GoldenProofsAreWrittenToTheSameBytes) {
  for (const char* size : {"2kib", "16kib"}) {
    const Golden golden(size);
    std::vector<std::uint8_t> joined;
    for (std::size_t k = 0; k < golden.files.size(); ++k) {
      EXPECT_EQ(write_update_partition(golden.proofs[k]), golden.files[k]);
      joined.insert(joined.end(), golden.files[k].begin(), golden.files[k].end());
    }
    // Back to back, as an array, and with blanks around: the same proofs.
    const std::string json = write_update_vanilla_json(golden.proofs);
    const std::string blanks = " \n" + json + "\n";
    for (const ByteSpan bytes : {ByteSpan(joined), bytes_of(json), bytes_of(blanks)}) {
      const auto proofs = parse_update_vanilla(bytes, "test");
      ASSERT_TRUE(proofs) << proofs.error().message;
      ASSERT_EQ(proofs->size(), golden.proofs.size());
      EXPECT_EQ(write_update_vanilla_json(*proofs), json);
    }
  }
}

TEST(UpdateVanilla, ACommitmentThatBeginsLikeJsonIsBincode) {
  Golden golden("2kib");
  golden.proofs[0].comm_c = Node{'[', '"'};
  const auto bytes = write_update_partition(golden.proofs[0]);
  const auto proofs = parse_update_vanilla(bytes, "test");
  ASSERT_TRUE(proofs) << proofs.error().message;
  EXPECT_EQ(write_update_partition(proofs->at(0)), bytes);
}

TEST(UpdateVanilla, GoldenProofsHold) {
  Tasks tasks(2);
  for (const char* size : {"2kib", "16kib"}) {
    const Golden golden(size);
    const Status status = golden.judge(tasks, golden.proofs);
    EXPECT_TRUE(status) << status.error().message;
  }
}

TEST(UpdateVanilla, EveryCutIsCorruptInput) {
  const Golden golden("2kib");
  const ByteSpan whole = golden.files[0];
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const auto proof = parse_update_partition(whole.first(size), "cut");
    ASSERT_FALSE(proof) << size;
    EXPECT_EQ(proof.error().code, ErrorCode::kCorruptInput);
    EXPECT_NE(proof.error().message.find("cut"), std::string::npos);
  }
  auto longer = golden.files[0];
  longer.push_back(0);
  EXPECT_EQ(parse_update_partition(longer, "long").error().code, ErrorCode::kCorruptInput);
  const auto several = parse_update_vanilla(longer, "long");
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().message.find("after the proofs of 1 partitions"), std::string::npos)
      << several.error().message;
}

TEST(UpdateVanilla, DeclaredCountsAreBoundedByTheBytesThatExist) {
  const Golden golden("2kib");
  // Of the apex leafs, the challenges, the first path, and its first step's hashes.
  constexpr std::size_t kApex = 32, kChallenges = kApex + 8 + 8 * 32, kPath = kChallenges + 76;
  for (const std::size_t at : {kApex, kChallenges, kPath, kPath + 8}) {
    for (const std::uint64_t count : {~std::uint64_t{0}, std::uint64_t{1} << 60,
                                      std::uint64_t{1} << 32, std::uint64_t{100000}}) {
      auto bad = golden.files[0];
      store_le(bad.data() + at, count);
      const auto proof = parse_update_partition(bad, "counts");
      ASSERT_FALSE(proof) << at;
      EXPECT_EQ(proof.error().code, ErrorCode::kCorruptInput) << proof.error().message;
      EXPECT_NE(proof.error().message.find(std::to_string(count)), std::string::npos)
          << proof.error().message;
    }
  }
}

TEST(UpdateVanilla, OtherFilesAreCorruptInput) {
  const std::string item = encode_base64(Golden("2kib").files[0]);
  const std::string texts[] = {"",
                               "hello",
                               "<html>not found</html>",
                               "[]",
                               "[\"!\"]",
                               "[\"\"]",
                               "{\"a\":1}",
                               "[\"" + item,
                               "[\"" + item + "\",\"AAAA\"]",
                               "[1,2]",
                               "[\"" + item + "\"] x"};
  for (const std::string& text : texts) {
    const auto proofs = parse_update_vanilla(bytes_of(text), "file");
    ASSERT_FALSE(proofs) << text.substr(0, 40);
    EXPECT_EQ(proofs.error().code, ErrorCode::kCorruptInput);
    EXPECT_TRUE(proofs.error().message.starts_with("file")) << proofs.error().message;
  }
  EXPECT_NE(parse_update_vanilla(bytes_of("[\"" + item + "\",\"AAAA\"]"), "file")
                .error()
                .message.find("item 1"),
            std::string::npos);
}

TEST(UpdateVanilla, AnyFlippedBitIsRefused) {
  Tasks tasks(2);
  SeededRandom random(13);
  const Golden golden("16kib");
  for (std::size_t at = 0; at < golden.files[1].size(); at += 1 + random.next_u64() % 61) {
    auto bad = golden.files[1];
    bad[at] = static_cast<std::uint8_t>(bad[at] ^ 1 << random.next_u64() % 8);
    const auto proof = parse_update_partition(bad, "flipped");
    EXPECT_FALSE(proof && golden.judge(tasks, {golden.proofs[0], *proof})) << "byte " << at;
  }
}

TEST(UpdateVanilla, TheFailingItemIsNamed) {
  Tasks tasks(2);
  const Golden golden("16kib");
  const auto message_after = [&](auto&& damage) -> std::string {
    auto proofs = golden.proofs;
    damage(proofs);
    const Status status = golden.judge(tasks, proofs);
    return status ? "accepted" : status.error().message;
  };
  using Proofs = std::vector<UpdatePartitionProof>;
  const auto of_challenge = [&](auto&& damage) {
    return message_after([&](Proofs& p) { damage(p[1].challenges[3]); });
  };
  const std::string third = "partition 1: challenge_proofs[3] (challenge 331): ";
  const std::pair<std::string, std::string> kCases[] = {
      {third + "proof_r_old: the path's end",
       of_challenge([](auto& c) { c.proof_r_old.path[1].siblings[4][2] ^= 1; })},
      {third + "proof_r_old: the path's end",
       of_challenge([](auto& c) { c.proof_r_old.leaf[0] ^= 1; })},
      {third + "proof_r_old: the path's leaf index",
       of_challenge([](auto& c) { c.proof_r_old.path[0].index ^= 1; })},
      {third + "proof_r_old: root", of_challenge([](auto& c) { c.proof_r_old.root[0] ^= 1; })},
      {third + "proof_d_new: the path's end",
       of_challenge([](auto& c) { c.proof_d_new.path[7].siblings[0][0] ^= 1; })},
      {third + "proof_d_new: root", of_challenge([](auto& c) { c.proof_d_new.root[0] ^= 1; })},
      {third + "proof_r_new: leaf", of_challenge([](auto& c) { c.proof_r_new.leaf[0] ^= 1; })},
      {third + "proof_r_new: the path's end",
       of_challenge([](auto& c) { c.proof_r_new.path[0].siblings[6][9] ^= 1; })},
      {"partition 1: comm_c", message_after([](Proofs& p) { p[1].comm_c[0] ^= 1; })},
      {"partition 0: comm_r_old", message_after([](Proofs& p) { p[0].comm_c[0] ^= 1; })},
      {"partition 0: comm_r_new",
       message_after([](Proofs& p) { p[0].challenges[0].proof_r_new.root[1] ^= 1; })},
      {"partition 0: comm_r_old", message_after([](Proofs& p) {
         std::swap(p[0], p[1]);
         p[0].comm_c[3] ^= 1;
       })},
      {"partition 0: challenge_proofs[0] (challenge 217): proof_r_old: the path's leaf index is "
       "486",
       message_after([](Proofs& p) { std::swap(p[0], p[1]); })},
      {"partition 0: challenge_proofs[0]", message_after([](Proofs& p) {
         p[0].challenges[0].proof_d_new.path[8].siblings[0][0] ^= 1;
       })},
  };
  for (const auto& [expected, found] : kCases) {
    EXPECT_TRUE(found.starts_with(expected)) << expected << "\n  in: " << found;
  }
  // Apex leafs: one that a challenge passes, and all others.
  for (std::size_t i = 0; i < 128; ++i) {
    const auto found = message_after([&](Proofs& p) { p[1].apex_leafs[i][0] ^= 1; });
    EXPECT_TRUE(found.starts_with("partition 1: ")) << found;
    EXPECT_NE(found.find("apex_leafs"), std::string::npos) << found;
  }
}

TEST(UpdateVanilla, AnotherFormIsNamed) {
  Tasks tasks(1);
  const Golden golden("16kib");
  const auto expect = [&](ErrorCode code, const std::string& words, auto&& damage) {
    auto proofs = golden.proofs;
    damage(proofs);
    const Status status = golden.judge(tasks, proofs);
    ASSERT_FALSE(status) << words;
    EXPECT_EQ(status.error().code, code);
    EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
  };
  using enum ErrorCode;
  using Proofs = std::vector<UpdatePartitionProof>;
  expect(kMismatch, "partition proofs of an update of 16KiB: expected 2, found 1",
         [](Proofs& p) { p.pop_back(); });
  expect(kMismatch, "expected 2, found 3", [](Proofs& p) { p.push_back(p[0]); });
  expect(kMismatch, "expected 2, found 0", [](Proofs& p) { p.clear(); });
  expect(kMismatch, "partition 1: challenge_proofs: expected 10, found 9",
         [](Proofs& p) { p[1].challenges.pop_back(); });
  expect(kMismatch, "partition 0: apex_leafs: expected 128, found 127",
         [](Proofs& p) { p[0].apex_leafs.pop_back(); });
  expect(kMismatch, "challenge_proofs[2]: proof_d_new", [](Proofs& p) {
    std::swap(p[0].challenges[2].proof_d_new, p[0].challenges[2].proof_r_new);
  });
  expect(kMismatch, "challenge_proofs[9]: proof_r_old: steps of the base path", [](Proofs& p) {
    auto& proof = p[1].challenges[9].proof_r_old;
    proof.path.erase(proof.path.begin());
    --proof.base_steps;
  });
  expect(kMismatch, "challenge_proofs[4]: proof_r_new: hashes of step 1",
         [](Proofs& p) { p[0].challenges[4].proof_r_new.path[1].siblings.pop_back(); });
  expect(kCorruptInput, "challenge_proofs[4]: proof_d_new: index of step 3",
         [](Proofs& p) { p[0].challenges[4].proof_d_new.path[3].index = 2; });
  expect(kCorruptInput, "comm_c", [](Proofs& p) { p[0].comm_c.fill(0xff); });
  expect(kCorruptInput, "apex_leafs[77]", [](Proofs& p) { p[0].apex_leafs[77].fill(0xff); });
  expect(kCorruptInput, "challenge_proofs[0]: proof_r_new: leaf",
         [](Proofs& p) { p[0].challenges[0].proof_r_new.leaf.fill(0xff); });
}

TEST(UpdateVanilla, AStatementOfAnotherUpdateIsRefused) {
  Tasks tasks(1);
  const Golden golden("16kib");
  for (Node UpdateStatement::*field :
       {&UpdateStatement::comm_r_old, &UpdateStatement::comm_r_new, &UpdateStatement::comm_d_new}) {
    UpdateStatement other = golden.statement;
    (other.*field)[0] ^= 1;
    EXPECT_FALSE(filecoin::check_update_vanilla(tasks, golden.proofs, other));
  }
  UpdateStatement swapped = golden.statement;
  std::swap(swapped.comm_r_old, swapped.comm_r_new);
  EXPECT_FALSE(filecoin::check_update_vanilla(tasks, golden.proofs, swapped));
  UpdateStatement other_h = golden.statement;
  other_h.h = 7;
  EXPECT_EQ(filecoin::check_update_vanilla(tasks, golden.proofs, other_h).error().code,
            ErrorCode::kInvalidArgument);
}

TEST(UpdateVanilla, StopsWhenAsked) {
  std::stop_source stop;
  Tasks tasks(1, stop.get_token());
  stop.request_stop();
  const Golden golden("2kib");
  EXPECT_EQ(golden.judge(tasks, golden.proofs).error().code, ErrorCode::kCancelled);
  const auto inputs = filecoin::update_public_inputs(golden.statement, 0);
  EXPECT_EQ(filecoin::synthesize_update_witness(tasks, golden.statement.proof.shape,
                                                golden.proofs[0], *inputs)
                .error()
                .code,
            ErrorCode::kCancelled);
}

// ---- Witnesses

Result<CompactWitness<filecoin::Fr>> witness_of(Tasks& tasks, const Golden& golden,
                                                std::uint32_t k) {
  const auto inputs = filecoin::update_public_inputs(golden.statement, k);
  EXPECT_TRUE(inputs);
  return filecoin::synthesize_update_witness(tasks, golden.statement.proof.shape, golden.proofs[k],
                                             *inputs);
}

TEST(UpdateWitness, AreTheReferences) {
  Tasks tasks(2);
  for (const char* size : {"2kib", "16kib"}) {
    const Golden golden(size);
    const auto r1cs = filecoin::compile_update(golden.statement.proof.shape);
    ASSERT_TRUE(r1cs);
    for (std::uint32_t k = 0; k < golden.proofs.size(); ++k) {
      SCOPED_TRACE(fmt::format("{} partition {}", size, k));
      const auto witness = witness_of(tasks, golden, k);
      ASSERT_TRUE(witness) << witness.error().message;
      const auto name = fmt::format("golden/update/update_{}.p{}.circuit.json", size, k);
      golden::expect_witness(tasks, *r1cs, *witness,
                             golden::read_json(std::filesystem::path(CUZK_TESTDATA_DIR) / name));
      EXPECT_GE(r1cs->num_full_aux, witness->full_values().size());
    }
  }
}

// The rows tie every part of the proof to the statement: whatever is changed, some row fails, and
// the error names the gadget.
TEST(UpdateWitness, AnyChangedPartIsUnsatisfied) {
  Tasks tasks(2);
  const Golden golden("2kib");
  const auto& shape = golden.statement.proof.shape;
  const auto r1cs = filecoin::compile_update(shape);
  ASSERT_TRUE(r1cs);
  const auto inputs = filecoin::update_public_inputs(golden.statement, 0).value();
  const auto message_after = [&](auto&& damage) -> std::string {
    UpdatePartitionProof proof = golden.proofs[0];
    auto changed = inputs;
    damage(proof, changed);
    const auto witness = filecoin::synthesize_update_witness(tasks, shape, proof, changed);
    if (!witness) return witness.error().message;
    const Status status = check_satisfied(tasks, *r1cs, *witness);
    return status ? "satisfied" : status.error().message;
  };
  const auto expect_failure = [&](const std::string& where, auto&& damage) {
    const std::string message = message_after(damage);
    EXPECT_NE(message.find(where), std::string::npos) << where << ": " << message;
  };
  using Inputs = std::vector<filecoin::Fr>;
  using Proof = UpdatePartitionProof;
  EXPECT_EQ(message_after([](Proof&, Inputs&) {}), "satisfied");
  expect_failure("> comm_r_old", [](Proof& p, Inputs&) { p.comm_c[0] ^= 1; });
  expect_failure("> comm_r_old",
                 [](Proof& p, Inputs&) { p.challenges[0].proof_r_old.root[0] ^= 1; });
  expect_failure("> comm_r_new",
                 [](Proof& p, Inputs&) { p.challenges[0].proof_r_new.root[0] ^= 1; });
  expect_failure("> comm_d_new", [](Proof& p, Inputs&) { p.apex_leafs[7][0] ^= 1; });
  expect_failure("challenge 4 > old replica inclusion", [](Proof& p, Inputs&) {
    p.challenges[4].proof_r_old.path[1].siblings[3][0] ^= 1;
  });
  expect_failure("challenge 4 > new replica inclusion", [](Proof& p, Inputs&) {
    p.challenges[4].proof_r_new.path[0].siblings[6][0] ^= 1;
  });
  expect_failure("challenge 9 > new replica inclusion",
                 [](Proof& p, Inputs&) { p.challenges[9].proof_d_new.leaf[0] ^= 1; });
  expect_failure("challenge 9 > new data inclusion", [](Proof& p, Inputs&) {
    p.challenges[9].proof_d_new.path[2].siblings[0][0] ^= 1;
  });
  expect_failure("challenge 0 > old replica inclusion",
                 [](Proof& p, Inputs&) { p.challenges[0].proof_r_old.leaf[0] ^= 1; });
  expect_failure("> comm_r_old", [](Proof&, Inputs& x) { x[1] += filecoin::Fr::one(); });
  expect_failure("> comm_d_new", [](Proof&, Inputs& x) { x[2] += filecoin::Fr::one(); });
  expect_failure("opens node", [](Proof&, Inputs& x) { x[3] += filecoin::Fr::one(); });
  expect_failure("k and h", [](Proof&, Inputs& x) { x[0] += filecoin::Fr::from_u64(64); });
  expect_failure("challenge_proofs[1]: proof_r_old opens node 14, the statement asks for 22",
                 [](Proof& p, Inputs&) { std::swap(p.challenges[1], p.challenges[2]); });
}

TEST(UpdateWitness, ProofsOfAnotherShapeAreRefused) {
  Tasks tasks(1);
  const Golden golden("2kib");
  const auto inputs = filecoin::update_public_inputs(golden.statement, 0).value();
  const auto code = [&](std::uint64_t sector_bytes, std::size_t inputs_count) {
    const auto witness = filecoin::synthesize_update_witness(
        tasks, *filecoin::update_shape(sector_bytes), golden.proofs[0],
        std::span(inputs).first(inputs_count));
    return witness ? ErrorCode::kInternal : witness.error().code;
  };
  EXPECT_EQ(code(4096, 4), ErrorCode::kMismatch);
  EXPECT_EQ(code(2048, 3), ErrorCode::kMismatch);
}

}  // namespace
}  // namespace cuzk::format
