#include "gadget/poseidon_hash.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace cuzk::gadget {
namespace {

using bls12_381::Fr;

constexpr std::size_t kMaxWidth = 17;
using State = std::array<Fr, kMaxWidth>;

Fr fifth_power(const Fr& x) { return x.square().square() * x; }

void multiply_dense(State& s, std::span<const Fr> matrix, std::size_t t) {
  State out;
  for (std::size_t j = 0; j < t; ++j) out[j] = s[0] * matrix[j];
  for (std::size_t i = 1; i < t; ++i) {
    for (std::size_t j = 0; j < t; ++j) out[j] += s[i] * matrix[i * t + j];
  }
  s = out;
}

void multiply_sparse(State& s, const PoseidonSparseMatrix& matrix, std::size_t t) {
  const Fr first = s[0];
  Fr sum = first * matrix.w_hat[0];
  for (std::size_t j = 1; j < t; ++j) {
    sum += s[j] * matrix.w_hat[j];
    s[j] += first * matrix.v_rest[j - 1];
  }
  s[0] = sum;
}

State initial_state(const PoseidonParams& params, std::span<const Fr> inputs) {
  CUZK_CHECK(inputs.size() == params.arity && params.width <= kMaxWidth);
  State s;
  s[0] = params.domain_tag;
  std::copy(inputs.begin(), inputs.end(), s.begin() + 1);
  return s;
}

}  // namespace

Fr poseidon_hash(const PoseidonParams& params, std::span<const Fr> inputs) {
  State s = initial_state(params, inputs);
  const std::size_t t = params.width;
  const std::size_t half = params.half_full_rounds();
  const Fr* key = params.compressed_round_constants.data();
  const auto full_s_boxes = [&] {
    for (std::size_t i = 0; i < t; ++i) s[i] = fifth_power(s[i]) + *key++;
  };

  for (std::size_t i = 0; i < t; ++i) s[i] += *key++;
  for (std::size_t r = 0; r < half; ++r) {
    full_s_boxes();
    multiply_dense(s, r + 1 == half ? params.pre_sparse : params.mds, t);
  }
  for (const PoseidonSparseMatrix& matrix : params.sparse) {
    s[0] = fifth_power(s[0]) + *key++;
    multiply_sparse(s, matrix, t);
  }
  for (std::size_t r = 0; r + 1 < half; ++r) {
    full_s_boxes();
    multiply_dense(s, params.mds, t);
  }
  // Last round: no constants, and only column 1 of the product is wanted.
  Fr digest;
  for (std::size_t i = 0; i < t; ++i) digest += fifth_power(s[i]) * params.mds[i * t + 1];
  return digest;
}

Fr poseidon_hash_reference(const PoseidonParams& params, std::span<const Fr> inputs) {
  State s = initial_state(params, inputs);
  const std::size_t t = params.width;
  const std::size_t half = params.half_full_rounds();
  const std::size_t rounds = params.full_rounds + params.partial_rounds;
  for (std::size_t r = 0; r < rounds; ++r) {
    for (std::size_t i = 0; i < t; ++i) s[i] += params.round_constants[r * t + i];
    const bool full = r < half || r >= half + params.partial_rounds;
    for (std::size_t i = 0; i < (full ? t : 1); ++i) s[i] = fifth_power(s[i]);
    multiply_dense(s, params.mds, t);
  }
  return s[1];
}

}  // namespace cuzk::gadget
