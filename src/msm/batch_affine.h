#pragma once
// Additions of affine points that share one inversion: about 5 products and a square each, where an
// XYZZ accumulator takes 8 and two squares. Exact for equal, opposite and identity operands.
//
// Threads: an adder belongs to one task; its scratch grows to the largest batch and stays.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "curve/point.h"

namespace cuzk {

template <class G>
class BatchAdder {
 public:
  using Point = Affine<G>;
  using Field = typename G::Field;

  // Below this many additions an inversion costs more than it saves.
  static constexpr std::size_t kMinBatch = 24;

  // put(i, a(i) + b(i)) for i < count, i ascending. Every a(i) and b(i) is looked at before the
  // first put, and again just before put(i): an earlier put may overwrite them only if it is not
  // needed.
  template <class A, class B, class Put>
  void add(std::size_t count, A&& a, B&& b, Put&& put) {
    if (count == 0) return;
    grow(count);
    Field product = Field::one();
    for (std::size_t i = count; i-- > 0;) {
      const auto [kind, denominator] = classify(a(i), b(i));
      kinds_[i] = kind;
      products_[i] = product;
      denominators_[i] = denominator;
      if (kind <= Kind::kDouble) product *= denominator;
    }
    Field inverse = product.inverse();
    for (std::size_t i = 0; i < count; ++i) {
      const Kind kind = kinds_[i];
      if (kind > Kind::kDouble) {
        put(i, kind == Kind::kLeft ? Point(a(i)) : kind == Kind::kRight ? Point(b(i)) : Point{});
        continue;
      }
      const Field d = inverse * products_[i];
      inverse *= denominators_[i];
      put(i, finish(kind, a(i), b(i), d));
    }
  }

  // Sums each run of points to its first place. Runs lie one after another from points[0].
  void sum_runs(std::span<Point> points, std::span<const std::uint32_t> lengths) {
    runs_.clear();
    std::size_t start = 0;
    for (std::uint32_t length : lengths) {
      if (length > 1) runs_.push_back({start, length});
      start += length;
    }
    while (!runs_.empty() && halve_runs(points)) {
    }
    finish_runs(points);
  }

 private:
  enum class Kind : std::uint8_t { kAdd, kDouble, kLeft, kRight, kZero };
  struct Classified {
    Kind kind;
    Field denominator;
  };
  struct Run {
    std::size_t start;
    std::size_t length;
  };
  struct Pair {
    std::uint32_t from;
    std::uint32_t to;
  };

  static Classified classify(const Point& a, const Point& b) {
    const Field dx = b.x - a.x;
    if (b.is_identity()) [[unlikely]]
      return {Kind::kLeft, dx};
    if (a.is_identity()) [[unlikely]]
      return {Kind::kRight, dx};
    if (!dx.is_zero()) [[likely]]
      return {Kind::kAdd, dx};
    if (a.y == b.y && !a.y.is_zero()) return {Kind::kDouble, a.y.dbl()};
    return {Kind::kZero, dx};
  }

  static Point finish(Kind kind, const Point& a, const Point& b, const Field& inverse) {
    Field numerator = b.y - a.y;
    if (kind == Kind::kDouble) {
      const Field x2 = a.x.square();
      numerator = x2.dbl() + x2;
    }
    const Field slope = numerator * inverse;
    Point out;
    out.x = slope.square() - a.x - b.x;
    out.y = slope * (a.x - out.x) - a.y;
    return out;
  }

  void grow(std::size_t count) {
    if (kinds_.size() >= count) return;
    kinds_.resize(count);
    products_.resize(count);
    denominators_.resize(count);
  }

  // Adds neighbours within each run; false when too few are left to be worth an inversion.
  bool halve_runs(std::span<Point> points) {
    pairs_.clear();
    for (const Run& run : runs_) {
      for (std::size_t i = 0; i < run.length / 2; ++i) {
        pairs_.push_back({static_cast<std::uint32_t>(run.start + 2 * i),
                          static_cast<std::uint32_t>(run.start + i)});
      }
    }
    if (pairs_.size() < kMinBatch) return false;
    add(
        pairs_.size(), [&](std::size_t i) -> const Point& { return points[pairs_[i].from]; },
        [&](std::size_t i) -> const Point& { return points[pairs_[i].from + 1]; },
        [&](std::size_t i, const Point& sum) { points[pairs_[i].to] = sum; });
    std::size_t kept = 0;
    for (const Run& run : runs_) {
      const std::size_t half = run.length / 2;
      if (run.length % 2) points[run.start + half] = points[run.start + run.length - 1];
      const std::size_t length = half + run.length % 2;
      if (length > 1) runs_[kept++] = {run.start, length};
    }
    runs_.resize(kept);
    return true;
  }

  // The few remaining additions in XYZZ form, and one inversion for all results.
  void finish_runs(std::span<Point> points) {
    if (runs_.empty()) return;
    std::vector<Xyzz<G>> sums;
    std::vector<Field> prefix;
    Field product = Field::one();
    for (const Run& run : runs_) {
      Xyzz<G> sum = Xyzz<G>::identity();
      for (std::size_t i = 0; i < run.length; ++i) sum += points[run.start + i];
      sums.push_back(sum);
      prefix.push_back(product);
      if (!sum.is_identity()) product *= sum.zzz;
    }
    Field inverse = product.inverse();
    for (std::size_t i = runs_.size(); i-- > 0;) {
      const Xyzz<G>& sum = sums[i];
      Point& out = points[runs_[i].start];
      out = Point{};
      if (sum.is_identity()) continue;
      const Field zzz = inverse * prefix[i];
      inverse *= sum.zzz;
      out = {sum.x * (zzz * sum.zz).square(), sum.y * zzz};
    }
    runs_.clear();
  }

  std::vector<Kind> kinds_;
  std::vector<Field> products_;
  std::vector<Field> denominators_;
  std::vector<Run> runs_;
  std::vector<Pair> pairs_;
};

}  // namespace cuzk
