#include "aggregate/pairing_products.h"

#include <mutex>
#include <vector>

#include "base/check.h"

namespace cuzk::aggregate {

namespace {

using Prepared = G2Prepared<Curve>;
using Term = PairingTerm<Curve>;

// The lines of a point take 20 KB: three columns of 8 stay in an L2 cache of 512 KB. The squarings
// of a chunk's five products are then shared by eight terms each, 6 % of the work.
constexpr std::size_t kChunk = 8;

constexpr std::size_t kProducts = 5;
using Products = std::array<GtElement, kProducts>;
enum : std::size_t { kAbT, kAbU, kCT, kCU, kZ };

GtElement miller(const std::vector<Term>& terms) {
  return miller_loop<Curve>(std::span<const Term>(terms));
}

std::vector<Prepared> prepare(std::span<const G2Affine> points) {
  std::vector<Prepared> out;
  out.reserve(points.size());
  for (const G2Affine& p : points) out.emplace_back(p);
  return out;
}

void append(std::vector<Term>& terms, std::span<const G1Affine> p, const std::vector<Prepared>& q) {
  for (std::size_t i = 0; i < p.size(); ++i) terms.push_back({p[i], &q[i]});
}

GtElement miller_of(std::span<const G1Affine> p, const std::vector<Prepared>& q) {
  std::vector<Term> terms;
  append(terms, p, q);
  return miller(terms);
}

GtElement miller_of(std::span<const G1Affine> p1, const std::vector<Prepared>& q1,
                    std::span<const G1Affine> p2, const std::vector<Prepared>& q2) {
  std::vector<Term> terms;
  append(terms, p1, q1);
  append(terms, p2, q2);
  return miller(terms);
}

Products miller_products(const PairingColumns& x, std::size_t first, std::size_t count) {
  const auto g1 = [&](std::span<const G1Affine> column) { return column.subspan(first, count); };
  const auto v1 = prepare(x.v1.subspan(first, count));
  const auto v2 = prepare(x.v2.subspan(first, count));
  const auto b = prepare(x.b.subspan(first, count));
  Products out;
  out[kAbT] = miller_of(g1(x.a), v1, g1(x.w1), b);
  out[kAbU] = miller_of(g1(x.a), v2, g1(x.w2), b);
  out[kCT] = miller_of(g1(x.c), v1);
  out[kCU] = miller_of(g1(x.c), v2);
  out[kZ] = x.with_z ? miller_of(g1(x.a), b) : GtElement::one();
  return out;
}

// part(k, first, count) for every chunk of every set k of columns of length n, multiplied by set.
template <std::size_t kSets, class Part>
std::array<Products, kSets> multiply_chunks(Tasks& tasks, std::size_t n, const Part& part) {
  std::array<Products, kSets> out;
  for (Products& p : out) p.fill(GtElement::one());
  const std::size_t chunks = (n + kChunk - 1) / kChunk;
  std::mutex mutex;
  tasks.parallel_for(kSets * chunks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t set = i / chunks;
      const std::size_t first = i % chunks * kChunk;
      const Products p = part(set, first, std::min(kChunk, n - first));
      std::lock_guard lock(mutex);
      for (std::size_t k = 0; k < kProducts; ++k) out[set][k] *= p[k];
    }
  });
  return out;
}

template <std::size_t kSets>
std::array<PairingProducts, kSets> products_of_sets(
    Tasks& tasks, const std::array<PairingColumns, kSets>& columns) {
  const std::size_t n = columns[0].a.size();
  for (const PairingColumns& c : columns) {
    CUZK_CHECK(c.a.size() == n && c.c.size() == n && c.w1.size() == n && c.w2.size() == n &&
               c.b.size() == n && c.v1.size() == n && c.v2.size() == n);
  }
  auto values =
      multiply_chunks<kSets>(tasks, n, [&](std::size_t set, std::size_t first, std::size_t count) {
        return miller_products(columns[set], first, count);
      });
  tasks.parallel_for(kSets * kProducts, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      GtElement& value = values[i / kProducts][i % kProducts];
      value = final_exponentiation<Curve>(value);
    }
  });
  std::array<PairingProducts, kSets> out;
  for (std::size_t set = 0; set < kSets; ++set) {
    const Products& v = values[set];
    out[set] = {{v[kAbT], v[kAbU]}, {v[kCT], v[kCU]}, v[kZ]};
  }
  return out;
}

}  // namespace

PairingProducts pairing_products(Tasks& tasks, const PairingColumns& columns) {
  return products_of_sets<1>(tasks, {columns})[0];
}

std::array<PairingProducts, 2> pairing_products(Tasks& tasks,
                                                const std::array<PairingColumns, 2>& columns) {
  return products_of_sets<2>(tasks, columns);
}

GtElement inner_product(Tasks& tasks, std::span<const G1Affine> a, std::span<const G2Affine> b) {
  CUZK_CHECK(a.size() == b.size());
  const auto values =
      multiply_chunks<1>(tasks, a.size(), [&](std::size_t, std::size_t first, std::size_t count) {
        Products p;
        p.fill(GtElement::one());
        p[kZ] = miller_of(a.subspan(first, count), prepare(b.subspan(first, count)));
        return p;
      });
  return final_exponentiation<Curve>(values[0][kZ]);
}

}  // namespace cuzk::aggregate
