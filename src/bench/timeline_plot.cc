#include "bench/timeline_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "bench/svg.h"

namespace cuzk::bench {

namespace {

using engine::SpanEvent;

constexpr double kLeft = 168, kRight = 24, kGap = 10, kAxis = 30;
constexpr double kRow = 20;    // of a lane of plain bars
constexpr double kHead = 15;   // what a bar that holds others shows above them
constexpr double kInner = 14;  // a row of those others
constexpr double kThinnest = 2, kFont = 11;
const std::string kProve = "prove";
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
      {"start", {"k-start", "start on a device", "#6f93b5", "#54789b"}},
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
      {"check_vanilla", "parse"},
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

// A bar, and what is drawn on it.
struct Inner {
  const SpanEvent* span = nullptr;
  std::size_t row = 0;
};
struct Bar {
  const SpanEvent* span = nullptr;
  std::int64_t begin_us = 0;
  std::int64_t end_us = 0;
  std::size_t row = 0;
  std::vector<Inner> inner;
};
struct Lane {
  std::string name;
  std::vector<const SpanEvent*> spans;  // in order of start
  bool is_device = false;
  std::vector<Bar> bars;
  std::size_t rows = 1;
  std::size_t inner_rows = 1;

  double row_height() const {
    return is_device ? kHead + kInner * static_cast<double>(inner_rows) + 5 : kRow;
  }
  double height() const { return row_height() * static_cast<double>(rows) + kGap; }
};

// The first row that is free from `begin`; a new one up to kMaxRows, then the last.
std::size_t place(std::vector<std::int64_t>& row_ends, std::int64_t begin, std::int64_t end) {
  std::size_t row = 0;
  while (row < row_ends.size() && row_ends[row] > begin) ++row;
  if (row == row_ends.size() && row_ends.size() < kMaxRows) row_ends.push_back(0);
  row = std::min(row, row_ends.size() - 1);
  row_ends[row] = std::max(row_ends[row], end);
  return row;
}

bool same_work(const SpanEvent& a, const SpanEvent& b) {
  return a.job_id == b.job_id && a.partition == b.partition;
}

// Clocks are read one after the other: what is inside may stick out a little.
constexpr std::int64_t kSlackUs = 200;

// A worker's lane: what lies inside another span of the same partition is drawn on it.
void arrange_plain(Lane& lane) {
  if (kind_of(lane.spans.front()->name).waits) {
    std::stable_sort(lane.spans.begin(), lane.spans.end(), [](const auto* a, const auto* b) {
      return std::tie(a->start_us, a->partition) < std::tie(b->start_us, b->partition);
    });
  }
  for (const SpanEvent* s : lane.spans) {
    const auto outer = std::find_if(lane.bars.rbegin(), lane.bars.rend(), [&](const Bar& bar) {
      return same_work(*bar.span, *s) && s->start_us >= bar.begin_us - kSlackUs &&
             s->end_us <= bar.end_us + kSlackUs;
    });
    if (outer != lane.bars.rend()) {
      outer->inner.push_back({s, 0});
    } else {
      lane.bars.push_back({s, s->start_us, s->end_us, 0, {}});
    }
  }
}

// A CPU's proof is a span of its worker; a card's begins with its preparation.
bool begins_bar(const SpanEvent& s) { return s.name == "prove" || s.name == "prep"; }

// A device's lane: one bar for each proof, from its begin to the end of its last kernel; on it what
// the device did. What the finisher measured stands on the finisher's lane.
void arrange_device(Lane& lane) {
  for (const SpanEvent* s : lane.spans) {
    if (begins_bar(*s)) lane.bars.push_back({s, s->start_us, s->end_us, 0, {}});
  }
  constexpr std::string_view kElsewhere[] = {"prove", "gpu_total", "stage_host", "finish", "join"};
  for (const SpanEvent* s : lane.spans) {
    if (std::find(std::begin(kElsewhere), std::end(kElsewhere), s->name) != std::end(kElsewhere)) {
      continue;  // the bar itself, told by others, or on the finisher's lane
    }
    const auto owner = std::find_if(lane.bars.rbegin(), lane.bars.rend(), [&](const Bar& bar) {
      return same_work(*bar.span, *s) && s->start_us >= bar.begin_us - kSlackUs;
    });
    if (owner == lane.bars.rend()) continue;  // its proof began before the plot does
    owner->end_us = std::max(owner->end_us, s->end_us);
    owner->inner.push_back({s, 0});
  }
  for (Bar& bar : lane.bars) {
    std::vector<std::int64_t> row_ends;
    for (Inner& inner : bar.inner) {
      inner.row = place(row_ends, inner.span->start_us, inner.span->end_us);
    }
    lane.inner_rows = std::max(lane.inner_rows, row_ends.size());
  }
}

void arrange(Lane& lane) {
  lane.is_device = std::any_of(lane.spans.begin(), lane.spans.end(),
                               [](const SpanEvent* s) { return begins_bar(*s); });
  if (lane.is_device) {
    arrange_device(lane);
  } else {
    arrange_plain(lane);
  }
  std::vector<std::int64_t> row_ends;
  for (Bar& bar : lane.bars) bar.row = place(row_ends, bar.begin_us, bar.end_us);
  lane.rows = std::max<std::size_t>(1, row_ends.size());
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
    for (const Lane& lane : lanes_) height += lane.height();
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
    draw_axis(svg, top + kAxis);
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
  void draw_axis(Svg& svg, double top) const;
  void draw_lanes(Svg& svg, double top, double bottom) const;
  void draw_bar(Svg& svg, const Lane& lane, const Bar& bar, double top) const;
  void draw_inner(Svg& svg, const Lane& lane, const Inner& inner, double top) const;
  std::string about(const std::string& name, const SpanEvent& s, std::int64_t begin_us,
                    std::int64_t end_us) const;
  void lanes_text(Svg& svg, double top) const;
  std::string owner(const SpanEvent& s) const;

  const TimelinePlot& plot_;
  std::map<std::string, std::size_t> numbers_;
  std::set<std::string> several_;  // jobs of more than one partition
  double seconds_ = 1, scale_ = 1;
  std::vector<Lane> lanes_;
  std::vector<std::string_view> used_;  // a span's name for each kind that occurs
};

void Timeline::collect() {
  std::map<std::string, Lane> lanes;
  for (const SpanEvent& s : plot_.spans) {
    Lane& lane = lanes[s.lane];
    lane.name = s.lane;
    lane.spans.push_back(&s);
    if (s.partition > 0) several_.insert(s.job_id);
  }
  for (auto& [name, lane] : lanes) {
    arrange(lane);
    lanes_.push_back(std::move(lane));
  }
  std::stable_sort(lanes_.begin(), lanes_.end(), [](const Lane& a, const Lane& b) {
    return lane_rank(a.name) < lane_rank(b.name);
  });
  // The legend in the order in which a proof passes, of what is drawn.
  std::set<std::string_view> kinds;
  const auto use = [&](std::string_view name) {
    if (kinds.insert(kind_of(name).css).second) used_.push_back(name);
  };
  for (const Lane& lane : lanes_) {
    for (const Bar& bar : lane.bars) {
      use(lane.is_device ? kProve : bar.span->name);
      for (const Inner& inner : bar.inner) use(inner.span->name);
    }
  }
}

std::string Timeline::owner(const SpanEvent& s) const {
  const auto found = numbers_.find(s.job_id);
  const std::string job =
      found == numbers_.end() ? s.job_id.substr(0, 12) : fmt::format("{}", found->second);
  if (s.name == "load_key" || s.name == "measure") return s.job_id;
  return several_.contains(s.job_id) ? fmt::format("#{}.{}", job, s.partition)
                                     : fmt::format("#{}", job);
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

void Timeline::draw_axis(Svg& svg, double top) const {
  const double step = time_tick_step(seconds_, static_cast<int>((plot_.width - kLeft) / 90));
  for (double t = 0; t <= seconds_ * (1 + 1e-9); t += step) {
    const double x = kLeft + t * scale_;
    svg.text({x, top - 12}, time_label(t, step), "tick", Anchor::kMiddle);
  }
  svg.line({kLeft, top - 5}, {plot_.width - kRight, top - 5}, "axis");
}

void Timeline::draw_lanes(Svg& svg, double top, double bottom) const {
  double y = top;
  bool shaded = true;
  for (const Lane& lane : lanes_) {
    const double height = lane.height();
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
    for (const Bar& bar : lane.bars) draw_bar(svg, lane, bar, y + kGap / 2);
    y += lane.height();
  }
}

std::string Timeline::about(const std::string& name, const SpanEvent& s, std::int64_t begin_us,
                            std::int64_t end_us) const {
  const auto seconds = [&](std::int64_t us) {
    return time_label(static_cast<double>(us - plot_.begin_us) * 1e-6, 0.001);
  };
  return fmt::format("{} {}\n{} to {}: {}", name, owner(s), seconds(begin_us), seconds(end_us),
                     human_seconds(static_cast<double>(end_us - begin_us) * 1e-6));
}

void Timeline::draw_bar(Svg& svg, const Lane& lane, const Bar& bar, double top) const {
  const std::string& name = lane.is_device ? kProve : bar.span->name;
  const Kind& kind = kind_of(name);
  const double x = x_of(bar.begin_us);
  const double width = std::max(kThinnest, x_of(bar.end_us) - x);
  const double y = top + lane.row_height() * static_cast<double>(bar.row) + 1;
  const double height = lane.row_height() - 2;
  svg.rect({x, y}, width, height, kind.css, std::min(3.0, width / 3),
           about(name, *bar.span, bar.begin_us, bar.end_us));
  for (const Inner& inner : bar.inner) draw_inner(svg, lane, inner, y);
  // A wait says whose it is; work also what it is.
  const std::string label =
      kind.waits ? owner(*bar.span) : fmt::format("{} {}", owner(*bar.span), name);
  const std::string shown = fitted(label, kFont, width - 8);
  if (shown.empty()) return;
  const bool pale = kind.waits || kind.css == "k-prove";
  svg.text({x + 4, lane.is_device ? y + 12 : y + height / 2 + 4}, shown, pale ? "in-dark" : "in");
}

void Timeline::draw_inner(Svg& svg, const Lane& lane, const Inner& inner, double top) const {
  const SpanEvent& s = *inner.span;
  const Kind& kind = kind_of(s.name);
  const double x = x_of(s.start_us);
  const double width = std::max(1.0, x_of(s.end_us) - x);
  const double y = lane.is_device ? top + kHead + kInner * static_cast<double>(inner.row) : top + 3;
  const double height = lane.is_device ? kInner - 1 : kRow - 8;
  svg.rect({x, y}, width, height, kind.css, std::min(2.0, width / 3),
           about(s.name, s, s.start_us, s.end_us));
  if (lane.is_device && text_width(s.name, kFont) < width - 8) {
    svg.text({x + 4, y + height / 2 + 4}, s.name, kind.waits ? "in-dark" : "in");
  }
}

void Timeline::lanes_text(Svg& svg, double top) const {
  double y = top;
  for (const Lane& lane : lanes_) {
    const double height = lane.height();
    svg.text({16, y + kGap / 2 + 14}, fitted(lane.name, 12, kLeft - 26), "label");
    y += height;
  }
}

}  // namespace

std::string draw_timeline(const TimelinePlot& plot) { return Timeline(plot).draw(); }

}  // namespace cuzk::bench
