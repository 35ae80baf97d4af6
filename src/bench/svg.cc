#include "bench/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace cuzk::bench {

namespace {

constexpr std::string_view kTheme = R"(
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1d232b; }
.title { font-size: 17px; font-weight: 600; }
.label { font-size: 12px; }
.small { font-size: 11px; }
.dim { font-size: 12px; fill: #66707c; }
.tick { font-size: 11px; fill: #66707c; }
.in { font-size: 11px; fill: #ffffff; }
.in-dark { font-size: 11px; fill: #3b4450; }
.back { fill: #ffffff; }
.band { fill: #f4f6f8; }
.grid { stroke: #e1e5ea; stroke-width: 1; }
.axis { stroke: #aeb6c0; stroke-width: 1; }
.limit { stroke: #c23b32; stroke-width: 1.5; stroke-dasharray: 5 4; }
.curve { fill: none; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round; }
.thin { fill: none; stroke-width: 1.6; stroke-dasharray: 2 4; stroke-linecap: round; }
)";
constexpr std::string_view kDarkTheme = R"(
text { fill: #e4e8ed; }
.dim, .tick { fill: #95a0ad; }
.in { fill: #ffffff; }
.in-dark { fill: #dde3ea; }
.back { fill: #14171b; }
.band { fill: #1b2026; }
.grid { stroke: #2a313a; }
.axis { stroke: #4b5561; }
.limit { stroke: #ec6a60; }
)";

std::string number(double v) {
  std::string out = fmt::format("{:.2f}", v);
  while (out.ends_with('0')) out.pop_back();
  if (out.ends_with('.')) out.pop_back();
  return out == "-0" ? "0" : out;
}

std::string title_of(std::string_view tooltip) {
  return tooltip.empty() ? "" : fmt::format("<title>{}</title>", escape_xml(tooltip));
}

// An average character's width over the font's size, on the large side.
constexpr double kEm = 0.6;

// Whole characters only: never the middle of one.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default: {
        const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
        out += control ? std::string("\uFFFD") : std::string(1, c);
      }
    }
  }
  return out;
}

void Svg::rect(Point2 at, double width, double height, std::string_view css_class, double radius,
               std::string_view tooltip) {
  body_ +=
      fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" class="{}"{}>{}</rect>)",
                  number(at.x), number(at.y), number(width), number(height), css_class,
                  radius > 0 ? fmt::format(R"( rx="{}")", number(radius)) : "", title_of(tooltip));
  body_ += '\n';
}

void Svg::line(Point2 from, Point2 to, std::string_view css_class) {
  body_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>)", number(from.x),
                       number(from.y), number(to.x), number(to.y), css_class);
  body_ += '\n';
}

void Svg::polyline(const std::vector<Point2>& points, std::string_view css_class) {
  std::string list;
  for (const Point2& p : points) {
    list += fmt::format("{}{},{}", list.empty() ? "" : " ", number(p.x), number(p.y));
  }
  body_ += fmt::format(R"(<polyline points="{}" class="{}"/>)", list, css_class);
  body_ += '\n';
}

void Svg::circle(Point2 at, double radius, std::string_view css_class, std::string_view tooltip) {
  body_ += fmt::format(R"(<circle cx="{}" cy="{}" r="{}" class="{}">{}</circle>)", number(at.x),
                       number(at.y), number(radius), css_class, title_of(tooltip));
  body_ += '\n';
}

void Svg::text(Point2 at, std::string_view text, std::string_view css_class, Anchor anchor) {
  constexpr std::array<std::string_view, 3> kAnchors = {"start", "middle", "end"};
  body_ += fmt::format(R"(<text x="{}" y="{}" class="{}" text-anchor="{}">{}</text>)", number(at.x),
                       number(at.y), css_class, kAnchors[static_cast<std::size_t>(anchor)],
                       escape_xml(text));
  body_ += '\n';
}

void Svg::colour(std::string_view name, std::string_view on_white, std::string_view on_black) {
  light_ += fmt::format(".{0} {{ fill: {1}; }}\n.s-{0} {{ stroke: {1}; }}\n", name, on_white);
  dark_ += fmt::format(".{0} {{ fill: {1}; }}\n.s-{0} {{ stroke: {1}; }}\n", name, on_black);
}

std::string Svg::str() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\">\n<style>{2}{3}@media (prefers-color-scheme: dark) {{{4}{5}}}\n"
      "</style>\n<rect width=\"{0}\" height=\"{1}\" class=\"back\"/>\n{6}</svg>\n",
      number(width_), number(height_), kTheme, light_, kDarkTheme, dark_, body_);
}

double text_width(std::string_view text, double font_px) {
  return kEm * font_px * static_cast<double>(characters(text));
}

std::string fitted(std::string_view text, double font_px, double width) {
  if (text_width(text, font_px) <= width) return std::string(text);
  const auto room = static_cast<std::ptrdiff_t>(width / (kEm * font_px)) - 1;
  if (room < 2) return "";
  std::string out;
  std::ptrdiff_t count = 0;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (begins && count++ == room) break;
    out += c;
  }
  return out + "…";
}

double tick_step(double span, int most) {
  if (!(span > 0) || most < 1) return 1;
  const double rough = span / most;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

double time_tick_step(double seconds, int most) {
  if (!(seconds > 0) || most < 1 || seconds / most < 1) return tick_step(seconds, most);
  for (const double step : {1., 2., 5., 10., 15., 30., 60., 120., 300., 600., 900., 1800., 3600.,
                            7200., 14400., 43200., 86400.}) {
    if (seconds / step <= most) return step;
  }
  return 86400 * std::ceil(seconds / 86400 / most);
}

std::string tick_label(double value, double step) {
  const int decimals =
      step >= 1 ? 0 : std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
  const std::string out = fmt::format("{:.{}f}", value, decimals);
  return out.find_first_not_of("-0.") == std::string::npos ? "0" : out;
}

std::string time_label(double seconds, double step) {
  if (step < 60 && seconds < 120) return tick_label(seconds, step) + " s";
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string human_bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit && bytes < 100 ? (bytes < 10 ? 2 : 1) : 0,
                     kUnits[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.01 ? 1 : 0);
  if (seconds < 100) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 2 : 1);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace cuzk::bench
