#pragma once
// Small jobs for the tests of the service: a MiMC permutation, proved under a development key of
// its own, with hooks to hold a stage or to spoil a witness. And devices that misbehave.

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/bytes.h"
#include "engine/service.h"
#include "format/bellman_key.h"
#include "format/bellman_proof.h"
#include "groth16/test_circuits.h"

namespace cuzk::engine::testing {

using Fr = bls12_381::Fr;

// A folder that is gone when the test ends.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cuzk-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A gate that workers wait at until it is opened.
class Gate {
 public:
  void open() {
    std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    --waiting_;
  }
  void wait_for(std::size_t waiting) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ >= waiting || open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  std::size_t waiting_ = 0;
};

inline std::vector<Fr> mimc_constants(std::uint32_t rounds) {
  SeededRandom random(rounds);
  std::vector<Fr> out;
  for (std::uint32_t i = 0; i < rounds; ++i) out.push_back(Fr::random(random));
  return out;
}

inline filecoin::CircuitSpec mimc_spec(std::uint32_t rounds) {
  filecoin::CircuitSpec spec;
  spec.name = fmt::format("MiMC {}", rounds);
  spec.identifier = fmt::format("test-mimc:{}", rounds);
  spec.stem = fmt::format("test-mimc-{}", rounds);
  spec.development_size = true;
  spec.compile = [rounds]() -> Result<CompactR1cs<Fr>> {
    const auto constants = mimc_constants(rounds);
    return groth16::testing::mimc_circuit<Fr>(Fr::one(), Fr::one(), constants).r1cs;
  };
  return spec;
}

// What a test request asks for, in its payload.
struct MimcOrder {
  std::uint32_t rounds = 4;
  std::uint32_t partitions = 1;
  std::uint64_t seed = 1;
  bool spoiled = false;  // the witness does not satisfy the circuit
  bool bad_parse = false;
  std::uint32_t held = 0;  // 1: the synthesis passes the hooks' gate
};

struct Hooks {
  Gate synthesis;
  std::mutex mutex;
  std::vector<std::uint64_t> synthesized;  // seeds, in order of their begin
};

inline ProofRequest mimc_request(const std::string& id, const MimcOrder& order) {
  ProofRequest out;
  out.request_id = id;
  out.client = "test";
  std::vector<std::uint8_t> bytes(sizeof order);
  store_le(bytes.data(), order.rounds);
  store_le(bytes.data() + 4, order.partitions);
  store_le(bytes.data() + 8, order.seed);
  bytes.resize(28);
  bytes[16] = order.spoiled;
  bytes[20] = order.bad_parse;
  store_le(bytes.data() + 24, order.held);
  out.payloads.push_back(std::move(bytes));
  return out;
}

inline groth16::testing::CircuitCase<Fr> mimc_case(const MimcOrder& order, std::size_t partition) {
  SeededRandom random(order.seed * 1000 + partition);
  const Fr left = Fr::random(random), right = Fr::random(random);
  const auto constants = mimc_constants(order.rounds);
  return groth16::testing::mimc_circuit<Fr>(left, right, constants);
}

inline Result<Job> parse_mimc(Hooks* hooks, const ProofRequest& request) {
  const auto& bytes = request.payloads.at(0);
  if (bytes.size() < 28) return fail(ErrorCode::kCorruptInput, "the order has too few bytes");
  MimcOrder order;
  order.rounds = load_le<std::uint32_t>(bytes.data());
  order.partitions = load_le<std::uint32_t>(bytes.data() + 4);
  order.seed = load_le<std::uint64_t>(bytes.data() + 8);
  order.spoiled = bytes[16] != 0;
  order.bad_parse = bytes[20] != 0;
  order.held = load_le<std::uint32_t>(bytes.data() + 24);
  if (order.bad_parse) return fail(ErrorCode::kCorruptInput, "this order is bad");
  Job job;
  job.name = fmt::format("MiMC of {}", order.seed);
  job.circuit = mimc_spec(order.rounds);
  for (std::uint32_t p = 0; p < order.partitions; ++p) {
    const auto inputs = mimc_case(order, p).witness.inputs;
    job.public_inputs.emplace_back(inputs.begin() + 1, inputs.end());
  }
  job.synthesize = [order, hooks](Tasks& tasks, std::size_t p) -> Result<Witness> {
    if (hooks) {
      {
        std::lock_guard lock(hooks->mutex);
        hooks->synthesized.push_back(order.seed);
      }
      if (order.held) hooks->synthesis.pass();
    }
    if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "asked to stop");
    MimcOrder actual = order;
    if (order.spoiled) actual.seed += 7;
    auto out = mimc_case(actual, p);
    // The claimed image with another permutation's wires.
    if (order.spoiled) out.witness.inputs = mimc_case(order, p).witness.inputs;
    return std::move(out.witness);
  };
  return job;
}

