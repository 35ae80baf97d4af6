// Made-up sectors pass the check of vanilla proofs and satisfy their circuit.

#include "filecoin/sparse_post.h"

#include <gtest/gtest.h>

#include "filecoin/post_circuit.h"
#include "filecoin/post_vanilla_check.h"
#include "r1cs/eval.h"

namespace cuzk::filecoin {
namespace {

void expect_holds(const char* name, std::size_t count, bool satisfy) {
  SCOPED_TRACE(name);
  Tasks tasks(2);
  const PostProof proof = *post_proof(name);
  const auto post = make_sparse_post(tasks, proof, count, 7);
  ASSERT_TRUE(post) << post.error().message;
  const auto statement = PostStatement::make(proof, post->randomness, post->sectors);
  ASSERT_TRUE(statement) << statement.error().message;
  const Status checked = check_post_vanilla(tasks, *statement, post->proofs);
  EXPECT_TRUE(checked) << checked.error().message;
  if (!satisfy) return;
  const auto inputs = post_public_inputs(*statement, 0);
  const auto witness = synthesize_post_witness(tasks, proof.shape, post->proofs, *inputs);
  ASSERT_TRUE(witness) << witness.error().message;
  const Status satisfied = check_satisfied(tasks, *compile_post(proof.shape), *witness);
  EXPECT_TRUE(satisfied) << satisfied.error().message;
}

TEST(SparsePost, ProofsOfEveryTreeShapeHold) {
  expect_holds("StackedDrgWindow8MiBV1_1", 2, true);
  expect_holds("StackedDrgWindow16MiBV1", 1, true);
  expect_holds("StackedDrgWinning32GiBV1", 1, true);
  expect_holds("StackedDrgWinning64GiBV1", 1, false);
  expect_holds("StackedDrgWindow64GiBV1_1", 5, false);
}

TEST(SparsePost, SectorsOfOneSeedDiffer) {
  Tasks tasks(1);
  const auto post = make_sparse_post(tasks, *post_proof("StackedDrgWindow2KiBV1_1"), 3, 7);
  ASSERT_TRUE(post);
  EXPECT_NE(post->sectors[0].comm_r, post->sectors[1].comm_r);
  EXPECT_NE(post->sectors[1].comm_r, post->sectors[2].comm_r);
  EXPECT_FALSE(make_sparse_post(tasks, *post_proof("StackedDrgWinning2KiBV1"), 2, 7));
  EXPECT_FALSE(make_sparse_post(tasks, *post_proof("StackedDrgWindow2KiBV1"), 0, 7));
}

}  // namespace
}  // namespace cuzk::filecoin
