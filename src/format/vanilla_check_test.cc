// A C1 is refused by its reader, by the check of its vanilla proofs or against its statement,
// whatever single bit of it is changed. (Beside the readers, because it changes their bytes.)

#include "filecoin/vanilla_check.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"
#include "filecoin/test_support.h"
#include "format/c1.h"

namespace cuzk::format {
namespace {

using filecoin::Node;
using filecoin::PorepC1;
using filecoin::PorepStatement;
using filecoin::testing::node_from_hex;
using filecoin::testing::read_text;
using filecoin::testing::testdata_json;
using filecoin::testing::testdata_path;

ByteSpan bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// A golden C1 and what was known about it from outside.
struct Golden {
  explicit Golden(const std::string& name)
      : text(read_text(testdata_path("c1/" + name + ".c1.json"))),
        c1(*parse_c1(bytes_of(text), name)) {
    const auto inputs = testdata_json("c1/" + name + ".inputs.json");
    identity = {node_from_hex(inputs["prover_id"]), inputs["sector_id"].get<std::uint64_t>(),
                node_from_hex(inputs["ticket"])};
    statement = PorepStatement::of(c1);
    statement.porep_id = node_from_hex(inputs["porep_id"]);
  }

  // What a verifier who knows provider, sector and chain would say.
  Status judge(Tasks& tasks, const PorepC1& candidate) const {
    PorepStatement claimed = PorepStatement::of(candidate);
    claimed.porep_id = statement.porep_id;
    filecoin::ReplicaIdentity claimed_identity = identity;
    claimed_identity.ticket = candidate.ticket;
    if (filecoin::replica_id_of(claimed_identity, claimed.comm_d, claimed.porep_id) !=
        claimed.replica_id) {
      return fail(ErrorCode::kMismatch, "replica_id");
    }
    if (claimed.proof.name != statement.proof.name || claimed.comm_r != statement.comm_r ||
        claimed.comm_d != statement.comm_d || claimed.seed != statement.seed) {
      return fail(ErrorCode::kMismatch, "statement");
    }
    return filecoin::check_vanilla(tasks, candidate, claimed);
  }

