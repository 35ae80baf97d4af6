#include "cli/bench_load.h"

#include <algorithm>
#include <cstdio>

#include "base/mapped_file.h"
#include "bench/svg.h"
#include "bench/verifier.h"
#include "cli/bench_output.h"
#include "cli/bench_requests.h"
#include "daemon/units.h"

namespace cuzk::cli {

namespace {

using bench::Ending;
using bench::JobRecord;
using engine::ProofRequest;
using nlohmann::json;

struct LoadOptions {
  RequestOptions request;
  LocalService local;
  OutputOptions output;
};

// ---- single --------------------------------------------------------------------------------

struct SingleOptions : LoadOptions {
  std::string proof_file;
};

std::string hex_of(const std::vector<std::uint8_t>& proof) {
  constexpr std::size_t kWhole = 256, kBeginning = 128;
  if (proof.size() <= kWhole) return to_hex(proof);
  return to_hex(ByteSpan(proof).first(kBeginning)) + "...";
}

void print_single(const JobRecord& job) {
  fmt::print("\n=== Proof Result ===\n");
  fmt::print("status:    {}\n", bench::ending_name(job.ending));
  fmt::print("job_id:    {}\n", job.id);
  const auto& t = job.timings;
  if (job.ending == Ending::kCompleted) {
    fmt::print("timings:   total={} ms (queue={} ms, srs={} ms, synth={} ms, gpu={} ms)\n",
               t.total_ms, t.queue_wait_ms, t.key_load_ms, t.synthesis_ms, t.prove_ms);
    fmt::print("wall time: {:.0f} ms\n", job.wall_ms());
    if (job.kind == engine::ProofKind::kCircom) {
      fmt::print("proof:     {} bytes of JSON, public signals of {} bytes\n", job.proof.size(),
                 job.public_json.size());
    } else {
      fmt::print("proof:     {} bytes (hex: {})\n", job.proof.size(), hex_of(job.proof));
    }
    if (job.verified) {
      fmt::print("verified:  {}\n", *job.verified ? "yes, here" : job.verified->error().message);
    }
  } else {
    fmt::print("error:     {}\n", job.error ? job.error->message : "cancelled");
  }
}

Result<ExitCode> single(const DaemonAddress& address, const SingleOptions& o) {
  CUZK_TRY(const ProofRequest request, o.request.request());
  CUZK_TRY(const auto target, open_target(address, o.local));
  const std::vector<ProofRequest> requests = {request};
  LoadProgress progress(progress_is_visible(address), 1);
  bench::RunOptions options;
  options.arrivals = bench::batch_arrivals(1);
  options.max_in_flight = 1;
  options.on_progress = [&](const JobRecord*, std::size_t done, std::size_t in_flight) {
    progress.update(done, in_flight);
  };
  options.stop = stop_on_signals();
  bench::RunResult result = bench::run(*target, requests, options);
  progress.clear();
  // A call that was refused is an error of the command, as with Curio's.
  if (result.jobs.empty()) return fail(ErrorCode::kCancelled, "interrupted");
  JobRecord& job = result.jobs.front();
  if (job.ending == Ending::kRefused && !o.output.json) return fail(*job.error);
  if (o.output.verify) {
    CUZK_TRY(const auto circom, o.request.circom_keys());
    CUZK_TRY_VOID(verify_proofs(result, requests, o.local, circom));
  }
  const bench::Verdict verdict = bench::verdict_of(result);
  CUZK_TRY_VOID(
      write_timeline(o.output, result, verdict, "One proof: " + o.request.type_name(request)));
  if (!o.proof_file.empty() && job.ending == Ending::kCompleted) {
    CUZK_TRY_VOID(write_file_atomically(o.proof_file, job.proof));
  }
  json document =
      document_head("single", *target, {{"type", o.request.type_name(request)}, {"count", 1}});
  document.update(bench::run_json(result, verdict));
  CUZK_TRY_VOID(write_document(o.output, document));
  if (!o.output.json) print_single(job);
  return exit_code_of(result, o.output);
}

// ---- batch ---------------------------------------------------------------------------------

struct BatchOptions : LoadOptions {
  std::size_t count = 3;
  std::size_t concurrency = 1;
  bool preload = false;
  bool compare_sequential = false;
};

void print_answer(const JobRecord& job, std::size_t number, std::size_t total) {
  fmt::print("  [{}/{}] {} — {:.1f}s (prove={} ms, queue={} ms){}\n", number, total,
             bench::ending_name(job.ending), job.wall_ms() * 1e-3, job.timings.prove_ms,
             job.timings.queue_wait_ms, job.error ? ": " + job.error->message : "");
  std::fflush(stdout);
}

// The load's first failure as an error, when nothing at all was accepted.
Status check_accepted(const bench::RunResult& result) {
  if (result.jobs.empty())
    return fail(ErrorCode::kCancelled, "interrupted before anything was sent");
  const bool any = std::any_of(result.jobs.begin(), result.jobs.end(),
                               [](const JobRecord& job) { return job.ending != Ending::kRefused; });
  if (!any) return fail(*result.jobs.front().error);
  return {};
}

struct LoadRun {
  bench::RunResult result;
  bench::Verdict verdict;
};

// Sends, prints each answer, verifies where that was asked for.
Result<LoadRun> run_load(bench::Target& target, const std::vector<ProofRequest>& requests,
                         bench::RunOptions options, const DaemonAddress& address,
                         const LoadOptions& o, const bench::CircomKeys& circom) {
  const std::size_t total = options.arrivals.size();
  LoadProgress progress(progress_is_visible(address), total);
  std::size_t number = 0;
  options.on_progress = [&](const JobRecord* job, std::size_t done, std::size_t in_flight) {
    if (job && !o.output.json) {
      progress.clear();
      print_answer(*job, ++number, total);
    }
    progress.update(done, in_flight);
  };
  options.stop = stop_on_signals();
  LoadRun out{bench::run(target, requests, options), {}};
  progress.clear();
  CUZK_TRY_VOID(check_accepted(out.result));
  if (o.output.verify) CUZK_TRY_VOID(verify_proofs(out.result, requests, o.local, circom));
  out.verdict = bench::verdict_of(out.result);
  return out;
}

void print_summary(const char* title, const LoadRun& run) {
  fmt::print("\n=== {} ===\n", title);
  for (const std::string& line : bench::summary_lines(run.result, run.verdict)) {
    fmt::print("{}\n", line);
  }
  if (any_insecure(run.result)) {
    std::fputs("note: proved under an INSECURE development key\n", stderr);
  }
}

bench::RunOptions closed_loop(std::size_t count, std::size_t concurrency) {
  bench::RunOptions out;
  out.arrivals = bench::batch_arrivals(count);
  out.max_in_flight = std::max<std::size_t>(1, concurrency);
  return out;
}

Result<ExitCode> batch(const DaemonAddress& address, const BatchOptions& o) {
  CUZK_TRY(const ProofRequest request, o.request.request());
  CUZK_TRY(const auto circom, o.request.circom_keys());
  CUZK_TRY(const auto target, open_target(address, o.local));
  const std::vector<ProofRequest> requests = {request};
  if (o.preload || o.compare_sequential) CUZK_TRY_VOID(bench::load_key(*target, request));
  if (!o.output.json) {
    fmt::print("=== Batch Benchmark ===\nproof type:  {}\ncount:       {}\nconcurrency: {}\n",
               o.request.type_name(request), o.count, o.concurrency);
  }
  json document = document_head("batch", *target,
                                {{"type", o.request.type_name(request)},
                                 {"count", o.count},
                                 {"concurrency", o.concurrency},
                                 {"preloaded", o.preload || o.compare_sequential}});
  std::optional<LoadRun> sequential;
  if (o.compare_sequential) {
    if (!o.output.json) fmt::print("\none by one:\n");
    CUZK_TRY(sequential, run_load(*target, requests, closed_loop(o.count, 1), address, o, circom));
    if (sequential->result.interrupted) return fail(ErrorCode::kCancelled, "interrupted");
    if (!o.output.json) fmt::print("\n{} at once:\n", o.concurrency);
  } else if (!o.output.json) {
    fmt::print("\n");
  }
  CUZK_TRY(const LoadRun run,
           run_load(*target, requests, closed_loop(o.count, o.concurrency), address, o, circom));
  document.update(bench::run_json(run.result, run.verdict));
  if (sequential) {
    document["sequential"] = bench::run_json(sequential->result, sequential->verdict);
    document["speedup"] = sequential->result.wall_seconds / run.result.wall_seconds;
  }
  if (!o.output.json) {
    print_summary("Batch Summary", run);
    if (sequential) {
      fmt::print("one by one:    {:.1f}s; pipelined {:.3f} times as fast\n",
                 sequential->result.wall_seconds,
                 sequential->result.wall_seconds / run.result.wall_seconds);
    }
  }
  CUZK_TRY_VOID(write_timeline(
      o.output, run.result, run.verdict,
      fmt::format("{} × {}, {} in flight", o.count, o.request.type_name(request), o.concurrency)));
  CUZK_TRY_VOID(write_document(o.output, document));
  if (sequential) {
    const ExitCode first = exit_code_of(sequential->result, o.output);
    if (first != kOk) return first;
  }
  return exit_code_of(run.result, o.output);
}

// ---- stress --------------------------------------------------------------------------------

struct StressCommand : LoadOptions {
  std::vector<std::string> mix;  // DIR=RATE
  double rate = 1;
  std::string duration;
  std::size_t count = 0;
  std::uint64_t seed = 1;
  std::vector<std::string> priorities;  // NAME=WEIGHT
  double cancel_share = 0;
  std::string cancel_within = "10s";
  std::size_t max_in_flight = 0;
};

// NAME=NUMBER; the name may hold further equals signs.
Result<std::pair<std::string, double>> parse_weight(const std::string& text, const char* option) {
  const std::size_t equals = text.rfind('=');
  char* end = nullptr;
  const std::string number = equals == std::string::npos ? "" : text.substr(equals + 1);
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || equals == 0) {
    return fail(ErrorCode::kInvalidArgument, "{}: '{}' is not NAME=NUMBER", option, text);
  }
  return std::pair{text.substr(0, equals), value};
}

// The requests, and into `plan` how often each comes.
Result<std::vector<ProofRequest>> stress_requests(const StressCommand& o,
                                                  bench::StressOptions& plan,
                                                  bench::CircomKeys& circom) {
  std::vector<ProofRequest> out;
  const auto add = [&](const RequestOptions& options, double per_second) -> Status {
    CUZK_TRY(ProofRequest request, options.request());
    CUZK_TRY(auto keys, options.circom_keys());
    out.push_back(std::move(request));
    circom.merge(keys);
    plan.per_second.push_back(per_second);
    return {};
  };
  if (!o.request.type.empty() || !o.request.input.empty()) CUZK_TRY_VOID(add(o.request, o.rate));
  for (const std::string& part : o.mix) {
    CUZK_TRY(const auto weight, parse_weight(part, "--mix"));
    CUZK_TRY(const RequestOptions options, options_of_folder(weight.first));
    CUZK_TRY_VOID(add(options, weight.second));
  }
  if (out.empty()) {
    return fail(ErrorCode::kInvalidArgument, "give --type or --input with --rate, or --mix");
  }
  return out;
}

Result<bench::StressOptions> stress_plan(const StressCommand& o) {
  bench::StressOptions plan;
  plan.seed = o.seed;
  plan.count = o.count;
  if (!o.duration.empty()) {
    CUZK_TRY(const std::int64_t ms, daemon::parse_duration_ms(o.duration, "--duration"));
    plan.duration_us = ms * 1000;
  }
  CUZK_TRY(const std::int64_t within,
           daemon::parse_duration_ms(o.cancel_within, "--cancel-within"));
  plan.cancel_within_us = within * 1000;
  plan.cancel_share = o.cancel_share;
  for (const std::string& text : o.priorities) {
    CUZK_TRY(const auto weight, parse_weight(text, "--priorities"));
    CUZK_TRY(const engine::Priority priority, parse_priority(weight.first));
    plan.priority_weights[static_cast<std::size_t>(priority)] = weight.second;
  }
  return plan;
}

json stress_load_json(const StressCommand& o, const bench::StressOptions& plan,
                      std::span<const ProofRequest> requests, std::size_t arrivals) {
  json mix = json::array();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    mix.push_back(
        {{"kind", engine::proof_kind_name(requests[i].kind)}, {"per_second", plan.per_second[i]}});
  }
  return {{"mix", std::move(mix)},
          {"seed", o.seed},
          {"arrivals", arrivals},
          {"duration_seconds", static_cast<double>(plan.duration_us) * 1e-6},
          {"cancel_share", o.cancel_share},
          {"max_in_flight", o.max_in_flight}};
}