// What the tests of the service start it with. The hooks outlive it.
inline ServiceOptions mimc_options(const std::filesystem::path& folder, Hooks* hooks) {
  ServiceOptions out;
  out.parameter_directory = folder / "params";
  out.circuit_directory = folder / "circuits";
  out.keys = {KeyPolicy::kAllowInsecureDev, true};
  out.memory_bytes = std::size_t{512} << 20;
  out.threads = 1;
  out.parse = [hooks](const Context&, const ProofRequest& r) { return parse_mimc(hooks, r); };
  return out;
}

// The proof of a completed answer, against the key on disk: the test's own check.
inline void expect_verifies(const Answer& answer, const MimcOrder& order,
                            const std::filesystem::path& parameters) {
  ASSERT_EQ(answer.status, AnswerStatus::kCompleted)
      << (answer.error ? answer.error->message : "cancelled");
  const auto vk = bellman::read_vk(
      parameters / (groth16::insecure_dev_name(mimc_spec(order.rounds).stem) + ".vk"));
  ASSERT_TRUE(vk) << vk.error().message;
  Statement statement;
  statement.name = "MiMC";
  statement.circuit = mimc_spec(order.rounds);
  for (std::uint32_t p = 0; p < order.partitions; ++p) {
    const auto inputs = mimc_case(order, p).witness.inputs;
    statement.public_inputs.emplace_back(inputs.begin() + 1, inputs.end());
  }
  Tasks tasks(1);
  MemoryBudget memory(std::size_t{64} << 20);
  Timeline timeline;
  const Status verified = verify_statement({tasks, memory, timeline}, *vk, statement, answer.proof);
  EXPECT_TRUE(verified) << verified.error().message;
}

// A service in a folder of its own.
class ServiceFixture : public ::testing::Test {
 protected:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kLong = std::chrono::minutes(10);  // what hangs; sanitizers are slow

  std::filesystem::path parameters() const { return folder.path() / "params"; }
  void start(ServiceOptions o) {
    service.reset();
    auto started = Service::start(std::move(o));
    ASSERT_TRUE(started) << started.error().message;
    service = std::move(*started);
  }
  Submitted submit(ProofRequest request) {
    auto out = service->submit(std::move(request));
    EXPECT_TRUE(out) << out.error().message;
    return out ? *out : Submitted{};
  }
  Answer await(const std::string& id) {
    auto answer = service->await(id, Clock::now() + kLong);
    EXPECT_TRUE(answer) << answer.error().message;
    if (!answer || !*answer) {
      ADD_FAILURE() << id << " was not answered";
      return {};
    }
    return **answer;
  }
  // Accepted = answered + unfinished, and nothing is held by work once all is answered.
  void expect_at_rest() {
    const Clock::time_point deadline = Clock::now() + kLong;
    ASSERT_TRUE(service->drain(deadline));
    const auto resident = [](const ServiceStatus& s) {
      std::size_t bytes = 0;
      for (const CircuitStatus& c : s.circuits) bytes += c.bytes;
      return bytes;
    };
    ServiceStatus s = service->status();
    while (circuits_leave && s.memory.leased_bytes != resident(s) && Clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      s = service->status();
    }
    EXPECT_EQ(s.accepted, s.completed + s.failed + s.cancelled);
    EXPECT_TRUE(s.jobs.empty());
    EXPECT_TRUE(s.queues.empty());
    for (const CircuitStatus& c : s.circuits) EXPECT_EQ(c.in_use, 0u) << c.name;
    EXPECT_EQ(s.memory.leased_bytes, resident(s));
    EXPECT_LE(s.memory.reserved_bytes, resident(s));
    EXPECT_LE(s.memory.peak_reserved_bytes, s.memory.limit_bytes);
    service->undrain();
  }

