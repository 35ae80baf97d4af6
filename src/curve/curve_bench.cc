// Points and pairings. Items are operations.

#include <benchmark/benchmark.h>

#include <vector>

#include "curve/encoding.h"
#include "curve/endomorphism.h"
#include "curve/pairing.h"

namespace cuzk {
namespace {

template <class C, class G>
std::vector<Xyzz<G>> random_points(std::size_t n) {
  SeededRandom random(1);
  std::vector<Xyzz<G>> v;
  const auto g = Xyzz<G>::from_affine(G::generator());
  for (std::size_t i = 0; i < n; ++i) v.push_back(g.mul(C::Fr::random(random).to_scalar()));
  return v;
}

template <class C, class G>
void add_affine(benchmark::State& state) {
  std::vector<Affine<G>> points;
  for (const auto& p : random_points<C, G>(64)) points.push_back(p.to_affine());
  auto sum = Xyzz<G>::identity();
  for (auto _ : state) {
    for (const auto& p : points) sum += p;
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * points.size()));
}

template <class C, class G>
void add_full(benchmark::State& state) {
  const auto points = random_points<C, G>(64);
  auto sum = Xyzz<G>::identity();
  for (auto _ : state) {
    for (const auto& p : points) sum += p;
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * points.size()));
}

template <class C, class G>
void double_point(benchmark::State& state) {
  auto p = random_points<C, G>(1)[0];
  for (auto _ : state) p = p.dbl();
  benchmark::DoNotOptimize(p);
}

template <class C, class G>
void subgroup_test(benchmark::State& state) {
  const auto p = random_points<C, G>(1)[0].to_affine();
  for (auto _ : state) benchmark::DoNotOptimize(is_in_subgroup(p));
}

template <class G>
void decode_compressed_in_subgroup(benchmark::State& state) {
  const auto bytes = encode_compressed(random_points<Bls12_381, G>(1)[0].to_affine());
  for (auto _ : state) {
    benchmark::DoNotOptimize(decode_compressed<G>(bytes, PointCheck::kSubgroup));
  }
}

template <class C>
void full_pairing(benchmark::State& state) {
  const auto p = C::G1::generator();
  const auto q = C::G2::generator();
  for (auto _ : state) benchmark::DoNotOptimize(pairing<C>(p, q));
}

template <class C>
void prepare_g2(benchmark::State& state) {
  const auto q = C::G2::generator();
  for (auto _ : state) benchmark::DoNotOptimize(G2Prepared<C>(q).lines().data());
}

// A Groth16 verification's product: three prepared pairs (and one more for its variable B).
template <class C>
void product_of_prepared(benchmark::State& state) {
  const G2Prepared<C> q(C::G2::generator());
  const std::vector<PairingTerm<C>> terms(static_cast<std::size_t>(state.range(0)),
                                          {C::G1::generator(), &q});
  for (auto _ : state) {
    benchmark::DoNotOptimize(pairing_product_is_one<C>(std::span<const PairingTerm<C>>(terms)));
  }
}

template <class C>
void final_exponentiation_only(benchmark::State& state) {
  SeededRandom random(3);
  const auto f = Gt<C>::random(random);
  for (auto _ : state) benchmark::DoNotOptimize(final_exponentiation<C>(f));
}

#define CUZK_BENCH_GROUP(C, G)   \
  BENCHMARK(add_affine<C, G>);   \
  BENCHMARK(add_full<C, G>);     \
  BENCHMARK(double_point<C, G>); \
  BENCHMARK(subgroup_test<C, G>)
CUZK_BENCH_GROUP(Bls12_381, Bls12_381G1);
CUZK_BENCH_GROUP(Bls12_381, Bls12_381G2);
CUZK_BENCH_GROUP(Bn254, Bn254G1);
CUZK_BENCH_GROUP(Bn254, Bn254G2);
BENCHMARK(decode_compressed_in_subgroup<Bls12_381G1>);
BENCHMARK(decode_compressed_in_subgroup<Bls12_381G2>);
#define CUZK_BENCH_PAIRING(C)              \
  BENCHMARK(full_pairing<C>);              \
  BENCHMARK(prepare_g2<C>);                \
  BENCHMARK(final_exponentiation_only<C>); \
  BENCHMARK(product_of_prepared<C>)->Arg(1)->Arg(4)
CUZK_BENCH_PAIRING(Bls12_381);
CUZK_BENCH_PAIRING(Bn254);

}  // namespace
}  // namespace cuzk
