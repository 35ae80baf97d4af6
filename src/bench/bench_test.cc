// What a measurement is made of: figures, schedules, the verdict, the pictures; and a run against a
// service whose proofs fail at once.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "bench/intervals.h"
#include "bench/report.h"
#include "bench/run.h"
#include "bench/schedule.h"
#include "bench/statistics.h"
#include "bench/svg.h"
#include "bench/sweep_plot.h"
#include "bench/timeline_plot.h"
#include "bench/verdict.h"

namespace cuzk::bench {
namespace {

using engine::SpanEvent;

// ---- figures -------------------------------------------------------------------------------

TEST(Statistics, PercentilesAreMeasuredValues) {
  std::vector<double> values;
  for (int i = 1; i <= 200; ++i) values.push_back(i);
  EXPECT_EQ(percentile(values, 50), 100);
  EXPECT_EQ(percentile(values, 90), 180);
  EXPECT_EQ(percentile(values, 99), 198);
  EXPECT_EQ(percentile(values, 100), 200);
  EXPECT_EQ(percentile(values, 0.001), 1);
  const std::vector<double> one = {7};
  for (const double p : {1.0, 50.0, 99.0}) EXPECT_EQ(percentile(one, p), 7);
}

TEST(Statistics, PercentilesAgreeWithCounting) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values(1 + random() % 50);
    for (double& v : values) v = static_cast<double>(random() % 20);
    std::sort(values.begin(), values.end());
    const double p = 1 + static_cast<double>(random() % 100);
    const double found = percentile(values, p);
    const auto not_above = [&](double v) {
      return std::count_if(values.begin(), values.end(), [&](double x) { return x <= v; });
    };
    const double needed = p / 100 * static_cast<double>(values.size());
    EXPECT_GE(static_cast<double>(not_above(found)), needed - 1e-9);
    for (const double v : values) {
      EXPECT_TRUE(v >= found || static_cast<double>(not_above(v)) < needed);
    }
  }
}

TEST(Statistics, SummaryTakesAnyOrder) {
  const Summary s = summarize({3, 1, 2, 10});
  EXPECT_EQ(s.count, 4u);
  EXPECT_EQ(s.mean, 4);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.p50, 2);
  EXPECT_EQ(s.max, 10);
  EXPECT_EQ(summarize({}).count, 0u);
  EXPECT_EQ(summarize({}).max, 0);
}

TEST(Intervals, SetsOfTime) {
  const TimeSet set = merged({{5, 9}, {0, 3}, {3, 4}, {8, 12}, {7, 7}});
  ASSERT_EQ(set.size(), 2u);
  EXPECT_EQ(set[0].begin, 0);
  EXPECT_EQ(set[0].end, 4);
  EXPECT_EQ(total(set), 11);
  EXPECT_EQ(total(without({{0, 20}}, set)), 9);
  EXPECT_EQ(total(common(set, {{2, 6}})), 3);
  EXPECT_EQ(total_within(set, 11, 100), 1);
  EXPECT_EQ(total_within(set, 10, 3), 0);
}

TEST(Intervals, AgreeWithCountingMoments) {
  std::mt19937_64 random(9);
  const auto draw = [&] {
    std::vector<Stretch> out(random() % 8);
    for (Stretch& s : out) {
      s.begin = static_cast<std::int64_t>(random() % 60);
      s.end = s.begin + static_cast<std::int64_t>(random() % 15);
    }
    return merged(out);
  };
  const auto has = [](const TimeSet& set, std::int64_t t) {
    return std::any_of(set.begin(), set.end(),
                       [&](const Stretch& s) { return s.begin <= t && t < s.end; });
  };
  for (int round = 0; round < 300; ++round) {
    const TimeSet a = draw(), b = draw();
    for (std::int64_t t = 0; t < 80; ++t) {
      EXPECT_EQ(has(without(a, b), t), has(a, t) && !has(b, t));
      EXPECT_EQ(has(common(a, b), t), has(a, t) && has(b, t));
    }
  }
}

// ---- schedules -----------------------------------------------------------------------------

