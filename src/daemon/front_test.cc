// What the daemon says: log lines, notifications, metrics, status.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "daemon/log.h"
#include "daemon/metrics_text.h"
#include "daemon/notify.h"
#include "daemon/page.h"
#include "daemon/status_json.h"

namespace cuzk::daemon {
namespace {

using nlohmann::json;

struct Lines {
  std::vector<std::string> lines;
  Log::Sink sink() {
    return [this](std::string_view line) { lines.emplace_back(line); };
  }
};

TEST(Log, TextQuotesWhatIsNotOneWord) {
  Lines out;
  Log log(LogLevel::kInfo, false, out.sink());
  log.info("proved", {{"job", "wdpost-1000-0-[12 34]"}, {"ms", 7}, {"ok", true}, {"x", ""}});
  log.debug("not shown");
  ASSERT_EQ(out.lines.size(), 1u);
  EXPECT_TRUE(std::regex_match(out.lines[0],
                               std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO proved )"
                                          R"(job="wdpost-1000-0-\[12 34\]" ms=7 ok=true x="")")))
      << out.lines[0];
}

TEST(Log, NoIdCanForgeALine) {
  for (const bool as_json : {false, true}) {
    Lines out;
    Log log(LogLevel::kInfo, as_json, out.sink());
    log.info("proved", {{"job", "a\nERROR b\x1b[31m \xff"}});
    EXPECT_EQ(out.lines[0].find('\n'), std::string::npos);
    EXPECT_EQ(out.lines[0].find('\x1b'), std::string::npos);
    EXPECT_EQ(out.lines[0].find('\xff'), std::string::npos);
  }
}

TEST(Log, JsonIsOneObjectALine) {
  Lines out;
  Log log(LogLevel::kDebug, true, out.sink());
  log.warn("x", {{"n", 3}, {"real", 1.5}, {"text", "a b"}, {"flag", false}});
  const json line = json::parse(out.lines.at(0));
  EXPECT_EQ(line["level"], "warn");
  EXPECT_EQ(line["n"], 3);
  EXPECT_EQ(line["real"], 1.5);
  EXPECT_EQ(line["flag"], false);
}

TEST(Log, AFloodIsCutAndCounted) {
  Lines out;
  Log log(LogLevel::kInfo, true, out.sink());
  for (int i = 0; i < 5 * Log::kBurst; ++i) log.info("flood");
  const std::size_t written = out.lines.size();
  EXPECT_GE(written, static_cast<std::size_t>(Log::kBurst));
  EXPECT_LT(written, static_cast<std::size_t>(3 * Log::kBurst));
  log.error("errors always pass");
  // Told by whatever is written next: on a slow machine lines are let through again meanwhile.
  std::size_t suppressed = 0;
  for (const std::string& line : out.lines) suppressed += json::parse(line).value("suppressed", 0u);
  EXPECT_EQ(suppressed, 5 * Log::kBurst - written);
  EXPECT_EQ(json::parse(out.lines.back())["level"], "error");
}

TEST(Notify, ArrivesAtTheNamedSocket) {
  EXPECT_FALSE(notify("READY=1"));  // nobody asked
  const std::string path =
      std::filesystem::temp_directory_path() / ("cuzk-notify-" + std::to_string(::getpid()));
  for (const bool abstract : {false, true}) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    if (abstract) name.sun_path[0] = '\0';
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&name), size), 0);
    ::setenv("NOTIFY_SOCKET", (abstract ? "@" + path.substr(1) : path).c_str(), 1);
    EXPECT_TRUE(notify("READY=1\nSTATUS=fine"));
    char received[64] = {};
    EXPECT_EQ(::recv(fd, received, sizeof received, MSG_DONTWAIT), 19);
    EXPECT_STREQ(received, "READY=1\nSTATUS=fine");
    ::close(fd);
    ::unlink(path.c_str());
  }
  ::unsetenv("NOTIFY_SOCKET");
}

TEST(Notify, WatchdogIsForThisProcessOnly) {
  EXPECT_FALSE(watchdog_interval());
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  EXPECT_EQ(watchdog_interval(), std::chrono::seconds(3));
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_FALSE(watchdog_interval());
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_TRUE(watchdog_interval());
  ::unsetenv("WATCHDOG_USEC");
  ::unsetenv("WATCHDOG_PID");
}

