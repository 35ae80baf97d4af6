#include <gtest/gtest.h>

#include "r1cs/density.h"
#include "r1cs/digest.h"
#include "r1cs/eval.h"
#include "r1cs/test_circuits.h"

namespace cuzk {
namespace {

using namespace test_circuits;

TEST(CompactR1cs, SegmentsAndPortsMeanTheirFlatRows) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto compact = repeated(seed);
    const auto flat = flattened(compact);
    EXPECT_EQ(r1cs_digest(compact), r1cs_digest(flat));
    EXPECT_EQ(r1cs_segment_digests(compact, 5), r1cs_segment_digests(flat, 5));
    EXPECT_EQ(count_terms(compact), count_terms(flat));
    const Density a = compute_density(compact), b = compute_density(flat);
    EXPECT_EQ(a.a_aux.words, b.a_aux.words);
    EXPECT_EQ(a.b_aux.words, b.b_aux.words);
    EXPECT_EQ(a.b_input.words, b.b_input.words);
    EXPECT_EQ(a.a_aux.count, b.a_aux.count);
  }
}

TEST(CompactR1cs, DensityHasExactlyTheVariablesThatOccur) {
  const auto flat = flattened(repeated(3));
  std::set<std::uint32_t> aux, inputs;
  for (const Term& t : flat.blocks[0].matrix(Matrix::kB).terms) {
    (t.column.kind() == ColumnRef::kAux ? aux : inputs).insert(t.column.index());
  }
  const Density density = compute_density(repeated(3));
  EXPECT_EQ(density.b_aux.count, aux.size());
  EXPECT_EQ(density.b_input.count, inputs.size());
  for (std::uint32_t i = 0; i < flat.num_aux; ++i) {
    EXPECT_EQ(density.b_aux.contains(i), aux.contains(i));
  }
}

// Evaluates by the definition: every term times its value.
std::vector<Fr> evaluate_plainly(const CompactR1cs<Fr>& flat, const CompactWitness<Fr>& w,
                                 Matrix matrix) {
  std::vector<Fr> out;
  for (std::uint32_t row = 0; row < flat.num_rows; ++row) {
    Fr sum;
    for (const Term& t : flat.blocks[0].matrix(matrix).row(row)) {
      const std::uint32_t i = t.column.index();
      sum += flat.dictionary[t.coefficient] *
             (t.column.kind() == ColumnRef::kAux ? w.aux(i) : w.inputs[i]);
    }
    out.push_back(sum);
  }
  for (const Fr& input : w.inputs) out.push_back(matrix == Matrix::kA ? input : Fr::zero());
  return out;
}

TEST(Evaluate, EqualsTheDefinitionAndClearsTheRest) {
  Tasks tasks(2);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto compact = repeated(seed);
    const auto witness = random_witness(compact, seed);
    for (const Matrix m : {Matrix::kA, Matrix::kB, Matrix::kC}) {
      auto expected = evaluate_plainly(flattened(compact), witness, m);
      expected.resize(std::size_t{1} << compact.domain_log2());
      SeededRandom rng(seed);
      std::vector<Fr> out(expected.size(), Fr::random(rng));
      ASSERT_TRUE(evaluate_matrix<Fr>(tasks, compact, witness, m, out));
      EXPECT_EQ(out, expected);
    }
  }
}

TEST(Evaluate, WitnessOfAnotherShapeIsAMismatch) {
  Tasks tasks(1);
  auto compact = repeated(1);
  const auto witness = random_witness(compact, 1);
  ++compact.num_aux;
  std::vector<Fr> out(compact.num_rows_with_inputs());
  const Status status = evaluate_matrix<Fr>(tasks, compact, witness, Matrix::kA, out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kMismatch);
}