StressOptions mixed_load() {
  StressOptions o;
  o.seed = 42;
  o.per_second = {5, 0, 20};
  o.duration_us = 100'000'000;
  o.priority_weights = {1, 0, 3, 0};
  o.cancel_share = 0.25;
  o.cancel_within_us = 2'000'000;
  return o;
}

TEST(Schedule, SameSeedSameSchedule) {
  const auto a = stress_arrivals(mixed_load()).value();
  const auto b = stress_arrivals(mixed_load()).value();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].at_us, b[i].at_us);
    EXPECT_EQ(a[i].request, b[i].request);
    EXPECT_EQ(a[i].priority, b[i].priority);
    EXPECT_EQ(a[i].cancel_after_us, b[i].cancel_after_us);
  }
  StressOptions other = mixed_load();
  other.seed = 43;
  EXPECT_NE(stress_arrivals(other).value().front().at_us, a.front().at_us);
}

TEST(Schedule, RatesSharesAndOrderAreAsAskedFor) {
  const auto arrivals = stress_arrivals(mixed_load()).value();
  std::array<int, 3> of_request{};
  std::map<engine::Priority, int> of_priority;
  int cancelled = 0;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    const Arrival& a = arrivals[i];
    EXPECT_TRUE(i == 0 || a.at_us >= arrivals[i - 1].at_us);
    EXPECT_LE(a.at_us, 100'000'000);
    ++of_request.at(a.request);
    ++of_priority[a.priority.value()];
    cancelled += a.cancel_after_us.has_value();
    EXPECT_LE(a.cancel_after_us.value_or(0), 2'000'000);
  }
  // 500 and 2000 are expected; five standard deviations are 112 and 224.
  EXPECT_NEAR(of_request[0], 500, 112);
  EXPECT_EQ(of_request[1], 0);
  EXPECT_NEAR(of_request[2], 2000, 224);
  const double count = static_cast<double>(arrivals.size());
  EXPECT_NEAR(of_priority[engine::Priority::kCritical] / count, 0.25, 0.05);
  EXPECT_EQ(of_priority.size(), 2u);
  EXPECT_NEAR(cancelled / count, 0.25, 0.05);
}

TEST(Schedule, AnotherKindsRateMovesNothing) {
  StressOptions o = mixed_load();
  const auto before = stress_arrivals(o).value();
  o.per_second[0] = 50;
  const auto after = stress_arrivals(o).value();
  const auto times = [](const std::vector<Arrival>& all) {
    std::vector<std::int64_t> out;
    for (const Arrival& a : all) {
      if (a.request == 2) out.push_back(a.at_us);
    }
    return out;
  };
  EXPECT_EQ(times(before), times(after));
}

TEST(Schedule, CountBoundsAndMistakesAreNamed) {
  StressOptions o = mixed_load();
  o.count = 17;
  EXPECT_EQ(stress_arrivals(o).value().size(), 17u);
  o.duration_us = 0;
  EXPECT_EQ(stress_arrivals(o).value().size(), 17u);
  o.count = 0;
  EXPECT_EQ(stress_arrivals(o).error().code, ErrorCode::kInvalidArgument);
  o = mixed_load();
  o.per_second = {0, 0};
  EXPECT_FALSE(stress_arrivals(o));
  o.per_second = {-1};
  EXPECT_FALSE(stress_arrivals(o));
  o.per_second = {std::nan("")};
  EXPECT_FALSE(stress_arrivals(o));
  o = mixed_load();
  o.cancel_share = 1.5;
  EXPECT_FALSE(stress_arrivals(o));
  EXPECT_EQ(batch_arrivals(3).size(), 3u);
}

// ---- the verdict ---------------------------------------------------------------------------

