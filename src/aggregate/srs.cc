#include "aggregate/srs.h"

#include <algorithm>
#include <bit>

#include "base/random.h"
#include "msm/fixed_base.h"
#include "msm/msm.h"

namespace cuzk::aggregate {

namespace {

using Scalar = Fr::Scalar;

Result<Buffer<Scalar>> powers_of(MemoryBudget& memory, const Fr& secret, std::size_t count) {
  CUZK_TRY(auto out, Buffer<Scalar>::allocate(memory, "srs powers", count));
  Fr power = Fr::one();
  for (Scalar& s : out) {
    s = power.to_scalar();
    power *= secret;
  }
  return out;
}

template <class G>
Result<Buffer<Affine<G>>> multiples(Tasks& tasks, MemoryBudget& memory,
                                    const FixedBaseTable<G>& table,
                                    std::span<const Scalar> powers) {
  CUZK_TRY(auto out, Buffer<Affine<G>>::allocate(memory, "srs", powers.size()));
  CUZK_TRY_VOID(fixed_base_mul_batch<G>(tasks, table, powers, out.span()));
  return out;
}

template <class G>
Result<FixedBaseTable<G>> generator_table(Tasks& tasks, MemoryBudget& memory, std::size_t count) {
  return FixedBaseTable<G>::create(tasks, memory, G::generator(),
                                   FixedBaseTable<G>::window_bits_for(count));
}

// sum of weights[i] * points[i] over the entries but the last, and over those but the first.
template <class G>
struct ShiftedSums {
  Affine<G> low;
  Affine<G> high;
};
template <class G>
Result<ShiftedSums<G>> shifted_sums(Tasks& tasks, MemoryBudget& memory,
                                    std::span<const Affine<G>> points) {
  const std::size_t count = points.size() - 1;
  CUZK_TRY(auto weights, Buffer<Scalar>::allocate(memory, "srs check", count));
  SystemRandom random;
  for (Scalar& w : weights) w = Scalar{{random.next_u64(), random.next_u64(), 0, 0}};
  CUZK_TRY(const auto low, msm<G>(tasks, memory, weights.span(), points.first(count)));
  CUZK_TRY(const auto high, msm<G>(tasks, memory, weights.span(), points.subspan(1)));
  return ShiftedSums<G>{low.to_affine(), high.to_affine()};
}

using Pair = std::pair<G1Affine, G2Affine>;
bool product_is_one(std::initializer_list<Pair> pairs) {
  return pairing_product_is_one<Curve>(std::span<const Pair>(pairs.begin(), pairs.size()));
}

// One secret's vectors.
Status check_half(Tasks& tasks, MemoryBudget& memory, std::string_view name,
                  std::span<const G1Affine> g, std::span<const G2Affine> h) {
  if (g.size() < 2 || h.size() < 2) {
    return fail(ErrorCode::kCorruptInput, "SRS: {} has {} and {} powers, two are the least", name,
                g.size(), h.size());
  }
  if (g[0] != Bls12_381G1::generator() || h[0] != Bls12_381G2::generator()) {
    return fail(ErrorCode::kCorruptInput,
                "SRS: the first entries of g_{} and h_{} must be the generators", name, name);
  }
  if (g[1].is_identity() || g[1] == g[0]) {
    return fail(ErrorCode::kInsecureKey, "SRS: the secret {} is 0 or 1: anyone can forge", name);
  }
  CUZK_TRY(const auto g_sums, shifted_sums<Bls12_381G1>(tasks, memory, g));
  CUZK_TRY(const auto h_sums, shifted_sums<Bls12_381G2>(tasks, memory, h));
  if (!product_is_one({{g_sums.high, h[0]}, {-g_sums.low, h[1]}})) {
    return fail(ErrorCode::kCorruptInput, "SRS: g_{} does not hold the powers of h_{}'s secret",
                name, name);
  }
  if (!product_is_one({{g[0], h_sums.high}, {-g[1], h_sums.low}})) {
    return fail(ErrorCode::kCorruptInput, "SRS: h_{} does not hold the powers of g_{}'s secret",
                name, name);
  }
  return {};
}

}  // namespace

std::size_t Srs::capacity() const {
  const std::size_t by_g = std::min(g_alpha.size(), g_beta.size()) / 2;
  return std::bit_floor(std::min({by_g, h_alpha.size(), h_beta.size()}));
}

Result<VerifierSrs> verifier_srs(const Srs& srs) {
  if (std::min({srs.g_alpha.size(), srs.g_beta.size(), srs.h_alpha.size(), srs.h_beta.size()}) <
      2) {
    return fail(ErrorCode::kInvalidArgument, "SRS: two powers of each secret are the least");
  }
  return VerifierSrs{srs.g_alpha[0], srs.g_alpha[1], srs.g_beta[1],
                     srs.h_alpha[0], srs.h_alpha[1], srs.h_beta[1]};
}

SrsSecrets SrsSecrets::draw(RandomSource& random) {
  const Fr alpha = Fr::random(random);
  return {alpha, Fr::random(random)};
}

Result<Srs> insecure_dev_srs(Tasks& tasks, MemoryBudget& memory, const SrsSecrets& secrets,
                             std::size_t powers) {
  const auto trivial = [](const Fr& v) { return v.is_zero() || v.is_one(); };
  if (powers < 2 || trivial(secrets.alpha) || trivial(secrets.beta) ||
      secrets.alpha == secrets.beta) {
    return fail(ErrorCode::kInvalidArgument,
                "an SRS needs two powers at least ({} asked) and two different secrets other than "
                "0 and 1",
                powers);
  }
  CUZK_TRY(const auto alpha, powers_of(memory, secrets.alpha, powers));
  CUZK_TRY(const auto beta, powers_of(memory, secrets.beta, powers));
  CUZK_TRY(const auto g, generator_table<Bls12_381G1>(tasks, memory, 2 * powers));
  CUZK_TRY(const auto h, generator_table<Bls12_381G2>(tasks, memory, 2 * powers));
  Srs srs;
  CUZK_TRY(srs.g_alpha, multiples(tasks, memory, g, alpha.span()));
  CUZK_TRY(srs.g_beta, multiples(tasks, memory, g, beta.span()));
  CUZK_TRY(srs.h_alpha, multiples(tasks, memory, h, alpha.span()));
  CUZK_TRY(srs.h_beta, multiples(tasks, memory, h, beta.span()));
  return srs;
}

Status check_srs(Tasks& tasks, MemoryBudget& memory, const Srs& srs) {
  CUZK_TRY_VOID(check_half(tasks, memory, "alpha", srs.g_alpha.span(), srs.h_alpha.span()));
  return check_half(tasks, memory, "beta", srs.g_beta.span(), srs.h_beta.span());
}

}  // namespace cuzk::aggregate
