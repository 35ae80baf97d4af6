// circom in the service: both curves, wrong witnesses, keys that are wrong, forgeable or change,
// budgets, retries, restarts and kill -9.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/circom_circuits.h"
#include "engine/circom_test_programs.h"
#include "engine/journal.h"
#include "engine/service_test_support.h"
#include "format/circom_test_files.h"
#include "format/wtns.h"

namespace cuzk::engine {
namespace {

using namespace testing;
using namespace circom_test;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

ServiceOptions options_in(const fs::path& folder, Hooks* hooks) {
  ServiceOptions out = mimc_options(folder, hooks);
  out.circom.directory = folder / "keys";
  return out;
}

CircomCircuitOptions circuit_of(const Vector& v, const std::string& id, bool with_r1cs = true) {
  CircomCircuitOptions out;
  out.id = id;
  out.zkey = v.zkey;
  if (with_r1cs) out.r1cs = v.folder / "circuit.r1cs", out.sym = v.folder / "circuit.sym";
  return out;
}

Vector vector_of(const std::string& name) {
  for (const Vector& v : made_vectors(testdata())) {
    if (v.name == name) return v;
  }
  throw std::runtime_error(name);
}

ProofRequest circom_request(const std::string& id, const std::string& circuit, Bytes witness) {
  ProofRequest out;
  out.request_id = id;
  out.client = "test";
  out.kind = ProofKind::kCircom;
  out.circuit = circuit;
  out.payloads.push_back(std::move(witness));
  return out;
}

// A witness as snarkjs exports it to JSON.
Bytes as_json(const Bytes& wtns) {
  const auto file = format::WtnsFile::parse(input(wtns)).value();
  nlohmann::json out = nlohmann::json::array();
  const auto text = circom::with_curve(file.curve(), [&]<class Curve>() {
    using Fr = typename Curve::Fr;
    Tasks tasks(1);
    const auto witness = file.to_witness<Fr>(tasks, file.num_values() - 1).value();
    return format::write_public_json<Fr>(witness.inputs);
  });
  return {text.begin(), text.end()};
}

std::string text_of(const Answer& answer) { return {answer.proof.begin(), answer.proof.end()}; }

void expect_holds(const Answer& answer, const std::string& vk, bool insecure = false) {
  ASSERT_EQ(answer.status, AnswerStatus::kCompleted)
      << (answer.error ? answer.error->message : "cancelled");
  Tasks tasks(1);
  const Status holds =
      verify_circom(tasks,
                    {input(vk, "vk.json"), input(answer.public_json, "public.json"),
                     input(text_of(answer), "proof.json")},
                    insecure);
  EXPECT_TRUE(holds) << holds.error().message;
}

class ServiceCircom : public ServiceFixture {
 protected:
  ServiceOptions options() { return options_in(folder.path(), &hooks); }
  void SetUp() override {
    fs::create_directories(keys());
    circuits_leave = true;
  }
  fs::path keys() const { return folder.path() / "keys"; }
  Answer prove(const std::string& id, const std::string& circuit, Bytes witness) {
    submit(circom_request(id, circuit, std::move(witness)));
    return await(id);
  }
  std::string failure(const std::string& id, const std::string& circuit, Bytes witness,
                      ErrorCode code) {
    const Answer a = prove(id, circuit, std::move(witness));
    EXPECT_EQ(a.status, AnswerStatus::kFailed);
    EXPECT_TRUE(a.proof.empty() && a.public_json.empty());
    if (!a.error) return "";
    EXPECT_EQ(a.error->code, code) << a.error->message;
    return a.error->message;
  }
  std::string refusal(const std::string& circuit, Bytes witness, ErrorCode code) {
    const auto out = service->submit(circom_request("refused", circuit, std::move(witness)));
    EXPECT_FALSE(out);
    if (out) return "";
    EXPECT_EQ(out.error().code, code) << out.error().message;
    return out.error().message;
  }
  CircomCircuitStatus circuit(const std::string& id) {
    for (const CircomCircuitStatus& c : service->circom_circuits()) {
      if (c.options.id == id) return c;
    }
    ADD_FAILURE() << id << " is not known";
    return {};
  }
  // A key whose maker can forge proofs, of the vector's circuit.
  void make_dev_key(const Vector& v, std::uint64_t seed, const fs::path& path) {
    Tasks tasks(1);
    MemoryBudget memory(std::size_t{64} << 20);
    Timeline timeline;
    const Status made = make_insecure_dev_zkey(
        {tasks, memory, timeline}, format::InputBytes::open(v.folder / "circuit.r1cs").value(),
        seed, path);
    ASSERT_TRUE(made) << made.error().message;
  }

