#include "gadget/poseidon_params.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "base/check.h"

namespace cuzk::gadget {
namespace {

using bls12_381::Fr;
using Matrix = std::vector<Fr>;  // n * n, row-major

constexpr std::size_t kFullRounds = 8;

// Partial rounds for 128 bits of security with x^5, by width.
std::size_t partial_rounds_of(std::size_t width) {
  constexpr std::array<std::pair<std::size_t, std::size_t>, 5> kTable = {
      {{3, 55}, {5, 56}, {9, 57}, {12, 57}, {17, 59}}};
  for (const auto& [w, rounds] : kTable) {
    if (w == width) return rounds;
  }
  return 0;
}

// The paper's generator of round constants: an 80-bit LFSR whose output is thinned by pairs (the
// second bit of a pair counts only when the first is set).
class GrainLfsr {
 public:
  GrainLfsr(std::size_t width, std::size_t full_rounds, std::size_t partial_rounds) {
    append(1, 2);  // a prime field
    append(1, 4);  // S-box x^alpha
    append(Fr::kBits, 12);
    append(width, 12);
    append(full_rounds, 10);
    append(partial_rounds, 10);
    append((1u << 30) - 1, 30);
    for (int i = 0; i < 160; ++i) next_raw();
  }

  // Uniform by rejection: kBits bits, the highest first.
  Fr next_element() {
    for (;;) {
      std::array<std::uint8_t, Fr::kBytes> bytes{};
      for (std::size_t i = Fr::kBits; i-- > 0;) {
        if (next_bit()) bytes[i / 8] |= static_cast<std::uint8_t>(1 << i % 8);
      }
      if (auto v = Fr::from_bytes_le(bytes)) return *v;
    }
  }

 private:
  void append(std::size_t value, int bits) {
    for (int i = bits - 1; i >= 0; --i) state_[filled_++] = value >> i & 1;
  }
  bool at(std::size_t i) const { return state_[(head_ + i) % state_.size()]; }
  bool next_raw() {
    const bool bit = at(62) ^ at(51) ^ at(38) ^ at(23) ^ at(13) ^ at(0);
    state_[head_] = bit;
    head_ = (head_ + 1) % state_.size();
    return bit;
  }
  bool next_bit() {
    for (;;) {
      const bool keep = next_raw();
      const bool bit = next_raw();
      if (keep) return bit;
    }
  }

  std::array<bool, 80> state_{};
  std::size_t filled_ = 0;
  std::size_t head_ = 0;
};

// Cauchy matrix 1 / (x_i + y_j) with x_i = i and y_j = width + j.
Matrix cauchy_matrix(std::size_t n) {
  Matrix m(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) m[i * n + j] = Fr::from_u64(i + n + j).inverse();
  }
  return m;
}

Matrix multiply(const Matrix& a, const Matrix& b, std::size_t n) {
  Matrix c(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
  return c;
}

std::vector<Fr> multiply_row(std::span<const Fr> row, const Matrix& m) {
  const std::size_t n = row.size();
  std::vector<Fr> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) out[j] += row[i] * m[i * n + j];
  }
  return out;
}

// Gauss-Jordan. Minors of an MDS matrix and their products with it are regular.
Matrix invert(Matrix m, std::size_t n) {
  Matrix inv(n * n);
  for (std::size_t i = 0; i < n; ++i) inv[i * n + i] = Fr::one();
  for (std::size_t col = 0; col < n; ++col) {
    std::size_t pivot = col;
    while (pivot < n && m[pivot * n + col].is_zero()) ++pivot;
    CUZK_CHECK(pivot < n);
    for (std::size_t j = 0; j < n && pivot != col; ++j) {
      std::swap(m[pivot * n + j], m[col * n + j]);
      std::swap(inv[pivot * n + j], inv[col * n + j]);
    }
    const Fr scale = m[col * n + col].inverse();
    for (std::size_t j = 0; j < n; ++j) {
      m[col * n + j] *= scale;
      inv[col * n + j] *= scale;
    }
    for (std::size_t row = 0; row < n; ++row) {
      const Fr factor = m[row * n + col];
      if (row == col || factor.is_zero()) continue;
      for (std::size_t j = 0; j < n; ++j) {
        m[row * n + j] -= factor * m[col * n + j];
        inv[row * n + j] -= factor * inv[col * n + j];
      }
    }
  }
  return inv;
}

// m with its first row and column taken away.
Matrix minor_of(const Matrix& m, std::size_t n) {
  Matrix out;
  out.reserve((n - 1) * (n - 1));
  for (std::size_t i = 1; i < n; ++i) {
    for (std::size_t j = 1; j < n; ++j) out.push_back(m[i * n + j]);
  }
  return out;
}

