// The CUDA backend against the CPU backend: the same sums on random circuits of every shape, on the
// golden MiMC proof byte for byte, and with many partitions in a small arena.

#include "groth16/backend_cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <optional>
#include <thread>

#include "curve/encoding.h"
#include "groth16/cuda_plan.h"
#include "groth16/setup.h"
#include "groth16/test_circuits.h"
#include "groth16/test_golden.h"
#include "groth16/verifier.h"

namespace cuzk::groth16 {
namespace {

using testing::CircuitBuilder;
using testing::CircuitCase;
using testing::random_circuit;
using testing::RandomCircuitShape;

constexpr std::size_t kArena = std::size_t{2} << 30;
constexpr std::size_t kReserve = std::size_t{256} << 20;  // of these

// One card for all tests of the process, as in a prover.
gpu::Card* the_card() {
  static const std::unique_ptr<gpu::Card> card = [] {
    auto opened =
        gpu::Card::open(MemoryBudget::process(),
                        {.vram_budget = kArena, .critical_reserve = kReserve, .workers = 3});
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }();
  return card.get();
}

struct Desk {
  Tasks tasks;
  MemoryBudget memory{std::size_t{4} << 30};
  Timeline timeline;
  Context context{tasks, memory, timeline};
};

// A circuit with its key on host and card.
template <class Curve>
struct Loaded {
  CircuitCase<typename Curve::Fr> circuit;
  Density density;
  ProvingKey<Curve> key;
  std::unique_ptr<DeviceCircuit<typename Curve::Fr>> device_circuit;
  std::unique_ptr<DeviceKey<Curve>> device_key;
  std::unique_ptr<PinnedKey<Curve>> pinned_key;  // where the key is streamed
  std::unique_ptr<Backend<Curve>> backend;

