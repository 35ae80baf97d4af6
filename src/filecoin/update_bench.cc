// Sector updates: compiling the circuit, checking a sector's vanilla proofs, and a partition's
// witness, on an update that was never made (the work is the same).
//
// CUZK_BENCH_SECTOR names the sector size (default 512MiB).

#include <benchmark/benchmark.h>

#include <cstdlib>

#include "filecoin/update_circuit.h"
#include "filecoin/update_region_test_support.h"
#include "filecoin/update_vanilla_check.h"
#include "r1cs/eval.h"

namespace cuzk::filecoin {
namespace {

UpdateShape bench_shape() {
  const char* size = std::getenv("CUZK_BENCH_SECTOR");
  return *update_shape(*parse_sector_size(size ? size : "512MiB"));
}

const testing::RegionUpdate& update() {
  static const testing::RegionUpdate made(bench_shape(), bench_shape().default_h(), 1);
  return made;
}

CompactWitness<Fr> make_witness(Tasks& tasks) {
  const auto inputs = update_public_inputs(update().statement, 0);
  return *synthesize_update_witness(tasks, bench_shape(), update().proofs[0], *inputs);
}

void BM_CompileUpdate(benchmark::State& state) {
  for (auto _ : state) {
    const auto r1cs = compile_update(bench_shape());
    state.counters["rows"] = r1cs->num_rows;
    state.counters["bytes"] = static_cast<double>(r1cs->bytes());
  }
}
BENCHMARK(BM_CompileUpdate)->Unit(benchmark::kMillisecond)->Iterations(3);

// All partitions.
void BM_CheckUpdateVanilla(benchmark::State& state) {
  Tasks tasks(static_cast<int>(state.range(0)));
  const auto& made = update();
  for (auto _ : state) {
    if (!check_update_vanilla(tasks, made.proofs, made.statement)) state.SkipWithError("refused");
  }
  state.counters["challenges"] =
      static_cast<double>(made.proofs.size() * made.proofs[0].challenges.size());
}
BENCHMARK(BM_CheckUpdateVanilla)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

// One partition.
void BM_UpdateWitness(benchmark::State& state) {
  Tasks tasks(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const auto witness = make_witness(tasks);
    state.counters["bytes"] = static_cast<double>(witness.bytes());
    state.counters["full_scalars"] = static_cast<double>(witness.full_values().size());
  }
}
BENCHMARK(BM_UpdateWitness)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace cuzk::filecoin
