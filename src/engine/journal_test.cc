#include "engine/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "engine/service_test_support.h"

namespace cuzk::engine {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class JournalTest : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder.path() / "journal.db"; }
  std::unique_ptr<Journal> open() {
    auto out = Journal::open(file());
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : nullptr;
  }
  void execute(const char* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  TemporaryFolder folder;
};

ProofRequest full_request() {
  ProofRequest r = mimc_request("wdpost-1000-0-[1 2 3]", {});
  r.client = "curio";
  r.kind = ProofKind::kWindowPost;
  r.priority = Priority::kHigh;
  r.deadline_ms = -5;
  r.registered_proof = 13;
  r.sector_bytes = std::uint64_t{32} << 30;
  r.sector = 7;
  r.miner = 1000;
  r.randomness = {1, 2, 3};
  r.partition_index = 9;
  r.comm_r_old = {4};
  r.comm_r_new = {5, 6};
  r.comm_d_new = {7};
  r.payloads.push_back({});
  r.payloads.push_back({8, 9});
  return r;
}

TEST(Request, ComesBackFromItsFormAtRest) {
  const ProofRequest r = full_request();
  const auto bytes = encode_request(r);
  const auto back = decode_request(bytes, "test");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(encode_request(*back), bytes);
  EXPECT_EQ(back->payloads, r.payloads);
  EXPECT_EQ(back->priority, r.priority);
  EXPECT_EQ(back->deadline_ms, r.deadline_ms);
  EXPECT_EQ(request_digest(*back), request_digest(r));
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const auto shorter = decode_request(ByteSpan(bytes).first(cut), "test");
    ASSERT_FALSE(shorter);
    EXPECT_EQ(shorter.error().code, ErrorCode::kCorruptInput);
  }
}

TEST(Request, DigestIsOfTheContentAndOfAllOfIt) {
  const ProofRequest base = full_request();
  const Digest32 digest = request_digest(base);
  ProofRequest same = base;
  same.request_id = "other";
  same.client = "other";
  same.priority.reset();
  same.deadline_ms.reset();
  EXPECT_EQ(request_digest(same), digest);
  std::vector<ProofRequest> others(11, base);
  others[0].kind = ProofKind::kWinningPost;
  others[1].registered_proof = 12;
  others[2].sector_bytes = 2048;
  others[3].sector = 8;
  others[4].miner = 1001;
  others[5].randomness[0] ^= 1;
  others[6].partition_index = 8;
  others[7].comm_r_old = {};
  others[8].payloads[0][0] ^= 1;
  others[9].payloads.pop_back();
  std::swap(others[10].payloads[1], others[10].payloads[2]);
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(request_digest(others[i]), digest) << i;
}

// A real vanilla proof of a sector of 32 GiB, the first of its partition.
TEST(Request, TheSectorsOfAWindowPostAreOnePartitionWhateverItsIndex) {
  std::ifstream in(std::filesystem::path(CUZK_TESTDATA_DIR) / "filecoin/post/curio-post.vproof",
                   std::ios::binary);
  const std::vector<std::uint8_t> vanilla(std::istreambuf_iterator<char>(in), {});
  ASSERT_FALSE(vanilla.empty());
  Tasks tasks(1);
  MemoryBudget memory(std::size_t{64} << 20);
  Timeline timeline;
  const auto parse = [&](const ProofRequest& r) {
    return parse_request({tasks, memory, timeline}, r);
  };
  ProofRequest r;
  r.kind = ProofKind::kWindowPost;
  r.randomness.resize(32);
  r.payloads = {vanilla};
  std::vector<std::vector<PublicInputs>> inputs;
  for (const std::uint64_t proof : {8u, 13u}) {  // V1, where places count, and V1.1
    for (const std::uint32_t index : {0u, 7u}) {
      r.registered_proof = proof;
      r.partition_index = index;
      const auto job = parse(r);
      ASSERT_TRUE(job) << job.error().message;
      EXPECT_EQ(job->partitions(), 1u);
      inputs.push_back(job->public_inputs);
    }
  }
  EXPECT_EQ(inputs[0], inputs[1]);
  EXPECT_EQ(inputs[2], inputs[3]);
  r.payloads.assign(2350, {});
  const auto many = parse(r);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(many.error().message, HasSubstr("2350 sectors are more than the 2349 of one"));
  // The randomness is the statement's: with another the proof is another sector's opening.
  r.payloads = {vanilla};
  r.randomness[0] = 1;
  EXPECT_FALSE(parse(r));
}

