#pragma once
// Proving keys of the other world of h (ADR 8): snarkjs' .zkey pairs its h query with the values of
// A B - C on the odd points of the domain of twice the size, not with coefficients of a quotient.
//
//   h_query[i]  = L'_{2i+1}(tau) / delta, i < m = 2^domain_log2, where L' is the Lagrange basis of
//                 the 2m-th roots of unity that are powers of kCosetGenerator
//   the others  as in keys.h; an identity may stand where a polynomial has the root tau
// C needs no matrix: with a right witness its values are the products of A's and B's.
//
// Why it proves the same: A B - C vanishes on the m even points and has degree at most 2m - 2, so
// that its value at tau is the sum over the odd points of (A B - C)(omega_2m^(2i+1))
// L'_{2i+1}(tau).
//
// A query may stay in a file until its sum is due, and leaves memory with it: a key of half a
// gigabyte is proved with in a quarter of that.
//
// Threads: a key is immutable once built; points() may be called by several threads.

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "base/memory.h"
#include "groth16/context.h"
#include "groth16/keys.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/density.h"
#include "r1cs/witness.h"

namespace cuzk::groth16 {

// The quadratic non-residue whose powers snarkjs' domains consist of, on both curves. BLS12-381's
// bellman has 7: such domains are other points.
inline constexpr std::uint64_t kCosetGenerator = 5;

// Points while a sum uses them: borrowed from a key, or read for this sum alone.
template <class G>
class QueryPoints {
 public:
  explicit QueryPoints(std::span<const Affine<G>> points) : points_(points) {}
  explicit QueryPoints(Buffer<Affine<G>> storage)
      : storage_(std::move(storage)), points_(std::as_const(storage_).span()) {}
  std::span<const Affine<G>> span() const { return points_; }

 private:
  Buffer<Affine<G>> storage_;
  std::span<const Affine<G>> points_;
};

template <class G>
class Query {
 public:
  // Errors: those of the file's format; kOutOfBudget; kCancelled.
  using Reader = std::function<Result<Buffer<Affine<G>>>(const Context&)>;

  Query() = default;
  explicit Query(Buffer<Affine<G>> points) : size_(points.size()), points_(std::move(points)) {}
  Query(std::size_t size, Reader reader) : size_(size), reader_(std::move(reader)) {}

  std::size_t size() const { return size_; }
  bool in_memory() const { return !reader_; }
  Result<QueryPoints<G>> points(const Context& context) const {
    if (in_memory()) return QueryPoints<G>(points_.span());
    const auto span = context.timeline.span("read_key", context.lane);
    CUZK_TRY(auto points, reader_(context));
    return QueryPoints<G>(std::move(points));
  }
  // Reads the points once and for all.
  Status load(const Context& context) {
    if (in_memory()) return {};
    CUZK_TRY(points_, reader_(context));
    reader_ = {};
    return {};
  }

 private:
  std::size_t size_ = 0;
  Buffer<Affine<G>> points_;
  Reader reader_;  // empty: the points are in memory
};

template <class Curve>
struct CosetProvingKey {
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;
  VerifyingKey<Curve> vk;
  unsigned domain_log2 = 0;
  Query<G1> h_query;
  Query<G1> l_query;
  Query<G1> a_query;
  Query<G1> b_g1_query;
  Query<G2> b_g2_query;
};

// Borrowed until the pending proof has finished or is gone. Of r1cs only A and B are looked at.
template <class Curve>
struct CosetProveInput {
  const CompactR1cs<typename Curve::Fr>& r1cs;
  const Density& density;  // compute_density(r1cs)
  const CompactWitness<typename Curve::Fr>& witness;
  const CosetProvingKey<Curve>& key;
};

}  // namespace cuzk::groth16
