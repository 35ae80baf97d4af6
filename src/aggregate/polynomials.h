#pragma once
// The polynomials that folded commitment keys are values of.
//
// Folding v with the inverse challenges gives v = f_v(s) H, folding the rescaled w gives
// w = f_w(s) G for both secrets s:
//   f_v(X) = prod_j (1 + x_(l-1-j)^-1 X^(2^j))        n = 2^l coefficients
//   f_w(X) = X^n prod_j (1 + x_(l-1-j) (X / r)^(2^j)) 2n coefficients, the lower half 0
// Verifiers evaluate the products; the prover divides by X - z.
//
// Threads: pure functions.

#include <span>
#include <vector>

#include "aggregate/proof.h"
#include "aggregate/transcript.h"

namespace cuzk::aggregate {

Fr evaluate_v(std::span<const Fr> x_inverse, const Fr& at);
Fr evaluate_w(std::span<const Fr> x, const Fr& r, const Fr& at);

std::vector<Fr> coefficients_v(std::span<const Fr> x_inverse);
std::vector<Fr> coefficients_w(std::span<const Fr> x, const Fr& r);

// (f(X) - f(at)) / (X - at), one coefficient less than f.
std::vector<Fr> divide_by_root(std::vector<Fr> f, const Fr& at);

}  // namespace cuzk::aggregate
