// Keys of both worlds on a card, through the device that the engine proves with: the sums are the
// CPU's, resident or streamed, from a file or from memory; keys make room for each other; a fenced
// card is not used.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "circom/dev_setup.h"
#include "engine/circom.h"
#include "engine/circom_test_programs.h"
#include "engine/devices.h"
#include "engine/job_devices.h"
#include "engine/service_test_support.h"
#include "format/circom_test_files.h"
#include "format/wtns.h"
#include "format/zkey.h"
#include "groth16/prover.h"

namespace cuzk::engine {
namespace {

using namespace circom_test;
using testing::MimcOrder;

struct Desk {
  Tasks tasks;
  MemoryBudget memory{std::size_t{8} << 30};
  Timeline timeline;
  Context context{tasks, memory, timeline};
};

template <class T>
T take(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  if (!result) std::abort();
  return std::move(*result);
}

class DevicesCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
    // It outlives the desk: what it pins is the process's.
    static const std::shared_ptr<CudaDevice> opened =
        take(CudaDevice::open({desk_.tasks, MemoryBudget::process(), desk_.timeline}, 0,
                              {.vram_budget = std::size_t{3} << 30, .workers = 2}));
    device_ = opened;
  }
  void TearDown() override {
    if (!device_) return;
    for (const auto& held : device_->status().keys) device_->forget(held.name);
    EXPECT_EQ(device_->card().arena().free_bytes(), device_->arena_bytes());
  }

  template <class Curve, class Input>
  groth16::ProofParts<Curve> parts_of(groth16::Backend<Curve>& backend, const Input& input) {
    auto pending = take(groth16::start_proof(backend, desk_.context, input));
    take(pending.finish());
    return pending.parts();
  }

  template <class Curve>
  void expect_like_cpu(const format::InputBytes& zkey, const format::InputBytes& wtns) {
    using Fr = typename Curve::Fr;
    const auto file = take(format::ZkeyFile::parse(zkey));
    const auto key = take(file.load<Curve>(desk_.context));
    const auto witness_file = take(format::WtnsFile::parse(wtns));
    const auto witness = take(witness_file.to_witness<Fr>(desk_.tasks, key.num_public()));
    const groth16::CosetProveInput<Curve> input{key.matrices, *key.density, witness, key.proving};
    const auto cpu = groth16::make_cpu_backend<Curve>();
    const auto expected = parts_of<Curve>(*cpu, input);
    {
      const auto on_card = take(device_->use<Curve>(desk_.context, zkey.name(), key));
      EXPECT_TRUE(parts_of<Curve>(on_card->backend(), input) == expected) << "resident, roomy";
    }
    device_->forget(zkey.name());

    // The same with multiples; frugal and streamed.
    gpu::Card& card = device_->card();
    const std::size_t inputs = key.matrices.num_inputs, b_inputs = key.density->b_input.count;
    const auto circuit = take(
        groth16::DeviceCircuit<Fr>::load(card, desk_.tasks, key.matrices, *key.density, nullptr,
                                         {key.proving.domain_log2, groth16::kCosetGenerator}));
    {
      const auto resident =
          take(groth16::DeviceKey<Curve>::load(desk_.context, card, key.proving, inputs, b_inputs));
      const Status added = resident->add_multiples(card);
      ASSERT_TRUE(added) << added.error().message;
      const auto backend = take(groth16::make_cuda_backend<Curve>(
          card, *circuit, resident->bases(), {.memory = groth16::CudaMemory::kRoomy}));
      EXPECT_TRUE(parts_of<Curve>(*backend, input) == expected) << "resident, multiples, roomy";
    }
    const auto pinned =
        take(groth16::PinnedKey<Curve>::pin(desk_.context, card, key.proving, inputs, b_inputs));
    const auto streamed = take(groth16::make_cuda_backend<Curve>(
        card, *circuit, pinned->bases(),
        {.memory = groth16::CudaMemory::kFrugal,
         .stream_chunk = key.proving.domain_log2 > 14 ? std::size_t{8192} : std::size_t{1024}}));
    EXPECT_TRUE(parts_of<Curve>(*streamed, input) == expected) << "streamed, frugal";
  }

  template <class Curve>
  void expect_program_like_cpu(const Shape& shape, const std::filesystem::path& folder) {
    const auto made = make_program<Curve>(shape, shape.constraints);
    SeededRandom random(6);
    const auto waste = groth16::ToxicWaste<Curve>::draw(random);
    const auto key = take(circom::insecure_dev_setup<Curve>(desk_.context, made.program, waste));
    const auto path = folder / fmt::format("{}-{}.zkey", Curve::kName, shape.constraints);
    const Status written = format::write_zkey<Curve>(path, made.program, key);
    ASSERT_TRUE(written) << written.error().message;
    const auto wtns = input(format::encode_wtns<typename Curve::Fr>(std::span(made.wires)), "w");
    expect_like_cpu<Curve>(take(format::InputBytes::open(path)), wtns);
  }

  Desk desk_;
  std::shared_ptr<CudaDevice> device_;
};

