// Transforms and the quotient, uniform values; argument: log2 of the size, threads.
//
// Columns: time of one transform; items are elements.

#include <benchmark/benchmark.h>

#include "ntt/ntt.h"

namespace cuzk {
namespace {

template <class Fr>
struct Inputs {
  Tasks tasks;
  MemoryBudget budget{std::size_t{8} << 30};
  Domain<Fr> domain;
  std::vector<Fr> data;
  Inputs(unsigned k, int threads) : tasks(threads) {
    domain = std::move(*Domain<Fr>::create(tasks, budget, k));
    SeededRandom random(1);
    data.resize(domain.size());
    Fr x = Fr::random(random);
    for (Fr& v : data) v = x = x.square();
  }
};

template <class Fr>
void BM_ForwardNaturalToReversed(benchmark::State& state) {
  Inputs<Fr> in(static_cast<unsigned>(state.range(0)), static_cast<int>(state.range(1)));
  for (auto _ : state) forward_natural_to_reversed<Fr>(in.tasks, in.domain, in.data);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(in.data.size()));
}
template <class Fr>
void BM_InverseReversedToNatural(benchmark::State& state) {
  Inputs<Fr> in(static_cast<unsigned>(state.range(0)), static_cast<int>(state.range(1)));
  for (auto _ : state) inverse_reversed_to_natural<Fr>(in.tasks, in.domain, in.data);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(in.data.size()));
}
template <class Fr>
void BM_BitReverse(benchmark::State& state) {
  Inputs<Fr> in(static_cast<unsigned>(state.range(0)), static_cast<int>(state.range(1)));
  for (auto _ : state) bit_reverse<Fr>(in.tasks, in.data);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(in.data.size()));
}
template <class Fr>
void BM_Quotient(benchmark::State& state) {
  Inputs<Fr> in(static_cast<unsigned>(state.range(0)), static_cast<int>(state.range(1)));
  auto b = in.data, c = in.data;
  for (auto _ : state) {
    auto a = in.data;
    benchmark::DoNotOptimize(quotient<Fr>(in.tasks, in.domain, a, b, c));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(in.data.size()));
}

#define CUZK_NTT_BENCH(name)                        \
  BENCHMARK(name<bls12_381::Fr>)                    \
      ->ArgsProduct({{10, 14, 18, 20, 22}, {1, 2}}) \
      ->UseRealTime()                               \
      ->Unit(benchmark::kMillisecond);              \
  BENCHMARK(name<bn254::Fr>)                        \
      ->ArgsProduct({{20}, {1, 2}})                 \
      ->UseRealTime()                               \
      ->Unit(benchmark::kMillisecond)
CUZK_NTT_BENCH(BM_ForwardNaturalToReversed);
CUZK_NTT_BENCH(BM_InverseReversedToNatural);
CUZK_NTT_BENCH(BM_BitReverse);
CUZK_NTT_BENCH(BM_Quotient);

}  // namespace
}  // namespace cuzk
