#include "bench/sweep_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "bench/svg.h"

namespace cuzk::bench {

namespace {

constexpr double kPanelWidth = 400, kPanelHeight = 250, kLeft = 66, kTop = 122, kSpace = 26;
constexpr double kPlotWidth = kPanelWidth - kLeft - 14;

struct Colour {
  std::string_view on_white, on_black;
};
// Told apart also by those who see few colours: they differ in lightness.
constexpr Colour kColours[] = {{"#1b4f8f", "#6fb1f0"}, {"#d07b2d", "#f0a35c"},
                               {"#2c8a5b", "#5fd097"}, {"#a23b72", "#e07fb0"},
                               {"#6d5bb8", "#a899ee"}, {"#5b6570", "#b7c0ca"}};

// What an axis is counted in, so that its figures stay short.
struct Unit {
  double size = 1;
  std::string_view name;
};

Unit time_unit(double most_seconds) {
  if (most_seconds < 0.5) return {1e-3, "milliseconds"};
  if (most_seconds < 600) return {1, "seconds"};
  return {60, "minutes"};
}

Unit memory_unit(double most_bytes) {
  if (most_bytes < (1 << 19)) return {1 << 10, "KiB"};
  if (most_bytes < (1 << 29)) return {1 << 20, "MiB"};
  return {1 << 30, "GiB"};
}

class Panels {
 public:
  explicit Panels(const SweepPlot& plot)
      : plot_(plot), svg_(3 * kPanelWidth + 2 * kSpace + 32, 440) {
    std::set<std::size_t> jobs;
    std::set<unsigned> workers;
    for (const SweepPoint& p : plot.points) {
      jobs.insert(p.in_flight);
      workers.insert(p.workers);
    }
    jobs_.assign(jobs.begin(), jobs.end());
    workers_.assign(workers.begin(), workers.end());
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const Colour& c = kColours[i % std::size(kColours)];
      svg_.colour(fmt::format("w{}", i), c.on_white, c.on_black);
    }
  }

  std::string draw() {
    svg_.text({16, 28}, plot_.title, "title");
    svg_.text({16, 48}, plot_.subtitle, "dim");
    legend();
    panel(0, "Throughput", "proofs a minute", std::nullopt,
          [](const SweepPoint& p) { return p.proofs_per_minute; });
    double most_seconds = 0, most_bytes = 0;
    for (const SweepPoint& p : plot_.points) {
      most_seconds = std::max(most_seconds, p.p99_seconds);
      most_bytes = std::max(most_bytes, p.peak_bytes);
    }
    const Unit latency = time_unit(most_seconds);
    panel(
        1, "Latency",
        fmt::format("{} from request to answer; dotted: 99th percentile", latency.name),
        [latency](const SweepPoint& p) { return p.p99_seconds / latency.size; },
        [latency](const SweepPoint& p) { return p.p50_seconds / latency.size; });
    memory_ = memory_unit(most_bytes);
    panel(2, "Peak memory", fmt::format("{} reserved", memory_.name), std::nullopt,
          [this](const SweepPoint& p) { return p.peak_bytes / memory_.size; });
    return svg_.str();
  }

 private:
  using Value = std::function<double(const SweepPoint&)>;

  void legend() {
    double x = 16;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      svg_.line({x, 68}, {x + 22, 68}, fmt::format("curve s-w{}", i));
      svg_.circle({x + 11, 68}, 4, fmt::format("w{}", i));
      const std::string name =
          fmt::format("{} worker{} per device", workers_[i], workers_[i] == 1 ? "" : "s");
      svg_.text({x + 29, 72}, name, "label");
      x += 29 + text_width(name, 12) + 22;
    }
  }

  double x_of(std::size_t panel, std::size_t in_flight) const {
    const auto at = std::find(jobs_.begin(), jobs_.end(), in_flight) - jobs_.begin();
    const double steps = static_cast<double>(std::max<std::size_t>(1, jobs_.size() - 1));
    const double inset = jobs_.size() == 1 ? kPlotWidth / 2 : 24;
    return origin(panel) + inset + static_cast<double>(at) * (kPlotWidth - 2 * inset) / steps;
  }
  double origin(std::size_t panel) const {
    return 16 + kLeft + static_cast<double>(panel) * (kPanelWidth + kSpace);
  }