  // The key of a random circuit, with the id "program"; its witness into program_witness.
  CircomCircuitOptions make_program_key(const Shape& shape) {
    const auto made = make_program<Bn254>(shape, 7);
    Tasks tasks(2);
    MemoryBudget memory(std::size_t{512} << 20);
    Timeline timeline;
    SeededRandom random(8);
    const auto waste = groth16::ToxicWaste<Bn254>::draw(random);
    const auto key =
        circom::insecure_dev_setup<Bn254>({tasks, memory, timeline}, made.program, waste);
    EXPECT_TRUE(key) << key.error().message;
    CircomCircuitOptions out;
    out.id = "program";
    out.zkey = keys() / "program.zkey";
    out.allow_insecure_key = true;
    if (key) {
      EXPECT_TRUE(format::write_zkey<Bn254>(out.zkey, made.program, *key));
    }
    program_witness = format::encode_wtns<bn254::Fr>(std::span(made.wires));
    return out;
  }

  Bytes program_witness;
};

TEST_F(ServiceCircom, BothCurvesAreProvedInOneServiceBesideOtherKinds) {
  ServiceOptions o = options();
  o.journal = folder.path() / "journal.db";
  std::vector<std::pair<std::string, Vector>> circuits;
  for (const Vector& v : made_vectors(testdata())) {
    std::string id = v.name;
    std::replace(id.begin(), id.end(), '/', '_');
    o.circom.circuits.push_back(circuit_of(v, id, circuits.size() % 2 == 0));
    o.circom.circuits.back().resident = circuits.size() % 3 == 0;
    circuits.emplace_back(id, v);
  }
  ASSERT_GE(circuits.size(), 8u);
  start(o);
  for (const auto& [id, v] : circuits) {
    submit(circom_request(id, id, read_bytes(v.wtns)));
    submit(mimc_request("mimc beside " + id, {4, 2, 1}));
    submit(circom_request(id + " json", id, as_json(read_bytes(v.wtns))));
  }
  std::map<std::string, Answer> answers;
  for (const auto& [id, v] : circuits) {
    SCOPED_TRACE(id);
    for (const std::string& request : {id, id + " json"}) {
      const Answer a = answers[request] = await(request);
      expect_holds(a, read_text(v.vk));
      EXPECT_EQ(a.public_json, read_text(v.folder / "public.json"));
      EXPECT_FALSE(a.insecure_dev);
    }
    expect_verifies(await("mimc beside " + id), {4, 2, 1}, folder.path() / "params");
    EXPECT_EQ(service->circom_verification_key(id), read_text(v.vk));
  }
  expect_at_rest();
  const ServiceMetrics m = service->metrics();
  EXPECT_EQ(m.kinds.at(ProofKind::kCircom).completed, 2 * circuits.size());
  EXPECT_EQ(m.kinds.at(ProofKind::kCircom).partitions, 2 * circuits.size());
  EXPECT_EQ(m.circom.at("bn128_edge").completed, 2u);
  EXPECT_GE(m.circom.at("bn128_edge").seconds, 0.0);
  EXPECT_EQ(m.status.circom.size(), circuits.size());
  EXPECT_TRUE(m.status.problems.empty());
  for (const char* span : {"synthesis", "satisfy", "h_msm", "verify"}) {
    EXPECT_THAT(service->trace_json(), HasSubstr(fmt::format("\"{}\"", span)));
  }

  // After a restart, the same bytes to the same requests.
  start(o);
  for (const auto& [id, v] : circuits) {
    const Submitted again = submit(circom_request(id, id, read_bytes(v.wtns)));
    EXPECT_TRUE(again.already_done);
    const Answer a = await(id);
    EXPECT_TRUE(a.from_journal);
    EXPECT_EQ(text_of(a), text_of(answers[id]));
    EXPECT_EQ(a.public_json, answers[id].public_json);
  }
  // Another form of the witness, another key's circuit: other content.
  EXPECT_FALSE(submit(circom_request(circuits[0].first, circuits[0].first,
                                     as_json(read_bytes(circuits[0].second.wtns))))
                   .already_done);
  expect_at_rest();
}

TEST_F(ServiceCircom, WrongWitnessesAreToldWhatIsWrong) {
  const Vector bn = vector_of("bn128/cubic"), bls = vector_of("bls12381/cubic");
  ServiceOptions o = options();
  o.circom.circuits = {circuit_of(bn, "named"), circuit_of(bn, "plain", false)};
  start(o);
  const Bytes right = read_bytes(bn.wtns);
  Bytes wrong = right;
  wrong[wrong.size() - 32] ^= 1;
  EXPECT_THAT(failure("a", "named", wrong, ErrorCode::kUnsatisfied), HasSubstr("constraint "));
  EXPECT_THAT(failure("b", "plain", wrong, ErrorCode::kUnsatisfied), HasSubstr(".r1cs"));
  EXPECT_THAT(failure("c", "named", read_bytes(bls.wtns), ErrorCode::kMismatch),
              HasSubstr("bls12-381"));
  EXPECT_THAT(failure("d", "named", read_bytes(vector_of("bn128/edge").wtns), ErrorCode::kMismatch),
              HasSubstr("values, the key wants"));
  Bytes too_large = right;
  std::fill(too_large.end() - 32, too_large.end(), 0xff);
  failure("e", "named", too_large, ErrorCode::kCorruptInput);
  Bytes no_one = right;
  section(no_one, "wtns", 2)[0] = 2;
  failure("f", "named", no_one, ErrorCode::kUnsatisfied);
  failure("g", "named", {}, ErrorCode::kCorruptInput);
  failure("h", "named", {'g', 'a', 'r', 'b', 'a', 'g', 'e'}, ErrorCode::kCorruptInput);
  const std::string_view list = R"(["1", "007"])";
  failure("i", "named", {list.begin(), list.end()}, ErrorCode::kCorruptInput);
  Bytes cut = right;
  cut.pop_back();
  failure("j", "named", cut, ErrorCode::kCorruptInput);
  ProofRequest two = circom_request("k", "named", right);
  two.payloads.push_back(right);
  submit(two);
  EXPECT_EQ(await("k").error->code, ErrorCode::kInvalidArgument);
  // None of it counts against the device, or stays.
  expect_holds(prove("good", "plain", right), read_text(bn.vk));
  EXPECT_EQ(service->status().devices.at(0).invalid_proofs, 0u);
  EXPECT_EQ(service->metrics().circom.at("named").failed, 10u);
  expect_at_rest();
}

TEST_F(ServiceCircom, CircuitsAreFoundByNameAndNoPathLeadsOut) {
  const Vector v = vector_of("bn128/mul");
  start(options());
  const Bytes witness = read_bytes(v.wtns);
  EXPECT_THAT(refusal("mul", witness, ErrorCode::kNotFound), HasSubstr("mul.zkey"));
  refusal("", witness, ErrorCode::kInvalidArgument);
  refusal("../mul", witness, ErrorCode::kInvalidArgument);
  refusal("a.b", witness, ErrorCode::kInvalidArgument);
  fs::copy_file(v.zkey, keys() / "mul.zkey");
  fs::copy_file(v.folder / "circuit.r1cs", keys() / "mul.r1cs");
  expect_holds(prove("a", "mul", witness), read_text(v.vk));
  EXPECT_EQ(circuit("mul").options.origin, CircomOrigin::kDirectory);
  EXPECT_EQ(circuit("mul").options.r1cs.filename(), "mul.r1cs");
  EXPECT_EQ(circuit("mul").curve, "bn128");
  EXPECT_TRUE(circuit("mul").loaded);

  CircomCircuitOptions named;
  named.id = "other";
  named.origin = CircomOrigin::kRegistered;
  for (const fs::path& path : {v.zkey, fs::path("../keys/../params/x.zkey"), fs::path("..")}) {
    named.zkey = path;
    const auto out = service->register_circom(named);
    ASSERT_FALSE(out) << path;
    EXPECT_EQ(out.error().code, ErrorCode::kInvalidArgument) << out.error().message;
    EXPECT_THAT(out.error().message, HasSubstr("not inside"));
  }
  fs::create_symlink(v.zkey, keys() / "link.zkey");
  named.zkey = "link.zkey";
  EXPECT_FALSE(service->register_circom(named));
  refusal("link", witness, ErrorCode::kNotFound);
  named.zkey = "absent.zkey";
  EXPECT_EQ(service->register_circom(named).error().code, ErrorCode::kNotFound);
  named.zkey = "mul.zkey";
  const auto registered = service->register_circom(named);
  ASSERT_TRUE(registered) << registered.error().message;
  EXPECT_EQ(registered->num_public, circuit("mul").num_public);
  EXPECT_GT(registered->num_constraints, 0u);
  EXPECT_TRUE(registered->loaded);
  EXPECT_EQ(registered->key_digest, circuit("mul").key_digest);
  expect_holds(prove("b", "other", witness), read_text(v.vk));
  EXPECT_TRUE(service->unregister_circom("other"));
  EXPECT_FALSE(service->unregister_circom("other"));
  refusal("other", witness, ErrorCode::kNotFound);
  expect_at_rest();

  ServiceOptions nowhere = options();
  nowhere.circom.directory.clear();
  start(nowhere);
  refusal("mul", witness, ErrorCode::kNotFound);
  EXPECT_THAT(service->register_circom(named).error().message, HasSubstr("circom.directory"));
}

TEST_F(ServiceCircom, WrongAndForgeableKeysAreRefusedByName) {
  const Vector v = vector_of("bn128/edge");
  const Bytes witness = read_bytes(v.wtns);
  make_dev_key(v, 1, keys() / "dev.zkey");
  Bytes damaged = read_bytes(v.zkey);
  put_u32(section(damaged, "zkey", 4), 4, 7);  // the matrix of the first coefficient
  std::ofstream(keys() / "damaged.zkey", std::ios::binary)
      .write(reinterpret_cast<const char*>(damaged.data()),
             static_cast<std::streamsize>(damaged.size()));
  std::ofstream(keys() / "garbage.zkey") << "this is no key";
  ServiceOptions o = options();
  o.circom.circuits = {circuit_of(v, "absent"), circuit_of(v, "dev"), circuit_of(v, "allowed"),
                       circuit_of(v, "other_circuit")};
  o.circom.circuits[0].zkey = folder.path() / "absent.zkey";
  o.circom.circuits[1].zkey = keys() / "dev.zkey";
  o.circom.circuits[2].zkey = keys() / "dev.zkey";
  o.circom.circuits[2].allow_insecure_key = true;
  o.circom.circuits[3].r1cs = vector_of("bn128/mul").folder / "circuit.r1cs";
  start(o);
  EXPECT_EQ(service->problems().size(), 3u);
  refusal("absent", witness, ErrorCode::kNotFound);
  EXPECT_THAT(refusal("dev", witness, ErrorCode::kInsecureKey),
              HasSubstr("circuit dev: " + (keys() / "dev.zkey").string()));
  refusal("other_circuit", witness, ErrorCode::kMismatch);
  refusal("garbage", witness, ErrorCode::kCorruptInput);
  EXPECT_THAT(failure("damaged", "damaged", witness, ErrorCode::kCorruptInput),
              HasSubstr("matrix 7"));
  const Answer a = prove("allowed", "allowed", witness);
  expect_holds(a, *service->circom_verification_key("allowed"), true);
  EXPECT_TRUE(a.insecure_dev);
  EXPECT_THAT(circuit("allowed").insecure_reason, HasSubstr("contribution"));

  CircomCircuitOptions named;
  named.origin = CircomOrigin::kRegistered;
  for (const auto& [id, code] : {std::pair{"dev", ErrorCode::kInsecureKey},
                                 std::pair{"damaged", ErrorCode::kCorruptInput}}) {
    named.id = id;
    const auto out = service->register_circom(named);
    ASSERT_FALSE(out) << id;
    EXPECT_EQ(out.error().code, code) << out.error().message;
  }
  // It is mended, and found without a word.
  fs::copy_file(v.zkey, folder.path() / "absent.zkey");
  expect_holds(prove("mended", "absent", witness), read_text(v.vk));
  EXPECT_EQ(service->problems().size(), 2u);
  expect_at_rest();
}

TEST_F(ServiceCircom, AChangedKeyIsNoticedAndOneInUseIsNotPulledAway) {
  const Vector v = vector_of("bn128/cubic");
  const Bytes witness = read_bytes(v.wtns);
  const fs::path path = keys() / "cubic.zkey", next = keys() / "next";
  make_dev_key(v, 1, path);
  ServiceOptions o = options();
  o.circom.circuits = {circuit_of(v, "cubic")};
  o.circom.circuits[0].zkey = path;
  o.circom.circuits[0].allow_insecure_key = true;
  o.circom.circuits[0].preload = true;
  start(o);
  const std::string first_vk = *service->circom_verification_key("cubic");
  expect_holds(prove("warm", "cubic", witness), first_vk, true);
  // Accepted under the first key, proved when the id names the second.
  submit(mimc_request("held", {4, 1, 1, false, false, 1}));
  hooks.synthesis.wait_for(1);
  submit(circom_request("old", "cubic", witness));
  make_dev_key(v, 2, next);
  fs::rename(next, path);
  submit(circom_request("new", "cubic", witness));
  EXPECT_FALSE(submit(circom_request("warm", "cubic", witness)).already_done);
  hooks.synthesis.open();
  const std::string second_vk = *service->circom_verification_key("cubic");
  EXPECT_NE(first_vk, second_vk);
  expect_holds(await("old"), first_vk, true);
  expect_holds(await("new"), second_vk, true);
  expect_holds(await("warm"), second_vk, true);
  expect_at_rest();
  std::size_t known = 0;
  for (const CircuitStatus& c : service->status().circuits) known += c.name == "circom cubic";
  EXPECT_EQ(known, 1u);

  // Accepted under a key that is gone before it was ever loaded.
  ServiceOptions cold = o;
  cold.circom.circuits[0].preload = false;
  start(cold);
  Gate none;
  submit(mimc_request("held", {4, 1, 2, false, false, 1}));
  submit(circom_request("lost", "cubic", witness));
  make_dev_key(v, 3, next);
  fs::rename(next, path);
  const Answer lost = await("lost");
  if (lost.status == AnswerStatus::kFailed) {
    EXPECT_THAT(lost.error->message, HasSubstr("another key now"));
  } else {
    expect_holds(lost, second_vk, true);  // it was loaded before the file changed
  }
  expect_at_rest();
}

TEST_F(ServiceCircom, TheSmallestBudgetIsToldAndSuffices) {
  CircomCircuitOptions c = make_program_key({3000, 2, 3, 2500});
  const Bytes witness = program_witness;
  for (const bool resident : {false, true}) {
    SCOPED_TRACE(resident);
    ServiceOptions o = options();
    o.critical_reserve_percent = 0;
    c.resident = resident;
    o.circom.circuits = {c};
    o.memory_bytes = std::size_t{1} << 18;
    start(o);
    const std::string told = refusal("program", witness, ErrorCode::kOutOfBudget);
    EXPECT_THAT(told, HasSubstr("the budget is 0.2 MiB"));
    EXPECT_FALSE(service->register_circom(c));
    const CircomCircuitStatus status = circuit("program");
    // The share of requests being read is apart.
    o.memory_bytes = (status.resident_bytes + status.prove_bytes + 64) * 8 / 7;
    start(o);
    for (int i = 0; i < 3; ++i) submit(circom_request(fmt::format("{}", i), "program", witness));
    for (int i = 0; i < 3; ++i) {
      expect_holds(await(fmt::format("{}", i)), *service->circom_verification_key("program"), true);
    }
    expect_at_rest();
    // The plan is an upper bound that is not far off.
    const MemoryStatus used = service->status().memory;
    EXPECT_GT(used.peak_reserved_bytes, used.limit_bytes / 4);
  }
}

TEST_F(ServiceCircom, QueuedOnesAreCancelledAndRepeatedOnesAttach) {
  const Vector v = vector_of("bls12381/edge");
  const Bytes witness = read_bytes(v.wtns);
  ServiceOptions o = options();
  o.circom.circuits = {circuit_of(v, "edge")};
  start(o);
  submit(mimc_request("held", {4, 1, 1, false, false, 1}));
  hooks.synthesis.wait_for(1);
  submit(circom_request("a", "edge", witness));
  submit(circom_request("b", "edge", witness));
  EXPECT_TRUE(submit(circom_request("b", "edge", witness)).attached);
  EXPECT_EQ(service->cancel("a"), true);
  EXPECT_EQ(await("a").status, AnswerStatus::kCancelled);
  const auto queued = service->job("b");
  ASSERT_TRUE(queued);
  EXPECT_EQ(queued->kind, ProofKind::kCircom);
  hooks.synthesis.open();
  const Answer b = await("b");
  expect_holds(b, read_text(v.vk));
  EXPECT_TRUE(submit(circom_request("b", "edge", witness)).already_done);
  EXPECT_EQ(text_of(await("b")), text_of(b));
  EXPECT_EQ(service->job("b")->circuit, "circom edge");
  expect_at_rest();
}

TEST_F(ServiceCircom, OneThatIsProvedIsCancelledInsideItsProof) {
  ServiceOptions o = options();
  o.threads = 2;
  o.circom.circuits = {make_program_key({30000, 2, 3, 20000})};
  const Bytes witness = program_witness;
  start(o);
  expect_holds(prove("whole", "program", witness), *service->circom_verification_key("program"),
               true);
  const auto events = service->subscribe(10000);
  submit(circom_request("stopped", "program", witness));
  for (;;) {
    const auto job = service->job("stopped");
    ASSERT_TRUE(job);
    ASSERT_LT(job->state, JobState::kCompleted);
    if (!job->partitions.empty() && job->partitions[0].state >= PartitionState::kProving) break;
    std::this_thread::yield();
  }
  EXPECT_EQ(service->cancel("stopped"), true);
  const Answer stopped = await("stopped");
  EXPECT_EQ(stopped.status, AnswerStatus::kCancelled);
  EXPECT_TRUE(stopped.proof.empty());
  EXPECT_EQ(service->cancel("stopped"), false);
  expect_at_rest();
  // Its sums were not summed to their end: it never came to be finished.
  std::vector<std::string> states;
  for (const Event& e : events->next(Clock::now(), {})) {
    if (e.type == EventType::kPartition && e.job_id == "stopped") states.push_back(e.state);
  }
  EXPECT_THAT(states, ::testing::ElementsAre("synthesizing", "synthesized", "proving", "failed"));
  expect_holds(prove("afterwards", "program", witness),
               *service->circom_verification_key("program"), true);
}

TEST_F(ServiceCircom, OnADaemonWithoutACpuItSaysSo) {
  DeviceScript script;
  ServiceOptions o = options();
  o.devices = {scripted_device("card", script)};
  o.devices[0].device_bytes = std::size_t{1} << 30;
  o.circom.circuits = {circuit_of(vector_of("bn128/mul"), "mul")};
  start(o);
  EXPECT_THAT(refusal("mul", read_bytes(vector_of("bn128/mul").wtns), ErrorCode::kInvalidArgument),
              HasSubstr("cpu.use"));
}

// ---- kill -9
// -------------------------------------------------------------------------------------

ServiceOptions crash_options(const fs::path& folder, bool journal_witness, Hooks* hooks) {
  ServiceOptions o = options_in(folder, hooks);
  o.journal = folder / "journal.db";
  o.circom.journal_witness = journal_witness;
  o.circom.circuits = {circuit_of(vector_of("bn128/pub16"), "pub16")};
  return o;
}

// Proves one, accepts some more behind a held worker, says so, and waits to be killed.
int child(const fs::path& folder, bool journal_witness) {
  Hooks hooks;
  auto service = Service::start(crash_options(folder, journal_witness, &hooks));
  if (!service) return 4;
  const Bytes witness = read_bytes(vector_of("bn128/pub16").wtns);
  if (!(*service)->submit(circom_request("proved", "pub16", witness))) return 5;
  const auto answer = (*service)->await("proved", std::nullopt);
  if (!answer || !*answer || (*answer)->status != AnswerStatus::kCompleted) return 6;
  if (!(*service)->submit(mimc_request("held", {4, 1, 1, false, false, 1}))) return 7;
  hooks.synthesis.wait_for(1);
  for (int i = 0; i < 3; ++i) {
    const auto s = (*service)->submit(circom_request(fmt::format("left {}", i), "pub16", witness));
    if (!s || !s->journaled) return 8;
  }
  const std::string line = to_hex(sha256((*answer)->proof)) + "\n";
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) return 9;
  pause();
  return 0;
}

class ServiceCircomCrash : public ServiceCircom {
 protected:
  // The hash of the answer that the child told before it was killed.
  std::string run_and_kill(bool journal_witness) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      const std::string path = folder.path().string();
      execl("/proc/self/exe", "service_circom_test", "--child", path.c_str(),
            journal_witness ? "1" : "0", nullptr);
      _exit(2);
    }
    close(ends[1]);
    std::string told(65, ' ');
    std::size_t got = 0;
    while (got < told.size()) {
      const ssize_t n = read(ends[0], told.data() + got, told.size() - got);
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    close(ends[0]);
    return told.substr(0, 64);
  }
  // The bytes of the journal and of the files beside it.
  Bytes journal_bytes() {
    Bytes out;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      if (entry.path().string().find("journal.db") == std::string::npos) continue;
      if (entry.path().extension() == ".db-shm") continue;
      const Bytes part = read_bytes(entry.path());
      out.insert(out.end(), part.begin(), part.end());
      struct stat info {};
      EXPECT_EQ(stat(entry.path().c_str(), &info), 0);
      EXPECT_EQ(info.st_mode & 0777, 0600u) << entry.path();
    }
    return out;
  }
  // Some values of the witness, as they are in its file.
  static bool has_witness(const Bytes& bytes) {
    const Bytes wtns = read_bytes(vector_of("bn128/pub16").wtns);
    return std::search(bytes.begin(), bytes.end(), wtns.end() - 96, wtns.end()) != bytes.end();
  }
  std::string vk() { return read_text(vector_of("bn128/pub16").vk); }
};