// Spans as the pipeline leaves them, times in milliseconds.
class Spans {
 public:
  void add(const std::string& lane, const std::string& name, const std::string& job, double begin,
           double end, std::size_t partition = 0) {
    SpanEvent s;
    s.lane = lane;
    s.name = name;
    s.job_id = job;
    s.partition = partition;
    s.start_us = us(begin);
    s.end_us = us(end);
    spans.push_back(std::move(s));
  }
  // A whole way: parsed, waited, synthesized, waited, proved, finished.
  void way(const std::string& job, double parsed, double synthesis, double synthesized,
           double prove, double proved, double finished) {
    add("parse 0", "parse", job, parsed - 1, parsed);
    add("waits for memory", "memory_wait", job, parsed, synthesis);
    add("synthesis 0", "synthesis", job, synthesis, synthesized);
    add("waits for a device", "prove_wait", job, synthesized, prove);
    add("cpu 0", "prove", job, prove, proved);
    add("finish 0", "finish", job, proved, finished);
  }
  void job(const std::string& id, double sent, double due = 0) {
    jobs.push_back({id, us(due), us(sent)});
  }

  Verdict judge(double end, std::vector<std::string> devices = {"cpu"},
                unsigned workers = 1) const {
    VerdictInput in;
    in.spans = spans;
    in.jobs = jobs;
    in.devices = std::move(devices);
    in.synthesis_workers = workers;
    in.begin_us = 0;
    in.end_us = us(end);
    Verdict v = bench::judge(in);
    double sum = 0;
    for (const double share : v.shares) sum += share;
    EXPECT_TRUE(!v.has_spans || std::abs(sum - 1) < 1e-9) << sum;
    return v;
  }

  static std::int64_t us(double ms) { return static_cast<std::int64_t>(ms * 1000); }
  std::vector<SpanEvent> spans;
  std::vector<VerdictJob> jobs;
};

TEST(Verdict, DeviceComputeWhenTheDeviceHardlyIdles) {
  Spans s;
  s.job("a", 0);
  s.job("b", 0);
  s.way("a", 1, 1, 51, 51, 551, 560);
  s.way("b", 2, 51, 101, 551, 1051, 1060);
  const Verdict v = s.judge(1060);
  EXPECT_EQ(v.bound, Cause::kDeviceCompute);
  EXPECT_NEAR(v.share(Cause::kDeviceCompute), 1000.0 / 1060, 1e-6);
  EXPECT_NEAR(v.share(Cause::kSynthesis), 50.0 / 1060, 1e-6);
  EXPECT_NEAR(v.share(Cause::kParse), 1.0 / 1060, 1e-6);
  EXPECT_NEAR(v.share(Cause::kFinish), 9.0 / 1060, 1e-6);
  EXPECT_NEAR(v.synthesis_under_proving, 0.5, 1e-6);
  EXPECT_NEAR(v.devices.at(0).compute_share, 1000.0 / 1060, 1e-6);
  EXPECT_NE(v.sentence.find("device compute"), std::string::npos);
}

TEST(Verdict, SynthesisWhenTheDeviceWaitsForItsWorkers) {
  Spans s;
  double at = 1;
  for (int i = 0; i < 5; ++i) {
    const std::string id(1, static_cast<char>('a' + i));
    s.job(id, 0);
    s.way(id, 1, at, at + 400, at + 400, at + 500, at + 505);
    at += 400;
  }
  const Verdict v = s.judge(2106);
  EXPECT_EQ(v.bound, Cause::kSynthesis);
  EXPECT_GT(v.share(Cause::kSynthesis), 0.7);
  EXPECT_EQ(v.share(Cause::kMemoryGate), 0);
}

TEST(Verdict, MemoryGateWhenTheNextMayNotBeginBesideTheLast) {
  // Synthesis takes 400 and 100 are proved; the budget lets one through at a time.
  Spans s;
  double at = 1;
  for (int i = 0; i < 5; ++i) {
    const std::string id(1, static_cast<char>('a' + i));
    s.job(id, 0);
    s.way(id, 1, at, at + 60, at + 60, at + 160, at + 170);
    at += 170;
  }
  const Verdict v = s.judge(at);
  EXPECT_EQ(v.bound, Cause::kDeviceCompute);
  // Four times 70 idle: all of it would have been under the proof before.
  EXPECT_NEAR(v.share(Cause::kMemoryGate), 280 / at, 1e-3);
  Spans longer;
  at = 1;
  for (int i = 0; i < 5; ++i) {
    const std::string id(1, static_cast<char>('a' + i));
    longer.job(id, 0);
    longer.way(id, 1, at, at + 150, at + 150, at + 250, at + 260);
    at += 260;
  }
  // Of 160 idle, the wait of 110 (while the device proved and finished) is the gate's.
  const Verdict w = longer.judge(at);
  EXPECT_GT(w.share(Cause::kMemoryGate), 0.3);
  EXPECT_LT(w.share(Cause::kSynthesis), w.share(Cause::kMemoryGate));
}