  void panel(std::size_t index, std::string_view title, std::string unit,
             const std::optional<Value>& second, const Value& value) {
    double limit = 0, most = 0;
    for (const SweepPoint& p : plot_.points) {
      most = std::max(most, value(p));
      if (second) most = std::max(most, (*second)(p));
      if (index == 2) limit = std::max(limit, p.limit_bytes / memory_.size);
    }
    // A budget far above what was used would press the curves flat.
    const bool shows_limit = limit > 0 && limit < 3 * most;
    if (shows_limit) most = std::max(most, limit), unit += "; dashed: the budget";
    const double step = tick_step(most > 0 ? most * 1.05 : 1, 6);
    const double top = step * std::max(1.0, std::ceil(most * 1.02 / step));
    const auto y_of = [&](double v) { return kTop + kPanelHeight * (1 - v / top); };
    frame(index, title, unit, step, top, y_of);
    if (shows_limit) {
      svg_.line({origin(index), y_of(limit)}, {origin(index) + kPlotWidth, y_of(limit)}, "limit");
    }
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (second) curve(index, w, *second, y_of, fmt::format("thin s-w{}", w), false);
      curve(index, w, value, y_of, fmt::format("curve s-w{}", w), true);
    }
  }

  void frame(std::size_t index, std::string_view title, std::string_view unit, double step,
             double top, const std::function<double(double)>& y_of) {
    const double x = origin(index);
    svg_.text({x - 50, kTop - 24}, title, "label");
    svg_.text({x - 50, kTop - 9}, unit, "tick");
    for (double v = 0; v <= top * (1 + 1e-9); v += step) {
      svg_.line({x, y_of(v)}, {x + kPlotWidth, y_of(v)}, v == 0 ? "axis" : "grid");
      svg_.text({x - 8, y_of(v) + 4}, tick_label(v, step), "tick", Anchor::kEnd);
    }
    for (const std::size_t jobs : jobs_) {
      svg_.text({x_of(index, jobs), kTop + kPanelHeight + 18}, fmt::format("{}", jobs), "tick",
                Anchor::kMiddle);
    }
    svg_.text({x + kPlotWidth / 2, kTop + kPanelHeight + 38}, "requests in flight", "tick",
              Anchor::kMiddle);
  }

  void curve(std::size_t index, std::size_t w, const Value& value,
             const std::function<double(double)>& y_of, const std::string& css, bool dots) {
    std::vector<const SweepPoint*> line;
    for (const SweepPoint& p : plot_.points) {
      if (p.workers == workers_[w]) line.push_back(&p);
    }
    std::sort(line.begin(), line.end(),
              [](const auto* a, const auto* b) { return a->in_flight < b->in_flight; });
    std::vector<Point2> points;
    for (const SweepPoint* p : line) points.push_back({x_of(index, p->in_flight), y_of(value(*p))});
    svg_.polyline(points, css);
    for (std::size_t i = 0; dots && i < points.size(); ++i) {
      const SweepPoint& p = *line[i];
      svg_.circle(points[i], 4, fmt::format("w{}", w),
                  fmt::format("{} worker{}, {} in flight: {:.2f} proofs a minute, p50 {}, p99 {}, "
                              "peak {}; bound by {}",
                              p.workers, p.workers == 1 ? "" : "s", p.in_flight,
                              p.proofs_per_minute, human_seconds(p.p50_seconds),
                              human_seconds(p.p99_seconds), human_bytes(p.peak_bytes), p.bound));
    }
  }

  const SweepPlot& plot_;
  Svg svg_;
  std::vector<std::size_t> jobs_;
  std::vector<unsigned> workers_;
  Unit memory_;
};

}  // namespace

std::string draw_sweep(const SweepPlot& plot) { return Panels(plot).draw(); }

}  // namespace cuzk::bench
