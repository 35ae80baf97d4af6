#include "cli/bench_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/memory.h"
#include "base/random.h"
#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "filecoin/porep_circuit.h"
#include "filecoin/sparse_sector.h"
#include "filecoin/statement.h"
#include "ntt/ntt.h"
#include "r1cs/eval.h"

namespace cuzk::cli {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

struct KernelOptions {
  std::vector<std::string> kernels = {"msm", "ntt", "matvec"};
  std::vector<std::string> kinds = {"dense", "ones", "tails"};
  std::vector<std::string> groups = {"bls12_381_g1", "bls12_381_g2", "bn254_g1"};
  std::vector<unsigned> sizes = {16, 20};
  std::string backend = "both";
  std::string sector_size = "2KiB";
  int device = 0;
  int repeats = 5;
  std::uint64_t seed = 1;
  bool json = false;
};

// Shares of a PoRep's wires that are 1, and that are full scalars.
constexpr std::size_t kOnesPercent = 33;
constexpr std::size_t kFullPercent = 4;

// Slots of the multiplier for one product, counted from machine code (docs/performance-gpu.md).
template <class F>
constexpr double kSlots = 0;
template <>
constexpr double kSlots<bls12_381::Fq> = 588;
template <>
constexpr double kSlots<bls12_381::Fr> = 224;
template <>
constexpr double kSlots<bn254::Fq> = 264;
template <>
constexpr double kSlots<bn254::Fr> = 264;
template <>
constexpr double kSlots<bls12_381::Fq2> = 1464;

struct Bench {
  const KernelOptions& options;
  Tasks tasks;
  MemoryBudget memory{MemoryBudget::detect_limit_bytes()};
  std::unique_ptr<KernelCard> card;  // null without CUDA
  Json rows = Json::array();

