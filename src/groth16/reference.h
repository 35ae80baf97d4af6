#pragma once
// Setup, quotient and sums by school arithmetic: the oracle of the tests. Nothing here shares code
// with what it checks: polynomials are multiplied and divided term by term, points by doubling and
// adding.
//
// Cost: quadratic in the rows; for circuits of some dozens of rows.

#include <vector>

#include "groth16/proof_parts.h"
#include "groth16/toxic_waste.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/witness.h"

namespace cuzk::groth16::reference {

template <class Fr>
using Polynomial = std::vector<Fr>;  // coefficients, lowest first

// rows[i][v]: dense matrix over all variables, inputs first, the appended input rows included and
// padded with empty rows to the domain.
template <class Fr>
std::vector<std::vector<Fr>> dense_matrix(const CompactR1cs<Fr>& r1cs, Matrix which) {
  const std::size_t variables = r1cs.num_inputs + r1cs.num_aux;
  std::vector<std::vector<Fr>> rows(std::size_t{1} << r1cs.domain_log2(),
                                    std::vector<Fr>(variables));
  for (const Segment& segment : r1cs.segments) {
    const RowBlock& block = r1cs.blocks[segment.block];
    for (std::uint32_t i = 0; i < block.num_rows; ++i) {
      for (const Term& term : block.matrix(which).row(i)) {
        const ColumnRef c = r1cs.resolve(term.column, segment);
        const std::size_t v =
            c.kind() == ColumnRef::kInput ? c.index() : r1cs.num_inputs + c.index();
        rows[segment.row_base + i][v] += r1cs.dictionary[term.coefficient];
      }
    }
  }
  if (which == Matrix::kA) {
    for (std::size_t i = 0; i < r1cs.num_inputs; ++i) rows[r1cs.num_rows + i][i] = Fr::one();
  }
  return rows;
}

// The primitive root of unity of order `m`, a power of two, that the field's generator gives.
template <class Fr>
Fr root_of_unity(std::size_t m) {
  Fr root = Fr::from_u64(Fr::Params::kGenerator);
  auto odd = Fr::kModulus;
  odd[0] -= 1;
  unsigned twos = 0;
  while ((odd[0] & 1) == 0) {
    shift_right_in_place(odd, 1);
    ++twos;
  }
  root = root.pow(odd);  // of order 2^twos
  for (std::size_t order = std::size_t{1} << twos; order > m; order /= 2) root = root.square();
  return root;
}

// Coefficients of the polynomial with these values on the domain, by the inverse Fourier sum.
template <class Fr>
Polynomial<Fr> interpolate(const std::vector<Fr>& values) {
  const std::size_t m = values.size();
  const Fr inverse_root = root_of_unity<Fr>(m).inverse();
  const Fr inverse_m = Fr::from_u64(m).inverse();
  Polynomial<Fr> out(m);
  for (std::size_t k = 0; k < m; ++k) {
    const Fr step = inverse_root.pow(k);
    Fr power = Fr::one();
    for (std::size_t i = 0; i < m; ++i, power *= step) out[k] += values[i] * power;
    out[k] *= inverse_m;
  }
  return out;
}

template <class Fr>
Fr evaluate(const Polynomial<Fr>& p, const Fr& x) {
  Fr sum;
  for (std::size_t i = p.size(); i-- > 0;) sum = sum * x + p[i];
  return sum;
}

template <class Fr>
std::vector<Fr> all_wires(const CompactWitness<Fr>& witness) {
  std::vector<Fr> z = witness.inputs;
  for (std::size_t i = 0; i < witness.num_aux(); ++i) z.push_back(witness.aux(i));
  return z;
}

template <class Fr>
std::vector<Fr> times(const std::vector<std::vector<Fr>>& rows, const std::vector<Fr>& z) {
  std::vector<Fr> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t v = 0; v < z.size(); ++v) out[i] += rows[i][v] * z[v];
  }
  return out;
}

// The m - 1 coefficients of (A B - C) / (X^m - 1), by long division.
template <class Fr>
Polynomial<Fr> quotient(const CompactR1cs<Fr>& r1cs, const CompactWitness<Fr>& witness) {
  const std::vector<Fr> z = all_wires(witness);
  const auto a = interpolate(times(dense_matrix(r1cs, Matrix::kA), z));
  const auto b = interpolate(times(dense_matrix(r1cs, Matrix::kB), z));
  const auto c = interpolate(times(dense_matrix(r1cs, Matrix::kC), z));
  const std::size_t m = a.size();
  Polynomial<Fr> t(2 * m - 1);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < m; ++j) t[i + j] += a[i] * b[j];
    t[i] -= c[i];
  }
  Polynomial<Fr> h(m - 1);
  for (std::size_t i = 2 * m - 1; i-- > m;) {
    h[i - m] = t[i];
    t[i - m] += t[i];
  }
  return h;
}