  ProveInput<Curve> input() const { return {circuit.r1cs, density, circuit.witness, key}; }
};

template <class T>
T take(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  if (!result) std::abort();
  return std::move(*result);
}

template <class Curve>
std::unique_ptr<Loaded<Curve>> load(Desk& desk, CircuitCase<typename Curve::Fr> circuit,
                                    const ToxicWaste<Curve>& waste, CudaBackendOptions options = {},
                                    bool is_streamed = false) {
  auto out = std::make_unique<Loaded<Curve>>();
  out->circuit = std::move(circuit);
  const auto& r1cs = out->circuit.r1cs;
  out->density = compute_density(r1cs);
  out->key = take(insecure_dev_setup(desk.context, r1cs, out->density, waste));
  out->device_circuit =
      take(DeviceCircuit<typename Curve::Fr>::load(*the_card(), desk.tasks, r1cs, out->density));
  const std::size_t b_inputs = out->density.b_input.count;
  if (is_streamed) {
    out->pinned_key = take(PinnedKey<Curve>::pin(*the_card(), out->key, r1cs.num_inputs, b_inputs));
  } else {
    out->device_key =
        take(DeviceKey<Curve>::load(*the_card(), desk.tasks, out->key, r1cs.num_inputs, b_inputs));
  }
  const auto bases = is_streamed ? out->pinned_key->bases() : out->device_key->bases();
  out->backend =
      take(make_cuda_backend<Curve>(*the_card(), *out->device_circuit, bases, std::move(options)));
  return out;
}

template <class Curve>
ProofParts<Curve> parts_of(Backend<Curve>& backend, Desk& desk, const ProveInput<Curve>& input) {
  auto pending = take(start_proof(backend, desk.context, input));
  take(pending.finish());
  return pending.parts();
}

template <class Curve>
void expect_equal_parts(const ProofParts<Curve>& got, const ProofParts<Curve>& want) {
  EXPECT_EQ(got.h, want.h) << "h";
  EXPECT_EQ(got.l, want.l) << "l";
  EXPECT_EQ(got.a_inputs, want.a_inputs) << "a_inputs";
  EXPECT_EQ(got.a_aux, want.a_aux) << "a_aux";
  EXPECT_EQ(got.b_g1_inputs, want.b_g1_inputs) << "b_g1_inputs";
  EXPECT_EQ(got.b_g1_aux, want.b_g1_aux) << "b_g1_aux";
  EXPECT_EQ(got.b_g2_inputs, want.b_g2_inputs) << "b_g2_inputs";
  EXPECT_EQ(got.b_g2_aux, want.b_g2_aux) << "b_g2_aux";
}

template <class Point>
void expect_points(gpu::DeviceSpan<const Point> got, std::span<const Point> want,
                   const char* name) {
  ASSERT_EQ(got.size(), want.size()) << name;
  std::vector<Point> points(got.size());
  ASSERT_TRUE(gpu::download(the_card()->load_stream(), std::span<Point>(points), got));
  ASSERT_TRUE(gpu::wait_for_loads(*the_card()));
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(points[i], want[i]) << name << " " << i;
}

template <class Curve>
class BackendCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
    ASSERT_NE(the_card(), nullptr);
  }
  static ToxicWaste<Curve> secrets(std::uint64_t seed) {
    SeededRandom random(seed);
    return ToxicWaste<Curve>::draw(random);
  }
  static CircuitCase<typename Curve::Fr> circuit(std::uint64_t seed,
                                                 const RandomCircuitShape& shape) {
    SeededRandom random(seed);
    return random_circuit<typename Curve::Fr>(random, shape);
  }
  // In every way that a card can be used.
  void check(CircuitCase<typename Curve::Fr> c, std::uint64_t seed,
             std::size_t stream_chunk = 1024) {
    const auto loaded = load<Curve>(desk_, std::move(c), secrets(seed));
    const auto cpu = make_cpu_backend<Curve>();
    const auto want = parts_of(*cpu, desk_, loaded->input());
    const auto& r1cs = loaded->circuit.r1cs;
    const auto pinned = take(PinnedKey<Curve>::pin(*the_card(), loaded->key, r1cs.num_inputs,
                                                   loaded->density.b_input.count));
    const auto resident = loaded->device_key->bases();
    EXPECT_EQ(resident.h_windows, 0u);
    const Status added = loaded->device_key->add_multiples(*the_card());
    EXPECT_TRUE(added) << added.error().message;
    const auto with_multiples = loaded->device_key->bases();
    EXPECT_GT(with_multiples.h_windows, 0u);
    const auto streamed = pinned->bases();
    for (const auto* bases : {&resident, &with_multiples, &streamed}) {
      for (const CudaMemory memory : {CudaMemory::kFrugal, CudaMemory::kRoomy}) {
        const bool is_streamed = bases->is_streamed;
        SCOPED_TRACE(::testing::Message() << (is_streamed ? "streamed, " : "resident, ")
                                          << (bases->h_windows ? "multiples, " : "")
                                          << (memory == CudaMemory::kRoomy ? "roomy" : "frugal"));
        PartitionTiming timing;
        const auto backend =
            take(make_cuda_backend<Curve>(*the_card(), *loaded->device_circuit, *bases,
                                          {.memory = memory,
                                           .stream_chunk = is_streamed ? stream_chunk : 0,
                                           .on_timing = [&](const auto& t) { timing = t; }}));
        expect_equal_parts(parts_of(*backend, desk_, loaded->input()), want);
        const std::size_t promised = take(cuda_lease_bytes<Curve>(r1cs, loaded->density,
                                                                  {.memory = memory,
                                                                   .is_streamed = is_streamed,
                                                                   .stream_chunk = stream_chunk,
                                                                   .h_windows = bases->h_windows}));
        EXPECT_GT(timing.vram_lease_bytes, 0u);
        EXPECT_LE(timing.vram_lease_bytes, promised);
      }
    }
  }
  Desk desk_;
};

using Curves = ::testing::Types<Bls12_381, Bn254>;
TYPED_TEST_SUITE(BackendCuda, Curves);

TYPED_TEST(BackendCuda, RandomCircuitsGiveTheSumsOfTheCpu) {
  const RandomCircuitShape shapes[] = {
      {.inputs = 3, .aux = 20, .extra_rows = 5},
      {.inputs = 1, .aux = 1, .extra_rows = 0},
      {.inputs = 0, .aux = 9, .extra_rows = 6},
      {.inputs = 7, .aux = 3, .extra_rows = 0, .bits_percent = 0},
      {.inputs = 2, .aux = 40, .extra_rows = 1, .bits_percent = 100},
      {.inputs = 5, .aux = 70, .extra_rows = 9, .bits_percent = 80, .terms = 6},
      {.inputs = 31, .aux = 63, .extra_rows = 0, .bits_percent = 50, .terms = 2},
      {.inputs = 0, .aux = 513, .extra_rows = 510, .bits_percent = 60, .terms = 5},
      {.inputs = 33, .aux = 2000, .extra_rows = 13, .bits_percent = 97, .terms = 9},
      {.inputs = 2, .aux = 4000, .extra_rows = 93, .bits_percent = 60, .terms = 4},
  };
  std::uint64_t seed = 300;
  for (const RandomCircuitShape& shape : shapes) {
    SCOPED_TRACE(::testing::Message() << "inputs " << shape.inputs << ", aux " << shape.aux);
    this->check(this->circuit(seed, shape), seed + 1);
    seed += 2;
  }
}