  explicit Bench(const KernelOptions& o) : options(o) {}
  bool on_cpu() const { return options.backend != "cuda"; }
};

// What was measured of one kernel; times below zero were not.
struct Row {
  std::string kernel, of, kind;
  double elements = 0;
  double cpu_ms = -1;
  double cuda_ms = -1;
  double slots = 0;  // that its products need at the least
  double bytes = 0;  // that go through memory at the least
};

void print_row(Bench& b, const Row& row) {
  const bool has_card = b.card && row.cuda_ms > 0;
  const double floor_ms = !has_card ? 0
                                    : 1e3 * std::max(row.slots / b.card->slots_per_second(),
                                                     row.bytes / b.card->bytes_per_second());
  Json j = {{"kernel", row.kernel}, {"of", row.of}, {"kind", row.kind}, {"elements", row.elements}};
  if (row.cpu_ms >= 0) j["cpu_ms"] = row.cpu_ms;
  if (has_card) {
    j["cuda_ms"] = row.cuda_ms;
    j["gigabytes_per_second"] = row.bytes / row.cuda_ms / 1e6;
    j["floor_ms"] = floor_ms;
    j["of_floor"] = floor_ms / row.cuda_ms;
  }
  b.rows.push_back(j);
  if (b.options.json) return;
  const auto ms = [](double v) { return v < 0 ? std::string("-") : fmt::format("{:.3f}", v); };
  std::printf("%-7s %-14s %-6s %12.0f %12s %12s", row.kernel.c_str(), row.of.c_str(),
              row.kind.c_str(), row.elements, ms(row.cpu_ms).c_str(), ms(row.cuda_ms).c_str());
  if (has_card) {
    std::printf(" %8.1f %8.2f", row.bytes / row.cuda_ms / 1e6, floor_ms / row.cuda_ms);
  }
  std::printf("\n");
  std::fflush(stdout);
}

// The least time of the runs on the host, in ms.
template <class Run>
Result<double> least_ms(const Bench& b, Run&& run) {
  double least = 0;
  for (int i = 0; i < b.options.repeats; ++i) {
    const auto start = Clock::now();
    CUZK_TRY_VOID(run());
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (i == 0 || ms < least) least = ms;
    if (ms > 2000) break;
  }
  return least;
}

// i * G for i = 1 .. n.
template <class G>
std::vector<Affine<G>> multiples(Tasks& tasks, std::size_t n) {
  std::vector<Affine<G>> out(n);
  tasks.parallel_for(n, 4096, [&](std::size_t begin, std::size_t end) {
    using F = typename G::Field;
    const auto first = ScalarField<G>::from_u64(begin).to_scalar();
    Xyzz<G> p = Xyzz<G>::from_affine(G::generator()).mul(first);
    std::vector<Xyzz<G>> points;
    std::vector<F> before;
    F product = F::one();
    for (std::size_t i = begin; i < end; ++i) {
      points.push_back(p += G::generator());
      before.push_back(product);
      product *= p.zzz;
    }
    F inverse = product.inverse();
    for (std::size_t i = end; i-- > begin;) {
      const Xyzz<G>& q = points[i - begin];
      const F zzz = inverse * before[i - begin];
      inverse *= q.zzz;
      out[i] = {q.x * (zzz * q.zz).square(), q.y * zzz};
    }
  });
  return out;
}

template <class Fr>
std::vector<Fr> random_elements(Bench& b, std::size_t n, std::uint64_t salt) {
  std::vector<Fr> out(n);
  b.tasks.parallel_for(n, 4096, [&](std::size_t begin, std::size_t end) {
    SeededRandom random(b.options.seed * 1000003 + salt + begin);
    for (std::size_t i = begin; i < end; ++i) out[i] = Fr::random(random);
  });
  return out;
}

// Products of affine additions for n terms, with the number of windows that makes them fewest: six
// for a term and window, two additions for a bucket.
double least_products(std::size_t n, unsigned bits) {
  double least = INFINITY;
  for (unsigned windows = 8; windows <= 64; ++windows) {
    const double buckets = std::exp2(static_cast<double>(bits + 1) / windows - 1);
    least = std::min(least, windows * 6 * (static_cast<double>(n) + 2 * buckets));
  }
  return least;
}

Status check_equal(bool equal, const Row& row) {
  if (equal) return {};
  return fail(ErrorCode::kInternal, "{} {} of {} elements ({}): CPU and CUDA differ", row.kernel,
              row.of, row.elements, row.kind);
}

template <class G>
Status bench_scalars(Bench& b, Row row, std::span<const Affine<G>> bases) {
  const auto elements = random_elements<ScalarField<G>>(b, bases.size(), 1);
  std::vector<ScalarFor<G>> scalars(elements.size());
  b.tasks.parallel_for(scalars.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) scalars[i] = elements[i].to_scalar();
  });
  row.elements = static_cast<double>(bases.size());
  row.slots = kSlots<typename G::Field> * least_products(bases.size(), ScalarField<G>::kBits);
  row.bytes = static_cast<double>(bases.size_bytes() + 32 * scalars.size());
  Xyzz<G> on_cpu{}, on_card{};
  if (b.on_cpu()) {
    CUZK_TRY(row.cpu_ms, least_ms(b, [&]() -> Status {
               CUZK_TRY(on_cpu, msm<G>(b.tasks, b.memory, scalars, bases));
               return {};
             }));
  }
  if (b.card) {
    CUZK_TRY(const auto timed, b.card->sum(scalars, bases, b.options.repeats));
    row.cuda_ms = timed.ms;
    on_card = timed.result;
  }
  print_row(b, row);
  return b.on_cpu() && b.card ? check_equal(on_cpu == on_card, row) : Status{};
}

template <class G>
Status bench_ones(Bench& b, Row row, std::span<const Affine<G>> bases) {
  std::vector<std::uint64_t> bits((bases.size() + 63) / 64);
  std::vector<std::uint32_t> list;
  SeededRandom random(b.options.seed + 2);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (random.next_u64() % 100 >= kOnesPercent) continue;
    bits[i / 64] |= std::uint64_t{1} << (i % 64);
    list.push_back(static_cast<std::uint32_t>(i));
  }
  row.elements = static_cast<double>(list.size());
  row.slots = kSlots<typename G::Field> * 6 * row.elements;
  row.bytes = row.elements * (sizeof(Affine<G>) + 4);
  Xyzz<G> on_cpu{}, on_card{};
  if (b.on_cpu()) {
    CUZK_TRY(row.cpu_ms, least_ms(b, [&]() -> Status {
               CUZK_TRY(on_cpu, bitmap_sum<G>(b.tasks, b.memory, bits, bases));
               return {};
             }));
  }
  if (b.card) {
    CUZK_TRY(const auto timed, b.card->sum_ones(list, bases, b.options.repeats));
    row.cuda_ms = timed.ms;
    on_card = timed.result;
  }
  print_row(b, row);
  return b.on_cpu() && b.card ? check_equal(on_cpu == on_card, row) : Status{};
}

