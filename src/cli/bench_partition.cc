#include "cli/bench_partition.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/mapped_file.h"
#include "curve/bls12_381.h"
#include "filecoin/porep_circuit.h"
#include "filecoin/sparse_sector.h"
#include "filecoin/statement.h"
#include "groth16/backend_cuda.h"
#include "groth16/setup.h"
#include "groth16/verifier.h"

namespace cuzk::cli {

namespace {

using Curve = Bls12_381;
using Fr = bls12_381::Fr;
using Clock = std::chrono::steady_clock;
using groth16::Context;

struct PartitionOptions {
  std::string sector_size = "2KiB";
  unsigned challenges = 0;  // 0: the shape's own
  unsigned proofs = 3;
  std::string backend = "cuda";
  std::string memory = "auto";
  bool streamed = false;
  bool multiples = false;
  std::size_t stream_chunk = 0;
  std::vector<std::size_t> caps = {0};
  std::vector<unsigned> workers = {2};
  std::size_t vram_budget = 0;
  std::size_t memory_budget = 0;
  int device = 0;
  bool synthesis = false;
  std::uint64_t seed = 1;
  std::string trace;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The statement and vanilla proofs of a made-up sector, cut to the challenges that are wanted.
class Sector {
 public:
  static Result<Sector> make(const PartitionOptions& o) {
    CUZK_TRY(const std::uint64_t bytes, filecoin::parse_sector_size(o.sector_size));
    CUZK_TRY(const auto proof,
             filecoin::seal_proof("StackedDrg" + filecoin::sector_size_name(bytes) + "V1_1"));
    Sector out;
    CUZK_TRY(out.c1_, filecoin::make_sparse_sector(proof, o.seed));
    out.shape = proof.shape;
    const unsigned own = out.shape.challenges_per_partition;
    if (o.challenges > own) {
      return fail(ErrorCode::kInvalidArgument, "--challenges {}: a partition of {} has {}",
                  o.challenges, proof.name, own);
    }
    if (o.challenges) out.shape.challenges_per_partition = o.challenges;
    return out;
  }

  std::size_t partitions() const { return c1_.partitions.size(); }
  Result<std::vector<Fr>> public_inputs(std::size_t partition) const {
    CUZK_TRY(auto inputs, filecoin::porep_public_inputs(filecoin::PorepStatement::of(c1_),
                                                        static_cast<std::uint32_t>(partition)));
    inputs.resize(shape.num_public_inputs());
    return inputs;
  }
  Result<CompactWitness<Fr>> witness(Tasks& tasks, std::size_t partition) const {
    CUZK_TRY(const auto inputs, public_inputs(partition));
    return filecoin::synthesize_porep_witness(
        tasks, shape, std::span(c1_.partitions[partition]).first(shape.challenges_per_partition),
        inputs);
  }

  filecoin::PorepShape shape;

 private:
  filecoin::PorepC1 c1_;
};

// Everything that proving needs, loaded once.
struct Bench {
  const PartitionOptions& options;
  Tasks tasks;
  MemoryBudget memory;
  Timeline timeline;
  Context context;
  Sector sector;
  CompactR1cs<Fr> r1cs;
  Density density;
  std::unique_ptr<gpu::Card> card;
  std::unique_ptr<groth16::DeviceCircuit<Fr>> device_circuit;
  std::unique_ptr<groth16::DeviceKey<Curve>> device_key;
  std::unique_ptr<groth16::PinnedKey<Curve>> pinned_key;
  ProvingKey<Curve> key;  // of a CUDA bench only vk

