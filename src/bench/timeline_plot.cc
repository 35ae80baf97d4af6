#include "bench/timeline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/svg.h"

namespace cuzk::bench {

namespace {

using engine::SpanEvent;

constexpr double kLeft = 168, kRight = 24, kRow = 20, kGap = 10, kAxis = 30;
constexpr std::size_t kMaxRows = 12;  // of one lane; more overlap in the last

struct Kind {
  std::string_view css, legend, on_white, on_black;
  bool waits = false;
};

// What is drawn alike, and how.
const Kind& kind_of(std::string_view name) {
  static const std::map<std::string_view, Kind> kKinds = {
      {"memory_wait", {"k-memory", "waits for memory", "#d5dae1", "#3d4651", true}},
      {"prove_wait", {"k-device", "waits for a device", "#e7d9b4", "#5a4e2f", true}},
      {"compute_wait", {"k-gate", "compute gate", "#f0c9a8", "#6b4a2b", true}},
      {"parse", {"k-parse", "parse", "#7f8792", "#8a94a1"}},
      {"load_key", {"k-load", "load key and rows", "#b0803c", "#c4944f"}},
      {"measure", {"k-measure", "measure", "#c9a063", "#a98549"}},
      {"synthesis", {"k-synthesis", "synthesis", "#7d5bb5", "#9a79d3"}},
      {"prove", {"k-prove", "prove", "#a9cbe8", "#2b4a66"}},
      {"prep", {"k-prep", "prepare", "#8fa6bb", "#6f8ba3"}},
      {"stage", {"k-upload", "upload", "#cf7f45", "#dd935b"}},
      {"matvec", {"k-matvec", "matrix products", "#3f9fc4", "#3f93b5"}},
      {"ntt", {"k-ntt", "ntt", "#2f8f86", "#3aa498"}},
      {"h_msm", {"k-h", "sum over h", "#2563a8", "#3d7fc9"}},
      {"witness_msm", {"k-witness", "sums over the witness", "#4c8fd0", "#5b9ddd"}},
      {"b_g2_msm", {"k-g2", "sum in G2", "#1b3f70", "#3a639c"}},
      {"gpu_total", {"k-gpu", "kernels", "#8fbde6", "#315e88"}},
      {"finish", {"k-finish", "finish", "#74b87f", "#3f7d4c"}},
      {"join", {"k-join", "join", "#5aa79b", "#3f8f84"}},
      {"verify", {"k-verify", "verify", "#2c7a45", "#57b876"}},
  };
  static const std::map<std::string_view, std::string_view> kAliases = {
      {"synthesize", "synthesis"},
      {"stage_host", "stage"},
      {"l_msm", "witness_msm"},
      {"a_msm", "witness_msm"},
      {"b_g1_msm", "witness_msm"}};
  static const Kind kOther = {"k-other", "other", "#8f6a86", "#a6809c"};
  if (const auto alias = kAliases.find(name); alias != kAliases.end()) name = alias->second;
  const auto found = kKinds.find(name);
  return found == kKinds.end() ? kOther : found->second;
}

// The order in which a proof passes the lanes.
int lane_rank(std::string_view lane) {
  constexpr std::string_view kOrder[] = {"parse", "load", "waits for memory", "synthesis",
                                         "waits for a device"};
  int rank = 0;
  for (const std::string_view prefix : kOrder) {
    if (lane.starts_with(prefix)) return rank;
    ++rank;
  }
  return lane.starts_with("finish") ? 90 : 50;
}

struct Bar {
  const SpanEvent* span = nullptr;
  std::size_t row = 0;
  int depth = 0;  // inside how many others
};
struct Lane {
  std::string name;
  std::vector<Bar> bars;
  std::size_t rows = 1;
};

bool holds(const SpanEvent& outer, const SpanEvent& inner) {
  // Clocks are read one after the other: what is inside may stick out a little.
  constexpr std::int64_t kSlackUs = 200;
  return inner.start_us >= outer.start_us - kSlackUs && inner.end_us <= outer.end_us + kSlackUs &&
         inner.job_id == outer.job_id && inner.partition == outer.partition;
}

// Spans inside another of the same partition lie on it; those that overlap go below each other.
void arrange(Lane& lane) {
  struct Open {
    std::int64_t end_us;
    std::vector<const SpanEvent*> stack;
  };
  std::vector<Open> rows;
  for (Bar& bar : lane.bars) {
    const SpanEvent& s = *bar.span;
    std::size_t row = 0;
    for (; row < rows.size(); ++row) {
      auto& stack = rows[row].stack;
      while (!stack.empty() && !holds(*stack.back(), s) && stack.back()->end_us <= s.start_us) {
        stack.pop_back();
      }
      if (!stack.empty() && holds(*stack.back(), s)) break;
      if (rows[row].end_us <= s.start_us) {
        stack.clear();
        break;
      }
    }
    if (row == rows.size() && rows.size() < kMaxRows) rows.push_back({0, {}});
    row = std::min(row, rows.size() - 1);
    bar.row = row;
    bar.depth = static_cast<int>(rows[row].stack.size());
    rows[row].end_us = std::max(rows[row].end_us, s.end_us);
    rows[row].stack.push_back(&s);
  }
  lane.rows = std::max<std::size_t>(1, rows.size());
}

class Timeline {
 public:
  explicit Timeline(const TimelinePlot& plot) : plot_(plot) {
    for (std::size_t i = 0; i < plot.job_ids.size(); ++i) numbers_[plot.job_ids[i]] = i + 1;
    seconds_ = std::max(1e-6, static_cast<double>(plot.end_us - plot.begin_us) * 1e-6);
    scale_ = (plot.width - kLeft - kRight) / seconds_;
    collect();
  }