template <class G>
Status bench_sums(Bench& b, const char* of) {
  const auto has = [&](const char* kind) {
    return std::count(b.options.kinds.begin(), b.options.kinds.end(), kind) > 0;
  };
  for (const unsigned log : b.options.sizes) {
    const std::size_t n = std::size_t{1} << log;
    const auto bases = multiples<G>(b.tasks, n);
    const std::span<const Affine<G>> all(bases);
    if (has("dense")) CUZK_TRY_VOID(bench_scalars<G>(b, {"msm", of, "dense"}, all));
    if (has("ones")) CUZK_TRY_VOID(bench_ones<G>(b, {"msm", of, "ones"}, all));
    const std::size_t full = std::max<std::size_t>(1, n * kFullPercent / 100);
    if (has("tails")) CUZK_TRY_VOID(bench_scalars<G>(b, {"msm", of, "tails"}, all.first(full)));
  }
  return {};
}

template <class Fr>
Status bench_transforms(Bench& b, const char* of) {
  for (const unsigned log : b.options.sizes) {
    if (log > Fr::Params::kTwoAdicity) continue;
    const auto input = random_elements<Fr>(b, std::size_t{1} << log, 3);
    Row row = {.kernel = "ntt", .of = of, .kind = "dense"};
    row.elements = static_cast<double>(input.size());
    row.slots = kSlots<Fr> * row.elements / 2 * log;
    row.bytes = 2.0 * 32 * row.elements;
    std::vector<Fr> on_cpu, on_card;
    if (b.on_cpu()) {
      CUZK_TRY(const auto domain, Domain<Fr>::create(b.tasks, b.memory, log));
      CUZK_TRY(row.cpu_ms, least_ms(b, [&]() -> Status {
                 on_cpu = input;
                 forward_natural_to_reversed<Fr>(b.tasks, domain, on_cpu);
                 return {};
               }));
    }
    if (b.card) {
      on_card = input;
      CUZK_TRY(row.cuda_ms, b.card->transform(on_card, b.options.repeats));
    }
    print_row(b, row);
    if (b.on_cpu() && b.card) CUZK_TRY_VOID(check_equal(on_cpu == on_card, row));
  }
  return {};
}

// A z and B z of a PoRep's circuit, with the witness of a made-up sector.
Status bench_rows(Bench& b) {
  using Fr = bls12_381::Fr;
  CUZK_TRY(const std::uint64_t bytes, filecoin::parse_sector_size(b.options.sector_size));
  CUZK_TRY(const auto proof,
           filecoin::seal_proof("StackedDrg" + filecoin::sector_size_name(bytes) + "V1_1"));
  CUZK_TRY(const auto c1, filecoin::make_sparse_sector(proof, b.options.seed));
  CUZK_TRY(const auto r1cs, filecoin::compile_porep(proof.shape));
  CUZK_TRY(const auto inputs, filecoin::porep_public_inputs(filecoin::PorepStatement::of(c1), 0));
  CUZK_TRY(const auto witness,
           filecoin::synthesize_porep_witness(b.tasks, proof.shape, c1.partitions[0], inputs));
  const Density density = compute_density(r1cs);
  const std::size_t domain = std::size_t{1} << r1cs.domain_log2();
  Row row = {"matvec", proof.name, "witness"};
  row.elements = static_cast<double>(r1cs.num_rows);
  row.bytes = 2.0 * sizeof(Fr) * static_cast<double>(domain) + static_cast<double>(witness.bytes());
  std::vector<Fr> cpu_a(domain), cpu_b(domain), card_a(domain), card_b(domain);
  if (b.on_cpu()) {
    CUZK_TRY(row.cpu_ms, least_ms(b, [&]() -> Status {
               CUZK_TRY_VOID(evaluate_matrix<Fr>(b.tasks, r1cs, witness, Matrix::kA, cpu_a));
               return evaluate_matrix<Fr>(b.tasks, r1cs, witness, Matrix::kB, cpu_b);
             }));
  }
  if (b.card) {
    CUZK_TRY(row.cuda_ms, b.card->rows(r1cs, density, witness, card_a, card_b, b.options.repeats));
  }
  print_row(b, row);
  if (!b.on_cpu() || !b.card) return {};
  // The card writes the rows in reversed order.
  const unsigned log = r1cs.domain_log2();
  bool equal = true;
  for (std::size_t i = 0; i < domain; ++i) {
    std::size_t at = 0;
    for (unsigned k = 0; k < log; ++k) at |= (i >> k & 1) << (log - 1 - k);
    equal = equal && cpu_a[i] == card_a[at] && cpu_b[i] == card_b[at];
  }
  return check_equal(equal, row);
}

