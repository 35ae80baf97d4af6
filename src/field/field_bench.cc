// Field operations. A chain feeds each result into the next operation (latency); a stream runs over
// independent operands (throughput). Items are operations. CUZK_CPU=portable gives the plain
// variant.

#include <benchmark/benchmark.h>

#include <vector>

#include "field/batch_inverse.h"
#include "field/bls12_381.h"
#include "field/bn254.h"
#include "field/sqrt.h"

namespace cuzk {
namespace {

constexpr std::size_t kCount = 1024;

template <class F>
std::vector<F> random_elements(std::uint64_t seed) {
  SeededRandom random(seed);
  std::vector<F> v(kCount);
  for (auto& x : v) x = F::random(random);
  return v;
}

template <class F, class Operation>
void chain(benchmark::State& state, Operation operation) {
  const auto values = random_elements<F>(1);
  F x = values[0];
  for (auto _ : state) {
    for (const F& y : values) operation(x, y);
  }
  benchmark::DoNotOptimize(x);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kCount));
}

template <class F, class Operation>
void stream(benchmark::State& state, Operation operation) {
  const auto a = random_elements<F>(1), b = random_elements<F>(2);
  std::vector<F> r(kCount);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kCount; ++i) r[i] = operation(a[i], b[i]);
    benchmark::DoNotOptimize(r.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kCount));
}

template <class F>
void mul_chain(benchmark::State& s) {
  chain<F>(s, [](F& x, const F& y) { x *= y; });
}
template <class F>
void mul_stream(benchmark::State& s) {
  stream<F>(s, [](const F& x, const F& y) { return x * y; });
}
template <class F>
void square_chain(benchmark::State& s) {
  chain<F>(s, [](F& x, const F&) { x.square_in_place(); });
}
template <class F>
void square_stream(benchmark::State& s) {
  stream<F>(s, [](const F& x, const F&) { return x.square(); });
}
template <class F>
void add_stream(benchmark::State& s) {
  stream<F>(s, [](const F& x, const F& y) { return x + y; });
}
template <class F>
void sub_stream(benchmark::State& s) {
  stream<F>(s, [](const F& x, const F& y) { return x - y; });
}
template <class F>
void inverse(benchmark::State& s) {
  chain<F>(s, [](F& x, const F& y) { x = x.inverse() + y; });
}
template <class F>
void inverse_fermat(benchmark::State& s) {
  chain<F>(s, [](F& x, const F& y) { x = x.inverse_fermat() + y; });
}
template <class F>
void square_root_of_square(benchmark::State& s) {
  chain<F>(s, [](F& x, const F& y) { x = *sqrt(x.square()) + y; });
}

template <class F>
void batch_inverse_1024(benchmark::State& state) {
  auto v = random_elements<F>(1);
  std::vector<F> scratch(kCount);
  for (auto _ : state) {
    batch_inverse(std::span(v), std::span(scratch));
    benchmark::DoNotOptimize(v.data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kCount));
}

#define CUZK_BENCH_FIELD(F)    \
  BENCHMARK(mul_chain<F>);     \
  BENCHMARK(mul_stream<F>);    \
  BENCHMARK(square_chain<F>);  \
  BENCHMARK(square_stream<F>); \
  BENCHMARK(add_stream<F>);    \
  BENCHMARK(sub_stream<F>);    \
  BENCHMARK(inverse<F>);       \
  BENCHMARK(batch_inverse_1024<F>)
CUZK_BENCH_FIELD(bls12_381::Fr);
CUZK_BENCH_FIELD(bls12_381::Fq);
CUZK_BENCH_FIELD(bn254::Fr);
CUZK_BENCH_FIELD(bn254::Fq);
CUZK_BENCH_FIELD(bls12_381::Fq2);
CUZK_BENCH_FIELD(bn254::Fq2);
BENCHMARK(inverse_fermat<bls12_381::Fr>);
BENCHMARK(inverse_fermat<bls12_381::Fq>);
BENCHMARK(square_root_of_square<bls12_381::Fq>);
BENCHMARK(square_root_of_square<bls12_381::Fq2>);
BENCHMARK(mul_stream<bls12_381::Fq12>);
BENCHMARK(mul_stream<bn254::Fq12>);

}  // namespace
}  // namespace cuzk