TYPED_TEST(BackendCuda, CircuitsWithoutRowsOrAuxiliaries) {
  using Fr = typename TypeParam::Fr;
  for (const std::size_t inputs : {0, 1, 2, 3, 30, 31}) {
    SCOPED_TRACE(inputs);
    CircuitBuilder<Fr> cs;
    for (std::size_t i = 0; i < inputs; ++i) cs.input(Fr::from_u64(7 * i));
    this->check(cs.finish(), 40 + inputs);
  }
}

// One circuit placed many times: what blocks, ports and local variables resolve to.
TYPED_TEST(BackendCuda, BlocksPlacedManyTimesGiveTheSumsOfTheCpu) {
  using Fr = typename TypeParam::Fr;
  constexpr std::uint32_t kPlaces = 700;
  CircuitCase<Fr> c;
  auto& r1cs = c.r1cs;
  SeededRandom random(9);
  const Fr five = Fr::from_u64(5);
  r1cs.name = "placed";
  r1cs.dictionary = {Fr::one(), -Fr::one(), five};
  r1cs.num_inputs = 1 + kPlaces;
  r1cs.num_aux = 2 * kPlaces;
  r1cs.num_rows = 2 * kPlaces;
  r1cs.num_full_aux = 2 * kPlaces;
  // Rows: (5 local0 - port0) * (1 + local_input0) = local1, local1 * 1 = local1.
  RowBlock block;
  block.path = "block";
  block.num_rows = 2;
  block.num_aux = 2;
  block.num_inputs = 1;
  block.num_ports = 1;
  const auto ref = [](ColumnRef::Kind kind, std::uint32_t i) { return ColumnRef::make(kind, i); };
  const ColumnRef local0 = ref(ColumnRef::kLocalAux, 0), local1 = ref(ColumnRef::kLocalAux, 1);
  const ColumnRef one = ref(ColumnRef::kInput, 0), mine = ref(ColumnRef::kLocalInput, 0);
  const ColumnRef port = ref(ColumnRef::kPort, 0);
  block.matrices[0].terms = {{port, 1}, {local0, 2}, {local1, 0}};
  block.matrices[0].row_end = {2, 3};
  block.matrices[1].terms = {{one, 0}, {mine, 0}, {one, 0}};
  block.matrices[1].row_end = {2, 3};
  block.matrices[2].terms = {{local1, 0}, {local1, 0}};
  block.matrices[2].row_end = {1, 2};
  r1cs.blocks = {block};
  std::vector<Fr> values;
  c.witness.inputs = {Fr::one()};
  for (std::uint32_t p = 0; p < kPlaces; ++p) {
    r1cs.segments.push_back({0, 2 * p, 2 * p, 1 + p, p});
    // The port: the first variable of the place before, or its own input for the first one.
    const bool to_input = p == 0;
    r1cs.ports.push_back(to_input ? ref(ColumnRef::kInput, 1) : ref(ColumnRef::kAux, 2 * p - 2));
    const Fr input = p % 3 == 0 ? Fr::zero() : Fr::random(random);
    c.witness.inputs.push_back(input);
    const Fr local = p % 2 == 0 ? Fr::from_u64(p / 2 % 2) : Fr::random(random);
    const Fr at_port = to_input ? input : values[2 * p - 2];
    values.push_back(local);
    values.push_back((five * local - at_port) * (Fr::one() + input));
  }
  for (const Fr& v : values) c.witness.push(v);
  c.witness.finish();
  this->check(std::move(c), 77);
}

TYPED_TEST(BackendCuda, EqualAndOppositeBasesAddUp) {
  using Fr = typename TypeParam::Fr;
  // Variables that occur alike have equal points; those that occur with opposite signs in a row of
  // their own have opposite ones.
  CircuitBuilder<Fr> cs;
  const Fr minus = -Fr::one();
  SeededRandom random(4);
  for (int i = 0; i < 100; ++i) {
    const Fr v = i % 3 ? Fr::one() : Fr::random(random);
    const auto x = cs.aux(v), y = cs.aux(v), z = cs.aux(v);
    cs.row({{x, Fr::one()}, {y, Fr::one()}, {z, minus}}, {{cs.one(), Fr::one()}},
           {{x, Fr::one()}, {y, Fr::one()}, {z, minus}});
    cs.row({{cs.one(), Fr::one()}}, {{x, Fr::one()}, {y, Fr::one()}, {z, minus}}, {{cs.one(), v}});
  }
  this->check(cs.finish(), 21);
}