TEST_F(ServiceCircomCrash, WithoutWitnessesOnDiskUnfinishedRequestsAreAnsweredAsLost) {
  const std::string hash = run_and_kill(false);
  EXPECT_FALSE(has_witness(journal_bytes()));
  hooks.synthesis.open();
  start(crash_options(folder.path(), false, &hooks));
  EXPECT_EQ(to_hex(sha256(await("proved").proof)), hash);
  expect_holds(await("proved"), vk());
  for (int i = 0; i < 3; ++i) {
    const Answer a = await(fmt::format("left {}", i));
    ASSERT_EQ(a.status, AnswerStatus::kFailed);
    EXPECT_THAT(a.error->message, HasSubstr("submit again"));
  }
  expect_verifies(await("held"), {4, 1, 1}, folder.path() / "params");
  // Which works.
  expect_holds(prove("left 0", "pub16", read_bytes(vector_of("bn128/pub16").wtns)), vk());
  EXPECT_FALSE(has_witness(journal_bytes()));
  expect_at_rest();
}

TEST_F(ServiceCircomCrash, WithThemUnfinishedRequestsAreProvedAndTheWitnessesGo) {
  const std::string hash = run_and_kill(true);
  EXPECT_TRUE(has_witness(journal_bytes()));
  hooks.synthesis.open();
  start(crash_options(folder.path(), true, &hooks));
  EXPECT_EQ(to_hex(sha256(await("proved").proof)), hash);
  for (int i = 0; i < 3; ++i) expect_holds(await(fmt::format("left {}", i)), vk());
  expect_verifies(await("held"), {4, 1, 1}, folder.path() / "params");
  EXPECT_EQ(service->status().journal.recovered_jobs, 4u);
  EXPECT_FALSE(has_witness(journal_bytes()));
  expect_at_rest();
}

TEST_F(ServiceCircomCrash, AnotherKeyUnderTheIdIsNotProvedWith) {
  run_and_kill(true);
  make_dev_key(vector_of("bn128/pub16"), 1, keys() / "pub16.zkey");
  ServiceOptions o = crash_options(folder.path(), true, &hooks);
  o.circom.circuits[0].zkey = keys() / "pub16.zkey";
  o.circom.circuits[0].allow_insecure_key = true;
  hooks.synthesis.open();
  start(o);
  const Answer a = await("left 1");
  ASSERT_EQ(a.status, AnswerStatus::kFailed);
  EXPECT_THAT(a.error->message, HasSubstr("another key"));
  expect_holds(await("proved"), vk());
}

}  // namespace

int service_circom_test_child(const char* folder, bool journal_witness) {
  return child(folder, journal_witness);
}

}  // namespace cuzk::engine

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--child") {
    return cuzk::engine::service_circom_test_child(argv[2], std::string_view(argv[3]) == "1");
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
