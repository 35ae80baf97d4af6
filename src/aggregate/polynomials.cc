#include "aggregate/polynomials.h"

namespace cuzk::aggregate {

namespace {

// prod_j (1 + c_(l-1-j) (X scale)^(2^j)) at X.
Fr evaluate_product(std::span<const Fr> c, Fr x) {
  Fr value = Fr::one();
  for (std::size_t j = c.size(); j-- > 0; x.square_in_place()) value *= Fr::one() + c[j] * x;
  return value;
}

// The same product's coefficients, after `offset` zeros.
std::vector<Fr> expand_product(std::span<const Fr> c, Fr scale, std::size_t offset) {
  std::vector<Fr> out(offset + (std::size_t{1} << c.size()), Fr::zero());
  Fr* f = out.data() + offset;
  f[0] = Fr::one();
  std::size_t size = 1;
  for (std::size_t j = c.size(); j-- > 0; size *= 2, scale.square_in_place()) {
    const Fr factor = c[j] * scale;
    for (std::size_t i = 0; i < size; ++i) f[size + i] = f[i] * factor;
  }
  return out;
}

}  // namespace

Fr evaluate_v(std::span<const Fr> x_inverse, const Fr& at) {
  return evaluate_product(x_inverse, at);
}

Fr evaluate_w(std::span<const Fr> x, const Fr& r, const Fr& at) {
  return evaluate_product(x, at * r.inverse()) * at.pow(std::uint64_t{1} << x.size());
}

std::vector<Fr> coefficients_v(std::span<const Fr> x_inverse) {
  return expand_product(x_inverse, Fr::one(), 0);
}

std::vector<Fr> coefficients_w(std::span<const Fr> x, const Fr& r) {
  return expand_product(x, r.inverse(), std::size_t{1} << x.size());
}

std::vector<Fr> divide_by_root(std::vector<Fr> f, const Fr& at) {
  // Horner's intermediate values, from the top, are the quotient's coefficients.
  for (std::size_t k = f.size() - 1; k-- > 1;) f[k] += at * f[k + 1];
  f.erase(f.begin());
  return f;
}

}  // namespace cuzk::aggregate