TEST(Request, WhatIsNoC1AtAllIsToldSo) {
  Tasks tasks(1);
  MemoryBudget memory(std::size_t{64} << 20);
  Timeline timeline;
  for (const std::string_view text : {"hello, is anybody there?", "x", "[1, 2]"}) {
    ProofRequest r;
    r.payloads = {{text.begin(), text.end()}};
    const auto job = parse_request({tasks, memory, timeline}, r);
    ASSERT_FALSE(job);
    EXPECT_EQ(job.error().code, ErrorCode::kCorruptInput);
    EXPECT_THAT(job.error().message, HasSubstr("neither a JSON object nor bincode")) << text;
  }
}

TEST_F(JournalTest, KeepsRequestsAndAnswersAcrossOpening) {
  const ProofRequest r = full_request();
  const Digest32 digest = request_digest(r);
  {
    const auto j = open();
    EXPECT_EQ(*j->last_run(), 0u);
    ASSERT_TRUE(j->accept(1, r, digest));
    ASSERT_TRUE(j->accept(2, mimc_request("b", {}), digest));
    ASSERT_TRUE(j->accept(3, mimc_request("c", {}), digest));
    JournalAnswer answer;
    answer.proof = {1, 2, 3};
    answer.insecure_dev = true;
    ASSERT_TRUE(j->finish(2, answer));
    answer = {RunState::kFailed, {}, ErrorCode::kUnsatisfied, "row 3", false};
    ASSERT_TRUE(j->finish(3, answer));
    EXPECT_FALSE(j->accept(3, r, digest));  // a run is accepted once
  }
  const auto j = open();
  EXPECT_EQ(*j->last_run(), 3u);
  const auto left = j->unfinished();
  ASSERT_TRUE(left);
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ((*left)[0].request_id, r.request_id);
  EXPECT_EQ((*left)[0].digest, digest);
  EXPECT_EQ((*left)[0].request_bytes, encode_request(r).size());
  EXPECT_EQ(encode_request(*j->request(1)), encode_request(r));
  EXPECT_EQ(j->request(2).error().code, ErrorCode::kNotFound);  // dropped with its answer
  const auto b = j->latest("b");
  ASSERT_TRUE(b && *b);
  EXPECT_EQ((*b)->state, RunState::kCompleted);
  EXPECT_EQ((*b)->proof, (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_TRUE((*b)->insecure_dev);
  const auto c = j->find(3);
  ASSERT_TRUE(c && *c);
  EXPECT_EQ((*c)->error_code, ErrorCode::kUnsatisfied);
  EXPECT_EQ((*c)->error, "row 3");
  EXPECT_EQ(*j->latest("nobody"), std::nullopt);
  EXPECT_TRUE(j->check());
}

TEST_F(JournalTest, AnAnswerIsWrittenOnceAndNeverChanged) {
  const auto j = open();
  ASSERT_TRUE(j->accept(1, mimc_request("a", {}), {}));
  ASSERT_TRUE(j->finish(1, {RunState::kCompleted, {1}, {}, {}, false}));
  (void)j->finish(1, {RunState::kCompleted, {2}, {}, {}, false});
  EXPECT_EQ((*j->latest("a"))->proof, std::vector<std::uint8_t>{1});
}

TEST_F(JournalTest, PruneDropsTheOldestAnswersAndNoRequest) {
  const auto j = open();
  for (std::uint64_t run = 1; run <= 10; ++run) {
    ASSERT_TRUE(j->accept(run, mimc_request(std::to_string(run), {}), {}));
    if (run > 8) continue;
    ASSERT_TRUE(j->finish(run, {RunState::kCompleted, {1}, {}, {}, false}));
  }
  EXPECT_EQ(*j->prune(0, 5), 3u);
  EXPECT_EQ(*j->latest("3"), std::nullopt);
  EXPECT_NE(*j->latest("4"), std::nullopt);
  EXPECT_EQ(*j->prune(std::numeric_limits<std::int64_t>::max(), 5), 5u);
  EXPECT_EQ(j->unfinished()->size(), 2u);
}

TEST_F(JournalTest, NewerVersionIsRefusedAndLeftAsItIs) {
  open();
  execute("PRAGMA user_version = 99");
  const auto j = Journal::open(file());
  ASSERT_FALSE(j);
  EXPECT_EQ(j.error().code, ErrorCode::kMismatch);
  EXPECT_THAT(j.error().message, HasSubstr("version 99, this program knows version 2"));
  execute("PRAGMA user_version = 2");
  open();
}

TEST_F(JournalTest, OneOfVersion1IsTakenOverWithItsRequestsAndAnswers) {
  // As the version before wrote it.
  execute(
      "CREATE TABLE runs (run INTEGER PRIMARY KEY, request_id TEXT NOT NULL, digest BLOB NOT NULL,"
      " kind INTEGER NOT NULL, head BLOB NOT NULL, state INTEGER NOT NULL,"
      " accepted_unix_ms INTEGER NOT NULL, finished_unix_ms INTEGER NOT NULL DEFAULT 0, proof BLOB,"
      " error_code INTEGER NOT NULL DEFAULT 0, error TEXT,"
      " insecure_dev INTEGER NOT NULL DEFAULT 0);"
      "CREATE INDEX runs_by_id ON runs (request_id, run);"
      "CREATE INDEX runs_by_state ON runs (state, finished_unix_ms);"
      "CREATE TABLE requests (run INTEGER PRIMARY KEY REFERENCES runs (run), bytes BLOB NOT NULL);"
      "PRAGMA application_id = 1668643435; PRAGMA user_version = 1");
  const ProofRequest r = full_request();
  const std::string hex = to_hex(request_digest(r));
  const auto row = [&](int run, const char* id, int state, const std::string& proof) {
    execute(fmt::format("INSERT INTO runs (run, request_id, digest, kind, head, state, "
                        "accepted_unix_ms, proof) VALUES ({}, '{}', x'{}', 3, x'{}', {}, 5, x'{}')",
                        run, id, hex, to_hex(encode_request(r.without_payloads())), state, proof)
                .c_str());
  };
  row(1, "proved", 1, "010203");
  row(2, "left", 0, "");
  execute(
      fmt::format("INSERT INTO requests (run, bytes) VALUES (2, x'{}')", to_hex(encode_request(r)))
          .c_str());
  std::filesystem::permissions(file(), std::filesystem::perms(0644));
  for (int opening = 0; opening < 2; ++opening) {
    const auto j = open();
    ASSERT_TRUE(j);
    const auto proved = j->completed("proved", request_digest(r));
    ASSERT_TRUE(proved && *proved);
    EXPECT_EQ((*proved)->proof, (std::vector<std::uint8_t>{1, 2, 3}));
    EXPECT_EQ((*proved)->public_json, "");
    ASSERT_EQ(j->unfinished()->size(), 1u);
    EXPECT_EQ(encode_request(*j->request(2)), encode_request(r));
    EXPECT_TRUE(j->check());
  }
  EXPECT_EQ(std::filesystem::status(file()).permissions(), std::filesystem::perms(0600));
  const auto j = open();
  JournalAnswer answer;
  answer.proof = {'{', '}'};
  answer.public_json = "[]";
  ASSERT_TRUE(j->finish(2, answer));
  EXPECT_EQ((*j->latest("left"))->public_json, "[]");
}

TEST_F(JournalTest, APayloadThatIsNotKeptIsNowhereInTheFile) {
  ProofRequest r = full_request();
  r.kind = ProofKind::kCircom;
  r.circuit = "mult";
  r.key_digest = {9, 9};
  const std::string secret(300, 's');
  r.payloads = {{secret.begin(), secret.end()}};
  EXPECT_EQ(request_digest(*decode_request(encode_request(r), "test")), request_digest(r));
  ProofRequest other = r;
  other.circuit = "multi";
  EXPECT_NE(request_digest(other), request_digest(r));
  other = r;
  other.key_digest[1] = 8;
  EXPECT_NE(request_digest(other), request_digest(r));

  const auto everything = [&] {
    std::string out;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      std::ifstream in(entry.path(), std::ios::binary);
      out.append(std::istreambuf_iterator<char>(in), {});
    }
    return out;
  };
  const auto j = open();
  ASSERT_TRUE(j->accept(1, r, request_digest(r), false));
  EXPECT_THAT(everything(), ::testing::Not(HasSubstr(secret)));
  EXPECT_EQ(j->unfinished()->at(0).request_bytes, 0u);
  EXPECT_EQ(decode_request(j->unfinished()->at(0).head, "test")->circuit, "mult");
  EXPECT_EQ(j->request(1).error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(j->accept(2, r, request_digest(r), true));
  EXPECT_THAT(everything(), HasSubstr(secret));
  JournalAnswer answer;
  answer.scrub_log = true;
  ASSERT_TRUE(j->finish(2, answer));
  EXPECT_THAT(everything(), ::testing::Not(HasSubstr(secret)));
}

TEST_F(JournalTest, FilesThatAreNoJournalAreRefusedAndLeftAsTheyAre) {
  std::ofstream(file()) << std::string(5000, 'x');
  auto j = Journal::open(file());
  ASSERT_FALSE(j);
  EXPECT_EQ(j.error().code, ErrorCode::kCorruptInput);
  EXPECT_EQ(std::filesystem::file_size(file()), 5000u);
  std::filesystem::remove(file());
  execute("CREATE TABLE somebody_elses (a)");
  j = Journal::open(file());
  ASSERT_FALSE(j);
  EXPECT_EQ(j.error().code, ErrorCode::kCorruptInput);
  EXPECT_THAT(j.error().message, HasSubstr("not a journal of cuzk"));
}

TEST_F(JournalTest, FolderThatIsNotThereOrNotWritableIsNamed) {
  auto j = Journal::open(folder.path() / "absent" / "journal.db");
  ASSERT_FALSE(j);
  EXPECT_EQ(j.error().code, ErrorCode::kIo);
  EXPECT_THAT(j.error().message, HasSubstr("absent/journal.db"));
  EXPECT_THAT(j.error().message, HasSubstr("see that its folder exists and can be written"));
  if (geteuid() == 0) GTEST_SKIP() << "root writes everywhere: the read-only folder is not tried";
  std::filesystem::permissions(
      folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  j = Journal::open(file());
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
  ASSERT_FALSE(j);
  EXPECT_EQ(j.error().code, ErrorCode::kIo);
}

// A file that cannot grow stands for a full disk.
TEST_F(JournalTest, FullDiskIsAnErrorAndWhatWasWrittenStays) {
  const auto j = open();
  ASSERT_TRUE(j->accept(1, mimc_request("before", {}), {}));
  ProofRequest large = mimc_request("large", {});
  large.payloads.emplace_back(std::size_t{4} << 20, std::uint8_t{1});
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit tight = old;
  tight.rlim_cur = std::size_t{1} << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Status refused = j->accept(2, large, {});
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  EXPECT_TRUE(j->check());
  EXPECT_NE(*j->latest("before"), std::nullopt);
  EXPECT_EQ(*j->latest("large"), std::nullopt);
  EXPECT_TRUE(j->accept(2, large, {}));
}

class ServiceJournalTest : public JournalTest {
 protected:
  ServiceOptions options() {
    ServiceOptions out;
    out.parameter_directory = folder.path() / "params";
    out.circuit_directory = folder.path() / "circuits";
    out.journal = file();
    out.keys = {KeyPolicy::kAllowInsecureDev, true};
    out.memory_bytes = std::size_t{512} << 20;
    out.threads = 1;
    out.parse = [this](const Context&, const ProofRequest& r) { return parse_mimc(&hooks, r); };
    return out;
  }
  std::unique_ptr<Service> start() {
    auto out = Service::start(options());
    EXPECT_TRUE(out) << out.error().message;
    return std::move(*out);
  }
  static Answer await(Service& service, const std::string& id) {
    auto a = service.await(id, Clock::now() + std::chrono::seconds(120));
    EXPECT_TRUE(a) << a.error().message;
    return a && *a ? **a : Answer{};
  }
  Hooks hooks;
};

TEST_F(ServiceJournalTest, FinishedProofsAreAnsweredAgainAfterARestart) {
  std::vector<std::uint8_t> proof;
  {
    const auto service = start();
    const auto s = service->submit(mimc_request("a", {4, 2, 1}));
    ASSERT_TRUE(s);
    EXPECT_TRUE(s->journaled);
    proof = await(*service, "a").proof;
    ASSERT_TRUE(service->submit(mimc_request("spoiled", {4, 1, 1, true})));
    await(*service, "spoiled");
  }
  const auto service = start();
  Answer a = await(*service, "a");
  EXPECT_EQ(a.status, AnswerStatus::kCompleted);
  EXPECT_EQ(a.proof, proof);
  EXPECT_TRUE(a.from_journal);
  EXPECT_TRUE(a.insecure_dev);
  const auto again = service->submit(mimc_request("a", {4, 2, 1}));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->already_done);
  EXPECT_EQ(await(*service, "spoiled").error->code, ErrorCode::kUnsatisfied);
  EXPECT_EQ(service->status().accepted, 0u);
  // Other content under the id is proved anew.
  const auto other = service->submit(mimc_request("a", {4, 1, 2}));
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->already_done);
  a = await(*service, "a");
  EXPECT_NE(a.proof, proof);
  EXPECT_FALSE(a.from_journal);
}

TEST_F(ServiceJournalTest, UnfinishedRequestsAreTakenUpByTheNextStart) {
  {
    const auto service = start();
    // More than what stays in memory beside the journal.
    ProofRequest large = mimc_request("large", {4, 2, 5, false, false, 1});
    large.payloads.emplace_back(std::size_t{1} << 20, std::uint8_t{7});
    ASSERT_TRUE(service->submit(std::move(large)));
    hooks.synthesis.wait_for(1);
    ASSERT_TRUE(service->submit(mimc_request("queued", {4, 1, 6})));
    std::thread stopper([&] { service->stop_now(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    hooks.synthesis.open();
    stopper.join();
  }
  const auto service = start();
  EXPECT_EQ(service->status().journal.recovered_jobs, 2u);
  expect_verifies(await(*service, "large"), {4, 2, 5}, options().parameter_directory);
  expect_verifies(await(*service, "queued"), {4, 1, 6}, options().parameter_directory);
}

TEST_F(ServiceJournalTest, WithoutAUsableJournalProvingGoesOnAndSaysSo) {
  { const auto j = open(); }
  execute("PRAGMA user_version = 99");
  const auto service = start();
  ASSERT_EQ(service->problems().size(), 1u);
  EXPECT_EQ(service->problems()[0].subject, "journal");
  EXPECT_THAT(service->problems()[0].message, HasSubstr("version 99"));
  const auto s = service->submit(mimc_request("a", {4, 1, 1}));
  ASSERT_TRUE(s);
  EXPECT_FALSE(s->journaled);
  expect_verifies(await(*service, "a"), {4, 1, 1}, options().parameter_directory);
  EXPECT_FALSE(service->status().journal.writable);
}

}  // namespace
}  // namespace cuzk::engine
