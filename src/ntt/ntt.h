#pragma once
// Number-theoretic transforms over the scalar fields, and the Groth16 quotient built from them.
//
// Notation: N = 2^k points, omega = generator^((r - 1) / N) of order N, bellman's root (snarkjs
//           has another on BLS12-381: README.md). "values" are f(s * omega^j) for j < N,
//           "coefficients" are those of f. "reversed" order puts entry j at the index with j's k
//           bits reversed.
// Order:    is in every name. A transform between natural and reversed order needs no permutation.
// Coset:    `shift` is s. One (the default) and omega_2N, the primitive 2N-th root that gives the
// odd
//           points of the domain of twice the size, cost nothing; any other shift one more product
//           for each element.
// Form:     elements in Montgomery form; in place.
// Threads:  a Domain is immutable; each call uses `tasks` and has joined when it returns. When stop
//           is requested the data is left half transformed: look at tasks.stop_requested().

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/memory.h"
#include "base/tasks.h"
#include "field/bls12_381.h"
#include "field/bn254.h"

namespace cuzk {

// A multiplicative subgroup of 2^k points and its twiddles.
//
// Memory: 32 bytes * min(N, 2^21), plus 32 * N / 2^21 above that: at most 64 MiB and 2 KiB at 2^27.
template <class Fr>
class Domain {
 public:
  static constexpr unsigned kTableLog = 21;

  // The domain of another software's root of unity: `generator` is any quadratic non-residue.
  // kInvalidArgument when log2_size exceeds the field's two-adicity; kOutOfBudget.
  static Result<Domain> create(Tasks& tasks, MemoryBudget& budget, unsigned log2_size,
                               std::uint64_t generator = Fr::Params::kGenerator);

  // The smallest k with 2^k >= count (0 for 0 and 1).
  static unsigned log2_for(std::size_t count);

  unsigned log2_size() const { return log2_size_; }
  std::size_t size() const { return std::size_t{1} << log2_size_; }
  const Fr& omega() const { return omega_; }
  const Fr& omega_inverse() const { return omega_inverse_; }
  const Fr& size_inverse() const { return size_inverse_; }
  // omega_2N; zero when the field has no such root (then has_odd_coset() is false).
  const Fr& odd_shift() const { return odd_shift_; }
  bool has_odd_coset() const { return log2_size_ < Fr::Params::kTwoAdicity; }

  // The twiddle of node v of the splitting tree: the product over the bits b of v of the root of
  // order 2^(b+2). The node's polynomial x^L - t^2 splits into x^(L/2) - t and x^(L/2) + t.
  Fr twiddle(std::size_t node) const {
    const std::size_t low = node & (table_.size() - 1);
    return node == low ? table_[low] : table_[low] * high_[node / table_.size()];
  }
  std::span<const Fr> table() const { return table_.span(); }
  std::span<const Fr> high_table() const { return high_.span(); }

 private:
  unsigned log2_size_ = 0;
  Fr omega_, omega_inverse_, size_inverse_, odd_shift_;
  Buffer<Fr> table_;  // twiddles of the nodes below its size, a power of two
  Buffer<Fr> high_;   // twiddle of node i * table_.size()
};

// Coefficients to values.
template <class Fr>
void forward_natural_to_reversed(Tasks& tasks, const Domain<Fr>& domain, std::span<Fr> data,
                                 const Fr& shift = Fr::one());
template <class Fr>
void forward_reversed_to_natural(Tasks& tasks, const Domain<Fr>& domain, std::span<Fr> data,
                                 const Fr& shift = Fr::one());
// Values to coefficients, 1/N included.
template <class Fr>
void inverse_natural_to_reversed(Tasks& tasks, const Domain<Fr>& domain, std::span<Fr> data,
                                 const Fr& shift = Fr::one());
template <class Fr>
void inverse_reversed_to_natural(Tasks& tasks, const Domain<Fr>& domain, std::span<Fr> data,
                                 const Fr& shift = Fr::one());

// Exchanges entries i and reverse(i); data.size() is a power of two.
template <class Fr>
void bit_reverse(Tasks& tasks, std::span<Fr> data);

// The quotient h = (A B - C) / (x^N - 1) for A, B, C of degree below N whose values over the domain
// are a, b, c in natural order (rows in order, padded with zeros to N).
//
// Result:  the N - 1 coefficients of h in natural order, canonical: what the h query of a powers
//          basis is summed with. They live in the storage of `a`.
// Destroys a, b and c (a no longer holds Fr objects).
// Needs:   a[i] b[i] = c[i] in every row. Otherwise no quotient exists and what is returned is
//          meaningless; it is not detected here.
// Cost:    six transforms, h = (C' - C) / (s^N - 1) with C' = A B mod x^N - s^N (README.md).
// Errors:  kInvalidArgument for a length other than N; kCancelled.
template <class Fr>
Result<std::span<const typename Fr::Scalar>> quotient(Tasks& tasks, const Domain<Fr>& domain,
                                                      std::span<Fr> a, std::span<Fr> b,
                                                      std::span<Fr> c);

// Values of A B - C at the N points s * omega^j with s = omega_2N, in natural order, canonical:
// what the h query of a .zkey (evaluations on the odd coset) is summed with. Storage and needs as
// above, except that nothing is required of the rows; kInvalidArgument when there is no odd coset.
template <class Fr>
Result<std::span<const typename Fr::Scalar>> odd_coset_values(Tasks& tasks,
                                                              const Domain<Fr>& domain,
                                                              std::span<Fr> a, std::span<Fr> b,
                                                              std::span<Fr> c);

}  // namespace cuzk
