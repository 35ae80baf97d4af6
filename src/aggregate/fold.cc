#include "aggregate/fold.h"

#include <array>
#include <vector>

#include "base/check.h"
#include "curve/endomorphism.h"
#include "curve/z_digits.h"
#include "field/batch_inverse.h"

namespace cuzk::aggregate {

namespace {

using Scalar = Fr::Scalar;

// Points that share inversions: more gains nothing, the scratch should stay in the L1 and L2
// caches.
constexpr std::size_t kChunk = 64;

// How a scalar acts through the endomorphism `step`: sum of parts[i] * step^i(P).
template <class G>
struct Endomorphism;

template <>
struct Endomorphism<Bls12_381G1> {
  static constexpr std::size_t kParts = 2;
  static constexpr std::size_t kBits = 128;
  // z^2 P = -phi(P).
  static G1Affine step(const G1Affine& p) { return -phi(p); }
  static std::array<u128, kParts> parts(const Scalar& k) {
    const ZDigits d = z_digits(k);
    const u128 z = bls12_381::kZAbs;
    return {d[0] + d[1] * z, d[2] + d[3] * z};
  }
};

template <>
struct Endomorphism<Bls12_381G2> {
  static constexpr std::size_t kParts = 4;
  static constexpr std::size_t kBits = 64;
  // |z| P = -psi(P).
  static G2Affine step(const G2Affine& p) { return -psi(p); }
  static std::array<u128, kParts> parts(const Scalar& k) {
    const ZDigits d = z_digits(k);
    return {d[0], d[1], d[2], d[3]};
  }
};

// The signed digits of a scalar's parts.
template <class G>
class Recoded {
 public:
  using E = Endomorphism<G>;
  explicit Recoded(const Scalar& k) {
    const auto parts = E::parts(k);
    for (std::size_t i = 0; i < E::kParts; ++i) digits_[i] = width_4_naf<E::kBits>(parts[i]);
  }
  int digit(std::size_t part, std::size_t bit) const { return digits_[part][bit]; }

 private:
  std::array<std::array<std::int8_t, E::kBits + 1>, E::kParts> digits_;
};

template <class G>
void to_affine(std::span<const Xyzz<G>> in, std::span<Affine<G>> out) {
  using Field = typename G::Field;
  std::vector<Field> inverses(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) inverses[i] = in[i].zzz;
  batch_inverse(std::span<Field>(inverses));
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Field z_inverse = inverses[i] * in[i].zz;
    out[i] = in[i].is_identity() ? Affine<G>::identity()
                                 : Affine<G>{in[i].x * z_inverse.square(), in[i].y * inverses[i]};
  }
}

// P, 3P, 5P, 7P of every point of a chunk, affine.
template <class G>
std::vector<Affine<G>> odd_multiples(std::span<const Affine<G>> points) {
  std::vector<Xyzz<G>> multiples(kNafOddMultiples * points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    Xyzz<G>* m = &multiples[kNafOddMultiples * i];
    m[0] = Xyzz<G>::from_affine(points[i]);
    const Xyzz<G> twice = m[0].dbl();
    m[1] = twice + points[i];
    for (std::size_t k = 2; k < kNafOddMultiples; ++k) m[k] = m[k - 1] + twice;
  }
  std::vector<Affine<G>> out(multiples.size());
  to_affine<G>(multiples, out);
  return out;
}

template <class G>
Xyzz<G> multiply(std::span<const Affine<G>> odd, const Recoded<G>& k) {
  using E = Endomorphism<G>;
  std::array<std::array<Affine<G>, kNafOddMultiples>, E::kParts> table;
  for (std::size_t m = 0; m < kNafOddMultiples; ++m) {
    table[0][m] = odd[m];
    for (std::size_t i = 1; i < E::kParts; ++i) table[i][m] = E::step(table[i - 1][m]);
  }
  Xyzz<G> sum = Xyzz<G>::identity();
  for (std::size_t bit = E::kBits + 1; bit-- > 0;) {
    sum = sum.dbl();
    for (std::size_t i = 0; i < E::kParts; ++i) {
      const int digit = k.digit(i, bit);
      if (digit > 0) sum += table[i][static_cast<std::size_t>(digit) / 2];
      if (digit < 0) sum += -table[i][static_cast<std::size_t>(-digit) / 2];
    }
  }
  return sum;
}

// put(i, product of point i) for whole chunks; recoded(i) gives its scalar.
template <class G, class K, class Put>
void multiply_each(Tasks& tasks, std::span<const Affine<G>> points, const K& recoded,
                   const Put& put) {
  const std::size_t chunks = (points.size() + kChunk - 1) / kChunk;
  tasks.parallel_for(chunks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      const std::size_t first = c * kChunk;
      const std::size_t count = std::min(kChunk, points.size() - first);
      const std::vector<Affine<G>> odd = odd_multiples<G>(points.subspan(first, count));
      std::vector<Xyzz<G>> products(count);
      for (std::size_t i = 0; i < count; ++i) {
        const std::span<const Affine<G>> own(&odd[kNafOddMultiples * i], kNafOddMultiples);
        products[i] = multiply<G>(own, recoded(first + i));
      }
      put(first, std::span<Xyzz<G>>(products));
    }
  });
}

}  // namespace

template <class G>
void scale_points(Tasks& tasks, std::span<const Affine<G>> points, std::span<const Scalar> scalars,
                  std::span<Affine<G>> out) {
  CUZK_CHECK(points.size() == scalars.size() && points.size() == out.size());
  multiply_each<G>(
      tasks, points, [&](std::size_t i) { return Recoded<G>(scalars[i]); },
      [&](std::size_t first, std::span<Xyzz<G>> products) {
        to_affine<G>(products, out.subspan(first, products.size()));
      });
}

template <class G>
void fold_points(Tasks& tasks, std::span<Affine<G>> left, std::span<const Affine<G>> right,
                 const Scalar& x) {
  CUZK_CHECK(left.size() == right.size());
  const Recoded<G> recoded(x);
  multiply_each<G>(
      tasks, right, [&](std::size_t) -> const Recoded<G>& { return recoded; },
      [&](std::size_t first, std::span<Xyzz<G>> products) {
        const auto chunk = left.subspan(first, products.size());
        for (std::size_t i = 0; i < products.size(); ++i) products[i] += chunk[i];
        to_affine<G>(products, chunk);
      });
}

#define CUZK_INSTANTIATE(G)                                                                  \
  template void scale_points<G>(Tasks&, std::span<const Affine<G>>, std::span<const Scalar>, \
                                std::span<Affine<G>>);                                       \
  template void fold_points<G>(Tasks&, std::span<Affine<G>>, std::span<const Affine<G>>,     \
                               const Scalar&);
CUZK_INSTANTIATE(Bls12_381G1)
CUZK_INSTANTIATE(Bls12_381G2)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::aggregate