TEST(Verdict, ClientWhenOneRequestIsInFlightAtATime) {
  Spans s;
  double at = 0;
  for (int i = 0; i < 4; ++i) {
    const std::string id(1, static_cast<char>('a' + i));
    s.job(id, at);
    s.way(id, at + 5, at + 5, at + 305, at + 305, at + 405, at + 410);
    at += 420;
  }
  const Verdict v = s.judge(at);
  EXPECT_EQ(v.bound, Cause::kClient);
  // The first has nobody before it: its synthesis is synthesis.
  EXPECT_NEAR(v.share(Cause::kSynthesis), 300 / at, 1e-3);
}

TEST(Verdict, QueueEmptyWhenRequestsComeSeldom) {
  Spans s;
  for (int i = 0; i < 4; ++i) {
    const double at = 1000.0 * i + 500;
    const std::string id(1, static_cast<char>('a' + i));
    s.job(id, at, at);
    s.way(id, at + 2, at + 2, at + 52, at + 52, at + 152, at + 155);
  }
  const Verdict v = s.judge(3656);
  EXPECT_EQ(v.bound, Cause::kQueueEmpty);
  EXPECT_GT(v.share(Cause::kQueueEmpty), 0.8);
  EXPECT_NEAR(v.share(Cause::kSynthesis), 200.0 / 3656, 1e-3);
  EXPECT_NEAR(v.share(Cause::kDeviceCompute), 400.0 / 3656, 1e-3);
}

TEST(Verdict, ParametersWhenTheKeyIsReadFirst) {
  Spans s;
  s.job("a", 0);
  s.add("load 0", "load_key", "PoRep 2KiB", 2, 902);
  s.way("a", 2, 903, 913, 913, 1013, 1016);
  const Verdict v = s.judge(1016);
  EXPECT_EQ(v.bound, Cause::kParameters);
  EXPECT_NEAR(v.share(Cause::kParameters), 900.0 / 1016, 1e-3);
}

TEST(Verdict, ParseWhenRequestsAreLarge) {
  Spans s;
  s.job("a", 0);
  s.way("a", 801, 801, 821, 821, 921, 925);
  const Verdict v = s.judge(925);
  EXPECT_EQ(v.bound, Cause::kParse);
}

TEST(Verdict, FinishWhenAssemblyOutlastsTheDevice) {
  Spans s;
  s.job("a", 0);
  s.way("a", 1, 1, 21, 21, 121, 900);
  const Verdict v = s.judge(901);
  EXPECT_EQ(v.bound, Cause::kFinish);
  EXPECT_NEAR(v.share(Cause::kFinish), 779.0 / 901, 1e-3);
}

// What a card leaves inside a proof.
void card_proof(Spans& s, const std::string& job, double at, double memory, double upload,
                double compute) {
  s.add("waits for memory", "memory_wait", job, 1, 2);
  s.add("synthesis 0", "synthesis", job, 2, 3);
  s.add("cuda:0 1", "start", job, at, at + memory + 5);
  s.add("cuda:0 slot 0", "prep", job, at, at + 5);
  s.add("cuda:0 slot 0", "memory_wait", job, at + 5, at + 5 + memory);
  s.add("cuda:0 slot 0", "stage", job, at + 5 + memory, at + 5 + memory + upload);
  s.add("cuda:0 slot 0", "gpu_total", job, at + 5 + memory + upload,
        at + 5 + memory + upload + compute);
  s.add("cuda:0 slot 0", "h_msm", job, at + 5 + memory + upload,
        at + 5 + memory + upload + compute);
}

