#include "bench/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace cuzk::bench {

namespace {

using engine::SpanEvent;

struct CauseText {
  std::string_view key, name, advice;
};
constexpr std::array<CauseText, kCauses> kTexts = {{
    {"device_compute", "device compute",
     "The rest waits for the devices; more or faster devices prove more."},
    {"upload", "upload",
     "Keep the key on the device (a larger vram_budget), or more workers, so that one uploads "
     "under another's kernels."},
    {"device_memory", "device memory gate",
     "The device's memory holds one partition at a time; a larger vram_budget lets the next one "
     "stage."},
    {"device_host", "device host work",
     "A device waits for its worker on the CPU; more workers per device, or more CPU."},
    {"memory_gate", "memory gate",
     "The next witness does not fit beside what runs; a larger memory budget lets it begin "
     "earlier."},
    {"synthesis", "synthesis", "More synthesis workers, or a larger lookahead, or more CPU."},
    {"parameters", "loading parameters", "Preload the circuit, so that no request waits for it."},
    {"parse", "parse", "Requests are read one after the other; more parse workers."},
    {"finish", "finish and verify", "More finish workers, or more CPU beside the devices."},
    {"client", "client", "More requests in flight (-j)."},
    {"queue_empty", "queue empty", "The service waits for requests; it could take a higher rate."},
}};

// One partition's way, as far as the spans tell. -1: not told.
struct Way {
  std::int64_t due_us = -1;
  std::int64_t sent_us = -1;
  Stretch parse{-1, -1};
  Stretch memory_wait{-1, -1};
  Stretch synthesis{-1, -1};
  Stretch prove{-1, -1};
  std::string device;
};

// "cpu 0" and "cuda:0 0" are workers of devices, "cuda:0 slot 1" is what a card itself does.
bool is_device_lane(std::string_view lane, std::string_view device) {
  if (!lane.starts_with(device)) return false;
  lane.remove_prefix(device.size());
  if (lane.starts_with(" slot")) lane.remove_prefix(5);
  return lane.size() > 1 && lane[0] == ' ' &&
         lane.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// A worker takes a partition to its device.
bool begins_proof_name(std::string_view name) { return name == "prove" || name == "start"; }
bool begins_proof(const SpanEvent& s) { return begins_proof_name(s.name); }

struct DeviceTimes {
  std::string name;
  TimeSet compute, upload, memory, host, held;
  TimeSet foreign;
};

class Judge {
 public:
  explicit Judge(const VerdictInput& input) : in_(input), window_{{in_.begin_us, in_.end_us}} {
    for (const VerdictJob& job : in_.jobs) jobs_.emplace(job.id, &job);
  }

  Verdict judge() {
    if (total(window_) <= 0) return std::move(out_);
    collect();
    if (devices_.empty()) return std::move(out_);
    out_.has_spans = true;
    for (const DeviceTimes& device : devices_) account(device);
    finish_shares();
    describe_stages();
    say();
    return std::move(out_);
  }

 private:
  void collect();
  void collect_device(const std::string& name);
  void collect_ways();
  void account(const DeviceTimes& device);
  void blame_idle(const DeviceTimes& device, const Stretch& idle);
  void blame_before(const Way& next, Stretch idle);
  void blame_tail(Stretch idle);
  void add(Cause cause, std::int64_t us) {
    sums_[static_cast<std::size_t>(cause)] += std::max<std::int64_t>(0, us);
  }
  const Way* next_on(const std::string& device, std::int64_t from) const;
  TimeSet spans_of(std::string_view name) const;
  void finish_shares();
  void describe_stages();
  void say();

  const VerdictInput& in_;
  const TimeSet window_;
  Verdict out_;
  std::map<std::string, const VerdictJob*> jobs_;
  std::vector<DeviceTimes> devices_;
  std::map<std::pair<std::string, std::size_t>, Way> ways_;
  std::map<std::string, std::vector<const Way*>> begun_;  // by device, in order of prove.begin
  TimeSet synthesizing_full_;                             // every worker is at it
  TimeSet loading_, finishing_;
  std::array<std::int64_t, kCauses> sums_{};
};

TimeSet Judge::spans_of(std::string_view name) const {
  std::vector<Stretch> out;
  for (const SpanEvent& s : in_.spans) {
    if (s.name == name) out.push_back({s.start_us, s.end_us});
  }
  return common(merged(std::move(out)), window_);
}

// When at least `count` of the stretches are open at once.
TimeSet at_least(const std::vector<Stretch>& stretches, unsigned count) {
  std::vector<std::pair<std::int64_t, int>> edges;
  for (const Stretch& s : stretches) {
    edges.emplace_back(s.begin, 1);
    edges.emplace_back(s.end, -1);
  }
  std::sort(edges.begin(), edges.end());
  TimeSet out;
  int open = 0;
  std::int64_t since = 0;
  for (const auto& [at, change] : edges) {
    const bool was = open >= static_cast<int>(count);
    open += change;
    const bool is = open >= static_cast<int>(count);
    if (!was && is) since = at;
    if (was && !is) out.push_back({since, at});
  }
  return merged(std::move(out));
}

void Judge::collect() {
  std::set<std::string> names(in_.devices.begin(), in_.devices.end());
  if (names.empty()) {
    for (const SpanEvent& s : in_.spans) {
      const std::size_t space = s.lane.rfind(' ');
      if (begins_proof(s) && space != std::string::npos) names.insert(s.lane.substr(0, space));
    }
  }
  for (const std::string& name : names) collect_device(name);
  // A device that had no work while another had it is the load's affair, not the device's.
  const bool any = std::any_of(devices_.begin(), devices_.end(),
                               [](const DeviceTimes& d) { return !d.held.empty(); });
  if (!any) devices_.clear();
  collect_ways();
  std::vector<Stretch> synthesis;
  for (const SpanEvent& s : in_.spans) {
    if (s.name == "synthesis") synthesis.push_back({s.start_us, s.end_us});
  }
  synthesizing_full_ = at_least(synthesis, std::max(1u, in_.synthesis_workers));
  std::vector<Stretch> loading;
  for (const SpanEvent& s : in_.spans) {
    if (s.name == "load_key" || s.name == "measure") loading.push_back({s.start_us, s.end_us});
  }
  loading_ = common(merged(std::move(loading)), window_);
  finishing_ = spans_of("finish");
}

void Judge::collect_device(const std::string& name) {
  DeviceTimes d;
  d.name = name;
  bool has_kernels = false;
  for (const SpanEvent& s : in_.spans) {
    has_kernels = has_kernels || (s.name == "gpu_total" && is_device_lane(s.lane, name));
  }
  std::vector<Stretch> compute, upload, memory, host, held, foreign;
  for (const SpanEvent& s : in_.spans) {
    if (!is_device_lane(s.lane, name)) continue;
    const Stretch stretch{s.start_us, s.end_us};
    switch (device_phase(s.name, has_kernels)) {
      case DevicePhase::kCompute:
        compute.push_back(stretch);
        if (!jobs_.contains(s.job_id)) foreign.push_back(stretch);
        break;
      case DevicePhase::kUpload:
        upload.push_back(stretch);
        break;
      case DevicePhase::kMemory:
        memory.push_back(stretch);
        break;
      case DevicePhase::kHost:
        host.push_back(stretch);
        break;
      case DevicePhase::kHeld:
      case DevicePhase::kNone:
        break;
    }
    held.push_back(stretch);
  }
  const auto own = [&](std::vector<Stretch> stretches) {
    return common(merged(std::move(stretches)), window_);
  };
  d.compute = own(std::move(compute));
  d.upload = without(own(std::move(upload)), d.compute);
  d.memory = without(without(own(std::move(memory)), d.compute), d.upload);
  d.host = without(without(without(own(std::move(host)), d.compute), d.upload), d.memory);
  d.held = own(std::move(held));
  d.foreign = own(std::move(foreign));
  devices_.push_back(std::move(d));
}

void Judge::collect_ways() {
  std::map<std::string, Stretch> parses;
  for (const SpanEvent& s : in_.spans) {
    if (s.name == "parse" && s.lane.starts_with("parse")) parses[s.job_id] = {s.start_us, s.end_us};
  }
  for (const SpanEvent& s : in_.spans) {
    const bool is_synthesis = s.name == "synthesis" && s.lane.starts_with("synthesis");
    const bool is_wait = s.name == "memory_wait" && s.lane == "waits for memory";
    if (!is_synthesis && !is_wait && !begins_proof(s)) continue;
    Way& way = ways_[{s.job_id, s.partition}];
    if (is_synthesis) way.synthesis = {s.start_us, s.end_us};
    if (is_wait) way.memory_wait = {s.start_us, s.end_us};
    // The first attempt is what the pipeline prepared; a repetition is the device's own affair.
    if (begins_proof(s) && (way.prove.begin < 0 || s.start_us < way.prove.begin)) {
      way.prove = {s.start_us, s.end_us};
      way.device = s.lane.substr(0, s.lane.rfind(' '));
    }
  }
  std::set<std::string> seen;
  for (auto& [key, way] : ways_) {
    seen.insert(key.first);
    if (const auto job = jobs_.find(key.first); job != jobs_.end()) {
      way.due_us = job->second->due_us;
      way.sent_us = job->second->sent_us;
    }
    if (const auto parse = parses.find(key.first); parse != parses.end()) way.parse = parse->second;
    if (way.prove.begin >= 0) begun_[way.device].push_back(&way);
  }
  for (auto& [device, ways] : begun_) {
    std::sort(ways.begin(), ways.end(),
              [](const Way* a, const Way* b) { return a->prove.begin < b->prove.begin; });
  }
  for (const auto& [id, job] : jobs_) out_.jobs_without_spans += seen.contains(id) ? 0 : 1;
}

const Way* Judge::next_on(const std::string& device, std::int64_t from) const {
  const auto found = begun_.find(device);
  if (found == begun_.end()) return nullptr;
  const auto at =
      std::lower_bound(found->second.begin(), found->second.end(), from,
                       [](const Way* way, std::int64_t t) { return way->prove.begin < t; });
  return at == found->second.end() ? nullptr : *at;
}

void Judge::account(const DeviceTimes& d) {
  add(Cause::kDeviceCompute, total(d.compute));
  add(Cause::kUpload, total(d.upload));
  add(Cause::kDeviceMemory, total(d.memory));
  add(Cause::kDeviceHost, total(d.host));
  TimeSet busy = d.compute;
  for (const TimeSet* more : {&d.upload, &d.memory, &d.host}) {
    busy.insert(busy.end(), more->begin(), more->end());
  }
  for (const Stretch& idle : without(window_, merged(std::move(busy)))) blame_idle(d, idle);
  const double window = static_cast<double>(total(window_));
  const double compute = static_cast<double>(total(d.compute));
  DeviceUse use;
  use.name = d.name;
  use.compute_share = compute / window;
  use.upload_share = static_cast<double>(total(d.upload)) / window;
  use.held_share = static_cast<double>(total(d.held)) / window;
  use.foreign_share = compute > 0 ? static_cast<double>(total(d.foreign)) / compute : 0;
  out_.devices.push_back(std::move(use));
}

void Judge::blame_idle(const DeviceTimes& d, const Stretch& idle) {
  const Way* next = next_on(d.name, idle.begin);
  if (next) {
    blame_before(*next, {idle.begin, std::min(idle.end, next->prove.begin)});
    if (idle.end > next->prove.begin) {
      add(Cause::kDeviceHost, idle.end - std::max(idle.begin, next->prove.begin));
    }
  } else {
    blame_tail(idle);
  }
}

// Why the device was idle until `next` began on it.
void Judge::blame_before(const Way& next, Stretch idle) {
  const std::int64_t ready = next.synthesis.end < 0 ? next.prove.begin : next.synthesis.end;
  // Ready, and not taken up.
  if (idle.end > ready) add(Cause::kDeviceHost, idle.end - std::max(idle.begin, ready));
  idle.end = std::min(idle.end, std::max(idle.begin, ready));
  if (idle.length() <= 0) return;

  // Held back by the budget: it waited, and a synthesis worker was free, and no key was read.
  TimeSet held_back;
  if (next.memory_wait.begin >= 0) {
    held_back = without(without({next.memory_wait}, synthesizing_full_), loading_);
  }
  const std::int64_t by_memory = std::min(idle.length(), total(merged(held_back)));
  constexpr std::int64_t kHandOverUs = 2000;  // a worker that wakes up is no gate
  if (by_memory > kHandOverUs) {
    add(Cause::kMemoryGate, by_memory);
    idle.end -= by_memory;
  }
  if (idle.length() <= 0) return;

  // Sent late because of the bound on requests in flight: what came after would have come earlier.
  const bool waited_for_worker =
      next.memory_wait.begin >= 0 &&
      total_within(synthesizing_full_, next.memory_wait.begin, next.memory_wait.end) > kHandOverUs;
  if (next.sent_us > next.due_us + kHandOverUs && !waited_for_worker) {
    const std::int64_t by_client = std::min(idle.length(), next.sent_us - next.due_us);
    add(Cause::kClient, by_client);
    idle.end -= by_client;
  }
  if (idle.length() <= 0) return;

  std::int64_t left = idle.length();
  const auto take = [&](Cause cause, std::int64_t us) {
    us = std::clamp<std::int64_t>(us, 0, left);
    add(cause, us);
    left -= us;
  };
  if (next.sent_us >= 0) {
    take(Cause::kQueueEmpty, std::min(idle.end, next.due_us) - idle.begin);
    take(Cause::kClient, std::min(idle.end, next.sent_us) - std::max(idle.begin, next.due_us));
  }
  take(Cause::kParameters, total_within(loading_, idle.begin, idle.end));
  if (next.parse.begin >= 0) {
    // From being sent until it is read; on its way, in the queue, and read.
    const std::int64_t from = next.sent_us >= 0 ? next.sent_us : next.parse.begin;
    take(Cause::kParse, std::min(idle.end, next.parse.end) - std::max(idle.begin, from));
  }
  take(Cause::kSynthesis, left);
}

// After the device's last work: assembling, or nothing left for it.
void Judge::blame_tail(Stretch idle) {
  const std::int64_t finish = total_within(finishing_, idle.begin, idle.end);
  add(Cause::kFinish, finish);
  std::int64_t left = idle.length() - finish;
  // Another device has the last of it, or what was due later never came to a device.
  bool is_empty = false;
  for (const DeviceTimes& d : devices_) {
    is_empty = is_empty || total_within(d.held, idle.begin, idle.end) > 0;
  }
  for (const VerdictJob& job : in_.jobs) is_empty = is_empty || job.due_us > idle.begin;
  add(is_empty ? Cause::kQueueEmpty : Cause::kClient, left);
}

void Judge::finish_shares() {
  std::int64_t sum = 0;
  for (const std::int64_t us : sums_) sum += us;
  if (sum <= 0) return;
  for (std::size_t i = 0; i < kCauses; ++i) {
    out_.shares[i] = static_cast<double>(sums_[i]) / static_cast<double>(sum);
  }
  out_.bound = static_cast<Cause>(std::max_element(sums_.begin(), sums_.end()) - sums_.begin());
}

void Judge::describe_stages() {
  std::map<std::string, std::pair<StageUse, std::vector<Stretch>>> stages;
  std::vector<std::string> order;
  for (const SpanEvent& s : in_.spans) {
    std::string name = s.name;
    if (s.name == "memory_wait" && s.lane != "waits for memory") name = "device_memory_wait";
    auto& [use, stretches] = stages[name];
    if (use.spans++ == 0) order.push_back(name);
    use.name = name;
    const std::int64_t begin = std::max(s.start_us, in_.begin_us);
    const std::int64_t end = std::min(s.end_us, in_.end_us);
    use.total_ms += static_cast<double>(std::max<std::int64_t>(0, end - begin)) * 1e-3;
    stretches.push_back({begin, end});
  }
  const double window = static_cast<double>(total(window_));
  for (const std::string& name : order) {
    auto& [use, stretches] = stages[name];
    use.busy_share = static_cast<double>(total(merged(std::move(stretches)))) / window;
    out_.stages.push_back(std::move(use));
  }
  std::vector<Stretch> computing;
  for (const DeviceTimes& d : devices_) {
    computing.insert(computing.end(), d.compute.begin(), d.compute.end());
  }
  const TimeSet synthesis = spans_of("synthesis");
  const std::int64_t all = total(synthesis);
  if (all > 0) {
    out_.synthesis_under_proving =
        static_cast<double>(total(common(synthesis, merged(std::move(computing))))) /
        static_cast<double>(all);
  }
}

void Judge::say() {
  std::string devices;
  for (const DeviceUse& d : out_.devices) {
    devices += fmt::format("{}{} computed {:.1f} %", devices.empty() ? "" : ", ", d.name,
                           100 * d.compute_share);
  }
  out_.sentence = fmt::format("{} bounds this run: {:.1f} % of {:.1f} s; {}",
                              cause_name(out_.bound), 100 * out_.share(out_.bound),
                              static_cast<double>(total(window_)) * 1e-6, devices);
}

}  // namespace

std::string_view cause_name(Cause cause) { return kTexts[static_cast<std::size_t>(cause)].name; }
std::string_view cause_key(Cause cause) { return kTexts[static_cast<std::size_t>(cause)].key; }
std::string_view cause_advice(Cause cause) {
  return kTexts[static_cast<std::size_t>(cause)].advice;
}

DevicePhase device_phase(std::string_view name, bool has_kernel_spans) {
  if (!has_kernel_spans) {
    return name == "prove" ? DevicePhase::kCompute : DevicePhase::kHeld;
  }
  if (name == "gpu_total") return DevicePhase::kCompute;
  if (name == "stage" || name == "stage_host") return DevicePhase::kUpload;
  if (name == "memory_wait") return DevicePhase::kMemory;
  if (name == "prep" || begins_proof_name(name)) return DevicePhase::kHost;
  return DevicePhase::kHeld;
}

Verdict judge(const VerdictInput& input) { return Judge(input).judge(); }

}  // namespace cuzk::bench
