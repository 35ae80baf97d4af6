// Making and checking aggregates, and what the parts of them cost.
//
// create: spans as counters, in seconds; `cpu_s` is the CPU time of all threads, `floor_cpu_s` that
//         of the counted operations at the unit costs measured in the same run, `of_floor` their
//         ratio.
// verify: without reading the bytes, which takes 10 log2(n) + 5 times gt_membership. `cpu_ms` as
// above. Argument: number of proofs; for verify also the number of public inputs of a proof.

#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>
#include <functional>
#include <map>

#include "aggregate/fold.h"
#include "aggregate/prover.h"
#include "aggregate/test_claims.h"
#include "aggregate/verifier.h"
#include "curve/gt.h"

namespace cuzk::aggregate {
namespace {

constexpr std::uint8_t kBinding[] = {1, 2, 3};

Tasks& tasks() {
  static Tasks shared;
  return shared;
}

const Srs& srs_for(std::size_t n) {
  static MemoryBudget& memory = MemoryBudget::process();  // outlives the strings
  static std::map<std::size_t, Srs> made;
  if (!made.contains(n)) {
    SeededRandom random(n);
    made.emplace(
        n, insecure_dev_srs(tasks(), memory, SrsSecrets::draw(random), srs_powers_for(n)).value());
  }
  return made.at(n);
}
const testing::Claims& claims_for(std::size_t n, std::size_t inputs) {
  static std::map<std::pair<std::size_t, std::size_t>, testing::Claims> made;
  auto& claims = made[{n, inputs}];
  if (claims.proofs.empty()) claims = testing::make_claims(n, n, inputs);
  return claims;
}

// CPU time of all threads of the process, which other work on the machine does not lengthen.
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double seconds_of(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < 9; ++i) {
    const double start = cpu_seconds();
    work();
    best = std::min(best, cpu_seconds() - start);
  }
  return best;
}

// CPU seconds an operation, measured once a run.
struct Units {
  double miller;   // one term of eight that share squarings
  double prepare;  // the lines of a point of G2
  double final;    // one final exponentiation
  double g1, g2;   // one product of fold.h
};
const Units& units() {
  static const Units measured = [] {
    const auto claims = testing::make_claims(1, 64, 1);
    std::vector<G2Prepared<Curve>> prepared;
    std::vector<PairingTerm<Curve>> terms;
    for (std::size_t i = 0; i < 8; ++i) prepared.emplace_back(claims.proofs[i].b);
    for (std::size_t i = 0; i < 8; ++i) terms.push_back({claims.proofs[i].a, &prepared[i]});
    std::vector<G1Affine> g1;
    std::vector<G2Affine> g2;
    for (const auto& p : claims.proofs) {
      g1.push_back(p.a);
      g2.push_back(p.b);
    }
    SeededRandom random(3);
    const auto x = Fr::random(random).to_scalar();
    Tasks one(1);
    Units u{};
    GtElement f;
    u.miller =
        seconds_of([&] { f = miller_loop<Curve>(std::span<const PairingTerm<Curve>>(terms)); }) / 8;
    u.prepare = seconds_of([&] { benchmark::DoNotOptimize(G2Prepared<Curve>(g2[0])); });
    u.final = seconds_of([&] { benchmark::DoNotOptimize(final_exponentiation<Curve>(f)); });
    auto left1 = g1;
    u.g1 = seconds_of([&] { fold_points<Bls12_381G1>(one, left1, g1, x); }) / 64;
    auto left2 = g2;
    u.g2 = seconds_of([&] { fold_points<Bls12_381G2>(one, left2, g2, x); }) / 64;
    return u;
  }();
  return measured;
}

// The counted operations (README.md) at unit cost, without the sums of msm/.
double floor_seconds(std::size_t n) {
  const auto count = static_cast<double>(n);
  const double rounds = std::log2(count);
  const Units& u = units();
  const double work =
      count * (21 * u.miller + 10 * u.prepare + 6 * u.g1 + 4 * u.g2) + (5 + 10 * rounds) * u.final;
  return work;
}

void create(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const Srs& srs = srs_for(n);
  const auto& claims = claims_for(n, 1);
  const double floor = floor_seconds(n);
  Timeline timeline;
  double best = 1e9;
  for (auto _ : state) {
    const double start = cpu_seconds();
    benchmark::DoNotOptimize(aggregate::create({tasks(), MemoryBudget::process(), timeline}, srs,
                                               Version::kV2, kBinding, claims.proofs)
                                 .value());
    best = std::min(best, cpu_seconds() - start);
  }
  for (const char* span : {"commit", "combine", "rounds", "openings"}) {
    state.counters[span] = timeline.total_ms(span) / 1000 / static_cast<double>(state.iterations());
  }
  state.counters["cpu_s"] = best;
  state.counters["floor_cpu_s"] = floor;
  state.counters["of_floor"] = best / floor;
}
BENCHMARK(create)
    ->Arg(16)
    ->Arg(128)
    ->Arg(1024)
    ->Arg(8192)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void verify(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const auto& claims = claims_for(n, static_cast<std::size_t>(state.range(1)));
  const Srs& srs = srs_for(n);
  Timeline timeline;
  const auto proof = aggregate::create({tasks(), MemoryBudget::process(), timeline}, srs,
                                       Version::kV2, kBinding, claims.proofs)
                         .value();
  const groth16::PreparedVerifyingKey<Curve> key(claims.key);
  const VerifierSrs verifier = verifier_srs(srs).value();
  double best = 1e9;
  for (auto _ : state) {
    const double start = cpu_seconds();
    benchmark::DoNotOptimize(aggregate::verify(tasks(), verifier, key,
                                               {Version::kV2, kBinding, claims.statements}, proof)
                                 .value());
    best = std::min(best, cpu_seconds() - start);
  }
  state.counters["cpu_ms"] = 1000 * best;
}
BENCHMARK(verify)
    ->Args({16, 39})
    ->Args({128, 39})
    ->Args({1024, 39})
    ->Args({8192, 39})
    ->Args({1024, 327})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void unit(benchmark::State& state, double Units::*which) {
  for (auto _ : state) benchmark::DoNotOptimize(units());
  state.counters["us"] = units().*which * 1e6;
}
BENCHMARK_CAPTURE(unit, miller_term, &Units::miller)->Iterations(1);
BENCHMARK_CAPTURE(unit, prepare_g2, &Units::prepare)->Iterations(1);
BENCHMARK_CAPTURE(unit, final_exponentiation, &Units::final)->Iterations(1);
BENCHMARK_CAPTURE(unit, product_g1, &Units::g1)->Iterations(1);
BENCHMARK_CAPTURE(unit, product_g2, &Units::g2)->Iterations(1);

void gt_powers(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  const GtElement e = pairing<Curve>(Bls12_381G1::generator(), Bls12_381G2::generator());
  SeededRandom random(4);
  std::vector<GtElement> bases;
  std::vector<Fr::Scalar> exponents;
  for (std::size_t i = 0; i < count; ++i) {
    bases.push_back(i ? bases.back() * e : e);
    exponents.push_back(Fr::random(random).to_scalar());
  }
  for (auto _ : state) benchmark::DoNotOptimize(gt_product_of_powers(tasks(), bases, exponents));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(gt_powers)->Arg(136)->Unit(benchmark::kMicrosecond)->UseRealTime();

void gt_membership(benchmark::State& state) {
  const GtElement e = pairing<Curve>(Bls12_381G1::generator(), Bls12_381G2::generator());
  for (auto _ : state) benchmark::DoNotOptimize(is_in_gt(e));
}
BENCHMARK(gt_membership)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace cuzk::aggregate