TEST_F(DevicesCuda, EveryCircomVectorHasTheSumsOfTheCpu) {
  auto vectors = made_vectors(testdata());
  for (const Vector& v : made_vectors(shared() / "made")) vectors.push_back(v);
  ASSERT_FALSE(vectors.empty());
  for (const Vector& v : vectors) {
    SCOPED_TRACE(v.name);
    const auto zkey = take(format::InputBytes::open(v.zkey));
    const auto wtns = take(format::InputBytes::open(v.wtns));
    const auto header = take(take(format::ZkeyFile::parse(zkey)).header());
    circom::with_curve(header.curve, [&]<class Curve>() { expect_like_cpu<Curve>(zkey, wtns); });
  }
  std::printf("%zu vectors\n", vectors.size());
}

TEST_F(DevicesCuda, CircomKeysOfManySizesHaveTheSumsOfTheCpu) {
  const testing::TemporaryFolder folder;
  for (const std::uint32_t constraints : {1u, 2u, 3u, 30u, 31u, 1000u, 5000u, 70000u}) {
    SCOPED_TRACE(constraints);
    const Shape shape{constraints, 1, 2, constraints / 2 + 3};
    expect_program_like_cpu<Bn254>(shape, folder.path());
    expect_program_like_cpu<Bls12_381>(shape, folder.path());
  }
}

// Through CircomProver, as the command line does it. CUZK_TEST_CONSTRAINTS=1000000 makes it a
// measurement.
TEST_F(DevicesCuda, CircomProofsOfACardVerify) {
  const char* wanted = std::getenv("CUZK_TEST_CONSTRAINTS");
  const auto constraints = static_cast<std::uint32_t>(wanted ? std::atol(wanted) : 20000);
  const testing::TemporaryFolder folder;
  const auto made = make_program<Bn254>({constraints, 1, 2, constraints - constraints / 8}, 3);
  SeededRandom random(6);
  const auto waste = groth16::ToxicWaste<Bn254>::draw(random);
  const auto path = folder.path() / "large.zkey";
  {
    const auto key = take(circom::insecure_dev_setup<Bn254>(desk_.context, made.program, waste));
    ASSERT_TRUE(format::write_zkey<Bn254>(path, made.program, key));
  }
  const auto wtns = input(format::encode_wtns<bn254::Fr>(std::span(made.wires)), "w");
  const auto prover = take(CircomProver::open(desk_.context, take(format::InputBytes::open(path)),
                                              {.allow_insecure_key = true}));
  const auto timed = [&](const char* what, const CircomProveOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    const auto reply = prover.prove(desk_.context, wtns, options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%u constraints, %s: %.3f s\n", constraints, what, seconds.count());
    return reply;
  };
  CircomProveOptions on_card;
  on_card.device = device_;
  on_card.on_timing = [](const auto& t) { std::printf("%s\n", t.line().c_str()); };
  for (const char* what : {"cuda, key loaded", "cuda, key on the card", "cuda, key on the card"}) {
    const auto reply = timed(what, on_card);
    ASSERT_TRUE(reply) << reply.error().message;
  }
  const auto cpu = timed("cpu", {});
  ASSERT_TRUE(cpu) << cpu.error().message;
  EXPECT_EQ(device_->status().keys.size(), 1u);
}

TEST_F(DevicesCuda, AWrongCircomWitnessGivesNoProof) {
  const testing::TemporaryFolder folder;
  auto made = make_program<Bn254>({100, 1, 2, 60}, 3);
  SeededRandom random(6);
  const auto waste = groth16::ToxicWaste<Bn254>::draw(random);
  const auto path = folder.path() / "small.zkey";
  const auto key = take(circom::insecure_dev_setup<Bn254>(desk_.context, made.program, waste));
  ASSERT_TRUE(format::write_zkey<Bn254>(path, made.program, key));
  made.wires.back() += bn254::Fr::one();
  made.wires[made.wires.size() / 2] += bn254::Fr::one();
  const auto wtns = input(format::encode_wtns<bn254::Fr>(std::span(made.wires)), "w");
  const auto prover = take(CircomProver::open(desk_.context, take(format::InputBytes::open(path)),
                                              {.allow_insecure_key = true}));
  CircomProveOptions on_card;
  on_card.device = device_;
  const auto refused = prover.prove(desk_.context, wtns, on_card);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsatisfied) << refused.error().message;
}

// A key in its file, with the circuit and a witness of it.
struct MimcKey {
  MimcKey(const Context& context, const std::filesystem::path& folder, std::uint32_t rounds)
      : store(folder) {
    const auto spec = testing::mimc_spec(rounds);
    circuit.r1cs = take(spec.compile());
    circuit.density = compute_density(circuit.r1cs);
    files = take(store.find_or_make(context, spec, circuit, KeyPolicy::kAllowInsecureDev, true));
    key = take(store.load_proving_key(context, files, circuit, KeyPolicy::kAllowInsecureDev));
    witness = std::move(testing::mimc_case({.rounds = rounds}, 0).witness);
    bare.vk = key.vk;
  }
  ParamsKey params() const {
    return {files.params.string(), circuit.r1cs, circuit.density, files.params, &bare, {}};
  }
  groth16::ProveInput<Bls12_381> input(bool with_key) const {
    return {circuit.r1cs, circuit.density, witness, with_key ? key : bare};
  }
  ParameterStore store;
  CompiledCircuit circuit;
  KeyFiles files;
  ProvingKey<Bls12_381> key;
  ProvingKey<Bls12_381> bare;  // what a host keeps: vk alone
  Witness witness;
};