  std::string text;
  PorepC1 c1;
  filecoin::ReplicaIdentity identity;
  PorepStatement statement;
};

const char* const kGolden[] = {"porep_2kib_v1", "porep_2kib_v1_1", "porep_2kib_v1_1_synth",
                               "c1_16kib_v1_1", "c1_32kib_v1_1"};

TEST(VanillaCheck, EveryGoldenSectorHolds) {
  Tasks tasks;
  for (const char* name : kGolden) {
    const Golden golden(name);
    const Status status = golden.judge(tasks, golden.c1);
    EXPECT_TRUE(status) << name << ": " << status.error().message;
  }
}

TEST(VanillaCheck, RealSectorsOfOthersHold) {
  Tasks tasks;
  const std::string body = read_text(testdata_path("c1/code-pangolin-2kib.body.json"));
  const auto small = parse_c1(bytes_of(body), "code-pangolin");
  ASSERT_TRUE(small);
  EXPECT_TRUE(filecoin::check_vanilla(tasks, *small, PorepStatement::of(*small)));
  const std::string path = CUZK_SHARED_DIR "/inputs/filecoin/c1/gevulot-fil-c2-input-8MiB.bincode";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "skipped in part: " << path << " is not there";
  const auto large = read_c1(path);
  ASSERT_TRUE(large);
  EXPECT_TRUE(filecoin::check_vanilla(tasks, *large, PorepStatement::of(*large)));
}

TEST(VanillaCheck, NonInteractiveSectorOf13PartitionsHolds) {
  const std::string path = CUZK_SHARED_DIR "/golden/porep_2kib_v1_2_ni/c1_output.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "skipped: " << path << " is not there";
  Tasks tasks;
  auto c1 = read_c1(path);
  ASSERT_TRUE(c1);
  EXPECT_TRUE(filecoin::check_vanilla(tasks, *c1, PorepStatement::of(*c1)));
  std::swap(c1->partitions[3], c1->partitions[4]);
  const Status status = filecoin::check_vanilla(tasks, *c1, PorepStatement::of(*c1));
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("vanilla_proofs[3][0]"), std::string::npos)
      << status.error().message;
}

TEST(VanillaCheck, AnyFlippedBitOfTheJsonIsRefused) {
  Tasks tasks;
  SeededRandom random(11);
  for (const char* name : kGolden) {
    const Golden golden(name);
    for (int i = 0; i < 400; ++i) {
      std::string bad = golden.text;
      const std::size_t at = random.next_u64() % bad.size();
      const unsigned bit = static_cast<unsigned>(random.next_u64() % 8);
      bad[at] = static_cast<char>(bad[at] ^ 1 << bit);
      const auto c1 = parse_c1(bytes_of(bad), name);
      EXPECT_FALSE(c1 && golden.judge(tasks, *c1)) << name << ": byte " << at << ", bit " << bit;
    }
  }
}

TEST(VanillaCheck, AnyFlippedBitOfTheBincodeIsRefused) {
  Tasks tasks;
  SeededRandom random(12);
  const Golden golden("porep_2kib_v1_1");
  const auto bincode = *write_c1_bincode(golden.c1);
  // Each node has a byte among these.
  for (std::size_t at = 0; at < bincode.size(); at += 1 + random.next_u64() % 31) {
    auto bad = bincode;
    bad[at] = static_cast<std::uint8_t>(bad[at] ^ 1 << random.next_u64() % 8);
    const auto c1 = parse_c1(bad, "flipped");
    EXPECT_FALSE(c1 && golden.judge(tasks, *c1)) << "byte " << at;
  }
}

// The name of the first item that fails, without the values.
std::string item_of(Tasks& tasks, const Golden& golden, const PorepC1& changed) {
  const Status status = filecoin::check_vanilla(tasks, changed, golden.statement);
  if (status) return "accepted";
  EXPECT_EQ(status.error().code, ErrorCode::kMismatch);
  return status.error().message;
}

TEST(VanillaCheck, TheFailingItemIsNamed) {
  Tasks tasks;
  const Golden golden("c1_32kib_v1_1");
  const auto change = [&](auto&& apply) {
    PorepC1 c1 = golden.c1;
    apply(c1.partitions[0][1]);
    return item_of(tasks, golden, c1);
  };
  using Challenge = filecoin::PorepChallengeProof;
  const struct {
    std::string item;
    std::string found;
  } kCases[] = {
      {"comm_d_proofs", change([](Challenge& p) { p.comm_d_proof.path[2].siblings[0][5] ^= 1; })},
      {"comm_d_proofs", change([](Challenge& p) { p.comm_d_proof.path[0].index ^= 1; })},
      {"comm_r_last_proof", change([](Challenge& p) { p.comm_r_last_proof.leaf[0] ^= 1; })},
      {"comm_r_last_proof",
       change([](Challenge& p) { p.comm_r_last_proof.path[3].siblings[0][0] ^= 1; })},
      {"comm_c and comm_r_last", change([](Challenge& p) { p.comm_r_last_proof.root[0] ^= 1; })},
      {"comm_c and comm_r_last", change([](Challenge& p) { p.c_x.inclusion.root[0] ^= 1; })},
      {"c_x", change([](Challenge& p) { p.c_x.rows[0][0] ^= 1; })},
      {"c_x: column.index", change([](Challenge& p) { p.c_x.index ^= 1; })},
      {"drg_parents[3]", change([](Challenge& p) { p.drg_parents[3].rows[1][7] ^= 1; })},
      {"drg_parents[0]",
       change([](Challenge& p) { std::swap(p.drg_parents[0], p.drg_parents[1]); })},
      {"exp_parents[7]", change([](Challenge& p) { p.exp_parents[7].inclusion.leaf[1] ^= 1; })},
      {"exp_parents[2]", change([](Challenge& p) { p.exp_parents[2].inclusion.root[1] ^= 1; })},
      {"labeling_proofs[0]", change([](Challenge& p) { p.labeling[0].parents[36][0] ^= 1; })},
      {"labeling_proofs[1]", change([](Challenge& p) { p.labeling[1].layer = 1; })},
      {"labeling_proofs[1]", change([](Challenge& p) { p.labeling[1].node ^= 1; })},
      {"encoding_proof", change([](Challenge& p) { p.encoding.parents[0][0] ^= 1; })},
      {"encoding_proof", change([](Challenge& p) { p.encoding.node = 0; })},
  };
  for (const auto& c : kCases) {
    EXPECT_NE(c.found.find("vanilla_proofs[0][1] (challenge 922)"), std::string::npos) << c.found;
    EXPECT_NE(c.found.find(c.item), std::string::npos) << c.item << " in: " << c.found;
  }
}

TEST(VanillaCheck, AStatementOfAnotherSectorIsRefused) {
  Tasks tasks;
  const Golden golden("porep_2kib_v1_1");
  for (Node PorepStatement::*field : {&PorepStatement::replica_id, &PorepStatement::comm_d,
                                      &PorepStatement::comm_r, &PorepStatement::seed}) {
    PorepStatement other = golden.statement;
    (other.*field)[0] ^= 1;
    EXPECT_FALSE(filecoin::check_vanilla(tasks, golden.c1, other));
  }
  PorepStatement other = golden.statement;
  other.porep_id[0] ^= 1;
  EXPECT_FALSE(filecoin::check_vanilla(tasks, golden.c1, other));
  other = golden.statement;
  other.proof.api = filecoin::ApiVersion::kV1_0;
  EXPECT_FALSE(filecoin::check_vanilla(tasks, golden.c1, other));
}

TEST(VanillaCheck, StopsWhenAsked) {
  std::stop_source stop;
  Tasks tasks(1, stop.get_token());
  stop.request_stop();
  const Golden golden("porep_2kib_v1_1");
  const Status status = filecoin::check_vanilla(tasks, golden.c1, golden.statement);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace cuzk::format
