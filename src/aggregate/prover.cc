#include "aggregate/prover.h"

#include <algorithm>
#include <bit>

#include "aggregate/fold.h"
#include "aggregate/pairing_products.h"
#include "aggregate/polynomials.h"
#include "aggregate/transcript.h"
#include "msm/msm.h"

namespace cuzk::aggregate {

namespace {

using Context = groth16::Context;
using Scalar = Fr::Scalar;

// The vectors that the rounds halve; the first `size` entries of each are alive.
struct Vectors {
  std::size_t size = 0;
  Buffer<G1Affine> a, c, w1, w2;
  Buffer<G2Affine> b, v1, v2;
  Buffer<Fr> rho;  // powers of r, folded like v

  // Entries from `first` of the columns in G1 against those from `other` of the columns in G2.
  PairingColumns crossed(std::size_t first, std::size_t other, std::size_t count) const {
    const auto g1 = [&](const Buffer<G1Affine>& x, std::size_t at) {
      return x.span().subspan(at, count);
    };
    const auto g2 = [&](const Buffer<G2Affine>& x, std::size_t at) {
      return x.span().subspan(at, count);
    };
    return {g1(a, first), g1(c, first),  g1(w1, first), g1(w2, first),
            g2(b, other), g2(v1, other), g2(v2, other)};
  }
};

template <class T>
Result<Buffer<T>> copy_of(MemoryBudget& memory, std::span<const T> values) {
  CUZK_TRY(auto out, Buffer<T>::allocate(memory, "aggregate", values.size()));
  std::ranges::copy(values, out.begin());
  return out;
}

Status check_stop(const Context& context) {
  if (!context.tasks.stop_requested()) return {};
  return fail(ErrorCode::kCancelled, "stopped while aggregating");
}

Result<Vectors> load(const Context& context, const Srs& srs, std::span<const Groth16Proof> proofs) {
  const std::size_t n = proofs.size();
  MemoryBudget& memory = context.memory;
  Vectors x;
  x.size = n;
  CUZK_TRY(x.a, Buffer<G1Affine>::allocate(memory, "aggregate", n));
  CUZK_TRY(x.b, Buffer<G2Affine>::allocate(memory, "aggregate", n));
  CUZK_TRY(x.c, Buffer<G1Affine>::allocate(memory, "aggregate", n));
  CUZK_TRY(x.rho, Buffer<Fr>::allocate(memory, "aggregate", n));
  for (std::size_t i = 0; i < n; ++i) {
    x.a[i] = proofs[i].a;
    x.b[i] = proofs[i].b;
    x.c[i] = proofs[i].c;
  }
  CUZK_TRY(x.v1, copy_of(memory, srs.v1(n)));
  CUZK_TRY(x.v2, copy_of(memory, srs.v2(n)));
  CUZK_TRY(x.w1, copy_of(memory, srs.w1(n)));
  CUZK_TRY(x.w2, copy_of(memory, srs.w2(n)));
  return x;
}

Result<G1Affine> weighted_sum(const Context& context, std::span<const Fr> weights,
                              std::span<const G1Affine> points) {
  CUZK_TRY(auto scalars, Buffer<Scalar>::allocate(context.memory, "aggregate", weights.size()));
  for (std::size_t i = 0; i < weights.size(); ++i) scalars[i] = weights[i].to_scalar();
  CUZK_TRY(const auto sum, msm<Bls12_381G1>(context.tasks, context.memory, scalars.span(), points));
  return sum.to_affine();
}

// b_i := r^i b_i, w_i := r^-i w_i, so that the commitments stay the same; rho_i := r^i.
Status rescale(const Context& context, const Fr& r, Vectors& x) {
  CUZK_TRY(auto scalars, Buffer<Scalar>::allocate(context.memory, "aggregate", x.size));
  Fr power = Fr::one();
  for (std::size_t i = 0; i < x.size; ++i, power *= r) {
    x.rho[i] = power;
    scalars[i] = power.to_scalar();
  }
  scale_points<Bls12_381G2>(context.tasks, x.b.span(), scalars.span(), x.b.span());
  const Fr inverse = r.inverse();
  power = Fr::one();
  for (std::size_t i = 0; i < x.size; ++i, power *= inverse) scalars[i] = power.to_scalar();
  scale_points<Bls12_381G1>(context.tasks, x.w1.span(), scalars.span(), x.w1.span());
  scale_points<Bls12_381G1>(context.tasks, x.w2.span(), scalars.span(), x.w2.span());
  return check_stop(context);
}

// The crossed values of both halves.
Result<Round> cross(const Context& context, const Vectors& x) {
  const std::size_t half = x.size / 2;
  const auto products =
      pairing_products(context.tasks, {x.crossed(half, 0, half), x.crossed(0, half, half)});
  Round round;
  round.ab_left = products[0].ab;
  round.ab_right = products[1].ab;
  round.c_left = products[0].c;
  round.c_right = products[1].c;
  round.z_ab_left = products[0].z;
  round.z_ab_right = products[1].z;
  const std::span<const Fr> rho = x.rho.span();
  const std::span<const G1Affine> c = x.c.span();
  CUZK_TRY(round.z_c_left, weighted_sum(context, rho.first(half), c.subspan(half, half)));
  CUZK_TRY(round.z_c_right, weighted_sum(context, rho.subspan(half, half), c.first(half)));
  CUZK_TRY_VOID(check_stop(context));
  return round;
}

template <class G>
void fold(Tasks& tasks, Buffer<Affine<G>>& x, std::size_t half, const Fr& by) {
  fold_points<G>(tasks, x.span().first(half),
                 std::span<const Affine<G>>(x.span()).subspan(half, half), by.to_scalar());
}

Status halve(const Context& context, const Fr& x_inverse, Vectors& x) {
  const std::size_t half = x.size / 2;
  const Fr challenge = x_inverse.inverse();
  for (Buffer<G1Affine>* v : {&x.a, &x.c, &x.w1, &x.w2}) {
    fold<Bls12_381G1>(context.tasks, *v, half, challenge);
  }
  for (Buffer<G2Affine>* v : {&x.b, &x.v1, &x.v2}) {
    fold<Bls12_381G2>(context.tasks, *v, half, x_inverse);
  }
  for (std::size_t i = 0; i < half; ++i) x.rho[i] += x_inverse * x.rho[half + i];
  x.size = half;
  return check_stop(context);
}

template <class G>
Result<Affine<G>> commit(const Context& context, std::span<const Scalar> coefficients,
                         std::span<const Affine<G>> powers) {
  CUZK_TRY(const auto sum,
           msm<G>(context.tasks, context.memory, coefficients, powers.first(coefficients.size())));
  return sum.to_affine();
}

Result<Buffer<Scalar>> quotient(const Context& context, std::vector<Fr> f, const Fr& z) {
  const std::vector<Fr> q = divide_by_root(std::move(f), z);
  CUZK_TRY(auto out, Buffer<Scalar>::allocate(context.memory, "aggregate", q.size()));
  for (std::size_t i = 0; i < q.size(); ++i) out[i] = q[i].to_scalar();
  return out;
}

struct OpeningPoint {
  Fr r;
  std::vector<Fr> x;
  std::vector<Fr> x_inverse;
  Fr z;
};

Status open_keys(const Context& context, const Srs& srs, const OpeningPoint& at,
                 AggregateProof& proof) {
  CUZK_TRY(const auto v, quotient(context, coefficients_v(at.x_inverse), at.z));
  CUZK_TRY(proof.opening_v[0], commit<Bls12_381G2>(context, v.span(), srs.h_alpha.span()));
  CUZK_TRY(proof.opening_v[1], commit<Bls12_381G2>(context, v.span(), srs.h_beta.span()));
  CUZK_TRY(const auto w, quotient(context, coefficients_w(at.x, at.r), at.z));
  CUZK_TRY(proof.opening_w[0], commit<Bls12_381G1>(context, w.span(), srs.g_alpha.span()));
  CUZK_TRY(proof.opening_w[1], commit<Bls12_381G1>(context, w.span(), srs.g_beta.span()));
  return {};
}

Status check_count(const Srs& srs, std::size_t n) {
  if (n < kMinProofs || n > kMaxProofs || !std::has_single_bit(n)) {
    return fail(ErrorCode::kInvalidArgument,
                "an aggregate is of a power of two of proofs, from {} to {}: found {}", kMinProofs,
                kMaxProofs, n);
  }
  if (n > srs.capacity()) {
    return fail(ErrorCode::kInvalidArgument, "the SRS serves {} proofs at most, {} are given",
                srs.capacity(), n);
  }
  return {};
}

}  // namespace

std::size_t padded_count(std::size_t count) {
  return count == 0 ? 0 : std::max(kMinProofs, std::bit_ceil(count));
}

std::vector<Groth16Proof> pad_proofs(std::vector<Groth16Proof> proofs) {
  if (!proofs.empty()) proofs.resize(padded_count(proofs.size()), Groth16Proof(proofs.back()));
  return proofs;
}

Result<AggregateProof> create(const Context& context, const Srs& srs, Version version,
                              ByteSpan binding, std::span<const Groth16Proof> proofs) {
  CUZK_TRY_VOID(check_count(srs, proofs.size()));
  CUZK_TRY(Vectors x, load(context, srs, proofs));
  Transcript transcript(version, binding);
  AggregateProof out;
  OpeningPoint at;
  {
    auto span = context.timeline.span("commit", context.lane);
    PairingColumns columns = x.crossed(0, 0, x.size);
    columns.with_z = false;
    const PairingProducts products = pairing_products(context.tasks, columns);
    CUZK_TRY_VOID(check_stop(context));
    out.com_ab = products.ab;
    out.com_c = products.c;
    at.r = transcript.combine(out.com_ab, out.com_c);
  }
  {
    auto span = context.timeline.span("combine", context.lane);
    CUZK_TRY_VOID(rescale(context, at.r, x));
    out.ip_ab = inner_product(context.tasks, x.a.span(), x.b.span());
    CUZK_TRY(out.agg_c, weighted_sum(context, x.rho.span(), x.c.span()));
    CUZK_TRY_VOID(check_stop(context));
    transcript.begin_rounds(out.ip_ab, out.agg_c);
  }
  {
    auto span = context.timeline.span("rounds", context.lane);
    while (x.size > 1) {
      CUZK_TRY(out.rounds.emplace_back(), cross(context, x));
      at.x_inverse.push_back(transcript.round(out.rounds.back()));
      at.x.push_back(at.x_inverse.back().inverse());
      CUZK_TRY_VOID(halve(context, at.x_inverse.back(), x));
    }
  }
  auto span = context.timeline.span("openings", context.lane);
  out.final_a = x.a[0];
  out.final_b = x.b[0];
  out.final_c = x.c[0];
  out.final_v = {x.v1[0], x.v2[0]};
  out.final_w = {x.w1[0], x.w2[0]};
  at.z = transcript.open(out);
  CUZK_TRY_VOID(open_keys(context, srs, at, out));
  return out;
}

}  // namespace cuzk::aggregate
