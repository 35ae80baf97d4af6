// kill -9 at random moments. A child process runs the service under load and tells, through a pipe,
// what was accepted and what was answered; the parent kills it, then audits the journal:
//   - SQLite finds the file whole
//   - whatever the child was told is accepted is there, and so is every answer, with its bytes
//   - no answer of an earlier round has changed
// A last run without a kill answers everything that was ever accepted.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <random>
#include <sstream>

#include "engine/journal.h"
#include "engine/service_test_support.h"

namespace cuzk::engine {
namespace {

using namespace testing;
using Clock = std::chrono::steady_clock;

ServiceOptions options(const std::filesystem::path& folder) {
  ServiceOptions out = mimc_options(folder, nullptr);
  out.journal = folder / "journal.db";
  out.synthesis_workers = 2;
  out.max_results = 1000000;
  return out;
}

MimcOrder order_of(std::uint64_t seed) {
  return {4, 1 + static_cast<std::uint32_t>(seed % 3), seed};
}

void tell(char what, const std::string& id, ByteSpan proof) {
  const std::string line = fmt::format("{} {} {}\n", what, id, to_hex(sha256(proof)));
  // One write below PIPE_BUF is whole or not at all.
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) _exit(3);
}

// Submits for ever, several at a time, until it is killed.
int child(const std::filesystem::path& folder, std::uint64_t round) {
  auto service = Service::start(options(folder));
  if (!service) return 4;
  for (const Problem& p : (*service)->problems()) {
    std::fprintf(stderr, "%s: %s\n", p.subject.c_str(), p.message.c_str());
    return 5;
  }
  tell('S', "started", {});
  std::vector<std::thread> clients;
  for (std::uint64_t t = 0; t < 3; ++t) {
    clients.emplace_back([&, t] {
      for (std::uint64_t i = 0;; ++i) {
        const std::uint64_t seed = (round * 10 + t) * 10000 + i;
        const std::string id = fmt::format("job-{}", seed);
        const auto s = (*service)->submit(mimc_request(id, order_of(seed)));
        if (!s || !s->journaled) _exit(6);
        tell('A', id, {});
        // Leave some behind, so that every round finds work in all states.
        if (i % 4 == 3) continue;
        const auto a = (*service)->await(id, std::nullopt);
        if (!a || !*a || (*a)->status != AnswerStatus::kCompleted) _exit(7);
        tell('D', id, (*a)->proof);
      }
    });
  }
  for (auto& c : clients) c.join();
  return 0;
}

class CrashTest : public ::testing::Test {
 protected:
  // Until there are so many, or no more come.
  static void read_lines(int from, std::string& text, std::size_t lines) {
    std::array<char, 4096> buffer;
    while (static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) < lines) {
      const ssize_t n = read(from, buffer.data(), buffer.size());
      if (n <= 0) return;
      text.append(buffer.data(), static_cast<std::size_t>(n));
    }
  }

  void run_and_kill(std::uint64_t round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      const std::string path = folder.path().string(), number = std::to_string(round);
      execl("/proc/self/exe", "crash_test", "--child", path.c_str(), number.c_str(), nullptr);
      _exit(2);
    }
    close(ends[1]);
    std::string text;
    if (round % 4 == 0) {
      // In its start, while it opens the journal and takes up what is left.
      usleep(static_cast<useconds_t>(rng() % 100000));
    } else {
      // After some more of its lines, and a little.
      read_lines(ends[0], text, 1 + rng() % 8);
      usleep(static_cast<useconds_t>(rng() % 10000));
    }
    kill(pid, SIGKILL);
    read_lines(ends[0], text, SIZE_MAX);
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: " << WEXITSTATUS(status);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string what, id, hash;
      words >> what >> id >> hash;
      if (what == "S") continue;
      ASSERT_EQ(hash.size(), 64u) << line;
      accepted.insert({id, false});
      if (what == "D") {
        const auto [it, fresh] = answers.insert({id, hash});
        EXPECT_EQ(it->second, hash) << id << " was answered twice with different content";
      }
    }
  }

  void audit() {
    const auto journal = Journal::open(folder.path() / "journal.db");
    ASSERT_TRUE(journal) << journal.error().message;
    ASSERT_TRUE((*journal)->check());
    for (auto& [id, known_complete] : accepted) {
      if (known_complete) continue;
      const auto row = (*journal)->latest(id);
      ASSERT_TRUE(row) << row.error().message;
      ASSERT_TRUE(*row) << id << " was accepted and is lost";
      const auto told = answers.find(id);
      if ((*row)->state == RunState::kCompleted) {
        const std::string hash = to_hex(sha256((*row)->proof));
        if (told == answers.end()) {
          answers.insert({id, hash});
        } else {
          ASSERT_EQ(told->second, hash) << id;
        }
        known_complete = true;
      } else {
        ASSERT_EQ((*row)->state, RunState::kAccepted) << id;
        ASSERT_EQ(told, answers.end()) << id << " was answered and its answer is lost";
      }
    }
  }

  TemporaryFolder folder;
  std::mt19937_64 rng{20240601};
  std::map<std::string, bool> accepted;  // and whether it is known to be complete
  std::map<std::string, std::string> answers;
};

TEST_F(CrashTest, NothingAcceptedIsLostAndNoAnswerChanges) {
  {
    // The key, once.
    auto service = Service::start(options(folder.path()));
    ASSERT_TRUE(service);
    ASSERT_TRUE((*service)->submit(mimc_request("first", order_of(0))));
    ASSERT_TRUE((*service)->await("first", std::nullopt));
  }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::uint64_t kRounds = 20;  // a child takes ten times as long
#else
  constexpr std::uint64_t kRounds = 200;
#endif
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    run_and_kill(round);
    audit();
    if (HasFatalFailure()) FAIL() << "in round " << round;
  }
  ASSERT_GT(accepted.size(), kRounds);
  ASSERT_GT(answers.size(), kRounds / 2);
  auto service = Service::start(options(folder.path()));
  ASSERT_TRUE(service);
  ASSERT_TRUE((*service)->drain(Clock::now() + std::chrono::minutes(5)));
  for (const auto& [id, known_complete] : accepted) {
    const auto answer = (*service)->await(id, Clock::now());
    ASSERT_TRUE(answer && *answer) << id;
    const auto told = answers.find(id);
    if (told != answers.end()) {
      ASSERT_EQ(told->second, to_hex(sha256((*answer)->proof))) << id;
    } else {
      const std::uint64_t seed = std::stoull(id.substr(4));
      expect_verifies(**answer, order_of(seed), folder.path() / "params");
    }
  }
}

}  // namespace

int crash_test_child(const char* folder, const char* round) {
  return child(folder, std::stoull(round));
}

}  // namespace cuzk::engine

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--child") {
    return cuzk::engine::crash_test_child(argv[2], argv[3]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
