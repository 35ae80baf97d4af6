// The same as seal_test.cc for 8 MiB and 512 MiB.

#include <gtest/gtest.h>

#include "base/random.h"
#include "filecoin/post_vanilla_check.h"
#include "filecoin/seal_post.h"
#include "filecoin/seal_sector.h"
#include "filecoin/seal_update.h"
#include "filecoin/update_vanilla_check.h"
#include "filecoin/vanilla_check.h"

namespace cuzk::filecoin {
namespace {

void expect_ok(const Status& status) { EXPECT_TRUE(status) << status.error().message; }

Buffer<std::uint8_t> random_piece(std::uint64_t sector_bytes) {
  auto piece = Buffer<std::uint8_t>::allocate(MemoryBudget::process(), "piece",
                                              piece_capacity(sector_bytes));
  EXPECT_TRUE(piece);
  SeededRandom(3).fill(piece->span());
  return std::move(*piece);
}

SealedSector sealed(Tasks& tasks, const SealProof& proof) {
  auto sector =
      SealedSector::seal(tasks, MemoryBudget::process(),
                         {proof, proof.porep_id(), {prover_id_of_actor(1000), 7, Node{5}}},
                         random_piece(proof.sector_bytes).span());
  EXPECT_TRUE(sector) << sector.error().message;
  return std::move(*sector);
}

void expect_valid_porep(Tasks& tasks, const SealedSector& sector) {
  const auto c1 = sector.open(Node{9});
  ASSERT_TRUE(c1) << c1.error().message;
  expect_ok(check_shape(*c1));
  expect_ok(check_vanilla(tasks, *c1, PorepStatement::of(*c1)));
}

void expect_valid_post(Tasks& tasks, const std::string& name, const PostReplica& replica) {
  const PostStatement statement =
      *PostStatement::make(*post_proof(name), Node{1, 2, 3}, {{replica.sector, replica.comm_r()}});
  const auto proofs = open_post(tasks, statement, std::span(&replica, 1));
  ASSERT_TRUE(proofs) << proofs.error().message;
  expect_ok(check_post_vanilla(tasks, statement, *proofs));
}

void expect_valid_update(Tasks& tasks, const std::string& size, const PostReplica& key) {
  const UpdateProof proof = *update_proof("StackedDrg" + size + "V1");
  const auto updated = UpdatedSector::encode(
      tasks, MemoryBudget::process(), {proof, proof.shape.default_h(), key.comm_c, key.replica},
      random_piece(proof.shape.sector_bytes).span());
  ASSERT_TRUE(updated) << updated.error().message;
  const auto proofs = updated->open(tasks);
  ASSERT_TRUE(proofs) << proofs.error().message;
  expect_ok(check_update_shape(proof.shape, *proofs));
  expect_ok(check_update_vanilla(tasks, *proofs, updated->statement()));
}

// One sector through every kind. Of the large ones only the replica is kept after the PoRep.
void expect_valid_life(const std::string& size, const std::string& version) {
  Tasks tasks;
  SealedSector sector = sealed(tasks, *seal_proof("StackedDrg" + size + version));
  expect_valid_porep(tasks, sector);
  const Node comm_c = sector.comm_c();
  const SealTree replica = SealedSector(std::move(sector)).take_replica();
  const PostReplica kept = {7, comm_c, &replica};
  expect_valid_post(tasks, "StackedDrgWinning" + size + "V1", kept);
  expect_valid_post(tasks, "StackedDrgWindow" + size + "V1_1", kept);
  expect_valid_update(tasks, size, kept);
}

TEST(SealedSector8MiB, OfEveryVersionIsValid) {
  Tasks tasks;
  for (const char* version : {"V1", "V1_1_Feat_SyntheticPoRep", "V1_2_Feat_NonInteractivePoRep"}) {
    SCOPED_TRACE(version);
    expect_valid_porep(tasks, sealed(tasks, *seal_proof(std::string("StackedDrg8MiB") + version)));
  }
}

TEST(SealedSector8MiB, IsValidInEveryKindOfProof) { expect_valid_life("8MiB", "V1_1"); }

// Some ten minutes on two cores, 4 GiB.
TEST(SealedSector512MiB, IsValidInEveryKindOfProof) { expect_valid_life("512MiB", "V1_1"); }

}  // namespace
}  // namespace cuzk::filecoin