engine::ServiceMetrics busy_service() {
  engine::ServiceMetrics m;
  engine::ServiceStatus& s = m.status;
  s.uptime_us = 65'500'000;
  s.ready = true;
  s.completed = 3;
  s.failed = 1;
  s.accepted = 6;
  s.memory.limit_bytes = 1000;
  s.memory.leased_bytes = 400;
  s.memory.reserved_bytes = 300;
  s.queues = {{engine::ProofKind::kPorep, 1, 1}};
  engine::DeviceStatus cpu;
  cpu.name = "cpu \"0\"\\\n";
  cpu.workers = 2;
  cpu.proofs = 3;
  s.devices = {cpu};
  engine::JobStatus job;
  job.job_id = "wdpost-1000-0-[12 34]\n\xff";
  job.submitted_us = 5'500'000;
  job.state = engine::JobState::kRunning;
  job.partitions.resize(6);
  job.partitions[0].state = engine::PartitionState::kDone;
  job.partitions[0].synthesis_ms = 11;
  job.partitions[0].prove_ms = 22;
  job.partitions[1].state = engine::PartitionState::kProving;
  job.partitions[2].state = engine::PartitionState::kSynthesized;
  job.partitions[3].state = engine::PartitionState::kSynthesizing;
  job.partitions[4].state = engine::PartitionState::kFinishing;
  job.partitions_done = 1;
  s.jobs = {job};
  job.finished_us = 64'000'000;
  engine::JobStatus old = job;
  old.finished_us = 6'000'000;
  s.recent = {job, old};
  engine::WorkerStatus worker;
  worker.stage = "prove";
  worker.device = cpu.name;
  worker.job_id = job.job_id;
  worker.kind = engine::ProofKind::kPorep;
  worker.partition = 1;
  worker.busy_us = 2'000'000;
  engine::WorkerStatus idle = worker;
  idle.job_id.clear();
  idle.busy_us = -1;
  engine::WorkerStatus synthesis = idle;
  synthesis.stage = "synthesis";
  s.workers = {worker, idle, synthesis};
  engine::CircuitStatus circuit;
  circuit.circuit_id = "porep-2k";
  circuit.tier = engine::Tier::kHot;
  circuit.bytes = 77;
  circuit.idle_us = 1'000'000;
  s.circuits = {circuit};
  engine::KindMetrics& kind = m.kinds[engine::ProofKind::kPorep];
  kind.accepted = 6;
  kind.completed = 3;
  kind.failed = 1;
  engine::Histogram& total = kind.phases["total"];
  total.counts[0] = 1;
  total.counts[2] = 1;
  total.counts[engine::Histogram::kBounds.size()] = 1;
  total.count = 3;
  total.sum_seconds = 4000.03;
  m.queued[engine::Priority::kHigh] = 2;
  engine::CircomCircuitStatus mult;
  mult.options.id = "mult";
  mult.curve = "bn128";
  mult.loaded = true;
  engine::CircomCircuitStatus broken;
  broken.options.id = "broken";
  broken.problem = "its key is no key";
  m.status.circom = {mult, broken};
  m.circom["mult"] = {7, 2, 3.5};
  // An id whose key changed has two in memory for a while.
  circuit.circuit_id = "circom mult";
  s.circuits.push_back(circuit);
  s.circuits.push_back(circuit);
  return m;
}

