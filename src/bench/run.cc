#include "bench/run.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <limits>
#include <mutex>
#include <thread>
#include <tuple>

#include "base/bytes.h"
#include "base/random.h"
#include "bench/verifier.h"

namespace cuzk::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// Tells where the spans end, and none of them.
constexpr std::uint64_t kNoSpanYet = std::numeric_limits<std::uint64_t>::max();
constexpr auto kTick = std::chrono::milliseconds(200);

std::int64_t us_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<microseconds>(to - from).count();
}

// A name that no other run gives.
std::string fresh_id(RandomSource& random) {
  std::array<std::uint8_t, 16> b;
  random.fill(b);
  b[6] = static_cast<std::uint8_t>(0x40 | (b[6] & 0x0f));  // UUID, version 4
  b[8] = static_cast<std::uint8_t>(0x80 | (b[8] & 0x3f));
  const std::string hex = to_hex(b);
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                     hex.substr(16, 4), hex.substr(20));
}

// Looks at the service from time to time: memory now, and spans before they are forgotten.
class Watcher {
 public:
  Watcher(Target& target, std::chrono::milliseconds every, Clock::time_point origin)
      : target_(target), every_(every), origin_(origin) {}

  // False when the service does not tell.
  bool start() {
    std::optional<std::int64_t> best;
    for (int i = 0; i < 3; ++i) {
      const auto asked = Clock::now();
      auto now = target_.snapshot(kNoSpanYet);
      if (!now) return false;
      const auto answered = Clock::now();
      const std::int64_t round_trip = us_between(asked, answered);
      if (!best || round_trip < *best) {
        best = round_trip;
        out_.offset_us = now->now_us - (us_between(origin_, asked) + round_trip / 2);
      }
      out_.before = std::move(*now);
    }
    last_span_ = out_.before.spans.last;
    thread_ = std::jthread([this](std::stop_token stop) { watch(stop); });
    return true;
  }

  RunResult::Service finish(std::int64_t begin_us, std::int64_t end_us) {
    thread_.request_stop();
    thread_.join();
    look(true);
    out_.begin_us = begin_us + out_.offset_us;
    out_.end_us = end_us + out_.offset_us;
    out_.after.spans = {};
    if (out_.after.memory.peak_reserved_bytes > out_.before.memory.peak_reserved_bytes) {
      out_.peak_reserved_bytes = out_.after.memory.peak_reserved_bytes;
    }
    if (out_.after.peak_resident_bytes > out_.before.peak_resident_bytes) {
      out_.peak_resident_bytes = out_.after.peak_resident_bytes;
    }
    std::erase_if(out_.spans, [&](const engine::SpanEvent& s) {
      return s.end_us <= out_.begin_us || s.start_us >= out_.end_us;
    });
    std::stable_sort(out_.spans.begin(), out_.spans.end(), [](const auto& a, const auto& b) {
      return std::tie(a.start_us, b.end_us) < std::tie(b.start_us, a.end_us);
    });
    return std::move(out_);
  }

 private:
  void watch(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    for (int i = 0; !stop.stop_requested(); ++i) {
      // Spans seldom: they are kept for a while; memory often.
      look(i % 8 == 7);
      wake.wait_for(lock, stop, every_, [] { return false; });
    }
  }

  void look(bool with_spans) {
    auto now = target_.snapshot(with_spans ? std::optional(last_span_) : std::nullopt);
    if (!now) return;
    if (with_spans) last_span_ = now->spans.last;
    std::move(now->spans.spans.begin(), now->spans.spans.end(), std::back_inserter(out_.spans));
    const auto& m = now->memory;
    out_.samples.push_back({now->now_us, m.leased_bytes, m.reserved_bytes, now->resident_bytes});
    out_.peak_leased_bytes = std::max(out_.peak_leased_bytes, m.leased_bytes);
    out_.peak_reserved_bytes = std::max(out_.peak_reserved_bytes, m.reserved_bytes);
    out_.peak_resident_bytes = std::max(out_.peak_resident_bytes, now->resident_bytes);
    out_.after = std::move(*now);
  }

  Target& target_;
  const std::chrono::milliseconds every_;
  const Clock::time_point origin_;
  RunResult::Service out_;
  std::uint64_t last_span_ = 0;
  std::jthread thread_;
};

// Answers on their way from the target's threads to the run's.
struct Mailbox {
  struct Letter {
    std::size_t job;
    Clock::time_point at;
    Result<engine::Answer> answer;
  };
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Letter> letters;
};

class Run {
 public:
  Run(Target& target, std::span<const engine::ProofRequest> requests, const RunOptions& options)
      : target_(target),
        requests_(requests),
        options_(options),
        mailbox_(std::make_shared<Mailbox>()) {}

  RunResult execute() {
    Watcher watcher(target_, options_.sample_every, origin_);
    const bool watched = watcher.start();
    begin_ = Clock::now();
    while (!finished()) {
      take_answers();
      if (options_.stop.stop_requested()) interrupt();
      send_what_is_due();
      cancel_what_is_due();
      wait();
    }
    std::int64_t last = 0;
    for (const JobRecord& job : out_.jobs) last = std::max(last, job.answered_us);
    out_.wall_seconds = static_cast<double>(last) * 1e-6;
    if (watched) {
      const std::int64_t begin = us_between(origin_, begin_);
      out_.service = watcher.finish(begin, begin + last);
      out_.service->offset_us += begin;
    }
    return std::move(out_);
  }