TEST(Verdict, UploadAndTheDevicesMemory) {
  Spans s;
  s.job("a", 0);
  card_proof(s, "a", 3, 20, 600, 200);
  const Verdict v = s.judge(828, {"cuda:0"});
  EXPECT_EQ(v.bound, Cause::kUpload);
  EXPECT_NEAR(v.share(Cause::kUpload), 600.0 / 828, 1e-3);
  EXPECT_NEAR(v.share(Cause::kDeviceMemory), 20.0 / 828, 1e-3);
  EXPECT_NEAR(v.share(Cause::kDeviceHost), 5.0 / 828, 1e-3);
  EXPECT_NEAR(v.devices.at(0).upload_share, 600.0 / 828, 1e-3);
  Spans waits;
  waits.job("a", 0);
  card_proof(waits, "a", 3, 500, 10, 200);
  EXPECT_EQ(waits.judge(718, {"cuda:0"}).bound, Cause::kDeviceMemory);
}

TEST(Verdict, DeviceHostWorkWhenReadyWorkIsNotTakenUp) {
  Spans s;
  s.job("a", 0);
  s.way("a", 1, 1, 11, 511, 611, 615);
  EXPECT_EQ(s.judge(615).bound, Cause::kDeviceHost);
}

TEST(Verdict, SharesAreOverAllDevicesAndNameStrangersWork) {
  Spans s;
  s.job("a", 0);
  s.way("a", 1, 1, 11, 11, 511, 515);
  s.add("gpu 0", "prove", "somebody else", 0, 515);
  const Verdict v = s.judge(515, {"cpu", "gpu"});
  ASSERT_EQ(v.devices.size(), 2u);
  EXPECT_NEAR(v.devices[1].compute_share, 1, 1e-9);
  EXPECT_NEAR(v.devices[1].foreign_share, 1, 1e-9);
  EXPECT_NEAR(v.devices[0].foreign_share, 0, 1e-9);
  EXPECT_NEAR(v.share(Cause::kDeviceCompute), (500.0 + 515) / 1030, 1e-3);
}

TEST(Verdict, NothingIsSaidWithoutSpans) {
  Spans s;
  s.job("a", 0);
  EXPECT_FALSE(s.judge(100).has_spans);
  EXPECT_FALSE(s.judge(0).has_spans);
  s.way("b", 1, 1, 11, 11, 51, 55);
  EXPECT_EQ(s.judge(100).jobs_without_spans, 1u);
}

TEST(Verdict, EveryCauseHasItsWords) {
  std::set<std::string_view> keys, names;
  for (std::size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    keys.insert(cause_key(cause));
    names.insert(cause_name(cause));
    EXPECT_FALSE(cause_advice(cause).empty());
  }
  EXPECT_EQ(keys.size(), kCauses);
  EXPECT_EQ(names.size(), kCauses);
}

// Shares add up to one whatever the spans are.
TEST(Verdict, SharesAddUpForAnySpans) {
  std::mt19937_64 random(11);
  const auto time = [&](double most) {
    return static_cast<double>(random() % 100000) / 1e5 * most;
  };
  for (int round = 0; round < 300; ++round) {
    Spans s;
    for (int job = 0; job < 6; ++job) {
      const std::string id = std::to_string(job);
      s.job(id, time(500), time(500));
      double at[6];
      for (double& t : at) t = time(1200) - 100;
      if (random() % 4) std::sort(at, at + 6);
      s.way(id, at[0], at[1], at[2], at[3], at[4], at[5]);
    }
    s.judge(1000, {"cpu"}, 1 + static_cast<unsigned>(random() % 3));
  }
}

// ---- pictures ------------------------------------------------------------------------------

// Whether the tags of an SVG are balanced and its text has no bare markup.
void expect_well_formed(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    ASSERT_FALSE(tag.empty());
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(tag.substr(1), open.back());
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  EXPECT_TRUE(open.empty());
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Svg, TextIsEscaped) {
  EXPECT_EQ(escape_xml("a<b>&\"c'\x01\n"), "a&lt;b&gt;&amp;&quot;c&#39;\uFFFD\n");
  EXPECT_EQ(escape_xml("schön"), "schön");
  Svg svg(10, 10);
  svg.text({1, 1}, "</svg><script>", "label");
  svg.rect({0, 0}, 1, 1, "band", 0, "\"><");
  expect_well_formed(svg.str());
  EXPECT_EQ(svg.str().find("<script>"), std::string::npos);
}

