// Setup, proof and verification of a synthetic circuit whose assignment looks like a Filecoin one:
// nine wires of ten are bits. The proof's stages come as counters, in milliseconds a proof.
//
// Columns: rows = circuit rows; per-stage means. Argument: log2 of the domain.

#include <benchmark/benchmark.h>

#include "groth16/prover.h"
#include "groth16/setup.h"
#include "groth16/test_circuits.h"
#include "groth16/verifier.h"

namespace cuzk::groth16 {
namespace {

// b (1 - b) = 0 for the bits, x y = z for the rest: one wire of ten is full.
template <class Fr>
testing::CircuitCase<Fr> bit_circuit(unsigned domain_log2) {
  SeededRandom random(domain_log2);
  testing::CircuitBuilder<Fr> cs;
  cs.input(Fr::random(random));
  const std::size_t rows = (std::size_t{1} << domain_log2) * 5 / 8;
  const Fr one = Fr::one();
  ColumnRef last = cs.aux(Fr::random(random));
  for (std::size_t i = 0; i < rows; ++i) {
    if (i % 10 == 0) {
      const ColumnRef next = cs.aux(cs.value(last).square() + one);
      cs.row({{last, one}}, {{last, one}}, {{cs.one(), -one}, {next, one}});
      last = next;
    } else {
      const ColumnRef bit = cs.aux(Fr::from_u64(random.next_u64() & 1));
      cs.row({{cs.one(), one}, {bit, -one}}, {{bit, one}}, {});
    }
  }
  return cs.finish();
}

template <class Curve>
struct Fixture {
  explicit Fixture(unsigned domain_log2)
      : circuit(bit_circuit<typename Curve::Fr>(domain_log2)),
        density(compute_density(circuit.r1cs)) {}

  Result<ProvingKey<Curve>> make_key() {
    SeededRandom random(1);
    return insecure_dev_setup(context, circuit.r1cs, density, ToxicWaste<Curve>::draw(random));
  }

  testing::CircuitCase<typename Curve::Fr> circuit;
  Density density;
  Tasks tasks;
  Timeline timeline;
  Context context{tasks, MemoryBudget::process(), timeline};
};

template <class Curve>
void BM_Setup(benchmark::State& state) {
  Fixture<Curve> fixture(static_cast<unsigned>(state.range(0)));
  for (auto _ : state) {
    const auto key = fixture.make_key();
    if (!key) return state.SkipWithError(key.error().message.c_str());
  }
  state.counters["rows"] = fixture.circuit.r1cs.num_rows;
}

template <class Curve>
void BM_Prove(benchmark::State& state) {
  Fixture<Curve> fixture(static_cast<unsigned>(state.range(0)));
  const auto key = fixture.make_key();
  if (!key) return state.SkipWithError(key.error().message.c_str());
  Timeline timeline;
  Context context{fixture.tasks, MemoryBudget::process(), timeline};
  for (auto _ : state) {
    const auto proof = prove(context, ProveInput<Curve>{fixture.circuit.r1cs, fixture.density,
                                                        fixture.circuit.witness, *key});
    if (!proof) return state.SkipWithError(proof.error().message.c_str());
  }
  state.counters["rows"] = fixture.circuit.r1cs.num_rows;
  for (const char* stage : {"matvec", "ntt", "h_msm", "l_msm", "a_msm", "b_g1_msm", "b_g2_msm"}) {
    state.counters[stage] =
        benchmark::Counter(timeline.total_ms(stage), benchmark::Counter::kAvgIterations);
  }
}

template <class Curve>
void BM_VerifyBatch(benchmark::State& state) {
  Fixture<Curve> fixture(8);
  const auto key = fixture.make_key();
  if (!key) return state.SkipWithError(key.error().message.c_str());
  const auto proof = prove(fixture.context, ProveInput<Curve>{fixture.circuit.r1cs, fixture.density,
                                                              fixture.circuit.witness, *key});
  if (!proof) return state.SkipWithError(proof.error().message.c_str());
  const PreparedVerifyingKey<Curve> vk(key->vk);
  const std::vector<Claim<Curve>> claims(static_cast<std::size_t>(state.range(0)),
                                         {*proof, {fixture.circuit.witness.inputs[1]}});
  for (auto _ : state) {
    const auto verified = verify_batch(fixture.tasks, vk, claims);
    if (!verified) return state.SkipWithError(verified.error().message.c_str());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(BM_Setup<Bls12_381>)->Arg(14)->Arg(17)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Setup<Bn254>)->Arg(14)->Arg(17)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Prove<Bls12_381>)->Arg(14)->Arg(18)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_Prove<Bn254>)->Arg(14)->Arg(18)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(BM_VerifyBatch<Bls12_381>)
    ->Arg(1)
    ->Arg(10)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(BM_VerifyBatch<Bn254>)
    ->Arg(1)
    ->Arg(10)
    ->Arg(100)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace cuzk::groth16
