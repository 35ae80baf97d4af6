#include "aggregate/verifier.h"

#include <array>
#include <mutex>
#include <optional>
#include <string>

#include "aggregate/fold.h"
#include "aggregate/polynomials.h"
#include "aggregate/transcript.h"
#include "base/check.h"
#include "base/random.h"
#include "curve/gt.h"
#include "msm/msm.h"

namespace cuzk::aggregate {

namespace {

using Scalar = Fr::Scalar;
using Key = groth16::PreparedVerifyingKey<Curve>;
using Prepared = G2Prepared<Curve>;

// The points of G2 that the equations pair something with.
enum Slot : std::size_t {
  kBeta,
  kGamma,
  kDelta,
  kFinalB,
  kV1,
  kV2,
  kOpeningV1,
  kOpeningV2,
  kH,
  kHAlpha,
  kHBeta,
  kSlots
};

// factor * point, paired with the slot's point.
struct PairedTerm {
  Slot slot;
  G1Affine point;
  Fr factor;
};
struct PowerTerm {
  GtElement base;
  Fr exponent;
};

// The product of the paired terms' pairings = the product of the powers.
struct Equation {
  std::string_view name;
  std::vector<PairedTerm> left;
  std::vector<PowerTerm> right;
};

// The powers of the rounds' messages that fold `start` into its final value.
template <class Left, class Right>
std::vector<PowerTerm> folded(const GtElement& start, const AggregateProof& proof,
                              const Challenges& challenges, const Left& left, const Right& right) {
  std::vector<PowerTerm> out = {{start, Fr::one()}};
  for (std::size_t i = 0; i < proof.rounds.size(); ++i) {
    out.push_back({left(proof.rounds[i]), challenges.x[i]});
    out.push_back({right(proof.rounds[i]), challenges.x_inverse[i]});
  }
  return out;
}

Fr random_power(RandomSource& random) {
  return Fr::from_scalar(Scalar{{random.next_u64(), random.next_u64() | 1, 0, 0}});
}

// 1, r, r^2, ... for the statements; the last one's weight stands for all that repeat it.
struct Weights {
  std::vector<Fr> of_statement;
  Fr sum;
};
Weights weights_for(const Fr& r, std::size_t statements, std::size_t n) {
  Weights out;
  out.of_statement.reserve(statements);
  Fr power = Fr::one();
  for (std::size_t i = 0; i + 1 < statements; ++i, power *= r) out.of_statement.push_back(power);
  Fr rest = Fr::zero();
  for (std::size_t i = statements - 1; i < n; ++i, power *= r) rest += power;
  out.of_statement.push_back(rest);
  out.sum = Fr::zero();
  for (const Fr& w : out.of_statement) out.sum += w;
  return out;
}

}  // namespace

class Verification {
 public:
  Verification(Tasks& tasks, const VerifierSrs& srs, const Key& key, const AggregateClaim& claim,
               const AggregateProof& proof)
      : tasks_(tasks),
        srs_(srs),
        key_(key),
        claim_(claim),
        proof_(proof),
        challenges_(derive_challenges(claim.version, claim.binding, proof)) {}

  static Status check_shape(const Key& key, const AggregateClaim& claim,
                            const AggregateProof& proof) {
    const std::size_t rounds = proof.rounds.size();
    if (rounds == 0 || proof.num_proofs() > kMaxProofs) {
      return fail(ErrorCode::kMismatch, "the aggregate has {} rounds, 1 to 20 are possible",
                  rounds);
    }
    if (claim.statements.empty() || claim.statements.size() > proof.num_proofs()) {
      return fail(ErrorCode::kMismatch, "{} statements are given, the aggregate is of {} proofs",
                  claim.statements.size(), proof.num_proofs());
    }
    for (std::size_t i = 0; i < claim.statements.size(); ++i) {
      if (claim.statements[i].size() != key.num_public_inputs()) {
        return fail(ErrorCode::kMismatch,
                    "statement {} of {} has {} public inputs, the verifying key has {}", i + 1,
                    claim.statements.size(), claim.statements[i].size(), key.num_public_inputs());
      }
    }
    return {};
  }

  Status run() {
    CUZK_TRY_VOID(write_equations());
    CUZK_TRY(const bool sum_holds, weighted_sum_holds());
    if (sum_holds && all_hold()) return check_stop();
    CUZK_TRY_VOID(check_stop());
    return fail(name_failures(sum_holds));
  }

  static VerifiedAggregate make(AggregateProof proof) {
    return VerifiedAggregate(std::move(proof));
  }

 private:
  Status check_stop() const {
    if (!tasks_.stop_requested()) return {};
    return fail(ErrorCode::kCancelled, "stopped while verifying");
  }

  Status write_equations() {
    CUZK_TRY_VOID(add_groth16());
    add_tipp();
    add_mipp();
    add_openings();
    return check_stop();
  }