TEST(Svg, ScalesReadEasily) {
  EXPECT_DOUBLE_EQ(tick_step(10, 5), 2);
  EXPECT_DOUBLE_EQ(tick_step(0.7, 7), 0.1);
  EXPECT_DOUBLE_EQ(tick_step(9.1e6, 5), 2e6);
  EXPECT_DOUBLE_EQ(tick_step(0, 5), 1);
  EXPECT_DOUBLE_EQ(time_tick_step(600, 8), 120);
  EXPECT_DOUBLE_EQ(time_tick_step(3, 6), 0.5);
  EXPECT_DOUBLE_EQ(time_tick_step(10 * 86400, 5), 2 * 86400);
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    const double span = std::pow(10, static_cast<double>(random() % 1000) / 100 - 4);
    const int most = 1 + static_cast<int>(random() % 12);
    EXPECT_LE(span / tick_step(span, most), most + 1e-6);
    EXPECT_GE(span / tick_step(span, most), most / 2.6);
    EXPECT_LE(span / time_tick_step(span, most), most + 1e-6);
  }
  EXPECT_EQ(tick_label(2.5, 0.5), "2.5");
  EXPECT_EQ(tick_label(0.30000000004, 0.1), "0.3");
  EXPECT_EQ(tick_label(-0.0, 0.1), "0");
  EXPECT_EQ(tick_label(20, 5), "20");
  EXPECT_EQ(time_label(90, 30), "90 s");
  EXPECT_EQ(time_label(150, 30), "2:30");
  EXPECT_EQ(time_label(7500, 900), "2 h 05 min");
  EXPECT_EQ(human_bytes(1536.0 * (1 << 20)), "1.50 GiB");
  EXPECT_EQ(human_seconds(0.0125), "12 ms");
  EXPECT_EQ(human_seconds(312), "5 min 12 s");
}

TEST(Svg, LabelsFit) {
  EXPECT_EQ(fitted("synthesis", 11, 200), "synthesis");
  EXPECT_EQ(fitted("synthesis", 11, 5), "");
  const std::string cut = fitted("ääääääääääääääää", 11, 60);
  EXPECT_LE(text_width(cut, 11), 60);
  EXPECT_TRUE(cut.ends_with("…"));
  EXPECT_EQ((cut.size() - std::string("…").size()) % 2, 0u);  // no half character
}