// x * x = y for every instance, the second and fourth of them broken.
TEST(CheckSatisfied, NamesTheFirstFailingRowAndItsGadget) {
  CompactR1cs<Fr> r;
  r.name = "squares";
  r.dictionary = {Fr::one(), -Fr::one()};
  RowBlock block{.path = "square", .num_rows = 1, .num_aux = 2, .num_inputs = 0};
  const Term x{ColumnRef::make(ColumnRef::kLocalAux, 0), 0};
  const Term y{ColumnRef::make(ColumnRef::kLocalAux, 1), 0};
  block.matrices[0] = {{1}, {x}};
  block.matrices[1] = {{1}, {x}};
  block.matrices[2] = {{1}, {y}};
  r.blocks = {block};
  CompactWitness<Fr> good, bad;
  for (std::uint32_t i = 0; i < 6; ++i) {
    r.segments.push_back({0, i, 2 * i, 1, 0});
    r.paths.push_back({i, 1, 2 * i, 2, 1, "square " + std::to_string(i)});
    for (auto* w : {&good, &bad}) {
      w->push(Fr::from_u64(i + 2));
      w->push(Fr::from_u64((i + 2) * (i + 2) + (w == &bad && (i == 1 || i == 3))));
    }
  }
  r.num_rows = 6;
  r.num_aux = 12;
  for (auto* w : {&good, &bad}) {
    w->inputs = {Fr::one()};
    w->finish();
  }
  Tasks tasks(2);
  EXPECT_TRUE(check_satisfied(tasks, r, good));
  const Status status = check_satisfied(tasks, r, bad);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsatisfied);
  EXPECT_NE(status.error().message.find("row 1 (squares > square 1)"), std::string::npos)
      << status.error().message;
  EXPECT_NE(status.error().message.find("03 * 0x"), std::string::npos) << status.error().message;
}

TEST(CheckSatisfied, StopRequestIsCancelled) {
  std::stop_source source;
  source.request_stop();
  Tasks tasks(1, source.get_token());
  const auto compact = repeated(1);
  const Status status = check_satisfied(tasks, compact, random_witness(compact, 1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
}

std::vector<Fr> all_aux(const CompactWitness<Fr>& w) {
  std::vector<Fr> out;
  for (std::size_t i = 0; i < w.num_aux(); ++i) out.push_back(w.aux(i));
  return out;
}

TEST(CompactWitness, PiecesAppendedAtAnyOffsetEqualOneWitness) {
  SeededRandom rng(5);
  for (int round = 0; round < 50; ++round) {
    CompactWitness<Fr> whole, joined;
    std::vector<Fr> expected;
    for (int p = 0; p < 4; ++p) {
      CompactWitness<Fr> piece;
      for (std::uint32_t n = below(rng, 200); n > 0; --n) {
        const std::uint32_t kind = below(rng, 3);
        const Fr v = kind == 2 ? Fr::random(rng) : Fr::from_u64(kind);
        whole.push(v);
        piece.push(v);
        expected.push_back(v);
      }
      piece.finish();
      joined.append(piece);
    }
    whole.finish();
    joined.finish();
    EXPECT_EQ(all_aux(joined), expected);
    EXPECT_EQ(witness_digest(joined), witness_digest(whole));
    EXPECT_TRUE(std::equal(joined.ones().begin(), joined.ones().end(), whole.ones().begin(),
                           whole.ones().end()));
    EXPECT_TRUE(std::equal(joined.full_ranks().begin(), joined.full_ranks().end(),
                           whole.full_ranks().begin(), whole.full_ranks().end()));
  }
}

TEST(CompactWitness, BitsOfAnyNumberKeepTheirOrder) {
  SeededRandom rng(6);
  CompactWitness<Fr> w;
  std::vector<Fr> expected;
  for (int i = 0; i < 500; ++i) {
    const unsigned count = below(rng, 65);
    const std::uint64_t bits =
        count == 64 ? rng.next_u64() : rng.next_u64() & ((std::uint64_t{1} << count) - 1);
    w.push_bits(bits, count);
    for (unsigned b = 0; b < count; ++b) expected.push_back(Fr::from_u64(bits >> b & 1));
  }
  w.finish();
  EXPECT_EQ(all_aux(w), expected);
}

}  // namespace
}  // namespace cuzk