  std::string draw() {
    const double top = 40 + 18 * static_cast<double>(plot_.subtitles.size()) + legend_height();
    double height = top + kAxis;
    for (const Lane& lane : lanes_) height += kRow * static_cast<double>(lane.rows) + kGap;
    Svg svg(plot_.width, height + 10);
    for (const std::string_view name : used_) {
      const Kind& kind = kind_of(name);
      svg.colour(kind.css, kind.on_white, kind.on_black);
    }
    svg.text({16, 28}, plot_.title, "title");
    double y = 48;
    for (const std::string& line : plot_.subtitles) {
      svg.text({16, y}, line, "dim");
      y += 18;
    }
    draw_legend(svg, y + 6);
    draw_lanes(svg, top + kAxis, height);
    draw_axis(svg, top + kAxis, height);
    lanes_text(svg, top + kAxis);
    return svg.str();
  }

 private:
  void collect();
  double x_of(std::int64_t us) const {
    const double s = static_cast<double>(us - plot_.begin_us) * 1e-6;
    return kLeft + std::clamp(s, 0.0, seconds_) * scale_;
  }
  std::vector<std::string_view> legend() const;
  double legend_height() const;
  void draw_legend(Svg& svg, double y) const;
  void draw_axis(Svg& svg, double top, double bottom) const;
  void draw_lanes(Svg& svg, double top, double bottom) const;
  void draw_bar(Svg& svg, const Bar& bar, double top) const;
  void lanes_text(Svg& svg, double top) const;
  std::string owner(const SpanEvent& s) const;