TEST(Svg, TimelineHasEveryLaneAndEveryKind) {
  Spans s;
  s.way("job <1>", 10, 12, 40, 40, 500, 520);
  s.way("job 2", 11, 40, 60, 500, 900, 910);
  s.add("cpu 0", "h_msm", "job <1>", 100, 400);
  s.add("a lane of its own", "something new", "job 2", 1, 2);
  TimelinePlot plot;
  plot.title = "A & B";
  plot.subtitles = {"one", "two"};
  plot.spans = s.spans;
  plot.job_ids = {"job <1>", "job 2"};
  plot.end_us = 1'000'000;
  const std::string svg = draw_timeline(plot);
  expect_well_formed(svg);
  for (const char* text :
       {"A &amp; B", "waits for memory", "synthesis 0", "cpu 0", "finish 0", "#1 prove", "#2 prove",
        "sum over h", "a lane of its own", "0.9 s", "prefers-color-scheme: dark"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  plot.spans = {};
  expect_well_formed(draw_timeline(plot));
}

TEST(Svg, SweepHasALineForEachNumberOfWorkers) {
  SweepPlot plot;
  plot.title = "sweep";
  for (unsigned w = 1; w <= 3; ++w) {
    for (std::size_t j = 1; j <= 4; j *= 2) {
      plot.points.push_back({w, j, 4.0 + w, 10.0 * static_cast<double>(j),
                             12.0 * static_cast<double>(j), 1e9 * w, 4e9, "device compute"});
    }
  }
  const std::string svg = draw_sweep(plot);
  expect_well_formed(svg);
  for (const char* text :
       {"Throughput", "Latency", "Peak memory", "3 workers per device", "limit"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
  std::size_t curves = 0;
  for (std::size_t at = svg.find("<polyline"); at != std::string::npos;
       at = svg.find("<polyline", at + 1))
    ++curves;
  EXPECT_EQ(curves, 12u);  // latency has two
  // Axes are counted in what keeps their figures short.
  EXPECT_NE(svg.find("GiB reserved; dashed: the budget"), std::string::npos);
  EXPECT_NE(svg.find("seconds from request to answer"), std::string::npos);
  for (SweepPoint& p : plot.points) p.p50_seconds /= 500, p.p99_seconds /= 500, p.peak_bytes /= 100;
  const std::string small = draw_sweep(plot);
  EXPECT_NE(small.find("MiB reserved<"), std::string::npos);
  EXPECT_NE(small.find("milliseconds from request to answer"), std::string::npos);
  plot.points = {{1, 1, 0, 0, 0, 0, 0, ""}};
  expect_well_formed(draw_sweep(plot));
}

// ---- a run ---------------------------------------------------------------------------------

// Answers from a thread of its own after a while; keeps count of what it was asked.
class FakeTarget final : public Target {
 public:
  std::string name() const override { return "fake"; }
  void prove(engine::ProofRequest request,
             std::function<void(Result<engine::Answer>)> callback) override {
    const int number = ++sent;
    most_in_flight = std::max(most_in_flight.load(), ++in_flight);
    threads.emplace_back([this, number, callback = std::move(callback), id = request.request_id] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5 + number % 3));
      --in_flight;
      if (number == refused_number) {
        return callback(fail(ErrorCode::kOutOfBudget, "the queue is full"));
      }
      engine::Answer answer;
      answer.job_id = id;
      answer.status = number == failed_number ? engine::AnswerStatus::kFailed
                                              : engine::AnswerStatus::kCompleted;
      if (number == failed_number) answer.error = Error{ErrorCode::kInternal, "wrong"};
      answer.timings.total_ms = 6;
      // The inner one is told after the outer one and ended before it.
      tell("prove", id, 1000);
      tell("h_msm", id, 2000);
      answer.proof.assign(192, 1);
      callback(answer);
    });
  }
  Result<bool> cancel(const std::string&) override {
    ++cancels;
    return true;
  }
  Result<Snapshot> snapshot(std::optional<std::uint64_t> after) override {
    if (!tells) return fail(ErrorCode::kNotFound, "the daemon does not know the call");
    Snapshot out;
    out.now_us = now_us();
    out.memory.limit_bytes = 100;
    out.memory.reserved_bytes = 40;
    if (!after) return out;
    const std::lock_guard lock(mutex);
    out.spans.last = told.size();
    for (const SpanEvent& s : told) {
      if (s.sequence > *after) out.spans.spans.push_back(s);
    }
    return out;
  }
  Status preload(const std::string&) override { return {}; }

  std::int64_t now_us() const {
    return 5'000'000'000 + std::chrono::duration_cast<std::chrono::microseconds>(
                               std::chrono::steady_clock::now() - began)
                               .count();
  }
  void tell(const std::string& name, const std::string& job, std::int64_t ago_us) {
    const std::lock_guard lock(mutex);
    const std::int64_t end = now_us() - ago_us;
    told.push_back({"cpu 0", name, job, 1, 0, end - 500, end, told.size() + 1});
  }

  std::mutex mutex;
  std::vector<SpanEvent> told;
  std::atomic<int> sent{0}, in_flight{0}, most_in_flight{0}, cancels{0};
  int refused_number = -1, failed_number = -1;
  bool tells = true;
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::vector<std::jthread> threads;
};

std::vector<engine::ProofRequest> one_request() { return std::vector<engine::ProofRequest>(1); }