  // Some are unregistered or replaced: they go at a worker's hand, after the call.
  bool circuits_leave = false;
  TemporaryFolder folder;
  Hooks hooks;
  std::unique_ptr<Service> service;
};

// What a device does beside proving.
struct DeviceScript {
  std::atomic<int> wrong{0};  // so many next proofs are wrong; negative: all
  std::atomic<int> lost{0};   // so many next starts fail with kDeviceLost
  std::atomic<int> short_of_memory{0};
  std::atomic<int> starts{0};
  std::atomic<int> running{0};
  std::atomic<int> most_running{0};
  Gate* gate = nullptr;  // every start passes it
  std::atomic<int> held_finishes{0};
  Gate* finish_gate = nullptr;  // so many next finishes pass it
};

inline bool takes(std::atomic<int>& left) {
  if (left < 0) return true;
  int now = left;
  while (now > 0 && !left.compare_exchange_weak(now, now - 1)) {
  }
  return now > 0;
}

class WrongParts final : public groth16::PendingParts<Bls12_381> {
 public:
  explicit WrongParts(std::unique_ptr<groth16::PendingParts<Bls12_381>> inner)
      : inner_(std::move(inner)) {}
  Result<groth16::ProofParts<Bls12_381>> finish() override {
    auto parts = inner_->finish();
    // Points of the subgroup, in the wrong place.
    if (parts) std::swap(parts->h, parts->a_aux);
    return parts;
  }

 private:
  std::unique_ptr<groth16::PendingParts<Bls12_381>> inner_;
};

class HeldParts final : public groth16::PendingParts<Bls12_381> {
 public:
  HeldParts(std::unique_ptr<groth16::PendingParts<Bls12_381>> inner, Gate& gate)
      : inner_(std::move(inner)), gate_(gate) {}
  Result<groth16::ProofParts<Bls12_381>> finish() override {
    gate_.pass();
    return inner_->finish();
  }

 private:
  std::unique_ptr<groth16::PendingParts<Bls12_381>> inner_;
  Gate& gate_;
};

class ScriptedBackend final : public groth16::Backend<Bls12_381> {
 public:
  explicit ScriptedBackend(DeviceScript& script)
      : script_(script), inner_(groth16::make_cpu_backend<Bls12_381>()) {}
  std::string_view name() const override { return "scripted"; }
  Result<std::unique_ptr<groth16::PendingParts<Bls12_381>>> start(
      const Context& context, const groth16::ProveInput<Bls12_381>& input) override {
    ++script_.starts;
    const int running = ++script_.running;
    int most = script_.most_running;
    while (running > most && !script_.most_running.compare_exchange_weak(most, running)) {
    }
    if (script_.gate) script_.gate->pass();
    auto out = go(context, input);
    --script_.running;
    return out;
  }

 private:
  Result<std::unique_ptr<groth16::PendingParts<Bls12_381>>> go(
      const Context& context, const groth16::ProveInput<Bls12_381>& input) {
    if (takes(script_.lost)) return fail(ErrorCode::kDeviceLost, "the device fell off the bus");
    if (takes(script_.short_of_memory)) return fail(ErrorCode::kOutOfBudget, "it is too tight");
    CUZK_TRY(auto parts, inner_->start(context, input));
    if (script_.finish_gate && takes(script_.held_finishes)) {
      return std::make_unique<HeldParts>(std::move(parts), *script_.finish_gate);
    }
    if (!takes(script_.wrong)) return parts;
    return std::make_unique<WrongParts>(std::move(parts));
  }

  DeviceScript& script_;
  std::unique_ptr<groth16::Backend<Bls12_381>> inner_;
};

inline DeviceOptions scripted_device(const std::string& name, DeviceScript& script) {
  DeviceOptions out;
  out.name = name;
  out.make_backend = [&script] { return std::make_unique<ScriptedBackend>(script); };
  return out;
}

}  // namespace cuzk::engine::testing