template <class G, class Fr>
Affine<G> multiple(const Affine<G>& base, const Fr& k) {
  return Xyzz<G>::from_affine(base).mul(k.to_scalar()).to_affine();
}

// A key as plain vectors, every variable in every query (identities where a polynomial is zero).
template <class Curve>
struct Key {
  using G1 = Affine<typename Curve::G1>;
  using G2 = Affine<typename Curve::G2>;
  VerifyingKey<Curve> vk;
  std::vector<G1> h, l, a, b_g1;
  std::vector<G2> b_g2;
};

template <class Curve>
Key<Curve> setup(const CompactR1cs<typename Curve::Fr>& r1cs, const ToxicWaste<Curve>& waste) {
  using Fr = typename Curve::Fr;
  Key<Curve> key;
  const std::size_t m = std::size_t{1} << r1cs.domain_log2();
  const Fr delta_inverse = waste.delta.inverse();
  for (std::size_t i = 0; i + 1 < m; ++i) {
    key.h.push_back(
        multiple(waste.g1, waste.tau.pow(i) * (waste.tau.pow(m) - Fr::one()) * delta_inverse));
  }
  const auto column_at_tau = [&](const std::vector<std::vector<Fr>>& rows, std::size_t v) {
    std::vector<Fr> column;
    for (const auto& row : rows) column.push_back(row[v]);
    return evaluate(interpolate(column), waste.tau);
  };
  const auto a = dense_matrix(r1cs, Matrix::kA);
  const auto b = dense_matrix(r1cs, Matrix::kB);
  const auto c = dense_matrix(r1cs, Matrix::kC);
  for (std::size_t v = 0; v < r1cs.num_inputs + r1cs.num_aux; ++v) {
    const Fr at = column_at_tau(a, v), bt = column_at_tau(b, v), ct = column_at_tau(c, v);
    const Fr ext = waste.beta * at + waste.alpha * bt + ct;
    key.a.push_back(multiple(waste.g1, at));
    key.b_g1.push_back(multiple(waste.g1, bt));
    key.b_g2.push_back(multiple(waste.g2, bt));
    if (v < r1cs.num_inputs) {
      key.vk.ic.push_back(multiple(waste.g1, ext * waste.gamma.inverse()));
    } else {
      key.l.push_back(multiple(waste.g1, ext * delta_inverse));
    }
  }
  key.vk.alpha_g1 = multiple(waste.g1, waste.alpha);
  key.vk.beta_g1 = multiple(waste.g1, waste.beta);
  key.vk.beta_g2 = multiple(waste.g2, waste.beta);
  key.vk.gamma_g2 = multiple(waste.g2, waste.gamma);
  key.vk.delta_g1 = multiple(waste.g1, waste.delta);
  key.vk.delta_g2 = multiple(waste.g2, waste.delta);
  return key;
}

template <class G, class Fr>
Affine<G> sum(const std::vector<Affine<G>>& bases, const std::vector<Fr>& scalars,
              std::size_t begin, std::size_t end) {
  Xyzz<G> total = Xyzz<G>::identity();
  for (std::size_t i = begin; i < end; ++i) {
    total += Xyzz<G>::from_affine(bases[i]).mul(scalars[i].to_scalar());
  }
  return total.to_affine();
}

template <class Curve>
ProofParts<Curve> proof_parts(const CompactR1cs<typename Curve::Fr>& r1cs, const Key<Curve>& key,
                              const CompactWitness<typename Curve::Fr>& witness) {
  const auto z = all_wires(witness);
  const std::vector<typename Curve::Fr> aux(z.begin() + r1cs.num_inputs, z.end());
  const auto h = quotient(r1cs, witness);
  const std::size_t n = r1cs.num_inputs, all = z.size();
  ProofParts<Curve> parts;
  parts.h = sum(key.h, h, 0, h.size());
  parts.l = sum(key.l, aux, 0, aux.size());
  parts.a_inputs = sum(key.a, z, 0, n);
  parts.a_aux = sum(key.a, z, n, all);
  parts.b_g1_inputs = sum(key.b_g1, z, 0, n);
  parts.b_g1_aux = sum(key.b_g1, z, n, all);
  parts.b_g2_inputs = sum(key.b_g2, z, 0, n);
  parts.b_g2_aux = sum(key.b_g2, z, n, all);
  return parts;
}

}  // namespace cuzk::groth16::reference