Result<ExitCode> stress(const DaemonAddress& address, const StressCommand& o) {
  CUZK_TRY(bench::StressOptions plan, stress_plan(o));
  bench::CircomKeys circom;
  CUZK_TRY(const auto requests, stress_requests(o, plan, circom));
  bench::RunOptions options;
  CUZK_TRY(options.arrivals, bench::stress_arrivals(plan));
  if (options.arrivals.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "nothing arrives within {}: a longer --duration, a higher rate or another --seed",
                o.duration);
  }
  options.max_in_flight = o.max_in_flight;
  CUZK_TRY(const auto target, open_target(address, o.local));
  const std::size_t arrivals = options.arrivals.size();
  if (!o.output.json) {
    fmt::print("=== Stress Benchmark ===\n");
    for (std::size_t i = 0; i < requests.size(); ++i) {
      fmt::print("{:<13}{:.3g} a second\n",
                 fmt::format("{}:", engine::proof_kind_name(requests[i].kind)), plan.per_second[i]);
    }
    fmt::print("requests:    {}, the last after {}\nseed:        {}\n\n", arrivals,
               bench::human_seconds(static_cast<double>(options.arrivals.back().at_us) * 1e-6),
               o.seed);
  }
  json document = document_head("stress", *target, stress_load_json(o, plan, requests, arrivals));
  CUZK_TRY(const LoadRun run, run_load(*target, requests, options, address, o, circom));
  document.update(bench::run_json(run.result, run.verdict));
  if (!o.output.json) print_summary("Stress Summary", run);
  CUZK_TRY_VOID(
      write_timeline(o.output, run.result, run.verdict,
                     fmt::format("{} requests of a mixed load, seed {}", arrivals, o.seed)));
  CUZK_TRY_VOID(write_document(o.output, document));
  return exit_code_of(run.result, o.output);
}