TEST_F(DevicesCuda, AKeyGoesFromItsFileToTheCard) {
  const testing::TemporaryFolder folder;
  const MimcKey mimc(desk_.context, folder.path(), 300);
  const auto cpu = groth16::make_cpu_backend<Bls12_381>();
  const auto expected = parts_of<Bls12_381>(*cpu, mimc.input(true));
  const std::uint64_t loads = device_->status().key_loads;
  for (int i = 0; i < 2; ++i) {
    groth16::PartitionTiming timing;
    const auto on_card =
        take(device_->use(desk_.context, mimc.params(), [&](const auto& t) { timing = t; }));
    EXPECT_TRUE(parts_of<Bls12_381>(on_card->backend(), mimc.input(false)) == expected);
    EXPECT_GT(timing.gpu_total_ms, 0);
    EXPECT_NEAR(timing.batch_add_ms + timing.tail_msm_ms, timing.witness_msm_ms, 0.05);
  }
  const CardStatus status = device_->status();
  ASSERT_EQ(status.keys.size(), 1u);
  EXPECT_EQ(status.keys[0].note, "resident");
  EXPECT_EQ(status.keys[0].uses, 0u);
  EXPECT_EQ(status.key_loads, loads + 1);
}

TEST_F(DevicesCuda, KeysMakeRoomForEachOther) {
  const testing::TemporaryFolder folder;
  const MimcKey one(desk_.context, folder.path(), 300), two(desk_.context, folder.path(), 301);
  const auto cpu = groth16::make_cpu_backend<Bls12_381>();
  const auto plan = take(device_->plan(one.params().id, one.circuit.r1cs, one.circuit.density));
  gpu::Arena& arena = device_->card().arena();
  const std::size_t rest = plan.lasting_bytes + plan.lasting_bytes / 2 + plan.way.lease_bytes;
  const auto filler =
      take(arena.lease("a smaller card", arena.total_bytes() - rest - 4096, gpu::Hold::kLasting));
  const std::uint64_t evictions = device_->status().key_evictions;
  for (const MimcKey* k : {&one, &two, &one, &one, &two}) {
    const auto on_card = take(device_->use(desk_.context, k->params()));
    EXPECT_TRUE(parts_of<Bls12_381>(on_card->backend(), k->input(false)) ==
                parts_of<Bls12_381>(*cpu, k->input(true)));
    EXPECT_EQ(device_->status().keys.size(), 1u);
  }
  EXPECT_EQ(device_->status().key_evictions - evictions, 3u);
  for (const auto& held : device_->status().keys) device_->forget(held.name);
}

TEST_F(DevicesCuda, AFencedCardIsNotUsedAndTheCpuTakesOver) {
  const testing::TemporaryFolder folder;
  const MimcKey mimc(desk_.context, folder.path(), 40);
  const auto spare =
      take(CudaDevice::open(desk_.context, 0, {.vram_budget = std::size_t{1} << 30, .workers = 1}));
  spare->card().fence("a test says so");
  const auto refused = spare->use(desk_.context, mimc.params());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDeviceLost);
  EXPECT_NE(spare->status().fenced.find("a test says so"), std::string::npos);

  const MimcOrder order{.rounds = 40, .partitions = 3, .seed = 9};
  const Job job = take(testing::parse_mimc(nullptr, testing::mimc_request("x", order)));
  CircuitStore circuits({});
  JobDevices devices;
  devices.cards = {spare};
  std::vector<std::string> told;
  devices.tell = [&](const std::string& what) { told.push_back(what); };
  const KeyChoice choice{KeyPolicy::kAllowInsecureDev, true};
  const auto reply = take(prove_job(desk_.context, circuits, mimc.store, job, choice, devices));
  EXPECT_EQ(reply.proof.size(), 3u * 192);
  EXPECT_EQ(std::ranges::count_if(told, [](const auto& s) { return s.ends_with("on the CPU"); }),
            3);
  devices.cpu_fallback = false;
  const auto failed = prove_job(desk_.context, circuits, mimc.store, job, choice, devices);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kDeviceLost) << failed.error().message;

  devices.cards = {device_};
  std::vector<groth16::PartitionTiming> timings;
  devices.on_timing = [&](const auto& t) { timings.push_back(t); };
  devices.log_id = "mimc";
  take(prove_job(desk_.context, circuits, mimc.store, job, choice, devices));
  ASSERT_EQ(timings.size(), 3u);
  EXPECT_TRUE(timings[2].line().starts_with("CUZK_TIMING: job=mimc partition=2 device=0"));
  EXPECT_NE(timings[2].line().find(" verify_ms="), std::string::npos);
}

}  // namespace
}  // namespace cuzk::engine
