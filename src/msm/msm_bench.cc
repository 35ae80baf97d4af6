// Sums in G1 and G2, uniform and witness-like; arguments: log2 of the number of terms, threads.
//
// Columns: time of one sum; items are terms (wires, results of the fixed base).

#include <benchmark/benchmark.h>

#include "msm/fixed_base.h"
#include "msm/msm.h"
#include "msm/msm_cases.h"

namespace cuzk {
namespace {

template <class G>
const std::vector<Affine<G>>& bases() {
  static const auto points = cases::multiples_of_generator<G>(std::size_t{1} << 20);
  return points;
}

template <class G>
void BM_Uniform(benchmark::State& state) {
  const std::size_t n = std::size_t{1} << state.range(0);
  Tasks tasks(static_cast<int>(state.range(1)));
  const auto scalars = cases::uniform_scalars<G>(n, 1);
  const std::span<const Affine<G>> points(bases<G>().data(), n);
  for (auto _ : state) {
    benchmark::DoNotOptimize(msm<G>(tasks, MemoryBudget::process(), scalars, points));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}

template <class G>
void BM_Witness(benchmark::State& state) {
  const std::size_t n = std::size_t{1} << state.range(0);
  Tasks tasks(static_cast<int>(state.range(1)));
  const auto witness = cases::witness<G>(n, 1);
  const std::span<const Affine<G>> points(bases<G>().data(), n);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        witness_msm<G>(tasks, MemoryBudget::process(), witness.view(), points));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}

template <class G>
void BM_FixedBase(benchmark::State& state) {
  const std::size_t n = std::size_t{1} << state.range(0);
  Tasks tasks(static_cast<int>(state.range(1)));
  const auto scalars = cases::uniform_scalars<G>(n, 1);
  const auto table = FixedBaseTable<G>::create(tasks, MemoryBudget::process(), G::generator(),
                                               static_cast<unsigned>(state.range(2)))
                         .value();
  std::vector<Affine<G>> out(n);
  for (auto _ : state) {
    benchmark::DoNotOptimize(fixed_base_mul_batch<G>(tasks, table, scalars, out));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}

#define CUZK_MSM_BENCH(name, G)                         \
  BENCHMARK(name<G>)                                    \
      ->ArgsProduct({{10, 12, 14, 16, 18, 20}, {1, 2}}) \
      ->UseRealTime()                                   \
      ->Unit(benchmark::kMillisecond)
CUZK_MSM_BENCH(BM_Uniform, Bls12_381G1);
CUZK_MSM_BENCH(BM_Uniform, Bls12_381G2);
CUZK_MSM_BENCH(BM_Uniform, Bn254G1);
CUZK_MSM_BENCH(BM_Uniform, Bn254G2);
CUZK_MSM_BENCH(BM_Witness, Bls12_381G1);
CUZK_MSM_BENCH(BM_Witness, Bls12_381G2);
#define CUZK_FIXED_BENCH(G)                           \
  BENCHMARK(BM_FixedBase<G>)                          \
      ->ArgsProduct({{16}, {1, 2}, {13, 15, 16, 18}}) \
      ->UseRealTime()                                 \
      ->Unit(benchmark::kMillisecond)
CUZK_FIXED_BENCH(Bls12_381G1);
CUZK_FIXED_BENCH(Bls12_381G2);

}  // namespace
}  // namespace cuzk