// diag(1, minor).
Matrix bordered(const Matrix& minor, std::size_t n) {
  Matrix out(n * n);
  out[0] = Fr::one();
  for (std::size_t i = 1; i < n; ++i) {
    for (std::size_t j = 1; j < n; ++j) out[i * n + j] = minor[(i - 1) * (n - 1) + j - 1];
  }
  return out;
}

// S with m = diag(1, minor(m)) * S.
PoseidonSparseMatrix sparse_factor(const Matrix& m, const Matrix& minor, std::size_t n) {
  PoseidonSparseMatrix s;
  s.v_rest.assign(m.begin() + 1, m.begin() + static_cast<std::ptrdiff_t>(n));
  const Matrix minor_inverse = invert(minor, n - 1);
  s.w_hat.resize(n);
  s.w_hat[0] = m[0];
  for (std::size_t i = 1; i < n; ++i) {
    for (std::size_t j = 1; j < n; ++j) {
      s.w_hat[i] += minor_inverse[(i - 1) * (n - 1) + j - 1] * m[j * n];
    }
  }
  return s;
}

// Splits the partial rounds' dense matrices: since diag(1, X) commutes with an S-box on element 0
// alone, it moves back through each round, from the last partial round to the full round before.
void factor_partial_rounds(PoseidonParams& p) {
  Matrix current = p.mds;
  for (std::size_t r = 0; r < p.partial_rounds; ++r) {
    const Matrix minor = minor_of(current, p.width);
    p.sparse.push_back(sparse_factor(current, minor, p.width));
    current = multiply(p.mds, bordered(minor, p.width), p.width);
  }
  std::reverse(p.sparse.begin(), p.sparse.end());
  p.pre_sparse = std::move(current);
}

// Moves each round's constants behind the S-boxes of the round before (through the inverse matrix),
// where a partial round needs only the one for element 0: the others move on towards the front.
void compress_round_constants(PoseidonParams& p) {
  const std::size_t t = p.width;
  const std::size_t half = p.half_full_rounds();
  const std::size_t first_late_round = half + p.partial_rounds;
  const Matrix inverse = invert(p.mds, t);
  const auto keys = [&](std::size_t round) {
    return std::span<const Fr>(p.round_constants).subspan(round * t, t);
  };
  auto& out = p.compressed_round_constants;
  const auto append = [&](std::span<const Fr> row) {
    out.insert(out.end(), row.begin(), row.end());
  };

  append(keys(0));
  for (std::size_t r = 1; r < half; ++r) append(multiply_row(keys(r), inverse));

  std::vector<Fr> carried(keys(first_late_round).begin(), keys(first_late_round).end());
  std::vector<Fr> single_keys;
  for (std::size_t r = first_late_round; r-- > half;) {
    carried = multiply_row(carried, inverse);
    single_keys.push_back(std::exchange(carried[0], Fr::zero()));
    for (std::size_t i = 0; i < t; ++i) carried[i] += keys(r)[i];
  }
  append(multiply_row(carried, inverse));
  std::reverse(single_keys.begin(), single_keys.end());
  append(single_keys);
  for (std::size_t r = 1; r < half; ++r) append(multiply_row(keys(first_late_round + r), inverse));
}

PoseidonParams make_params(std::size_t arity) {
  PoseidonParams p;
  p.arity = arity;
  p.width = arity + 1;
  p.full_rounds = kFullRounds;
  p.partial_rounds = partial_rounds_of(p.width);
  CUZK_CHECK(p.partial_rounds != 0);
  p.domain_tag = Fr::from_u64((std::uint64_t{1} << arity) - 1);

  GrainLfsr grain(p.width, p.full_rounds, p.partial_rounds);
  p.round_constants.resize((p.full_rounds + p.partial_rounds) * p.width);
  for (Fr& c : p.round_constants) c = grain.next_element();
  p.mds = cauchy_matrix(p.width);
  compress_round_constants(p);
  factor_partial_rounds(p);
  return p;
}

}  // namespace

const PoseidonParams& poseidon_params(std::size_t arity, PoseidonDomain domain) {
  static std::mutex mutex;
  static std::map<std::pair<std::size_t, PoseidonDomain>, PoseidonParams> cache;
  const std::lock_guard lock(mutex);
  const auto key = std::pair(arity, domain);
  if (auto it = cache.find(key); it != cache.end()) return it->second;
  PoseidonParams params = make_params(arity);
  if (domain == PoseidonDomain::kRandomness)
    params.domain_tag = Fr::from_u64(std::uint64_t{1} << 40);
  return cache.emplace(key, std::move(params)).first->second;
}

}  // namespace cuzk::gadget
