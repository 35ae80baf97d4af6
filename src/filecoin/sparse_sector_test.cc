#include "filecoin/sparse_sector.h"

#include <gtest/gtest.h>

#include <set>

#include "filecoin/statement.h"
#include "filecoin/vanilla_check.h"

namespace cuzk::filecoin {
namespace {

// Whether the sector stands up to a verifier who knows its provider.
void expect_valid(Tasks& tasks, const PorepC1& c1) {
  SCOPED_TRACE(c1.proof.name);
  const Status shape = check_shape(c1);
  ASSERT_TRUE(shape) << shape.error().message;
  const Status vanilla = check_vanilla(tasks, c1, PorepStatement::of(c1));
  EXPECT_TRUE(vanilla) << vanilla.error().message;
  EXPECT_EQ(c1.replica_id,
            replica_id_of({prover_id_of_actor(kMadeUpActor), kMadeUpSector, c1.ticket}, c1.comm_d,
                          c1.proof.porep_id()));
}

TEST(SparseSector, IsValidForEverySizeAndInteractiveVersion) {
  Tasks tasks;
  for (const SealProof& proof : all_seal_proofs()) {
    if (proof.feature != PorepFeature::kNone) continue;
    const auto c1 = make_sparse_sector(proof, 7);
    ASSERT_TRUE(c1) << c1.error().message;
    expect_valid(tasks, *c1);
  }
}

TEST(SparseSector, TinySectorsWithChallengedParentsAreValid) {
  Tasks tasks;
  const SealProof proof = *seal_proof("StackedDrg2KiBV1_1");
  const SectorGraph graph(proof.shape.nodes(), proof.porep_id(), proof.api);
  int with_challenged_parent = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto c1 = make_sparse_sector(proof, seed);
    ASSERT_TRUE(c1);
    expect_valid(tasks, *c1);
    const auto nodes = *porep_challenges(PorepStatement::of(*c1), 0);
    const std::set<std::uint32_t> challenged(nodes.begin(), nodes.end());
    for (const std::uint32_t node : nodes) {
      for (const auto p : graph.drg_parents(node)) with_challenged_parent += challenged.count(p);
      for (const auto p : graph.expander_parents(node)) {
        with_challenged_parent += challenged.count(p);
      }
    }
  }
  EXPECT_GT(with_challenged_parent, 0);
}

TEST(SparseSector, ChallengesThatFollowFromTheReplicaAreRefused) {
  for (const SealProof& proof : all_seal_proofs()) {
    if (proof.feature == PorepFeature::kNone) continue;
    const auto c1 = make_sparse_sector(proof, 9);
    ASSERT_FALSE(c1);
    EXPECT_EQ(c1.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(c1.error().message.find(proof.name), std::string::npos);
  }
}

TEST(SparseSector, IsAFunctionOfProofAndSeed) {
  const SealProof proof = *seal_proof("StackedDrg8MiBV1_1");
  const auto a = make_sparse_sector(proof, 1);
  const auto b = make_sparse_sector(proof, 1);
  const auto c = make_sparse_sector(proof, 2);
  EXPECT_EQ(a->comm_r, b->comm_r);
  EXPECT_NE(a->comm_r, c->comm_r);
  EXPECT_NE(a->comm_d, c->comm_d);
}

TEST(SparseSector, ParentsHaveLabelsOfTheirOwn) {
  const auto c1 = make_sparse_sector(*seal_proof("StackedDrg32GiBV1_1"), 3);
  ASSERT_TRUE(c1);
  std::set<Node> labels;
  const PorepChallengeProof& proof = c1->partitions[4][11];
  for (const auto& column : proof.exp_parents) labels.insert(column.rows[0]);
  EXPECT_EQ(labels.size(), 8u);
  for (const MerkleStep& step : proof.comm_r_last_proof.path) {
    EXPECT_EQ(std::set<Node>(step.siblings.begin(), step.siblings.end()).size(), 7u);
  }
}

}  // namespace
}  // namespace cuzk::filecoin
