#pragma once
// A small writer of SVG files that read well on white and on black: colours are classes, and the
// file brings both themes (prefers-color-scheme).
//
// Form:    coordinates in pixels from the upper left corner; text is UTF-8 and is escaped here.
// Threads: values.

#include <string>
#include <string_view>
#include <vector>

namespace cuzk::bench {

// <, >, &, quotes as entities; what XML cannot hold (control characters) as U+FFFD.
std::string escape_xml(std::string_view text);

struct Point2 {
  double x = 0;
  double y = 0;
};

enum class Anchor { kStart, kMiddle, kEnd };

class Svg {
 public:
  Svg(double width, double height) : width_(width), height_(height) {}

  // `css_class`: one of the theme's (svg.cc) or one added by colour().
  void rect(Point2 at, double width, double height, std::string_view css_class, double radius = 0,
            std::string_view tooltip = {});
  void line(Point2 from, Point2 to, std::string_view css_class);
  void polyline(const std::vector<Point2>& points, std::string_view css_class);
  void circle(Point2 at, double radius, std::string_view css_class, std::string_view tooltip = {});
  void text(Point2 at, std::string_view text, std::string_view css_class,
            Anchor anchor = Anchor::kStart);
  // A class that fills and one ("s-NAME") that strokes, in both themes.
  void colour(std::string_view name, std::string_view on_white, std::string_view on_black);

  std::string str() const;

 private:
  double width_, height_;
  std::string body_, light_, dark_;
};

// About how wide a text is, in the theme's font at that size. For labels that must fit.
double text_width(std::string_view text, double font_px);
// `text`, or its beginning and an ellipsis, or nothing, so that it fits.
std::string fitted(std::string_view text, double font_px, double width);

// Distances between ticks that people read easily: 1, 2 or 5 times a power of ten, at most
// `most` of them in `span`. For times from a second on: 1, 2, 5, 10, 15, 30, 60 ... seconds.
double tick_step(double span, int most);
double time_tick_step(double seconds, int most);
// 0, 1, 2.5: as few decimals as the step needs.
std::string tick_label(double value, double step);
// "0 s", "1:30", "2 h 05 min": for an axis with that step.
std::string time_label(double seconds, double step);

std::string human_bytes(double bytes);      // "1.5 GiB"
std::string human_seconds(double seconds);  // "12 ms", "3.4 s", "5 min 12 s"

}  // namespace cuzk::bench
