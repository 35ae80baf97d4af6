// Every call to CUDA's runtime and driver while partitions are proved, as CUPTI reports it: once a
// card is open and warm, nothing allocates, frees, pins, asks for memory or waits for the device as
// a whole, whatever the partitions are and whichever way they take.

#include <gtest/gtest.h>

#include "groth16/backend_cuda.h"

#if defined(CUZK_HAS_CUPTI)

#include <cupti.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>
#include <regex>
#include <thread>

#include "groth16/setup.h"
#include "groth16/test_circuits.h"

namespace cuzk::groth16 {
namespace {

using testing::CircuitCase;
using testing::random_circuit;
using Curve = Bls12_381;

template <class T>
T take(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  if (!result) std::abort();
  return std::move(*result);
}

// Counts the calls of all threads by name, while it is switched on.
class ApiTrace {
 public:
  ApiTrace() {
    EXPECT_EQ(cuptiSubscribe(&subscriber_, &ApiTrace::on_call, this), CUPTI_SUCCESS);
    for (const auto domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
      EXPECT_EQ(cuptiEnableDomain(1, subscriber_, domain), CUPTI_SUCCESS);
    }
  }
  ~ApiTrace() { cuptiUnsubscribe(subscriber_); }
  ApiTrace(const ApiTrace&) = delete;
  ApiTrace& operator=(const ApiTrace&) = delete;

  template <class F>
  std::map<std::string, int> calls_of(F&& work) {
    {
      const std::lock_guard lock(mutex_);
      calls_.clear();
    }
    on_ = true;
    work();
    on_ = false;
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  static void CUPTIAPI on_call(void* self, CUpti_CallbackDomain, CUpti_CallbackId,
                               const void* data) {
    const auto* call = static_cast<const CUpti_CallbackData*>(data);
    auto* trace = static_cast<ApiTrace*>(self);
    if (!trace->on_ || call->callbackSite != CUPTI_API_ENTER) return;
    const std::lock_guard lock(trace->mutex_);
    ++trace->calls_[call->functionName];
  }

  CUpti_SubscriberHandle subscriber_{};
  std::atomic<bool> on_ = false;
  std::mutex mutex_;
  std::map<std::string, int> calls_;
};

// What acts on a device as a whole, or makes or ends something that lasts.
bool is_forbidden(const std::string& name) {
  static const std::regex pattern(
      "cuda(Malloc|Free|HostAlloc|HostRegister|HostUnregister|MemGetInfo|DeviceSynchronize|"
      "DeviceReset|MemPool|DeviceGetMemPool|StreamCreate|StreamDestroy|StreamSynchronize|"
      "EventCreate|EventDestroy).*|"
      "cu(MemAlloc|MemFree|MemHost|MemGetInfo|CtxSynchronize|MemPool|MemCreate|MemMap|MemUnmap|"
      "MemRelease|StreamCreate|StreamDestroy|StreamSynchronize|EventCreate|EventDestroy|"
      "ModuleLoad|ModuleUnload|LibraryLoad).*");
  return std::regex_match(name, pattern);
}

struct Desk {
  Tasks tasks;
  MemoryBudget memory{std::size_t{4} << 30};
  Timeline timeline;
  Context context{tasks, memory, timeline};
};

// A circuit whose key is on the card, and pinned on the host.
struct Loaded {
  Loaded(Desk& desk, gpu::Card& card, std::size_t aux) {
    SeededRandom random(aux);
    circuit = random_circuit<Curve::Fr>(random, {.inputs = 2, .aux = aux, .bits_percent = 70});
    density = compute_density(circuit.r1cs);
    const auto waste = ToxicWaste<Curve>::draw(random);
    key = take(insecure_dev_setup(desk.context, circuit.r1cs, density, waste));
    const std::size_t inputs = circuit.r1cs.num_inputs, b_inputs = density.b_input.count;
    on_card = take(DeviceCircuit<Curve::Fr>::load(card, desk.tasks, circuit.r1cs, density));
    resident = take(DeviceKey<Curve>::load(card, desk.tasks, key, inputs, b_inputs));
    pinned = take(PinnedKey<Curve>::pin(card, key, inputs, b_inputs));
  }
  ProveInput<Curve> input() const { return {circuit.r1cs, density, circuit.witness, key}; }

