// The largest domain that a card transforms, 2^28 points, on a card of 80 GB or more: the key is
// made there, the proof verifies. It takes some 60 GB of the card and 30 GB of the host.

#include <gtest/gtest.h>

#include <cstdio>

#include "groth16/backend_cuda.h"
#include "groth16/verifier.h"

namespace cuzk::groth16 {
namespace {

using Curve = Bls12_381;
using Fr = bls12_381::Fr;

template <class T>
T take(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  if (!result) std::abort();
  return std::move(*result);
}

// Squares of variables, again and again: a block of 2^16 rows, placed until the domain is full.
struct Squares {
  explicit Squares(unsigned domain_log2) {
    constexpr std::uint32_t kRows = 1 << 16;
    const std::uint32_t places = (1u << (domain_log2 - 16)) - 1;
    r1cs.name = "squares";
    r1cs.dictionary = {Fr::one()};
    r1cs.num_inputs = 2;
    r1cs.num_aux = r1cs.num_full_aux = 2 * places;
    r1cs.num_rows = kRows * places;
    RowBlock block;
    block.path = "block";
    block.num_rows = kRows;
    block.num_aux = 2;
    const ColumnRef x = ColumnRef::make(ColumnRef::kLocalAux, 0);
    const ColumnRef square = ColumnRef::make(ColumnRef::kLocalAux, 1);
    for (std::uint32_t row = 0; row < kRows; ++row) {
      for (int m = 0; m < 3; ++m) {
        block.matrices[m].terms.push_back({m == 2 ? square : x, 0});
        block.matrices[m].row_end.push_back(row + 1);
      }
    }
    r1cs.blocks = {std::move(block)};
    SeededRandom random(28);
    witness.inputs = {Fr::one(), Fr::from_u64(7)};
    for (std::uint32_t p = 0; p < places; ++p) {
      r1cs.segments.push_back({0, kRows * p, 2 * p, 0, 0});
      const Fr v = p % 3 ? Fr::random(random) : Fr::from_u64(p % 2);
      witness.push(v);
      witness.push(v * v);
    }
    witness.finish();
  }
  CompactR1cs<Fr> r1cs;
  CompactWitness<Fr> witness;
};

TEST(BackendCudaLarge, ADomainOf2To28PointsIsProved) {
  const auto devices = gpu::list_devices();
  if (devices.empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  if (devices[0].memory_bytes < std::size_t{75} << 30) {
    GTEST_SKIP() << devices[0].name << " has too little memory for 2^28 points: nothing was run";
  }
  Tasks tasks;
  MemoryBudget memory{MemoryBudget::detect_limit_bytes()};
  Timeline timeline;
  const Context context{tasks, memory, timeline};
  const Squares squares(28);
  ASSERT_EQ(squares.r1cs.domain_log2(), 28u);
  const Density density = compute_density(squares.r1cs);
  const auto card = take(gpu::Card::open(memory, {.workers = 1}));
  const auto circuit = take(DeviceCircuit<Fr>::load(*card, tasks, squares.r1cs, density));
  SeededRandom random(1);
  const auto setup = take(insecure_dev_setup_on_card<Curve>(context, *card, squares.r1cs, density,
                                                            ToxicWaste<Curve>::draw(random)));
  ProvingKey<Curve> key;
  key.vk = setup.vk;
  for (const CudaMemory way : {CudaMemory::kFrugal, CudaMemory::kRoomy}) {
    const auto backend = take(make_cuda_backend<Curve>(
        *card, *circuit, setup.key->bases(), {.memory = way, .on_timing = [](const auto& t) {
                                                std::printf("%s\n", t.line().c_str());
                                              }}));
    auto pending = take(start_proof(
        *backend, context, ProveInput<Curve>{squares.r1cs, density, squares.witness, key}));
    const auto proof = take(pending.finish());
    const PreparedVerifyingKey<Curve> vk(key.vk);
    EXPECT_TRUE(verify(tasks, vk, Claim<Curve>{proof, {Fr::from_u64(7)}}));
  }
  std::printf("%s\n", timeline.key_values().c_str());
}

}  // namespace
}  // namespace cuzk::groth16