TEST(Metrics, NamesOfCuriosDaemonAreThere) {
  const std::string text = metrics_text(busy_service(), {"0.1.0", false, true});
  for (const char* line :
       {"\ncuzk_proofs_completed_total 3\n", "\ncuzk_proofs_failed_total 1\n",
        "\ncuzk_uptime_seconds 65.5\n", "\ncuzk_queue_depth 1\n", "\ncuzk_running_jobs 1\n",
        "\ncuzk_gpu_workers 2\n", "\ncuzk_proofs_completed{proof_kind=\"porep_c2\"} 3\n",
        "\ncuzk_proofs_failed{proof_kind=\"porep_c2\"} 1\n",
        "\ncuzk_proof_duration_seconds_count{proof_kind=\"porep_c2\"} 3\n",
        "\n# TYPE cuzk_proof_duration_seconds histogram\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(Metrics, CircomIsCountedByCircuit) {
  const std::string text = metrics_text(busy_service(), {"0.1.0", false, false});
  for (const char* line : {"\ncuzk_circom_proofs_completed_total{circuit=\"mult\"} 7\n",
                           "\ncuzk_circom_proofs_failed_total{circuit=\"mult\"} 2\n",
                           "\ncuzk_circom_proof_seconds_total{circuit=\"mult\"} 3.5\n",
                           "\ncuzk_circom_circuits{state=\"usable\"} 1\n",
                           "\ncuzk_circom_circuits{state=\"refused\"} 1\n",
                           "\ncuzk_parameters_resident_bytes{circuit=\"circom mult\"} 154\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(Metrics, HistogramsAreCumulative) {
  const std::string text = metrics_text(busy_service(), {"0.1.0", false, false});
  for (const char* bucket : {"le=\"0.005\"} 1", "le=\"0.01\"} 1", "le=\"0.025\"} 2",
                             "le=\"3600\"} 2", "le=\"+Inf\"} 3"}) {
    EXPECT_NE(text.find(std::string("cuzk_proof_duration_seconds_bucket{proof_kind=\"porep_c2\",") +
                        bucket),
              std::string::npos)
        << bucket << text;
  }
  EXPECT_EQ(text.find("cuzk_proofs_completed{"), std::string::npos);
}

TEST(Metrics, PrometheusOwnCheckIsClean) {
  if (std::system("promtool --version >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "promtool (Debian package prometheus) is not here: the text was not checked";
  }
  for (const bool busy : {false, true}) {
    const auto file =
        std::filesystem::temp_directory_path() / ("cuzk-metrics-" + std::to_string(::getpid()));
    std::ofstream(file) << metrics_text(busy ? busy_service() : engine::ServiceMetrics{},
                                        {"0.1.0", true, false});
    const std::string command = "promtool check metrics < " + file.string() + " 1>&2";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::filesystem::remove(file);
  }
}

TEST(Status, KeysOfCuriosDaemonAreThereAndTrue) {
  const json out = json::parse(json_text(status_json(busy_service(), "0.1.0")));
  EXPECT_EQ(out["uptime_secs"], 65.5);
  EXPECT_EQ(out["memory"]["total_bytes"], 1000);
  EXPECT_EQ(out["memory"]["used_bytes"], 400);
  EXPECT_EQ(out["memory"]["available_bytes"], 600);
  EXPECT_EQ(out["synthesis"], json({{"max_concurrent", 1}, {"active", 1}}));
  ASSERT_EQ(out["pipelines"].size(), 2u) << "running, and finished within 30 s";
  const json& pipeline = out["pipelines"][0];
  EXPECT_EQ(pipeline["proof_kind"], "porep-c2");
  EXPECT_EQ(pipeline["started_secs_ago"], 60.0);
  EXPECT_EQ(pipeline["total_partitions"], 6);
  EXPECT_EQ(pipeline["partitions_done"], 1);
  EXPECT_EQ(pipeline["partitions"][0],
            json({{"index", 0}, {"state", "done"}, {"synth_ms", 11}, {"gpu_ms", 22}}));
  EXPECT_EQ(pipeline["partitions"][1]["state"], "gpu");
  EXPECT_EQ(pipeline["partitions"][2]["state"], "synth_done");
  EXPECT_EQ(pipeline["partitions"][3]["state"], "synthesizing");
  EXPECT_EQ(pipeline["partitions"][5]["state"], "pending");
  EXPECT_TRUE(pipeline["partitions"][5]["synth_ms"].is_null());
  ASSERT_EQ(out["gpu_workers"].size(), 2u);
  EXPECT_EQ(out["gpu_workers"][0]["state"], "proving");
  EXPECT_EQ(out["gpu_workers"][0]["busy_secs"], 2.0);
  EXPECT_TRUE(out["gpu_workers"][1]["current_job"].is_null());
  EXPECT_EQ(out["allocations"]["srs"][0]["circuit_id"], "porep-2k");
  EXPECT_EQ(out["allocations"]["srs"][0]["last_used_secs_ago"], 1.0);
  EXPECT_EQ(out["allocations"]["srs"][0]["evictable"], true);
  EXPECT_EQ(out["counters"]["total_completed"], 3);
  EXPECT_EQ(out["counters"]["completed_by_kind"]["porep-c2"], 3);
  EXPECT_EQ(out["counters"]["queue_depth"], 1);
  EXPECT_EQ(out["buffers"]["provers_in_flight"], 1);
  EXPECT_EQ(out["buffers"]["pending_handles"], 1);
}

TEST(Status, CircomCircuitsStandBesideTheirCounts) {
  const auto out = status_json(busy_service(), "0.1.0").at("circom");
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].at("id"), "mult");
  EXPECT_EQ(out[0].at("completed"), 7);
  EXPECT_EQ(out[1].at("problem"), "its key is no key");
  EXPECT_EQ(out[1].at("completed"), 0);
}

TEST(Page, IsPartOfTheProgram) {
  EXPECT_TRUE(status_page().starts_with("<!doctype html>"));
  EXPECT_TRUE(status_page().ends_with("</html>\n"));
}

}  // namespace
}  // namespace cuzk::daemon