TYPED_TEST(BackendCuda, AnUnsatisfiedRowIsNamed) {
  using Fr = typename TypeParam::Fr;
  const auto make = [](std::uint64_t y) {
    CircuitBuilder<Fr> cs;
    const auto x = cs.aux(Fr::from_u64(5));
    const auto square = cs.aux(Fr::from_u64(y));
    cs.row({{x, Fr::one()}}, {{cs.one(), Fr::one()}}, {{x, Fr::one()}});
    cs.row({{x, Fr::one()}}, {{x, Fr::one()}}, {{square, Fr::one()}});
    return cs.finish();
  };
  const auto good = load<TypeParam>(this->desk_, make(25), this->secrets(5));
  const auto bad = make(26);
  auto pending = take(start_proof(
      *good->backend, this->desk_.context,
      ProveInput<TypeParam>{good->circuit.r1cs, good->density, bad.witness, good->key}));
  const auto proof = pending.finish();
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, ErrorCode::kUnsatisfied);
  EXPECT_NE(proof.error().message.find("row 1"), std::string::npos) << proof.error().message;
}

TYPED_TEST(BackendCuda, AnotherCircuitIsRefused) {
  const auto one = load<TypeParam>(this->desk_, this->circuit(1, {}), this->secrets(1));
  const auto other = this->circuit(1, {});
  const auto refused =
      start_proof(*one->backend, this->desk_.context,
                  ProveInput<TypeParam>{other.r1cs, one->density, other.witness, one->key});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

TYPED_TEST(BackendCuda, ADroppedProofGivesEverythingBack) {
  const auto loaded =
      load<TypeParam>(this->desk_, this->circuit(2, {.aux = 3000}), this->secrets(2));
  const std::size_t free = the_card()->arena().free_bytes();
  for (int i = 0; i < 10; ++i) {
    take(start_proof(*loaded->backend, this->desk_.context, loaded->input()));
  }
  EXPECT_EQ(the_card()->arena().free_bytes(), free);
  EXPECT_EQ(the_card()->gate().tenants(), 0u);
}

TYPED_TEST(BackendCuda, AKeyMadeOnTheCardIsTheHostsKey) {
  auto& desk = this->desk_;
  const auto waste = this->secrets(31);
  const auto c = this->circuit(31, {.inputs = 9, .aux = 1500, .extra_rows = 11});
  const Density density = compute_density(c.r1cs);
  const auto key = take(insecure_dev_setup(desk.context, c.r1cs, density, waste));
  const auto made = take(
      insecure_dev_setup_on_card<TypeParam>(desk.context, *the_card(), c.r1cs, density, waste));
  EXPECT_EQ(made.vk.ic, key.vk.ic);
  EXPECT_EQ(made.vk.delta_g2, key.vk.delta_g2);
  const DeviceKey<TypeParam>& on_card = *made.key;
  expect_points(on_card.h_query(), key.h_query.span(), "h");
  expect_points(on_card.l_query(), key.l_query.span(), "l");
  expect_points(on_card.a_aux(), key.a_query.span().subspan(c.r1cs.num_inputs), "a");
  const std::size_t b_inputs = density.b_input.count;
  expect_points(on_card.b_g1_aux(), key.b_g1_query.span().subspan(b_inputs), "b_g1");
  expect_points(on_card.b_g2_aux(), key.b_g2_query.span().subspan(b_inputs), "b_g2");
  EXPECT_TRUE(std::ranges::equal(on_card.a_inputs(), key.a_query.span().first(c.r1cs.num_inputs)));
  EXPECT_TRUE(std::ranges::equal(on_card.b_g2_inputs(), key.b_g2_query.span().first(b_inputs)));
  EXPECT_EQ(made.vk.alpha_g1, key.vk.alpha_g1);
  EXPECT_EQ(made.vk.gamma_g2, key.vk.gamma_g2);
}

// Partitions of several threads in an arena that holds one of them at a time, with a record each.
TYPED_TEST(BackendCuda, ManyPartitionsInASmallArenaAllVerify) {
  auto& desk = this->desk_;
  std::mutex mutex;
  std::vector<PartitionTiming> timings;
  const auto loaded =
      load<TypeParam>(desk, this->circuit(41, {.inputs = 2, .aux = 6000}), this->secrets(41),
                      {.memory = CudaMemory::kFrugal, .on_timing = [&](const auto& t) {
                         const std::lock_guard lock(mutex);
                         timings.push_back(t);
                       }});
  const auto lease = take(cuda_lease_bytes<TypeParam>(loaded->circuit.r1cs, loaded->density, {}));
  gpu::Arena& arena = the_card()->arena();
  std::optional<gpu::Lease> filler;
  filler = take(arena.lease("all but one partition", arena.largest_free_bytes() - lease - 4096));
  const PreparedVerifyingKey<TypeParam> vk(loaded->key.vk);
  const std::vector<typename TypeParam::Fr> inputs(loaded->circuit.witness.inputs.begin() + 1,
                                                   loaded->circuit.witness.inputs.end());
  std::vector<std::jthread> threads;
  std::atomic<int> verified = 0;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 8; ++i) {
        auto pending = start_proof(*loaded->backend, desk.context, loaded->input());
        ASSERT_TRUE(pending) << pending.error().message;
        const auto proof = pending->finish();
        ASSERT_TRUE(proof) << proof.error().message;
        verified += verify(desk.tasks, vk, Claim<TypeParam>{*proof, inputs}).has_value();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(verified, 24);
  ASSERT_EQ(timings.size(), 24u);
  for (const PartitionTiming& t : timings) {
    EXPECT_GT(t.gpu_total_ms, 0);
    EXPECT_GT(t.upload_bytes, 0u);
    EXPECT_LE(t.vram_lease_bytes, lease);
    EXPECT_TRUE(t.line().starts_with("CUZK_TIMING: partition=0 device=0 worker="));
  }
  for (const char* span : {"stage", "compute_wait", "matvec", "ntt", "h_msm", "witness_msm",
                           "b_g2_msm", "gpu_total", "memory_wait"}) {
    EXPECT_GE(std::ranges::count(desk.timeline.records(), std::string(span), &SpanRecord::name), 24)
        << span;
  }
}

// 64 chunks of h: 300 KB of window sums, which once were more than a slot could fetch.
TYPED_TEST(BackendCuda, ManySmallChunksAreFetched) {
  this->check(this->circuit(44, {.inputs = 2, .aux = 40000, .extra_rows = 25000}), 45);
}

// Numbers of wires and full scalars as they may come: what is promised for the circuit holds.
TYPED_TEST(BackendCuda, NoWitnessLeasesMoreThanItsCircuitIsPromised) {
  SeededRandom random(12);
  const auto below = [&](std::size_t end) { return end ? random.next_u64() % end : 0; };
  int exceeding = 0;
  for (int round = 0; round < 300; ++round) {
    CircuitSize size;
    size.domain_log2 = static_cast<unsigned>(8 + below(20));
    size.aux = below(std::size_t{1} << size.domain_log2);
    size.inputs = 1 + below(50);
    size.full = size.aux >> below(12);
    size.dense_a = size.aux - below(size.aux / 2 + 1);
    size.dense_b = size.aux - below(size.aux / 2 + 1);
    CudaMode mode;
    mode.roomy = below(2);
    mode.pairs_per_batch = std::size_t{1} << (20 + below(7));
    mode.additions = below(2) ? MsmAdditions::kAuto : MsmAdditions::kXyzz;
    const auto largest = take(CudaPlan<TypeParam>::make(largest_shape<TypeParam>(size, mode)));
    for (int witness = 0; witness < 10; ++witness) {
      PartitionShape shape = largest.shape;
      shape.full = size.full >> below(6);
      for (QueryPlan* q : {&shape.l, &shape.a, &shape.b_g1, &shape.b_g2}) {
        q->chunks[0].full = below(std::min(q->chunks[0].full, shape.full) + 1);
        q->chunks[0].ones >>= below(4);
      }
      const auto own = take(CudaPlan<TypeParam>::make(shape));
      exceeding += own.memory.total_bytes() > largest.memory.total_bytes();
      const auto plan = take(CudaPlan<TypeParam>::make_within(shape, largest));
      ASSERT_LE(plan.memory.total_bytes(), largest.memory.total_bytes()) << round;
      ASSERT_LE(plan.result_bytes(), largest.result_bytes()) << round;
    }
  }
  std::printf("%d of 3000 witnesses want more than the largest of their circuit\n", exceeding);
}

// The shape of a 32 GiB PoRep: what its ways take, quickest first.
TEST(BackendCudaWays, LargerChunksAreQuickerAndAllOfThemCanBeFetched) {
  if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  ASSERT_NE(the_card(), nullptr);
  CompactR1cs<bls12_381::Fr> r1cs;
  r1cs.num_inputs = 60;
  r1cs.num_rows = 130000000;
  r1cs.num_aux = 128000000;
  r1cs.num_full_aux = 2700000;
  Density density;
  density.a_aux.count = 113000000;
  density.b_aux.count = 41000000;
  const auto ways = take(cuda_ways<Bls12_381>(r1cs, density, {.is_streamed = true}));
  ASSERT_GT(ways.size(), 10u);
  for (const CudaWay& w : ways) {
    std::printf("chunk 2^%d, batch 2^%d, %s: %.2f GB, cost %.3g\n",
                std::countr_zero(w.stream_chunk), std::countr_zero(w.pairs_per_batch),
                w.additions == MsmAdditions::kXyzz ? "XYZZ" : "auto",
                static_cast<double>(w.lease_bytes) * 1e-9, w.cost);
  }
  EXPECT_TRUE(std::ranges::is_sorted(ways, {}, &CudaWay::cost));
  EXPECT_EQ(ways.front().stream_chunk, std::size_t{1} << 23);
  const auto least = std::ranges::min_element(ways, {}, &CudaWay::lease_bytes);
  EXPECT_LT(least->stream_chunk, std::size_t{1} << 23);
  EXPECT_LT(least->lease_bytes, ways.front().lease_bytes);
  // Chunks whose results no slot can fetch are refused before anything is queued.
  const auto refused = cuda_lease_bytes<Bls12_381>(
      r1cs, density, {.is_streamed = true, .stream_chunk = std::size_t{1} << 16});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("stream larger chunks"), std::string::npos);
  // And domains that no card transforms.
  r1cs.num_rows = 300000000;
  const auto too_large = cuda_ways<Bls12_381>(r1cs, density, {});
  ASSERT_FALSE(too_large);
  EXPECT_NE(too_large.error().message.find("2^29 points, a card proves up to 2^28"),
            std::string::npos)
      << too_large.error().message;
}