void add_single(CLI::App& app, const DaemonAddress& address, Runner& run) {
  CLI::App* command = app.add_subcommand("single", "One proof");
  auto o = std::make_shared<SingleOptions>();
  o->request.add(*command, true);
  command->add_option("-o,--output", o->proof_file, "Write the proof's bytes to a file");
  o->output.add(*command, true);
  o->local.add(*command);
  command->fallthrough();
  command->footer("Example:\n  cuzk-bench single -t porep --c1 c1.json --sector-num 23");
  command->callback([&address, o, &run] { run = [&address, o] { return single(address, *o); }; });
}

void add_batch(CLI::App& app, const DaemonAddress& address, Runner& run) {
  CLI::App* command = app.add_subcommand("batch", "The same proof many times, some at once");
  auto o = std::make_shared<BatchOptions>();
  o->request.add(*command, true);
  command->add_option("-c,--count", o->count, "How many proofs")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}))
      ->capture_default_str();
  command->add_option("-j,--concurrency", o->concurrency, "How many requests in flight")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100000}))
      ->capture_default_str();
  command->add_flag("--preload", o->preload,
                    "Load the circuit's parameters before the time starts");
  command->add_flag("--compare-sequential", o->compare_sequential,
                    "Prove the same number one by one first (after --preload), and tell the ratio");
  o->output.add(*command, true);
  o->local.add(*command);
  command->fallthrough();
  command->footer(
      "Example, without a daemon:\n  cuzk-bench batch -t porep --c1 c1.json --sector-num 23 -c 6 "
      "-j "
      "3 \\\n    --local --memory 6GiB --verify --timeline-svg run.svg");
  command->callback([&address, o, &run] { run = [&address, o] { return batch(address, *o); }; });
}

