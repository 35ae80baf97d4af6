#pragma once
// An element among its siblings, at a place given by bits: one level of a Merkle path.
//
// Source: storage-proofs-core 14.1.0, src/gadgets/insertion.rs; the order of the picks is its.

#include <span>
#include <vector>

#include "gadget/boolean.h"
#include "gadget/num.h"

namespace cuzk::gadget {

namespace insertion_internal {

template <class CS>
std::vector<typename CS::Num> insert_2(CS& cs, const typename CS::Num& element,
                                       std::span<const typename CS::Num> siblings,
                                       std::span<const typename CS::Bit> bits) {
  const auto first = pick(cs, bits[0], siblings[0], element);
  return {first, pick(cs, bits[0], element, siblings[0])};
}

template <class CS>
std::vector<typename CS::Num> insert_4(CS& cs, const typename CS::Num& element,
                                       std::span<const typename CS::Num> siblings,
                                       std::span<const typename CS::Bit> bits) {
  using Num = typename CS::Num;
  const auto [b0, b1] = std::pair(bits[0], bits[1]);
  const Num &b = siblings[0], &c = siblings[1], &d = siblings[2];
  const Num p0_x0 = pick(cs, b0, b, element);
  const Num p0 = pick(cs, b1, b, p0_x0);
  const Num p1_x0 = pick(cs, b0, element, b);
  const Num p1 = pick(cs, b1, c, p1_x0);
  const Num p2_x1 = pick(cs, b0, d, element);
  const Num p2 = pick(cs, b1, p2_x1, c);
  const Num p3_x1 = pick(cs, b0, element, d);
  const Num p3 = pick(cs, b1, p3_x1, d);
  return {p0, p1, p2, p3};
}

// Sharing what the first two bits decide makes 20 picks of the plain method's 56. Names say which
// place is chosen and for which bits, b2 b1 b0 (x for any).
template <class CS>
std::vector<typename CS::Num> insert_8(CS& cs, const typename CS::Num& element,
                                       std::span<const typename CS::Num> siblings,
                                       std::span<const typename CS::Bit> bits) {
  using Num = typename CS::Num;
  const auto b0 = bits[0], b1 = bits[1], b2 = bits[2];
  const Num &b = siblings[0], &c = siblings[1], &d = siblings[2], &e = siblings[3],
            &f = siblings[4], &g = siblings[5], &h = siblings[6];
  const auto neither = bit_and(cs, !b0, !b1);
  const auto both = bit_and(cs, b0, b1);
  const Num p0_xx0 = pick(cs, neither, element, b);
  const Num p0 = pick(cs, b2, b, p0_xx0);
  const Num p1_x00 = pick(cs, b0, element, b);
  const Num p1_xx0 = pick(cs, b1, c, p1_x00);
  const Num p1 = pick(cs, b2, c, p1_xx0);
  const Num p2_x10 = pick(cs, b0, d, element);
  const Num p2_xx0 = pick(cs, b1, p2_x10, c);
  const Num p2 = pick(cs, b2, d, p2_xx0);
  const Num p3_xx0 = pick(cs, both, element, d);
  const Num p3 = pick(cs, b2, e, p3_xx0);
  const Num p4_xx1 = pick(cs, neither, element, f);
  const Num p4 = pick(cs, b2, p4_xx1, e);
  const Num p5_x01 = pick(cs, b0, element, f);
  const Num p5_xx1 = pick(cs, b1, g, p5_x01);
  const Num p5 = pick(cs, b2, p5_xx1, f);
  const Num p6_x11 = pick(cs, b0, h, element);
  const Num p6_xx1 = pick(cs, b1, p6_x11, g);
  const Num p6 = pick(cs, b2, p6_xx1, g);
  const Num p7_xx1 = pick(cs, both, element, h);
  const Num p7 = pick(cs, b2, p7_xx1, h);
  return {p0, p1, p2, p3, p4, p5, p6, p7};
}

}  // namespace insertion_internal

// `siblings` with `element` put in at the place that `bits` (lowest first) say.
//
// Shape: siblings.size() + 1 is 2, 4 or 8, and 2^bits.size(); others break an invariant.
template <class CS>
std::vector<typename CS::Num> insert(CS& cs, const typename CS::Num& element,
                                     std::span<const typename CS::Num> siblings,
                                     std::span<const typename CS::Bit> bits) {
  const std::size_t size = siblings.size() + 1;
  CUZK_CHECK(size == std::size_t{1} << bits.size() && (size == 2 || size == 4 || size == 8));
  if (size == 2) return insertion_internal::insert_2(cs, element, siblings, bits);
  if (size == 4) return insertion_internal::insert_4(cs, element, siblings, bits);
  return insertion_internal::insert_8(cs, element, siblings, bits);
}

// The element of `from` whose index has the given bits, lowest first. from.size() ==
// 2^bits.size().
template <class CS>
typename CS::Num select(CS& cs, std::span<const typename CS::Num> from,
                        std::span<const typename CS::Bit> bits) {
  CUZK_CHECK(from.size() == std::size_t{1} << bits.size());
  std::vector<typename CS::Num> left(from.begin(), from.end());
  for (std::size_t i = bits.size(); i-- > 0;) {
    const std::size_t half = left.size() / 2;
    std::vector<typename CS::Num> next;
    next.reserve(half);
    for (std::size_t j = 0; j < half; ++j) {
      next.push_back(pick(cs, bits[i], left[half + j], left[j]));
    }
    left = std::move(next);
  }
  return left[0];
}

}  // namespace cuzk::gadget