// The arena and the workers' slots are taken: critical work has its own of both, others wait.
TYPED_TEST(BackendCuda, ACriticalProofNeedsNothingThatOthersHold) {
  auto& desk = this->desk_;
  const auto loaded =
      load<TypeParam>(desk, this->circuit(46, {.inputs = 2, .aux = 5000}), this->secrets(46));
  const auto urgent = take(make_cuda_backend<TypeParam>(
      *the_card(), *loaded->device_circuit, loaded->device_key->bases(),
      {.memory = CudaMemory::kFrugal, .urgency = gpu::Urgency::kCritical}));
  const auto want = parts_of(*make_cpu_backend<TypeParam>(), desk, loaded->input());
  std::vector<PendingProof<TypeParam>> normal;
  for (unsigned i = 0; i < the_card()->workers(); ++i) {
    normal.push_back(take(start_proof(*loaded->backend, desk.context, loaded->input())));
  }
  gpu::Arena& arena = the_card()->arena();
  std::vector<gpu::Lease> fillers;
  while (arena.largest_free_bytes() > 0) {
    fillers.push_back(take(arena.lease("everything", arena.largest_free_bytes())));
  }
  for (int i = 0; i < 5; ++i) {
    auto pending = start_proof(*urgent, desk.context, loaded->input());
    ASSERT_TRUE(pending) << pending.error().message;
    take(pending->finish());
    expect_equal_parts(pending->parts(), want);
  }
  EXPECT_EQ(the_card()->reserve().free_bytes(), the_card()->reserve().total_bytes());
  fillers.clear();
  for (auto& pending : normal) {
    take(pending.finish());
    expect_equal_parts(pending.parts(), want);
  }
}