  CircuitCase<Curve::Fr> circuit;
  Density density;
  ProvingKey<Curve> key;
  std::unique_ptr<DeviceCircuit<Curve::Fr>> on_card;
  std::unique_ptr<DeviceKey<Curve>> resident;
  std::unique_ptr<PinnedKey<Curve>> pinned;
};

// Resident and streamed, frugal and roomy, and critical ones.
std::vector<std::unique_ptr<Backend<Curve>>> backends_of(gpu::Card& card, const Loaded& loaded) {
  std::vector<std::unique_ptr<Backend<Curve>>> out;
  for (const bool is_streamed : {false, true}) {
    for (const CudaMemory memory : {CudaMemory::kFrugal, CudaMemory::kRoomy}) {
      for (const gpu::Urgency urgency : {gpu::Urgency::kNormal, gpu::Urgency::kCritical}) {
        const auto bases = is_streamed ? loaded.pinned->bases() : loaded.resident->bases();
        out.push_back(take(make_cuda_backend<Curve>(
            card, *loaded.on_card, bases,
            {.memory = memory, .stream_chunk = is_streamed ? 2048u : 0u, .urgency = urgency})));
      }
    }
  }
  return out;
}

// Three threads, each with two proofs in flight; some are dropped unfinished.
void prove_some(Desk& desk, const Loaded& loaded,
                const std::vector<std::unique_ptr<Backend<Curve>>>& backends, std::size_t rounds) {
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < rounds; ++i) {
        auto& backend = *backends[(t + i) % backends.size()];
        auto one = start_proof(backend, desk.context, loaded.input());
        ASSERT_TRUE(one) << one.error().message;
        if (i % 10 == 9) continue;
        const auto proof = one->finish();
        ASSERT_TRUE(proof) << proof.error().message;
      }
    });
  }
}

TEST(ApiTraceCuda, ProvingAllocatesNothingAndWaitsForNoDevice) {
  if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  Desk desk;
  ApiTrace trace;
  const auto opened = trace.calls_of([] {
    const auto card = gpu::Card::open(MemoryBudget::process(),
                                      {.vram_budget = std::size_t{64} << 20, .workers = 1});
    ASSERT_TRUE(card) << card.error().message;
  });
  // The trace sees what is looked for: opening a card does it all.
  for (const char* name :
       {"cudaMalloc", "cudaMallocHost", "cudaFree", "cudaStreamCreateWithPriority"}) {
    EXPECT_TRUE(opened.contains(name)) << name;
    EXPECT_TRUE(is_forbidden(name)) << name;
  }
  const auto is_driver_malloc = [](const auto& call) {
    return call.first.starts_with("cuMemAlloc");
  };
  EXPECT_TRUE(std::ranges::any_of(opened, is_driver_malloc));

  const auto card =
      take(gpu::Card::open(MemoryBudget::process(), {.vram_budget = std::size_t{3} << 30,
                                                     .critical_reserve = std::size_t{1} << 29,
                                                     .workers = 2}));
  const Loaded small(desk, *card, 60), large(desk, *card, 20000);
  const auto small_backends = backends_of(*card, small);
  const auto large_backends = backends_of(*card, large);
  const auto load = [&](std::size_t rounds) {
    prove_some(desk, small, small_backends, rounds);
    prove_some(desk, large, large_backends, rounds);
  };
  load(16);  // kernels are loaded when they are first launched
  const auto calls = trace.calls_of([&] { load(100); });
  int launches = 0;
  for (const auto& [name, count] : calls) {
    std::printf("%8d %s\n", count, name.c_str());
    EXPECT_FALSE(is_forbidden(name)) << count << " calls of " << name;
    if (name.find("LaunchKernel") != std::string::npos) launches += count;
  }
  EXPECT_GT(launches, 10000);
  EXPECT_GT(calls.at("cudaMemcpyAsync"), 1000);
  EXPECT_EQ(card->gate().tenants(), 0u);
}

}  // namespace
}  // namespace cuzk::groth16

#else

TEST(ApiTraceCuda, ProvingAllocatesNothingAndWaitsForNoDevice) {
  GTEST_SKIP() << "CUPTI was not found when this was built: no call was traced";
}

#endif