  // prod (e(A_i, B_i) = e(alpha, beta) e(inputs_i, gamma) e(C_i, delta))^(r^i)
  Status add_groth16() {
    const Weights weights =
        weights_for(challenges_.r, claim_.statements.size(), proof_.num_proofs());
    CUZK_TRY(const G1Affine inputs, combined_inputs(weights));
    equations_.push_back({"the combined Groth16 equation of the statements",
                          {{kBeta, key_.vk().alpha_g1, weights.sum},
                           {kGamma, inputs, Fr::one()},
                           {kDelta, proof_.agg_c, Fr::one()}},
                          {{proof_.ip_ab, Fr::one()}}});
    return {};
  }

  Result<G1Affine> combined_inputs(const Weights& weights) {
    const std::size_t inputs = key_.num_public_inputs();
    std::vector<Fr> sums(inputs + 1, Fr::zero());
    sums[0] = weights.sum;
    std::mutex mutex;
    tasks_.parallel_for(claim_.statements.size(), 64, [&](std::size_t begin, std::size_t end) {
      std::vector<Fr> part(inputs, Fr::zero());
      for (std::size_t i = begin; i < end; ++i) {
        const std::vector<Fr>& statement = claim_.statements[i];
        const Fr& weight = weights.of_statement[i];
        for (std::size_t k = 0; k < inputs; ++k) part[k] += weight * statement[k];
      }
      std::lock_guard lock(mutex);
      for (std::size_t k = 0; k < inputs; ++k) sums[k + 1] += part[k];
    });
    CUZK_TRY_VOID(check_stop());
    return sum_of(sums, key_.vk().ic);
  }

  Result<G1Affine> sum_of(std::span<const Fr> factors, std::span<const G1Affine> points) {
    std::vector<Scalar> scalars;
    scalars.reserve(factors.size());
    for (const Fr& f : factors) scalars.push_back(f.to_scalar());
    CUZK_TRY(const auto sum, msm<Bls12_381G1>(tasks_, MemoryBudget::process(), scalars, points));
    return sum.to_affine();
  }

  template <class Left, class Right>
  void add_folded(std::string_view name, std::vector<PairedTerm> left, const GtElement& start,
                  const Left& l, const Right& r) {
    equations_.push_back({name, std::move(left), folded(start, proof_, challenges_, l, r)});
  }

  void add_tipp() {
    const Fr one = Fr::one();
    const G1Affine& a = proof_.final_a;
    add_folded(
        "the fold of A and B", {{kFinalB, a, one}}, proof_.ip_ab,
        [](const Round& x) { return x.z_ab_left; }, [](const Round& x) { return x.z_ab_right; });
    add_folded(
        "the first commitment to A and B", {{kV1, a, one}, {kFinalB, proof_.final_w[0], one}},
        proof_.com_ab.t, [](const Round& x) { return x.ab_left.t; },
        [](const Round& x) { return x.ab_right.t; });
    add_folded(
        "the second commitment to A and B", {{kV2, a, one}, {kFinalB, proof_.final_w[1], one}},
        proof_.com_ab.u, [](const Round& x) { return x.ab_left.u; },
        [](const Round& x) { return x.ab_right.u; });
  }

  void add_mipp() {
    const G1Affine& c = proof_.final_c;
    add_folded(
        "the first commitment to C", {{kV1, c, Fr::one()}}, proof_.com_c.t,
        [](const Round& x) { return x.c_left.t; }, [](const Round& x) { return x.c_right.t; });
    add_folded(
        "the second commitment to C", {{kV2, c, Fr::one()}}, proof_.com_c.u,
        [](const Round& x) { return x.c_left.u; }, [](const Round& x) { return x.c_right.u; });
  }

  // With f the value at z: e(-G, v - f H) e(s G - z G, opening) = 1, and for w
  // e(w - f G, -H) e(opening, s H - z H) = 1.
  void add_openings() {
    const Fr one = Fr::one();
    const Fr z = challenges_.z;
    const Fr f_v = evaluate_v(challenges_.x_inverse, z);
    const Fr f_w = evaluate_w(challenges_.x, challenges_.r, z);
    const auto v = [&](std::string_view name, Slot key, Slot opening, const G1Affine& g_s) {
      equations_.push_back(
          {name,
           {{key, srs_.g, -one}, {kH, srs_.g, f_v}, {opening, g_s, one}, {opening, srs_.g, -z}},
           {}});
    };
    v("the opening of the first key of G2", kV1, kOpeningV1, srs_.g_alpha);
    v("the opening of the second key of G2", kV2, kOpeningV2, srs_.g_beta);
    const auto w = [&](std::string_view name, std::size_t half, Slot h_s) {
      const G1Affine& opening = proof_.opening_w[half];
      equations_.push_back({name,
                            {{kH, proof_.final_w[half], -one},
                             {kH, srs_.g, f_w},
                             {h_s, opening, one},
                             {kH, opening, -z}},
                            {}});
    };
    w("the opening of the first key of G1", 0, kHAlpha);
    w("the opening of the second key of G1", 1, kHBeta);
  }