// Many bits and some scalars, of which another seed makes other values for the same rows.
template <class Fr>
CircuitCase<Fr> bits_and_scalars(std::uint64_t seed) {
  SeededRandom random(seed);
  CircuitBuilder<Fr> cs;
  cs.input(Fr::random(random));
  for (int i = 0; i < 300; ++i) {
    for (int j = 0; j < 30; ++j) {
      const auto bit = cs.aux(Fr::from_u64(random.next_u64() & 1));
      cs.row({{bit, Fr::one()}}, {{bit, Fr::one()}}, {{bit, Fr::one()}});
    }
    const Fr v = i % 7 ? Fr::random(random) : Fr::from_u64(random.next_u64() & 1);
    const auto x = cs.aux(v), square = cs.aux(v * v);
    cs.row({{x, Fr::one()}}, {{x, Fr::one()}}, {{square, Fr::one()}});
  }
  auto out = cs.finish();
  out.r1cs.num_full_aux = 600;
  return out;
}

// While an arena is full three partitions of a streamed key wait for it: the first computes the
// sums over the assignment for all of them, whether they then have room beside each other or not.
TYPED_TEST(BackendCuda, PartitionsThatWaitShareTheBasesThatGoUp) {
  using Fr = typename TypeParam::Fr;
  using Plan = CudaPlan<TypeParam>;
  auto& desk = this->desk_;
  constexpr std::size_t kWaiting = 3;
  ASSERT_EQ(the_card()->workers(), kWaiting);
  const auto loaded = load<TypeParam>(desk, bits_and_scalars<Fr>(1), this->secrets(51),
                                      {.stream_chunk = 8192}, true);
  const auto& r1cs = loaded->circuit.r1cs;
  std::vector<CircuitCase<Fr>> others;
  std::vector<ProveInput<TypeParam>> inputs;
  std::vector<ProofParts<TypeParam>> want;
  for (std::size_t i = 0; i < kWaiting; ++i) others.push_back(bits_and_scalars<Fr>(100 + i));
  for (const auto& other : others) {
    inputs.push_back({r1cs, loaded->density, other.witness, loaded->key});
    want.push_back(parts_of(*make_cpu_backend<TypeParam>(), desk, inputs.back()));
  }
  EXPECT_FALSE(want[0].l == want[1].l);
  gpu::Card& card = *the_card();
  gpu::Arena& arena = card.arena();
  for (const CudaMemory memory : {CudaMemory::kFrugal, CudaMemory::kRoomy}) {
    const CudaLease lease = {.memory = memory, .is_streamed = true, .stream_chunk = 8192};
    const std::size_t bytes = take(cuda_lease_bytes<TypeParam>(r1cs, loaded->density, lease));
    const CircuitSize size = {r1cs.domain_log2(),
                              r1cs.num_aux,
                              r1cs.num_inputs,
                              r1cs.num_full_aux,
                              loaded->density.a_aux.count,
                              loaded->density.b_aux.count};
    const CudaMode mode = {
        .is_streamed = true, .roomy = memory == CudaMemory::kRoomy, .stream_chunk = 8192};
    ASSERT_GE(take(Plan::make(largest_shape<TypeParam>(size, mode), 7)).guests.size(), 2u);
    for (const bool alone : {false, true}) {
      // One of them may be given up while it waits, or dropped once it was started.
      for (const int lost : {-1, 1, 2}) {
        SCOPED_TRACE(::testing::Message()
                     << "roomy " << mode.roomy << ", one at a time " << alone << ", lost " << lost);
        std::mutex mutex;
        std::vector<PartitionTiming> timings;
        const auto on_timing = [&](const PartitionTiming& t) {
          const std::lock_guard lock(mutex);
          timings.push_back(t);
        };
        const auto backend = take(make_cuda_backend<TypeParam>(
            card, *loaded->device_circuit, loaded->pinned_key->bases(),
            {.memory = memory, .stream_chunk = 8192, .on_timing = on_timing}));
        std::optional<gpu::Lease> filler;
        if (alone) filler = take(arena.lease("rest", arena.largest_free_bytes() - bytes - 4096));
        auto blocker = take(card.gate().enter("everything", arena.largest_free_bytes()));
        std::stop_source stop;
        std::vector<std::jthread> threads;
        std::atomic<std::size_t> right = 0;
        for (std::size_t i = 0; i < kWaiting; ++i) {
          const std::size_t asked = card.gate().asked();
          threads.emplace_back([&, i] {
            const bool is_lost = static_cast<int>(i) == lost;
            Tasks tasks(1, is_lost && lost == 1 ? stop.get_token() : std::stop_token());
            Timeline timeline;
            auto pending = start_proof(*backend, Context{tasks, desk.memory, timeline}, inputs[i]);
            if (is_lost && lost == 1) {
              ASSERT_FALSE(pending);
              EXPECT_EQ(pending.error().code, ErrorCode::kCancelled);
              return;
            }
            ASSERT_TRUE(pending) << pending.error().message;
            if (is_lost) return;
            const auto proof = pending->finish();
            ASSERT_TRUE(proof) << proof.error().message;
            expect_equal_parts(pending->parts(), want[i]);
            ++right;
          });
          while (card.gate().asked() == asked) std::this_thread::yield();
        }
        if (lost == 1) {
          stop.request_stop();
          threads[1].join();
        }
        blocker.reset();
        threads.clear();
        const std::size_t served = lost == 1 ? 2 : 3;
        EXPECT_EQ(right, lost == -1 ? 3u : 2u);
        ASSERT_EQ(timings.size(), right);
        std::ranges::sort(timings, {}, &PartitionTiming::upload_bytes);
        for (const PartitionTiming& t : timings) {
          EXPECT_EQ(t.pass, served) << t.line();
          EXPECT_GT(t.witness_msm_ms, 0);
          EXPECT_GT(t.b_g2_msm_ms, 0);
        }
        // A guest's own are its assignment and the bases of h.
        EXPECT_LT(2 * timings[0].upload_bytes, timings.back().upload_bytes);
        filler.reset();
        EXPECT_EQ(card.gate().tenants(), 0u);
        EXPECT_EQ(arena.free_bytes(), arena.total_bytes() - arena.lasting_bytes());
      }
    }
  }
}