  const TimelinePlot& plot_;
  std::map<std::string, std::size_t> numbers_;
  double seconds_ = 1, scale_ = 1;
  std::vector<Lane> lanes_;
  std::vector<std::string_view> used_;  // a span's name for each kind that occurs
};

void Timeline::collect() {
  std::map<std::string, Lane> lanes;
  std::set<std::string_view> kinds;
  for (const SpanEvent& s : plot_.spans) {
    Lane& lane = lanes[s.lane];
    lane.name = s.lane;
    lane.bars.push_back({&s, 0, 0});
    if (kinds.insert(kind_of(s.name).css).second) used_.push_back(s.name);
  }
  for (auto& [name, lane] : lanes) {
    arrange(lane);
    lanes_.push_back(std::move(lane));
  }
  std::stable_sort(lanes_.begin(), lanes_.end(), [](const Lane& a, const Lane& b) {
    return lane_rank(a.name) < lane_rank(b.name);
  });
}

std::string Timeline::owner(const SpanEvent& s) const {
  const auto found = numbers_.find(s.job_id);
  const std::string job =
      found == numbers_.end() ? s.job_id.substr(0, 12) : fmt::format("{}", found->second);
  if (s.name == "load_key" || s.name == "measure") return s.job_id;
  return s.partition == 0 ? fmt::format("#{}", job) : fmt::format("#{}.{}", job, s.partition);
}

double Timeline::legend_height() const {
  double x = 16, lines = 1;
  for (const std::string_view name : used_) {
    const double width = 26 + text_width(kind_of(name).legend, 12) + 14;
    if (x + width > plot_.width - 16) {
      x = 16;
      ++lines;
    }
    x += width;
  }
  return 20 * lines + 8;
}

void Timeline::draw_legend(Svg& svg, double y) const {
  double x = 16;
  for (const std::string_view name : used_) {
    const Kind& kind = kind_of(name);
    const double width = 26 + text_width(kind.legend, 12) + 14;
    if (x + width > plot_.width - 16) {
      x = 16;
      y += 20;
    }
    svg.rect({x, y - 6}, 14, 12, kind.css, 3);
    svg.text({x + 20, y + 4}, kind.legend, "label");
    x += width;
  }
}

void Timeline::draw_axis(Svg& svg, double top, double bottom) const {
  const double step = time_tick_step(seconds_, static_cast<int>((plot_.width - kLeft) / 90));
  for (double t = 0; t <= seconds_ * (1 + 1e-9); t += step) {
    const double x = kLeft + t * scale_;
    svg.text({x, top - 12}, time_label(t, step), "tick", Anchor::kMiddle);
  }
  svg.line({kLeft, top - 5}, {plot_.width - kRight, top - 5}, "axis");
  (void)bottom;
}

void Timeline::draw_lanes(Svg& svg, double top, double bottom) const {
  double y = top;
  bool shaded = true;
  for (const Lane& lane : lanes_) {
    const double height = kRow * static_cast<double>(lane.rows) + kGap;
    if (shaded) svg.rect({0, y}, plot_.width, height, "band");
    shaded = !shaded;
    y += height;
  }
  const double step = time_tick_step(seconds_, static_cast<int>((plot_.width - kLeft) / 90));
  for (double t = 0; t <= seconds_ * (1 + 1e-9); t += step) {
    svg.line({kLeft + t * scale_, top - 5}, {kLeft + t * scale_, bottom}, "grid");
  }
  y = top;
  for (const Lane& lane : lanes_) {
    for (const Bar& bar : lane.bars) draw_bar(svg, bar, y + kGap / 2);
    y += kRow * static_cast<double>(lane.rows) + kGap;
  }
}

void Timeline::draw_bar(Svg& svg, const Bar& bar, double top) const {
  const SpanEvent& s = *bar.span;
  const Kind& kind = kind_of(s.name);
  const double x0 = x_of(s.start_us), x1 = x_of(s.end_us);
  const double width = std::max(1.2, x1 - x0);
  const double inset = bar.depth > 0 ? 3 : 0;
  const double y = top + kRow * static_cast<double>(bar.row) + 1 + inset;
  const double height = kRow - 2 - 2 * inset;
  const std::string about =
      fmt::format("{} {}\n{} to {}: {}", s.name, owner(s),
                  time_label(static_cast<double>(s.start_us - plot_.begin_us) * 1e-6, 0.001),
                  time_label(static_cast<double>(s.end_us - plot_.begin_us) * 1e-6, 0.001),
                  human_seconds(static_cast<double>(s.end_us - s.start_us) * 1e-6));
  svg.rect({x0, y}, width, height, kind.css, std::min(3.0, width / 3), about);
  // What lies on a bar says what it is; the bar below it says whose it is, where it is seen.
  const std::string label =
      bar.depth > 0 ? s.name : (kind.waits ? owner(s) : fmt::format("{} {}", owner(s), s.name));
  const double font = 11;
  const std::string shown = bar.depth > 0 ? (text_width(label, font) < width - 8 ? label : "")
                                          : fitted(label, font, width - 8);
  if (!shown.empty()) {
    const bool pale = kind.waits || kind.css == "k-prove" || kind.css == "k-gpu";
    svg.text({x0 + 4, y + height / 2 + 4}, shown, pale ? "in-dark" : "in");
  }
}

void Timeline::lanes_text(Svg& svg, double top) const {
  double y = top;
  for (const Lane& lane : lanes_) {
    const double height = kRow * static_cast<double>(lane.rows) + kGap;
    svg.text({16, y + kGap / 2 + kRow / 2 + 4}, fitted(lane.name, 12, kLeft - 26), "label");
    y += height;
  }
}

}  // namespace

std::string draw_timeline(const TimelinePlot& plot) { return Timeline(plot).draw(); }

}  // namespace cuzk::bench
