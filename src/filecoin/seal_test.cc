// Sectors sealed here stand up to the checks of a verifier and satisfy the circuits.
// (Equality with the reference's sectors: format/seal_golden_test.cc.)

#include <gtest/gtest.h>

#include "base/random.h"
#include "filecoin/porep_circuit.h"
#include "filecoin/post_circuit.h"
#include "filecoin/post_vanilla_check.h"
#include "filecoin/seal_post.h"
#include "filecoin/seal_sector.h"
#include "filecoin/seal_update.h"
#include "filecoin/test_support.h"
#include "filecoin/update_circuit.h"
#include "filecoin/update_vanilla_check.h"
#include "filecoin/vanilla_check.h"
#include "r1cs/eval.h"

namespace cuzk::filecoin {
namespace {

std::vector<std::uint8_t> random_piece(std::uint64_t seed, std::size_t bytes) {
  std::vector<std::uint8_t> piece(bytes);
  SeededRandom(seed).fill(piece);
  return piece;
}

SealRequest request_for(const std::string& proof_name, std::uint64_t sector = 7) {
  const SealProof proof = *seal_proof(proof_name);
  return {proof, proof.porep_id(), {prover_id_of_actor(1000), sector, Node{5}}};
}

SealedSector sealed(Tasks& tasks, const std::string& proof_name, std::uint64_t sector = 7) {
  const SealRequest request = request_for(proof_name, sector);
  auto out = SealedSector::seal(tasks, MemoryBudget::process(), request,
                                random_piece(sector, piece_capacity(request.proof.sector_bytes)));
  EXPECT_TRUE(out) << out.error().message;
  return std::move(*out);
}

void expect_ok(const Status& status) { EXPECT_TRUE(status) << status.error().message; }

// Every row holds for every partition.
template <class Synthesize>
void expect_satisfied(Tasks& tasks, const Result<CompactR1cs<Fr>>& rows, std::uint32_t partitions,
                      Synthesize&& synthesize) {
  ASSERT_TRUE(rows) << rows.error().message;
  for (std::uint32_t p = 0; p < partitions; ++p) {
    const Result<CompactWitness<Fr>> witness = synthesize(p);
    ASSERT_TRUE(witness) << witness.error().message;
    expect_ok(check_satisfied(tasks, *rows, *witness));
  }
}

void expect_valid_porep(Tasks& tasks, const SealedSector& sector) {
  const auto c1 = sector.open(Node{9});
  ASSERT_TRUE(c1) << c1.error().message;
  expect_ok(check_shape(*c1));
  expect_ok(check_vanilla(tasks, *c1, PorepStatement::of(*c1)));
}

TEST(SealedSector, OfEveryVersionAndShapeIsValid) {
  Tasks tasks;
  for (const SealProof& proof : all_seal_proofs()) {
    if (proof.sector_bytes > std::uint64_t{32} << 10) continue;
    SCOPED_TRACE(proof.name);
    expect_valid_porep(tasks, sealed(tasks, proof.name));
  }
}

TEST(SealedSector, SatisfiesThePorepCircuit) {
  Tasks tasks;
  const SealedSector sector = sealed(tasks, "StackedDrg2KiBV1_1_Feat_SyntheticPoRep");
  const auto c1 = sector.open(Node{9});
  ASSERT_TRUE(c1) << c1.error().message;
  const PorepShape& shape = c1->proof.shape;
  expect_satisfied(tasks, compile_porep(shape), 1, [&](std::uint32_t p) {
    return synthesize_porep_witness(tasks, shape, c1->partitions[p],
                                    *porep_public_inputs(PorepStatement::of(*c1), p));
  });
}

// Sectors 3 and 4 sealed, and opened for a proof of spacetime.
struct OpenedPost {
  PostStatement statement;
  std::vector<PostSectorProof> proofs;
};
OpenedPost opened_post(Tasks& tasks, const std::string& name, const std::string& size,
                       std::uint64_t last_sector) {
  std::vector<SealedSector> sectors;
  for (std::uint64_t s = 3; s <= last_sector; ++s) {
    sectors.push_back(sealed(tasks, "StackedDrg" + size + "V1_1", s));
  }
  std::vector<PostReplica> replicas;
  std::vector<PostSector> claimed;
  for (const SealedSector& s : sectors) {
    const std::uint64_t number = s.request().identity.sector;
    replicas.push_back({number, s.comm_c(), &s.replica()});
    claimed.push_back({number, s.comm_r()});
  }
  const PostStatement statement = *PostStatement::make(*post_proof(name), Node{1, 2, 3}, claimed);
  auto proofs = open_post(tasks, statement, replicas);
  EXPECT_TRUE(proofs) << proofs.error().message;
  return {statement, std::move(*proofs)};
}

TEST(SealedSector, ProvesSpacetimeInEveryShape) {
  Tasks tasks;
  for (const char* size : {"2KiB", "4KiB", "16KiB", "32KiB"}) {
    for (const std::string kind : {"WinningV1", "WindowV1", "WindowV1_1"}) {
      const std::string name =
          "StackedDrg" + kind.substr(0, kind.find('V')) + size + kind.substr(kind.find('V'));
      SCOPED_TRACE(name);
      const OpenedPost post = opened_post(tasks, name, size, kind == "WinningV1" ? 3 : 5);
      expect_ok(check_post_vanilla(tasks, post.statement, post.proofs));
    }
  }
}

TEST(SealedSector, SatisfiesThePostCircuits) {
  Tasks tasks;
  for (const char* name : {"StackedDrgWinning2KiBV1", "StackedDrgWindow2KiBV1_1"}) {
    SCOPED_TRACE(name);
    const PostShape shape = post_proof(name)->shape;
    const OpenedPost post = opened_post(tasks, name, "2KiB", 2 + shape.sectors_per_partition());
    expect_satisfied(tasks, compile_post(shape), 1, [&](std::uint32_t p) {
      return synthesize_post_witness(tasks, shape, post.proofs,
                                     *post_public_inputs(post.statement, p));
    });
  }
}

TEST(SealedSector, MustBeAmongTheReplicasToBeOpened) {
  Tasks tasks;
  const PostStatement statement =
      *PostStatement::make(*post_proof("StackedDrgWindow2KiBV1_1"), Node{}, {{4, Node{}}});
  const auto proofs = open_post(tasks, statement, {});
  ASSERT_FALSE(proofs);
  EXPECT_EQ(proofs.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(proofs.error().message.find("sector 4"), std::string::npos);
}

UpdatedSector updated(Tasks& tasks, const SealedSector& key, const UpdateProof& proof,
                      std::uint32_t h) {
  auto out = UpdatedSector::encode(tasks, MemoryBudget::process(),
                                   {proof, h, key.comm_c(), &key.replica()},
                                   random_piece(77, piece_capacity(proof.shape.sector_bytes)));
  EXPECT_TRUE(out) << out.error().message;
  return std::move(*out);
}

TEST(UpdatedSector, OfEveryShapeAndHIsValid) {
  Tasks tasks;
  for (const char* size : {"2KiB", "4KiB", "16KiB", "32KiB"}) {
    const UpdateProof proof = *update_proof(std::string("StackedDrg") + size + "V1");
    const SealedSector key = sealed(tasks, std::string("StackedDrg") + size + "V1_1");
    for (const std::uint32_t h : proof.shape.h_values) {
      SCOPED_TRACE(std::string(size) + ", h = " + std::to_string(h));
      const UpdatedSector sector = updated(tasks, key, proof, h);
      EXPECT_EQ(sector.statement().comm_r_old, key.comm_r());
      const auto proofs = sector.open(tasks);
      ASSERT_TRUE(proofs) << proofs.error().message;
      expect_ok(check_update_shape(proof.shape, *proofs));
      expect_ok(check_update_vanilla(tasks, *proofs, sector.statement()));
    }
  }
}

TEST(UpdatedSector, SatisfiesTheUpdateCircuit) {
  Tasks tasks;
  const UpdateProof proof = *update_proof("StackedDrg2KiBV1");
  const SealedSector key = sealed(tasks, "StackedDrg2KiBV1_1");
  const UpdatedSector sector = updated(tasks, key, proof, proof.shape.default_h());
  const auto proofs = sector.open(tasks);
  ASSERT_TRUE(proofs) << proofs.error().message;
  expect_satisfied(tasks, compile_update(proof.shape), proof.shape.partitions,
                   [&](std::uint32_t p) {
                     return synthesize_update_witness(tasks, proof.shape, (*proofs)[p],
                                                      *update_public_inputs(sector.statement(), p));
                   });
}

// Bit 254 * i + j of the piece is bit j of node i.
TEST(Piece, IsCutInto254Bits) {
  const auto piece = random_piece(1, 127 * 3 + 50);
  for (std::uint64_t i = 0; i < 16; ++i) {
    const Node node = piece_node(piece, i);
    for (std::uint64_t j = 0; j < 256; ++j) {
      const std::uint64_t bit = 254 * i + j;
      const bool expected = j < 254 && bit / 8 < piece.size() && piece[bit / 8] >> bit % 8 & 1;
      ASSERT_EQ(node[j / 8] >> j % 8 & 1, expected) << "bit " << j << " of node " << i;
    }
  }
}

// Published in rust-fil-proofs 87348a74, filecoin-proofs/src/pieces.rs.
TEST(Piece, OfNothingIsTheZeroSector) {
  Tasks tasks;
  const auto tree = build_data_tree(tasks, MemoryBudget::process(), 2048, {});
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->root(), testing::node_from_hex(
                              "fc7e928296e516faade986b28f92d44a4f24b935485223376a799027bc18f833"));
}

TEST(Piece, LongerThanTheSectorIsRefused) {
  Tasks tasks;
  const SealRequest request = request_for("StackedDrg2KiBV1_1");
  const auto fits = random_piece(1, 2032), too_long = random_piece(1, 2033);
  EXPECT_TRUE(SealedSector::seal(tasks, MemoryBudget::process(), request, fits));
  const auto refused = SealedSector::seal(tasks, MemoryBudget::process(), request, too_long);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("2032 bytes, found 2033"), std::string::npos)
      << refused.error().message;
}

TEST(SealedSector, BeyondTheBudgetIsRefusedByName) {
  Tasks tasks;
  MemoryBudget budget(4 << 20);  // tree D of 8 MiB alone takes 16
  const auto refused = SealedSector::seal(tasks, budget, request_for("StackedDrg8MiBV1_1"), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfBudget);
  EXPECT_NE(refused.error().message.find("tree D"), std::string::npos) << refused.error().message;
  EXPECT_EQ(budget.used_bytes(), 0u);
}

TEST(SealedSector, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  Tasks tasks(2, stop.get_token());
  const auto stopped =
      SealedSector::seal(tasks, MemoryBudget::process(), request_for("StackedDrg16KiBV1_1"), {});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace cuzk::filecoin