TYPED_TEST(BackendCuda, APartitionThatCannotFitIsAnErrorWithTheNumbers) {
  auto& desk = this->desk_;
  const auto loaded =
      load<TypeParam>(desk, this->circuit(42, {.inputs = 2, .aux = 500}), this->secrets(42));
  gpu::Arena& arena = the_card()->arena();
  auto filler = take(arena.lease("everything", arena.largest_free_bytes()));
  const auto refused = start_proof(*loaded->backend, desk.context, loaded->input());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfBudget);
  filler.release();
  parts_of(*loaded->backend, desk, loaded->input());
}

TYPED_TEST(BackendCuda, AThousandProofsLeaveTheArenaAsItWas) {
  auto& desk = this->desk_;
  const auto loaded =
      load<TypeParam>(desk, this->circuit(43, {.inputs = 1, .aux = 60}), this->secrets(43));
  const PreparedVerifyingKey<TypeParam> vk(loaded->key.vk);
  const std::vector<typename TypeParam::Fr> inputs(loaded->circuit.witness.inputs.begin() + 1,
                                                   loaded->circuit.witness.inputs.end());
  const std::size_t free = the_card()->arena().free_bytes();
  std::vector<Claim<TypeParam>> claims;
  for (int i = 0; i < 500; ++i) {
    auto one = take(start_proof(*loaded->backend, desk.context, loaded->input()));
    auto two = take(start_proof(*loaded->backend, desk.context, loaded->input()));
    claims.push_back({take(one.finish()), inputs});
    claims.push_back({take(two.finish()), inputs});
  }
  EXPECT_TRUE(verify_batch(desk.tasks, vk, claims));
  EXPECT_EQ(the_card()->arena().free_bytes(), free);
}