TEST(Run, KeepsAsManyInFlightAsAskedFor) {
  FakeTarget target;
  RunOptions options;
  options.arrivals = batch_arrivals(20);
  options.max_in_flight = 3;
  std::size_t told = 0;
  options.on_progress = [&](const JobRecord* job, std::size_t, std::size_t) {
    told += job != nullptr;
  };
  const RunResult result = run(target, one_request(), options);
  EXPECT_EQ(target.sent, 20);
  EXPECT_EQ(target.most_in_flight, 3);
  EXPECT_EQ(told, 20u);
  EXPECT_EQ(result.count(Ending::kCompleted), 20u);
  EXPECT_TRUE(all_good(result));
  std::set<std::string> ids;
  for (const JobRecord& job : result.jobs) {
    ids.insert(job.id);
    EXPECT_GE(job.answered_us, job.sent_us);
    EXPECT_GE(job.wall_ms(), 5);
  }
  EXPECT_EQ(ids.size(), 20u);
  ASSERT_TRUE(result.service);
  EXPECT_EQ(result.service->peak_reserved_bytes, 40u);
  EXPECT_GT(result.service->begin_us, 4'999'000'000);
  EXPECT_NEAR(static_cast<double>(result.service->end_us - result.service->begin_us) * 1e-6,
              result.wall_seconds, 1e-5);
  const auto json = run_json(result, verdict_of(result));
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["jobs"]["completed"], 20);
  EXPECT_EQ(json["memory"]["limit_bytes"], 100);
  EXPECT_FALSE(json["verdict"].is_null());
}

TEST(Run, SeesEachSpanOnceHoweverLateItIsTold) {
  FakeTarget target;
  target.tell("prove", "of another run", 0);
  RunOptions options;
  options.arrivals = batch_arrivals(30);
  options.max_in_flight = 2;
  options.sample_every = std::chrono::milliseconds(1);
  const RunResult result = run(target, one_request(), options);
  ASSERT_TRUE(result.service);
  std::map<std::pair<std::string, std::string>, int> seen;
  for (const SpanEvent& s : result.service->spans) ++seen[{s.job_id, s.name}];
  EXPECT_EQ(seen.size(), 60u);
  for (const auto& [what, times] : seen) EXPECT_EQ(times, 1) << what.first << " " << what.second;
}

TEST(Run, RefusedAndFailedProofsAreNotGood) {
  for (const bool refuse : {true, false}) {
    FakeTarget target;
    target.tells = false;
    (refuse ? target.refused_number : target.failed_number) = 4;
    RunOptions options;
    options.arrivals = batch_arrivals(6);
    options.max_in_flight = 6;
    const RunResult result = run(target, one_request(), options);
    EXPECT_FALSE(all_good(result));
    EXPECT_EQ(result.count(Ending::kCompleted), 5u);
    EXPECT_EQ(result.count(refuse ? Ending::kRefused : Ending::kFailed), 1u);
    EXPECT_FALSE(result.service);
    const auto json = run_json(result, verdict_of(result));
    EXPECT_EQ(json["ok"], false);
    EXPECT_TRUE(json["verdict"].is_null());  // there are no spans to say it from
  }
}

TEST(Run, FollowsItsScheduleAndCancels) {
  FakeTarget target;
  RunOptions options;
  for (int i = 0; i < 5; ++i)
    options.arrivals.push_back({i * 20'000, 0, std::nullopt, std::nullopt});
  options.arrivals[2].cancel_after_us = 1000;
  const RunResult result = run(target, one_request(), options);
  for (const JobRecord& job : result.jobs) EXPECT_GE(job.sent_us, job.due_us);
  EXPECT_GE(result.wall_seconds, 0.08);
  EXPECT_EQ(target.cancels, 1);
  EXPECT_TRUE(result.jobs[2].cancel_at_us);
}

TEST(Run, StopsWhenAskedTo) {
  FakeTarget target;
  std::stop_source stop;
  RunOptions options;
  options.arrivals = batch_arrivals(1000);
  options.max_in_flight = 2;
  options.stop = stop.get_token();
  options.on_progress = [&](const JobRecord*, std::size_t done, std::size_t) {
    if (done >= 4) stop.request_stop();
  };
  const RunResult result = run(target, one_request(), options);
  EXPECT_TRUE(result.interrupted);
  EXPECT_LT(result.jobs.size(), 20u);
  EXPECT_FALSE(all_good(result));
}

}  // namespace
}  // namespace cuzk::bench