  // agg_c + sum x_i left_i + x_i^-1 right_i = rho final_c, rho the folded powers of r.
  Result<bool> weighted_sum_holds() {
    std::vector<Fr> factors = {Fr::one(), -evaluate_v(challenges_.x_inverse, challenges_.r)};
    std::vector<G1Affine> points = {proof_.agg_c, proof_.final_c};
    for (std::size_t i = 0; i < proof_.rounds.size(); ++i) {
      factors.insert(factors.end(), {challenges_.x[i], challenges_.x_inverse[i]});
      points.insert(points.end(), {proof_.rounds[i].z_c_left, proof_.rounds[i].z_c_right});
    }
    CUZK_TRY(const G1Affine sum, sum_of(factors, points));
    return sum.is_identity();
  }

  bool all_hold() {
    SystemRandom random;
    std::vector<Fr> powers = {Fr::one()};
    while (powers.size() < equations_.size()) powers.push_back(random_power(random));
    return product_holds(equations_, powers);
  }

  bool product_holds(std::span<const Equation> equations, std::span<const Fr> powers) {
    std::vector<GtElement> bases;
    std::vector<Scalar> exponents;
    std::vector<G1Affine> points;
    std::vector<Scalar> factors;
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < equations.size(); ++i) {
      for (const PairedTerm& t : equations[i].left) {
        slots.push_back(t.slot);
        points.push_back(t.point);
        factors.push_back((t.factor * powers[i]).to_scalar());
      }
      for (const PowerTerm& t : equations[i].right) {
        bases.push_back(t.base);
        exponents.push_back((t.exponent * powers[i]).to_scalar());
      }
    }
    scale_points<Bls12_381G1>(tasks_, points, factors, points);
    GtElement left, right;
    tasks_.invoke([&] { left = final_exponentiation<Curve>(paired(slots, points)); },
                  [&] { right = gt_product_of_powers(tasks_, bases, exponents); });
    return left == right;
  }

  // One Miller function for each slot in use, over the sum of its terms.
  GtElement paired(std::span<const Slot> slots, std::span<const G1Affine> points) {
    std::array<Xyzz<Bls12_381G1>, kSlots> sums;
    sums.fill(Xyzz<Bls12_381G1>::identity());
    for (std::size_t i = 0; i < slots.size(); ++i) sums[slots[i]] += points[i];
    std::vector<PairingTerm<Curve>> terms;
    for (std::size_t s = 0; s < kSlots; ++s) {
      if (!sums[s].is_identity()) {
        terms.push_back({sums[s].to_affine(), &prepared(static_cast<Slot>(s))});
      }
    }
    return miller_loop<Curve>(std::span<const PairingTerm<Curve>>(terms));
  }

  const Prepared& prepared(Slot slot) {
    if (slot == kBeta) return key_.beta();
    if (slot == kGamma) return key_.gamma();
    if (slot == kDelta) return key_.delta();
    std::optional<Prepared>& own = prepared_[slot];
    if (!own) own.emplace(point_of(slot));
    return *own;
  }

  const G2Affine& point_of(Slot slot) const {
    switch (slot) {
      case kFinalB:
        return proof_.final_b;
      case kV1:
        return proof_.final_v[0];
      case kV2:
        return proof_.final_v[1];
      case kOpeningV1:
        return proof_.opening_v[0];
      case kOpeningV2:
        return proof_.opening_v[1];
      case kH:
        return srs_.h;
      case kHAlpha:
        return srs_.h_alpha;
      default:
        CUZK_CHECK(slot == kHBeta);
        return srs_.h_beta;
    }
  }

  Error name_failures(bool sum_holds) {
    std::string failing;
    const auto add = [&](std::string_view name) {
      failing += fmt::format("{}{}", failing.empty() ? "" : "; ", name);
    };
    const Fr one = Fr::one();
    for (std::size_t i = 0; i < equations_.size(); ++i) {
      if (!product_holds(std::span(equations_).subspan(i, 1), std::span(&one, 1))) {
        add(equations_[i].name);
      }
      if (i == 0 && !sum_holds) add("the fold of C");
    }
    if (failing.empty()) {
      return {ErrorCode::kInternal, "equations that hold one by one fail together"};
    }
    return {ErrorCode::kInvalidProof, "the aggregate does not hold: " + failing};
  }

  Tasks& tasks_;
  const VerifierSrs& srs_;
  const Key& key_;
  const AggregateClaim& claim_;
  const AggregateProof& proof_;
  const Challenges challenges_;
  std::vector<Equation> equations_;
  std::array<std::optional<Prepared>, kSlots> prepared_;
};

Result<VerifiedAggregate> verify(Tasks& tasks, const VerifierSrs& srs, const Key& key,
                                 const AggregateClaim& claim, AggregateProof proof) {
  CUZK_TRY_VOID(Verification::check_shape(key, claim, proof));
  CUZK_TRY_VOID(Verification(tasks, srs, key, claim, proof).run());
  return Verification::make(std::move(proof));
}

}  // namespace cuzk::aggregate