  explicit Bench(const PartitionOptions& o)
      : options(o),
        memory(o.memory_budget ? o.memory_budget : MemoryBudget::detect_limit_bytes()),
        context{tasks, memory, timeline} {}
};

template <class F>
auto timed(const char* what, F&& f) {
  const auto start = Clock::now();
  auto result = f();
  std::printf("%-28s %9.3f s\n", what, seconds_since(start));
  std::fflush(stdout);
  return result;
}

Status open_card(Bench& b) {
  CUZK_TRY(b.card, gpu::Card::open(b.memory, {.device = b.options.device,
                                              .vram_budget = b.options.vram_budget,
                                              .workers = std::ranges::max(b.options.workers)}));
  const gpu::DeviceInfo& info = b.card->info();
  std::printf("%s, %d multiprocessors, arena of %.2f GiB, %d host threads\n", info.name.c_str(),
              info.multiprocessors, static_cast<double>(b.card->arena().total_bytes()) / (1 << 30),
              b.tasks.threads());
  return {};
}

groth16::CudaMemory memory_mode(const PartitionOptions& o) {
  if (o.memory == "frugal") return groth16::CudaMemory::kFrugal;
  if (o.memory == "roomy") return groth16::CudaMemory::kRoomy;
  return groth16::CudaMemory::kAuto;
}

// The key where the backends want it: on the host, pinned there, or on the card.
Status make_key(Bench& b, const groth16::ToxicWaste<Curve>& waste) {
  const bool on_host = b.options.backend != "cuda";
  if (on_host) {
    CUZK_TRY(b.key, timed("setup on the host", [&] {
               return groth16::insecure_dev_setup(b.context, b.r1cs, b.density, waste);
             }));
  } else {
    CUZK_TRY(auto made, timed("setup on the card", [&] {
               return groth16::insecure_dev_setup_on_card(b.context, *b.card, b.r1cs, b.density,
                                                          waste);
             }));
    b.key.vk = std::move(made.vk);
    b.device_key = std::move(made.key);
  }
  if (!on_host && b.options.streamed) {
    auto vk = std::move(b.key.vk);
    CUZK_TRY(b.key,
             timed("key to the host", [&] { return b.device_key->to_host(*b.card, b.memory); }));
    b.key.vk = std::move(vk);
    b.device_key.reset();
  }
  std::printf("setup: %s\n", b.timeline.key_values().c_str());
  if (b.options.multiples && b.device_key) {
    CUZK_TRY_VOID(timed("multiples of h", [&] { return b.device_key->add_multiples(*b.card); }));
  }
  if (!b.card || (!on_host && !b.options.streamed)) return {};
  const std::size_t b_inputs = b.density.b_input.count;
  if (b.options.streamed) {
    CUZK_TRY(b.pinned_key, timed("pinning the key", [&] {
               return groth16::PinnedKey<Curve>::pin(*b.card, b.key, b.r1cs.num_inputs, b_inputs);
             }));
    return {};
  }
  CUZK_TRY(b.device_key, timed("key to the card", [&] {
             return groth16::DeviceKey<Curve>::load(*b.card, b.tasks, b.key, b.r1cs.num_inputs,
                                                    b_inputs);
           }));
  return {};
}

// Circuit and key, from secrets that the seed gives.
Status prepare(Bench& b) {
  CUZK_TRY(b.sector, timed("made-up sector", [&] { return Sector::make(b.options); }));
  CUZK_TRY(b.r1cs, timed("compile", [&] { return filecoin::compile_porep(b.sector.shape); }));
  b.density = timed("density", [&] { return compute_density(b.r1cs); });
  std::printf("%u rows, domain 2^%u, %u auxiliaries, dense in A %zu, in B %zu\n", b.r1cs.num_rows,
              b.r1cs.domain_log2(), b.r1cs.num_aux, b.density.a_aux.count, b.density.b_aux.count);
  if (b.options.backend != "cpu") {
    CUZK_TRY_VOID(open_card(b));
    CUZK_TRY(b.device_circuit, timed("circuit to the card", [&] {
               return groth16::DeviceCircuit<Fr>::load(*b.card, b.tasks, b.r1cs, b.density);
             }));
  }
  SeededRandom random(b.options.seed);
  return make_key(b, groth16::ToxicWaste<Curve>::draw(random));
}

struct Round {
  double seconds = 0;
  std::vector<groth16::Claim<Curve>> claims;
  groth16::ProofParts<Curve> first_parts;
};

// Proves `options.proofs` partitions, as many at once as there are workers, each in its thread.
Result<Round> prove_round(Bench& b, groth16::Backend<Curve>& backend, unsigned at_once) {
  const std::size_t proofs = b.options.proofs;
  const std::size_t distinct = std::min(proofs, b.sector.partitions());
  std::vector<CompactWitness<Fr>> ready;
  for (std::size_t p = 0; !b.options.synthesis && p < distinct; ++p) {
    CUZK_TRY(auto witness,
             timed("synthesis of a partition", [&] { return b.sector.witness(b.tasks, p); }));
    if (p == 0) {
      std::printf("witness: %zu full scalars, %zu bytes\n", witness.full_values().size(),
                  witness.bytes());
    }
    ready.push_back(std::move(witness));
  }
  Round round;
  round.claims.resize(proofs);
  const auto prove_one = [&](std::size_t i) -> Status {
    const std::size_t p = i % distinct;
    const int lane = static_cast<int>(i);
    CompactWitness<Fr> made;
    if (b.options.synthesis) {
      const auto span = b.timeline.span("synthesis", lane);
      CUZK_TRY(made, b.sector.witness(b.tasks, p));
    }
    const CompactWitness<Fr>& witness = b.options.synthesis ? made : ready[p];
    CUZK_TRY(auto pending,
             groth16::start_proof(backend, Context{b.tasks, b.memory, b.timeline, lane},
                                  groth16::ProveInput<Curve>{b.r1cs, b.density, witness, b.key}));
    CUZK_TRY(round.claims[i].proof, pending.finish());
    CUZK_TRY(round.claims[i].public_inputs, b.sector.public_inputs(p));
    if (i == 0) round.first_parts = pending.parts();
    return {};
  };
  const auto start = Clock::now();
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> failed;
  std::vector<std::jthread> workers;
  for (unsigned w = 0; w < at_once; ++w) {
    workers.emplace_back([&] {
      for (std::size_t i = next++; i < proofs; i = next++) {
        const Status proved = prove_one(i);
        const std::lock_guard lock(mutex);
        if (!proved && !failed) failed = proved.error();
        if (failed) return;
      }
    });
  }
  workers.clear();
  if (failed) return fail(*failed);
  round.seconds = seconds_since(start);
  return round;
}

Status report(Bench& b, std::string_view name, const Round& round) {
  const groth16::PreparedVerifyingKey<Curve> vk(b.key.vk);
  const auto start = Clock::now();
  CUZK_TRY(const auto verified, groth16::verify_batch(b.tasks, vk, round.claims));
  const double count = static_cast<double>(verified.size());
  std::printf("%s: %zu partitions in %.3f s, %.3f s each; all verify (%.1f ms together)\n",
              std::string(name).c_str(), verified.size(), round.seconds, round.seconds / count,
              1e3 * seconds_since(start));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("host memory: %.1f GiB resident at the peak so far\n",
              static_cast<double>(usage.ru_maxrss) / (1 << 20));
  std::fflush(stdout);
  return {};
}

// With `cap` bytes of the arena, unless it is 0, and so many partitions on the card at once.
Result<Round> cuda_round_of(Bench& b, std::size_t cap, unsigned workers) {
  const PartitionOptions& o = b.options;
  gpu::Arena& arena = b.card->arena();
  const std::size_t rest = cap ? arena.total_bytes() - std::min(arena.total_bytes(), cap) : 0;
  CUZK_TRY(const gpu::Lease filler, arena.lease("what a smaller card does not have", rest));
  if (o.caps.size() > 1 || o.workers.size() > 1) {
    std::printf("arena of %.1f GiB, %u worker%s\n",
                static_cast<double>(arena.total_bytes() - rest) / (1 << 30), workers,
                workers == 1 ? "" : "s");
  }
  const auto print = [](const groth16::PartitionTiming& t) {
    std::printf("%s\n", t.line().c_str());
    std::fflush(stdout);
  };
  CUZK_TRY(
      const auto backend,
      groth16::make_cuda_backend<Curve>(
          *b.card, *b.device_circuit, o.streamed ? b.pinned_key->bases() : b.device_key->bases(),
          {.memory = memory_mode(o), .stream_chunk = o.stream_chunk, .on_timing = print}));
  CUZK_TRY(Round round, prove_round(b, *backend, workers));
  CUZK_TRY_VOID(report(b, "cuda", round));
  return round;
}

Result<ExitCode> bench_partition(const PartitionOptions& o) {
  Bench b(o);
  CUZK_TRY_VOID(prepare(b));
  std::optional<Round> cpu_round, cuda_round;
  if (o.backend != "cuda") {
    const auto backend = groth16::make_cpu_backend<Curve>();
    CUZK_TRY(cpu_round, prove_round(b, *backend, 1));
    CUZK_TRY_VOID(report(b, "cpu", *cpu_round));
    std::printf("cpu: %s\n", b.timeline.key_values().c_str());
  }
  for (const std::size_t cap : o.caps) {
    for (const unsigned workers : o.workers) {
      if (o.backend == "cpu") break;
      CUZK_TRY(cuda_round, cuda_round_of(b, cap, workers));
    }
  }
  if (cpu_round && cuda_round) {
    if (!(cpu_round->first_parts == cuda_round->first_parts)) {
      return fail(ErrorCode::kInternal, "CPU and CUDA sums of the first partition differ");
    }
    std::printf("CPU and CUDA: equal sums, %.1f times as fast\n",
                cpu_round->seconds / cuda_round->seconds);
  }
  if (!o.trace.empty()) {
    const std::string trace = b.timeline.trace_json();
    CUZK_TRY_VOID(write_file_atomically(
        o.trace, ByteSpan(reinterpret_cast<const std::uint8_t*>(trace.data()), trace.size())));
  }
  return kOk;
}

}  // namespace

void add_bench_partition(CLI::App& app, Runner& run) {
  auto o = std::make_shared<PartitionOptions>();
  CLI::App* command = app.add_subcommand(
      "partition", "Proves partitions of a made-up sector, stage by stage, and verifies them");
  command->add_option("--sector-size", o->sector_size, "E.g. 2KiB or 32GiB")->capture_default_str();
  command->add_option("--challenges", o->challenges,
                      "Fewer challenges than the shape has: a smaller domain of the same circuit");
  command->add_option("--proofs", o->proofs, "How many partitions are proved")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--backend", o->backend, "cuda, cpu, or both on the same inputs")
      ->check(CLI::IsMember({"cuda", "cpu", "both"}))
      ->capture_default_str();
  command
      ->add_option(
          "--workers", o->workers,
          "Partitions on the card at once; several numbers, with commas, one after the other")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--memory", o->memory, "How a partition uses the card: auto, frugal or roomy")
      ->check(CLI::IsMember({"auto", "frugal", "roomy"}))
      ->capture_default_str();
  command->add_flag("--streamed", o->streamed, "Keeps the key in pinned host memory");
  command->add_flag("--multiples", o->multiples,
                    "Keeps multiples of h on the card, too, for a quicker sum");
  command->add_option("--stream-chunk", o->stream_chunk,
                      "Bases that are streamed at once; 0: as many as fit");
  command
      ->add_option("--cap", o->caps,
                   "Bytes that stay usable of the arena once the key is made: a smaller card; "
                   "several numbers, with commas, one after the other")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false));
  command->add_option("--vram-budget", o->vram_budget, "Bytes of the card's arena")
      ->transform(CLI::AsSizeValue(false));
  command->add_option("--memory-budget", o->memory_budget, "Bytes of host memory")
      ->transform(CLI::AsSizeValue(false));
  command->add_option("--device", o->device, "Which card")->capture_default_str();
  command->add_flag("--synthesis", o->synthesis,
                    "Computes each witness inside the measured time, as a C2 does");
  command->add_option("--seed", o->seed, "Of sector and key")->capture_default_str();
  command->add_option("--trace", o->trace, "Writes a trace that Perfetto opens");
  command->footer(
      "The key is made here, from a seed: it is for measuring only.\n"
      "Example:\n  cuzk-bench partition --sector-size 32GiB --proofs 10 --synthesis");
  command->callback([o, &run] { run = [o] { return bench_partition(*o); }; });
}

}  // namespace cuzk::cli
