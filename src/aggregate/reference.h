#pragma once
// SnarkPack by its definitions: every pairing, power and polynomial for itself. The oracle of the
// tests; stays plain.

#include <vector>

#include "aggregate/proof.h"
#include "aggregate/srs.h"
#include "aggregate/transcript.h"

namespace cuzk::aggregate::reference {

template <class G>
Xyzz<G> times(const Affine<G>& p, const Fr& k) {
  return Xyzz<G>::from_affine(p).mul(k.to_scalar());
}
inline GtElement power(const GtElement& g, const Fr& k) { return g.pow(k.to_scalar().limbs); }

inline GtElement inner(const std::vector<G1Affine>& a, const std::vector<G2Affine>& b) {
  GtElement product = GtElement::one();
  for (std::size_t i = 0; i < a.size(); ++i) product *= pairing<Curve>(a[i], b[i]);
  return product;
}
inline G1Affine weighted(const std::vector<Fr>& k, const std::vector<G1Affine>& p) {
  auto sum = Xyzz<Bls12_381G1>::identity();
  for (std::size_t i = 0; i < k.size(); ++i) sum += times(p[i], k[i]);
  return sum.to_affine();
}

template <class T>
std::vector<T> half(const std::vector<T>& v, bool second) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  return second ? std::vector<T>(middle, v.end()) : std::vector<T>(v.begin(), middle);
}
template <class G>
void fold(std::vector<Affine<G>>& v, const Fr& x) {
  auto left = half(v, false);
  const auto right = half(v, true);
  for (std::size_t i = 0; i < left.size(); ++i)
    left[i] = (times(right[i], x) + left[i]).to_affine();
  v = std::move(left);
}

// The vectors of the argument, at any round.
struct Vectors {
  std::vector<G1Affine> a, c;
  std::vector<G2Affine> b;
  std::array<std::vector<G2Affine>, 2> v;
  std::array<std::vector<G1Affine>, 2> w;
  std::vector<Fr> rho;
};

inline Commitment commit_ab(const Vectors& g1, const Vectors& g2) {
  return {inner(g1.a, g2.v[0]) * inner(g1.w[0], g2.b), inner(g1.a, g2.v[1]) * inner(g1.w[1], g2.b)};
}
inline Commitment commit_c(const Vectors& g1, const Vectors& g2) {
  return {inner(g1.c, g2.v[0]), inner(g1.c, g2.v[1])};
}
inline Vectors half_of(const Vectors& x, bool second) {
  Vectors out;
  out.a = half(x.a, second);
  out.b = half(x.b, second);
  out.c = half(x.c, second);
  out.rho = half(x.rho, second);
  for (std::size_t k = 0; k < 2; ++k) {
    out.v[k] = half(x.v[k], second);
    out.w[k] = half(x.w[k], second);
  }
  return out;
}

inline Round cross(const Vectors& x) {
  const Vectors l = half_of(x, false);
  const Vectors r = half_of(x, true);
  return {commit_ab(r, l), commit_ab(l, r), commit_c(r, l),       commit_c(l, r),
          inner(r.a, l.b), inner(l.a, r.b), weighted(l.rho, r.c), weighted(r.rho, l.c)};
}

inline void halve(Vectors& x, const Fr& x_inverse) {
  const Fr challenge = x_inverse.inverse();
  fold(x.a, challenge);
  fold(x.c, challenge);
  fold(x.b, x_inverse);
  for (std::size_t k = 0; k < 2; ++k) {
    fold(x.v[k], x_inverse);
    fold(x.w[k], challenge);
  }
  std::vector<Fr> rho = half(x.rho, false);
  const std::vector<Fr> right = half(x.rho, true);
  for (std::size_t i = 0; i < rho.size(); ++i) rho[i] += x_inverse * right[i];
  x.rho = std::move(rho);
}

// (f(s) - f(z)) / (s - z) times the generator, with the secret in hand: no polynomial is divided.
template <class G, class F>
Affine<G> opening(const F& f, const Fr& s, const Fr& z) {
  return times(G::generator(), (f(s) - f(z)) * (s - z).inverse()).to_affine();
}

// The aggregate of `proofs` under the string of these secrets.
inline AggregateProof create(const SrsSecrets& secrets, Version version, ByteSpan binding,
                             const std::vector<Groth16Proof>& proofs) {
  const std::size_t n = proofs.size();
  const std::array<Fr, 2> s = {secrets.alpha, secrets.beta};
  Vectors x;
  for (std::size_t i = 0; i < n; ++i) {
    x.a.push_back(proofs[i].a);
    x.b.push_back(proofs[i].b);
    x.c.push_back(proofs[i].c);
    for (std::size_t k = 0; k < 2; ++k) {
      x.v[k].push_back(times(Bls12_381G2::generator(), s[k].pow(i)).to_affine());
      x.w[k].push_back(times(Bls12_381G1::generator(), s[k].pow(n + i)).to_affine());
    }
  }
  Transcript transcript(version, binding);
  AggregateProof out;
  out.com_ab = commit_ab(x, x);
  out.com_c = commit_c(x, x);
  const Fr r = transcript.combine(out.com_ab, out.com_c);
  for (std::size_t i = 0; i < n; ++i) {
    x.rho.push_back(r.pow(i));
    x.b[i] = times(x.b[i], r.pow(i)).to_affine();
    for (auto& w : x.w) w[i] = times(w[i], r.pow(i).inverse()).to_affine();
  }
  out.ip_ab = inner(x.a, x.b);
  out.agg_c = weighted(x.rho, x.c);
  transcript.begin_rounds(out.ip_ab, out.agg_c);
  std::vector<Fr> inverses;
  while (x.a.size() > 1) {
    out.rounds.push_back(cross(x));
    inverses.push_back(transcript.round(out.rounds.back()));
    halve(x, inverses.back());
  }
  out.final_a = x.a[0];
  out.final_b = x.b[0];
  out.final_c = x.c[0];
  out.final_v = {x.v[0][0], x.v[1][0]};
  out.final_w = {x.w[0][0], x.w[1][0]};
  const Fr z = transcript.open(out);
  // f(X) = sum of c_i X^i, c_i the product of the challenges of i's bits, the first round's
  // highest.
  const auto f = [&](const Fr& at, bool of_w) {
    Fr sum = Fr::zero();
    for (std::size_t i = 0; i < n; ++i) {
      Fr c = of_w ? (at * r.inverse()).pow(i) : at.pow(i);
      for (std::size_t j = 0; j < inverses.size(); ++j) {
        if (i >> (inverses.size() - 1 - j) & 1) c *= of_w ? inverses[j].inverse() : inverses[j];
      }
      sum += c;
    }
    return of_w ? sum * at.pow(n) : sum;
  };
  for (std::size_t k = 0; k < 2; ++k) {
    out.opening_v[k] = opening<Bls12_381G2>([&](const Fr& at) { return f(at, false); }, s[k], z);
    out.opening_w[k] = opening<Bls12_381G1>([&](const Fr& at) { return f(at, true); }, s[k], z);
  }
  return out;
}

}  // namespace cuzk::aggregate::reference