 private:
  std::int64_t now_us() const { return us_between(begin_, Clock::now()); }
  bool may_send() const {
    return next_ < options_.arrivals.size() && !out_.interrupted &&
           (options_.max_in_flight == 0 || in_flight_ < options_.max_in_flight);
  }
  bool finished() const {
    return in_flight_ == 0 && (out_.interrupted || next_ == options_.arrivals.size());
  }

  void send_what_is_due() {
    while (may_send() && options_.arrivals[next_].at_us <= now_us()) {
      send(options_.arrivals[next_++]);
    }
  }

  void send(const Arrival& arrival) {
    engine::ProofRequest request = requests_[arrival.request];
    JobRecord job;
    job.id = request.request_id = fresh_id(random_);
    job.request = arrival.request;
    job.kind = request.kind;
    job.due_us = arrival.at_us;
    if (arrival.priority) request.priority = arrival.priority;
    job.sent_us = now_us();
    if (arrival.cancel_after_us) {
      job.cancel_at_us = job.sent_us + *arrival.cancel_after_us;
      cancels_.emplace_back(*job.cancel_at_us, out_.jobs.size());
    }
    const std::size_t index = out_.jobs.size();
    out_.jobs.push_back(std::move(job));
    ++in_flight_;
    target_.prove(std::move(request), [mailbox = mailbox_, index](Result<engine::Answer> answer) {
      const std::lock_guard lock(mailbox->mutex);
      mailbox->letters.push_back({index, Clock::now(), std::move(answer)});
      mailbox->arrived.notify_one();
    });
  }

  void cancel_what_is_due() {
    const std::int64_t now = now_us();
    std::erase_if(cancels_, [&](const auto& c) {
      if (c.first > now) return false;
      const JobRecord& job = out_.jobs[c.second];
      // It may just have ended, or not have arrived yet: then nothing is cancelled.
      if (job.answered_us < 0) (void)target_.cancel(job.id);
      return true;
    });
  }

  void interrupt() {
    if (std::exchange(out_.interrupted, true)) return;
    for (const JobRecord& job : out_.jobs) {
      if (job.answered_us < 0) (void)target_.cancel(job.id);
    }
  }

  void take_answers() {
    std::deque<Mailbox::Letter> letters;
    {
      const std::lock_guard lock(mailbox_->mutex);
      letters.swap(mailbox_->letters);
    }
    for (Mailbox::Letter& letter : letters) {
      record(letter);
      --in_flight_;
      ++done_;
      if (options_.on_progress) options_.on_progress(&out_.jobs[letter.job], done_, in_flight_);
    }
    if (letters.empty() && options_.on_progress) options_.on_progress(nullptr, done_, in_flight_);
  }

  void record(Mailbox::Letter& letter) {
    JobRecord& job = out_.jobs[letter.job];
    job.answered_us = us_between(begin_, letter.at);
    if (!letter.answer) {
      job.ending = Ending::kRefused;
      job.error = letter.answer.error();
      return;
    }
    engine::Answer& answer = *letter.answer;
    job.ending = answer.status == engine::AnswerStatus::kCompleted   ? Ending::kCompleted
                 : answer.status == engine::AnswerStatus::kCancelled ? Ending::kCancelled
                                                                     : Ending::kFailed;
    job.error = answer.error;
    job.timings = answer.timings;
    job.proof = std::move(answer.proof);
    job.public_json = std::move(answer.public_json);
    job.insecure_dev = answer.insecure_dev;
  }

  // Until an answer comes or something is due.
  void wait() {
    auto until = Clock::now() + kTick;
    if (may_send()) {
      until = std::min(until, begin_ + microseconds(options_.arrivals[next_].at_us));
    }
    for (const auto& [at, job] : cancels_) until = std::min(until, begin_ + microseconds(at));
    std::unique_lock lock(mailbox_->mutex);
    mailbox_->arrived.wait_until(lock, until, [this] { return !mailbox_->letters.empty(); });
  }

  Target& target_;
  const std::span<const engine::ProofRequest> requests_;
  const RunOptions& options_;
  const std::shared_ptr<Mailbox> mailbox_;  // outlives the run: a late callback finds it
  const Clock::time_point origin_ = Clock::now();
  Clock::time_point begin_;
  SystemRandom random_;
  RunResult out_;
  std::vector<std::pair<std::int64_t, std::size_t>> cancels_;
  std::size_t next_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

std::string_view ending_name(Ending ending) {
  switch (ending) {
    case Ending::kCompleted:
      return "COMPLETED";
    case Ending::kFailed:
      return "FAILED";
    case Ending::kCancelled:
      return "CANCELLED";
    case Ending::kRefused:
      return "REFUSED";
  }
  return "REFUSED";
}

std::size_t RunResult::count(Ending ending) const {
  return static_cast<std::size_t>(std::count_if(
      jobs.begin(), jobs.end(), [&](const JobRecord& job) { return job.ending == ending; }));
}

Status load_key(Target& target, const engine::ProofRequest& request) {
  if (request.kind != engine::ProofKind::kCircom) {
    CUZK_TRY(const std::string circuit, circuit_id_of(request));
    return target.preload(circuit);
  }
  RunOptions once;
  once.arrivals = batch_arrivals(1);
  once.max_in_flight = 1;
  const RunResult result = run(target, std::span(&request, 1), once);
  const JobRecord& job = result.jobs.at(0);
  if (job.error) return fail(*job.error);
  return {};
}

RunResult run(Target& target, std::span<const engine::ProofRequest> requests,
              const RunOptions& options) {
  return Run(target, requests, options).execute();
}

}  // namespace cuzk::bench
