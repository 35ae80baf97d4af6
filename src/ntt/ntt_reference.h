#pragma once
// The plain versions that the tests compare with: evaluation term by term, and the quotient as
// bellman computes it. Nothing here is fast, and nothing shares code with ntt_cpu.inl.

#include <span>
#include <utility>
#include <vector>

#include "field/bls12_381.h"
#include "field/bn254.h"

namespace cuzk::reference {

// A primitive 2^log2-th root of unity: the generator to the (r - 1) / 2^log2.
template <class Fr>
Fr root_of_unity(unsigned log2) {
  Limbs<Fr::kLimbs> exponent = Fr::kModulus;
  exponent[0] -= 1;
  for (unsigned i = 0; i < log2; ++i) shift_right_in_place(exponent, 1);
  return Fr::from_u64(Fr::Params::kGenerator).pow(exponent);
}

// f(x) by Horner's rule.
template <class Fr>
Fr evaluate(std::span<const Fr> coefficients, const Fr& x) {
  Fr sum = Fr::zero();
  for (std::size_t i = coefficients.size(); i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// f(shift * omega^j) for j < N, one evaluation each: O(N^2).
template <class Fr>
std::vector<Fr> values(std::span<const Fr> coefficients, unsigned log2_size,
                       const Fr& shift = Fr::one()) {
  const Fr omega = root_of_unity<Fr>(log2_size);
  std::vector<Fr> out;
  Fr x = shift;
  for (std::size_t j = 0; j < coefficients.size(); ++j, x *= omega) {
    out.push_back(evaluate(coefficients, x));
  }
  return out;
}

// Coefficients of the polynomial with these values at shift * omega^j: O(N^2).
template <class Fr>
std::vector<Fr> coefficients(std::span<const Fr> values_at_points, unsigned log2_size,
                             const Fr& shift = Fr::one()) {
  const Fr omega_inverse = root_of_unity<Fr>(log2_size).inverse();
  const Fr n_inverse = Fr::from_u64(std::uint64_t{1} << log2_size).inverse();
  const Fr shift_inverse = shift.inverse();
  std::vector<Fr> out;
  Fr x = Fr::one();
  Fr scale = n_inverse;
  for (std::size_t i = 0; i < values_at_points.size(); ++i) {
    out.push_back(evaluate(values_at_points, x) * scale);
    x *= omega_inverse;
    scale *= shift_inverse;
  }
  return out;
}

// bellman's recipe: interpolate a, b, c, evaluate on the coset of the generator, divide the values
// by x^N - 1, interpolate. The last coefficient, zero for a satisfied circuit, is dropped.
template <class Fr>
std::vector<Fr> quotient(std::span<const Fr> a, std::span<const Fr> b, std::span<const Fr> c,
                         unsigned log2_size) {
  const Fr g = Fr::from_u64(Fr::Params::kGenerator);
  const auto on_coset = [&](std::span<const Fr> v) {
    const std::vector<Fr> f = coefficients<Fr>(v, log2_size);
    return values<Fr>(f, log2_size, g);
  };
  const std::vector<Fr> ag = on_coset(a), bg = on_coset(b), cg = on_coset(c);
  const Fr z_inverse = (g.pow(std::uint64_t{1} << log2_size) - Fr::one()).inverse();
  std::vector<Fr> hg;
  for (std::size_t i = 0; i < ag.size(); ++i) hg.push_back((ag[i] * bg[i] - cg[i]) * z_inverse);
  std::vector<Fr> h = coefficients<Fr>(hg, log2_size, g);
  h.pop_back();
  return h;
}

}  // namespace cuzk::reference