void add_stress(CLI::App& app, const DaemonAddress& address, Runner& run) {
  CLI::App* command =
      app.add_subcommand("stress", "Requests at random times from a seed, kinds mixed");
  auto o = std::make_shared<StressCommand>();
  o->request.add(*command, true);
  command->add_option("--rate", o->rate, "Requests a second of --type or --input")
      ->capture_default_str();
  command->add_option("--mix", o->mix, "FOLDER=RATE: a folder as --input takes; may be repeated");
  command->add_option("--duration", o->duration, "Requests come this long, e.g. 5m");
  command->add_option("-c,--count", o->count, "At most this many requests");
  command->add_option("--seed", o->seed, "Of the times: the same seed, the same schedule")
      ->capture_default_str();
  command->add_option("--priorities", o->priorities,
                      "NAME=WEIGHT: draw priorities; may be repeated");
  command->add_option("--cancel", o->cancel_share, "Share of the requests to cancel")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--cancel-within", o->cancel_within, "Up to so long after they were sent")
      ->capture_default_str();
  command->add_option("--max-in-flight", o->max_in_flight,
                      "Hold requests back beyond this many (default: send each when it is due)");
  o->output.add(*command, true);
  o->local.add(*command);
  command->fallthrough();
  command->footer(
      "Example:\n  cuzk-bench stress --mix inputs/porep=0.05 --mix inputs/winning-post=0.5 "
      "--duration 5m \\\n    --priorities critical=1 --priorities normal=9 --cancel 0.1");
  command->callback([&address, o, &run] { run = [&address, o] { return stress(address, *o); }; });
}

}  // namespace

void add_bench_load(CLI::App& app, const DaemonAddress& address, Runner& run) {
  add_single(app, address, run);
  add_batch(app, address, run);
  add_stress(app, address, run);
}

}  // namespace cuzk::cli
