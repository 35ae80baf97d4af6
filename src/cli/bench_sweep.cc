// cuzk-bench sweep: the same load over numbers of workers and of requests in flight.

#include <cstdio>

#include "bench/svg.h"
#include "bench/sweep_plot.h"
#include "cli/bench_load.h"
#include "cli/bench_output.h"
#include "cli/bench_requests.h"

namespace cuzk::cli {

namespace {

using engine::ProofRequest;
using nlohmann::json;

struct SweepOptions {
  RequestOptions request;
  LocalService local;
  OutputOptions output;
  std::vector<unsigned> workers;
  std::vector<std::size_t> in_flight = {1, 2, 4};
  std::size_t count = 6;
  std::string svg_file;
};

bench::SweepPoint point_of(const bench::RunResult& result, const bench::Verdict& verdict,
                           unsigned workers, std::size_t in_flight) {
  const bench::Latencies latencies = bench::latencies_of(result);
  bench::SweepPoint out;
  out.workers = workers;
  out.in_flight = in_flight;
  out.proofs_per_minute =
      60 * static_cast<double>(result.count(bench::Ending::kCompleted)) / result.wall_seconds;
  out.p50_seconds = latencies.wall_ms.p50 * 1e-3;
  out.p99_seconds = latencies.wall_ms.p99 * 1e-3;
  if (result.service) {
    out.peak_bytes = static_cast<double>(result.service->peak_reserved_bytes);
    out.limit_bytes = static_cast<double>(result.service->after.memory.limit_bytes);
  }
  out.bound = verdict.has_spans ? std::string(bench::cause_name(verdict.bound)) : "unknown";
  return out;
}

void print_point(const bench::SweepPoint& p) {
  fmt::print("{:>8} {:>10} {:>14.2f} {:>10} {:>10} {:>12}  {}\n", p.workers, p.in_flight,
             p.proofs_per_minute, bench::human_seconds(p.p50_seconds),
             bench::human_seconds(p.p99_seconds), bench::human_bytes(p.peak_bytes), p.bound);
  std::fflush(stdout);
}

class Sweep {
 public:
  Sweep(const DaemonAddress& address, const SweepOptions& o, ProofRequest request)
      : address_(address), o_(o), requests_{std::move(request)}, stop_(stop_on_signals()) {}

  Result<ExitCode> execute() {
    if (!o_.output.json) {
      fmt::print("=== Sweep ===\n{:>8} {:>10} {:>14} {:>10} {:>10} {:>12}  {}\n", "workers",
                 "in flight", "proofs/min", "p50", "p99", "peak memory", "bound by");
    }
    std::vector<unsigned> workers = o_.workers;
    if (workers.empty()) workers.push_back(o_.local.workers.value_or(1));
    for (const unsigned n : workers) CUZK_TRY_VOID(with_workers(n));
    CUZK_TRY_VOID(write_results());
    return code_;
  }

 private:
  // A service of its own for each number of workers; its key is loaded before the time starts.
  Status with_workers(unsigned workers) {
    LocalService local = o_.local;
    if (local.is_local) local.workers = workers;
    CUZK_TRY(const auto target, open_target(address_, local));
    CUZK_TRY_VOID(bench::load_key(*target, requests_.front()));
    if (head_.is_null()) head_ = document_head("sweep", *target, load_json());
    for (const std::size_t in_flight : o_.in_flight) {
      if (stop_.stop_requested()) return fail(ErrorCode::kCancelled, "interrupted");
      CUZK_TRY_VOID(one_point(*target, workers, in_flight));
    }
    return {};
  }

  Status one_point(bench::Target& target, unsigned workers, std::size_t in_flight) {
    bench::RunOptions options;
    options.arrivals = bench::batch_arrivals(o_.count);
    options.max_in_flight = in_flight;
    options.sample_every = std::chrono::milliseconds(50);
    options.stop = stop_;
    LoadProgress progress(progress_is_visible(address_), o_.count);
    options.on_progress = [&](const bench::JobRecord*, std::size_t done, std::size_t flying) {
      progress.update(done, flying);
    };
    bench::RunResult result = bench::run(target, requests_, options);
    progress.clear();
    if (o_.output.verify) {
      CUZK_TRY(const auto circom, o_.request.circom_keys());
      CUZK_TRY_VOID(verify_proofs(result, requests_, o_.local, circom));
    }
    const bench::Verdict verdict = bench::verdict_of(result);
    points_.push_back(point_of(result, verdict, workers, in_flight));
    if (!o_.output.json) print_point(points_.back());
    json run = bench::run_json(result, verdict);
    run["workers"] = workers;
    run["in_flight"] = in_flight;
    runs_.push_back(std::move(run));
    if (code_ == kOk) code_ = exit_code_of(result, o_.output);
    return {};
  }

  json load_json() const {
    return {{"type", o_.request.type_name(requests_.front())},
            {"count", o_.count},
            {"workers", o_.workers},
            {"in_flight", o_.in_flight}};
  }

  Status write_results() {
    head_["ok"] = code_ == kOk;
    head_["points"] = runs_;
    CUZK_TRY_VOID(write_document(o_.output, head_));
    if (o_.svg_file.empty()) return {};
    bench::SweepPlot plot;
    plot.title =
        fmt::format("{}: workers and requests in flight", o_.request.type_name(requests_.front()));
    plot.subtitle = fmt::format("{} proofs at each point, parameters loaded before; {}", o_.count,
                                head_.value("target", ""));
    plot.points = points_;
    return write_text(o_.svg_file, bench::draw_sweep(plot));
  }

  const DaemonAddress& address_;
  const SweepOptions& o_;
  const std::vector<ProofRequest> requests_;
  const std::stop_token stop_;
  json head_;
  json runs_ = json::array();
  std::vector<bench::SweepPoint> points_;
  ExitCode code_ = kOk;
};

Result<ExitCode> sweep(const DaemonAddress& address, const SweepOptions& o) {
  if (!o.workers.empty() && !o.local.is_local) {
    return fail(ErrorCode::kInvalidArgument,
                "--sweep-workers needs --local: a running daemon keeps its number of workers");
  }
  CUZK_TRY(ProofRequest request, o.request.request());
  return Sweep(address, o, std::move(request)).execute();
}

}  // namespace

void add_bench_sweep(CLI::App& app, const DaemonAddress& address, Runner& run) {
  CLI::App* command = app.add_subcommand(
      "sweep", "The same load over numbers of workers and of requests in flight, with a plot");
  auto o = std::make_shared<SweepOptions>();
  o->request.add(*command, true);
  command->add_option("-c,--count", o->count, "How many proofs at each point")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100000}))
      ->capture_default_str();
  command
      ->add_option("--sweep-workers", o->workers, "Workers per device, e.g. 1,2,3 (with --local)")
      ->delimiter(',')
      ->check(CLI::Range(1u, 64u));
  command->add_option("--sweep-jobs", o->in_flight, "Requests in flight, e.g. 1,2,4")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{1}, std::size_t{100000}))
      ->capture_default_str();
  command->add_option("--svg", o->svg_file, "Draw throughput, latency and peak memory");
  o->output.add(*command, false);
  o->local.add(*command);
  command->fallthrough();
  command->footer(
      "Example:\n  cuzk-bench sweep -t porep --c1 c1.json --sector-num 23 --local \\\n    "
      "--sweep-workers 1,2 --sweep-jobs 1,2,4 --svg sweep.svg --json-file sweep.json");
  command->callback([&address, o, &run] { run = [&address, o] { return sweep(address, *o); }; });
}

}  // namespace cuzk::cli