Result<ExitCode> bench_kernels(const KernelOptions& o) {
  Bench b(o);
  if (o.backend != "cpu") {
    CUZK_TRY(b.card, KernelCard::open(o.device, b.tasks));
  }
  if (!o.json) {
    std::printf("%s, %d host threads; least of %d runs\n",
                b.card ? b.card->name().c_str() : "no card", b.tasks.threads(), o.repeats);
    std::printf("%-7s %-14s %-6s %12s %12s %12s %8s %8s\n", "kernel", "of", "kind", "elements",
                "CPU ms", "CUDA ms", "GB/s", "of floor");
  }
  for (const std::string& kernel : o.kernels) {
    if (kernel == "msm") {
      for (const std::string& group : o.groups) {
        Status status;
        if (group == "bls12_381_g1") status = bench_sums<Bls12_381G1>(b, "BLS12-381 G1");
        if (group == "bls12_381_g2") status = bench_sums<Bls12_381G2>(b, "BLS12-381 G2");
        if (group == "bn254_g1") status = bench_sums<Bn254G1>(b, "BN254 G1");
        CUZK_TRY_VOID(status);
      }
    } else if (kernel == "ntt") {
      CUZK_TRY_VOID(bench_transforms<bls12_381::Fr>(b, "BLS12-381 Fr"));
      CUZK_TRY_VOID(bench_transforms<bn254::Fr>(b, "BN254 Fr"));
    } else {
      CUZK_TRY_VOID(bench_rows(b));
    }
  }
  if (o.json) {
    const Json report = {{"card", b.card ? Json(b.card->name()) : Json()},
                         {"threads", b.tasks.threads()},
                         {"kernels", b.rows}};
    std::printf("%s\n", report.dump(2).c_str());
  }
  return kOk;
}

}  // namespace

void add_bench_kernels(CLI::App& app, Runner& run) {
  auto o = std::make_shared<KernelOptions>();
  CLI::App* command = app.add_subcommand(
      "kernels", "Times sums, transforms and matrix products on CPU and CUDA, with equal results");
  command->add_option("--kernel", o->kernels, "msm, ntt, matvec")
      ->delimiter(',')
      ->check(CLI::IsMember({"msm", "ntt", "matvec"}));
  command
      ->add_option("--kind", o->kinds,
                   "Of sums: dense scalars, the ones of a witness (33 % of the wires), or its full "
                   "scalars (tails, 4 %)")
      ->delimiter(',')
      ->check(CLI::IsMember({"dense", "ones", "tails"}));
  command->add_option("--group", o->groups, "Of sums: bls12_381_g1, bls12_381_g2, bn254_g1")
      ->delimiter(',')
      ->check(CLI::IsMember({"bls12_381_g1", "bls12_381_g2", "bn254_g1"}));
  command->add_option("--log2", o->sizes, "Sizes, as powers of two; default 16,20")
      ->delimiter(',')
      ->check(CLI::Range(4, 28));
  command->add_option("--backend", o->backend, "cuda, cpu, or both")
      ->check(CLI::IsMember({"cuda", "cpu", "both"}))
      ->capture_default_str();
  command->add_option("--sector-size", o->sector_size, "Of the circuit of matvec")
      ->capture_default_str();
  command->add_option("--repeats", o->repeats, "Runs, of which the least counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--device", o->device, "Which card")->capture_default_str();
  command->add_option("--seed", o->seed, "Of the inputs")->capture_default_str();
  command->add_flag("--json", o->json, "The same as JSON");
  command->footer(
      "The floor is the larger of two: products at the rate of the multiplier, bytes at that of\n"
      "the memory.\n"
      "Example:\n  cuzk-bench kernels --kernel msm,ntt --log2 20,22,24 --backend cuda");
  command->callback([o, &run] { run = [o] { return bench_kernels(*o); }; });
}

}  // namespace cuzk::cli