TEST(BackendCudaSelfTest, AHealthyCardPassesItAndGivesEverythingBack) {
  if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  Desk desk;
  const std::size_t free = the_card()->arena().free_bytes();
  const Status passed = self_test(desk.context, *the_card());
  ASSERT_TRUE(passed) << passed.error().message;
  EXPECT_TRUE(the_card()->check_usable());
  EXPECT_EQ(the_card()->arena().free_bytes(), free);
}

TEST(BackendCudaGolden, TheMimcProofIsBellmansByteForByte) {
  if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  Desk desk;
  const std::string directory = CUZK_TESTDATA_DIR "/golden/mimc/";
  const auto inputs = testing::read_json(directory + "inputs.json");
  const auto golden =
      testing::golden_proof(testing::read_json(directory + "mimc16.proof.json")["partitions"][0]);
  const auto loaded = load<Bls12_381>(desk, testing::golden_mimc(inputs),
                                      testing::golden_toxic_waste(inputs["toxic_waste"]));
  auto pending = take(
      start_proof_with_blinding(*loaded->backend, desk.context, loaded->input(),
                                Blinding<Bls12_381>::insecure_fixed_for_tests(golden.r, golden.s)));
  const auto proof = take(pending.finish());
  expect_equal_parts(pending.parts(), golden.parts);
  EXPECT_EQ(proof, golden.proof);
  std::vector<std::uint8_t> bytes;
  const auto append = [&](const auto& encoded) {
    bytes.insert(bytes.end(), encoded.begin(), encoded.end());
  };
  append(encode_compressed(proof.a));
  append(encode_compressed(proof.b));
  append(encode_compressed(proof.c));
  EXPECT_EQ(to_hex(bytes), golden.proof_hex);
}

}  // namespace
}  // namespace cuzk::groth16
