// Compiling a PoRep circuit and computing a partition's witness. The values of the witness are
// random: the work is the same as for a sealed sector.
//
// CUZK_BENCH_SECTOR names the sector size (default 512MiB; 32GiB takes some 15 s a run).

#include <benchmark/benchmark.h>

#include <cstdlib>

#include "filecoin/porep_circuit.h"
#include "filecoin/porep_circuit.inl"
#include "r1cs/density.h"
#include "r1cs/digest.h"
#include "r1cs/eval.h"

namespace cuzk::filecoin {
namespace {

using bls12_381::Fr;

PorepShape bench_shape() {
  const char* size = std::getenv("CUZK_BENCH_SECTOR");
  return *porep_shape(*parse_sector_size(size ? size : "512MiB"));
}

const CompactR1cs<Fr>& compiled() {
  static const CompactR1cs<Fr> r1cs = *compile_porep(bench_shape());
  return r1cs;
}

gadget::Path<Fr> random_path(std::span<const std::uint32_t> arities, RandomSource& rng) {
  gadget::Path<Fr> path;
  for (const std::uint32_t arity : arities) {
    auto& step = path.emplace_back();
    step.index = rng.next_u64() % arity;
    for (std::uint32_t i = 1; i < arity; ++i) step.siblings.push_back(Fr::random(rng));
  }
  return path;
}

circuit::Partition<Fr> random_partition(const PorepShape& shape) {
  SeededRandom rng(1);
  const std::vector<std::uint32_t> data(static_cast<std::size_t>(std::countr_zero(shape.nodes())),
                                        2);
  const auto tree = shape.path_arities();
  const auto columns = [&](std::size_t n) {
    std::vector<circuit::Column<Fr>> out(n);
    for (auto& c : out) {
      for (std::uint32_t i = 0; i < shape.layers; ++i) c.rows.push_back(Fr::random(rng));
      c.path = random_path(tree, rng);
    }
    return out;
  };
  circuit::Partition<Fr> p;
  for (Fr* v : {&p.replica_id, &p.comm_d, &p.comm_r, &p.comm_r_last, &p.comm_c}) {
    *v = Fr::random(rng);
  }
  for (std::uint32_t i = 0; i < shape.challenges_per_partition; ++i) {
    p.challenges.push_back({rng.next_u64() % shape.nodes(), Fr::random(rng), random_path(data, rng),
                            columns(kDrgParents), columns(kExpanderParents), random_path(tree, rng),
                            random_path(tree, rng)});
  }
  return p;
}

CompactWitness<Fr> synthesize(Tasks& tasks, const PorepShape& shape,
                              const circuit::Partition<Fr>& partition) {
  gadget::WitnessBuilder<Fr> cs(tasks);
  circuit::synthesize_porep(cs, shape, &partition);
  return cs.finish();
}

void BM_PorepWitness(benchmark::State& state) {
  const PorepShape shape = bench_shape();
  const auto partition = random_partition(shape);
  Tasks tasks(static_cast<int>(state.range(0)));
  std::size_t wires = 0, bytes = 0, full = 0;
  for (auto _ : state) {
    const auto witness = synthesize(tasks, shape, partition);
    wires = witness.num_aux();
    bytes = witness.bytes();
    full = witness.full_values().size();
  }
  state.counters["wires"] = static_cast<double>(wires);
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["full"] = static_cast<double>(full);
  state.counters["wires/s"] =
      benchmark::Counter(static_cast<double>(wires) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}
BENCHMARK(BM_PorepWitness)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_PorepCompile(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(compile_porep(bench_shape()));
}
BENCHMARK(BM_PorepCompile)->Unit(benchmark::kMillisecond);

void BM_PorepDensity(benchmark::State& state) {
  const auto& r1cs = compiled();
  for (auto _ : state) benchmark::DoNotOptimize(compute_density(r1cs));
}
BENCHMARK(BM_PorepDensity)->Unit(benchmark::kMillisecond);

// All three products over the rows, as a prover needs them.
void BM_PorepEvaluate(benchmark::State& state) {
  const PorepShape shape = bench_shape();
  Tasks tasks(static_cast<int>(state.range(0)));
  const auto witness = synthesize(tasks, shape, random_partition(shape));
  std::vector<Fr> out(compiled().num_rows_with_inputs());
  for (auto _ : state) {
    for (const Matrix m : {Matrix::kA, Matrix::kB, Matrix::kC}) {
      if (!evaluate_matrix<Fr>(tasks, compiled(), witness, m, out)) state.SkipWithError("failed");
    }
  }
  const TermCounts terms = count_terms(compiled());
  state.counters["terms/s"] = benchmark::Counter(
      static_cast<double>(terms.a + terms.b + terms.c) * static_cast<double>(state.iterations()),
      benchmark::Counter::kIsRate);
}
BENCHMARK(BM_PorepEvaluate)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace cuzk::filecoin
