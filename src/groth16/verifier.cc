#include "groth16/verifier.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>

#include "base/random.h"
#include "curve/endomorphism.h"
#include "msm/msm.h"

namespace cuzk::groth16 {

template <class Curve>
class VerifiedProofMaker {
 public:
  static VerifiedProof<Curve> make(Claim<Curve> claim) {
    return VerifiedProof<Curve>(std::move(claim));
  }
};

namespace {

template <class G>
Status check_element(const Affine<G>& p, std::string_view name) {
  if (!p.is_on_curve()) {
    return fail(ErrorCode::kInvalidProof, "{} does not lie on the curve", name);
  }
  if (!is_in_subgroup(p)) {
    return fail(ErrorCode::kInvalidProof, "{} lies outside the subgroup of prime order", name);
  }
  return {};
}

template <class Curve>
Status check_claim(const PreparedVerifyingKey<Curve>& key, const Claim<Curve>& claim) {
  if (claim.public_inputs.size() != key.num_public_inputs()) {
    return fail(ErrorCode::kMismatch, "{} public inputs given, the verifying key has {}",
                claim.public_inputs.size(), key.num_public_inputs());
  }
  CUZK_TRY_VOID(check_element(claim.proof.a, "A"));
  CUZK_TRY_VOID(check_element(claim.proof.b, "B"));
  return check_element(claim.proof.c, "C");
}

// A random non-zero power of 128 bits.
std::array<std::uint64_t, 2> draw_power(RandomSource& random) {
  for (;;) {
    const std::array<std::uint64_t, 2> power = {random.next_u64(), random.next_u64()};
    if (power[0] | power[1]) return power;
  }
}

template <class Fr>
Fr to_field(const std::array<std::uint64_t, 2>& power) {
  typename Fr::Scalar s;
  s.limbs[0] = power[0];
  s.limbs[1] = power[1];
  return Fr::from_scalar(s);
}

// The claims' equations, each raised to its power and multiplied:
//   prod e(z_i A_i, B_i) e(-sum z_i alpha, beta) e(-IC, gamma) e(-sum z_i C_i, delta) = 1
template <class Curve>
class Combination {
 public:
  using Fr = typename Curve::Fr;
  using G1 = typename Curve::G1;

  Combination(Tasks& tasks, const PreparedVerifyingKey<Curve>& key) : tasks_(tasks), key_(key) {}

  Result<bool> holds(std::span<const Claim<Curve>> claims) {
    draw_powers(claims.size());
    combine_inputs(claims);
    CUZK_TRY(const Gt<Curve> product, miller_products(claims));
    CUZK_TRY(const Xyzz<G1> ic, input_sum());
    const Xyzz<G1> alpha = Xyzz<G1>::from_affine(key_.vk().alpha_g1).mul(inputs_[0].to_scalar());
    const std::array<PairingTerm<Curve>, 3> common = {
        PairingTerm<Curve>{(-alpha).to_affine(), &key_.beta()},
        PairingTerm<Curve>{(-ic).to_affine(), &key_.gamma()},
        PairingTerm<Curve>{(-c_).to_affine(), &key_.delta()}};
    const Gt<Curve> rest = miller_loop<Curve>(std::span<const PairingTerm<Curve>>(common));
    return final_exponentiation<Curve>(product * rest) == Gt<Curve>::one();
  }

 private:
  // A single claim needs no power.
  void draw_powers(std::size_t count) {
    SystemRandom random;
    powers_.assign(count, {1, 0});
    if (count == 1) return;
    for (auto& power : powers_) power = draw_power(random);
  }

  void combine_inputs(std::span<const Claim<Curve>> claims) {
    inputs_.assign(key_.vk().ic.size(), Fr::zero());
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const Fr z = to_field<Fr>(powers_[i]);
      inputs_[0] += z;
      for (std::size_t j = 0; j < claims[i].public_inputs.size(); ++j) {
        inputs_[j + 1] += z * claims[i].public_inputs[j];
      }
    }
  }

  Result<Xyzz<G1>> input_sum() {
    std::vector<typename Fr::Scalar> scalars;
    scalars.reserve(inputs_.size());
    for (const Fr& v : inputs_) scalars.push_back(v.to_scalar());
    return msm<G1>(tasks_, MemoryBudget::process(), scalars,
                   std::span<const Affine<G1>>(key_.vk().ic));
  }

  // The Miller functions of all (z_i A_i, B_i); adds up z_i C_i on the way.
  Result<Gt<Curve>> miller_products(std::span<const Claim<Curve>> claims) {
    Gt<Curve> product = Gt<Curve>::one();
    std::mutex mutex;
    tasks_.parallel_for(claims.size(), 1, [&](std::size_t begin, std::size_t end) {
      std::vector<G2Prepared<Curve>> b;
      std::vector<PairingTerm<Curve>> terms;
      b.reserve(end - begin);
      Xyzz<G1> c = Xyzz<G1>::identity();
      for (std::size_t i = begin; i < end; ++i) {
        const std::span<const std::uint64_t> z(powers_[i]);
        b.emplace_back(claims[i].proof.b);
        terms.push_back({Xyzz<G1>::from_affine(claims[i].proof.a).mul(z).to_affine(), &b.back()});
        c += Xyzz<G1>::from_affine(claims[i].proof.c).mul(z);
      }
      const Gt<Curve> part = miller_loop<Curve>(std::span<const PairingTerm<Curve>>(terms));
      std::lock_guard lock(mutex);
      product *= part;
      c_ += c;
    });
    if (tasks_.stop_requested()) return fail(ErrorCode::kCancelled, "stopped while verifying");
    return product;
  }

  Tasks& tasks_;
  const PreparedVerifyingKey<Curve>& key_;
  std::vector<std::array<std::uint64_t, 2>> powers_;
  std::vector<Fr> inputs_;  // sum of z_i x_i, the leading ones included
  Xyzz<G1> c_ = Xyzz<G1>::identity();
};

template <class Curve>
Status check_equation(Tasks& tasks, const PreparedVerifyingKey<Curve>& key,
                      std::span<const Claim<Curve>> claims) {
  CUZK_TRY(const bool holds, (Combination<Curve>(tasks, key).holds(claims)));
  if (!holds) {
    return fail(ErrorCode::kInvalidProof,
                "the proof does not hold for its public inputs under this verifying key");
  }
  return {};
}

// Which claims make the product fail.
template <class Curve>
Error name_failures(Tasks& tasks, const PreparedVerifyingKey<Curve>& key,
                    std::span<const Claim<Curve>> claims) {
  std::string failing;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Status status = check_equation<Curve>(tasks, key, claims.subspan(i, 1));
    if (status) continue;
    if (status.error().code != ErrorCode::kInvalidProof) return status.error();
    failing += fmt::format("{}{}", failing.empty() ? "" : ", ", i + 1);
  }
  if (failing.empty()) {
    return {ErrorCode::kInternal, "proofs that hold one by one fail together"};
  }
  return {ErrorCode::kInvalidProof,
          fmt::format("of {} proofs these do not hold for their public inputs: {}", claims.size(),
                      failing)};
}

}  // namespace

template <class Curve>
Result<VerifiedProof<Curve>> verify(Tasks& tasks, const PreparedVerifyingKey<Curve>& key,
                                    Claim<Curve> claim) {
  CUZK_TRY_VOID(check_claim(key, claim));
  CUZK_TRY_VOID(check_equation(tasks, key, std::span<const Claim<Curve>>(&claim, 1)));
  return VerifiedProofMaker<Curve>::make(std::move(claim));
}

template <class Curve>
Result<std::vector<VerifiedProof<Curve>>> verify_batch(Tasks& tasks,
                                                       const PreparedVerifyingKey<Curve>& key,
                                                       std::vector<Claim<Curve>> claims) {
  std::vector<VerifiedProof<Curve>> verified;
  if (claims.empty()) return verified;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Status status = check_claim(key, claims[i]);
    if (!status) {
      return fail(status.error().in(fmt::format("proof {} of {}", i + 1, claims.size())));
    }
  }
  const std::span<const Claim<Curve>> all(claims);
  if (const Status status = check_equation(tasks, key, all); !status) {
    if (status.error().code != ErrorCode::kInvalidProof) return fail(status.error());
    return fail(name_failures(tasks, key, all));
  }
  verified.reserve(claims.size());
  for (auto& claim : claims) {
    verified.push_back(VerifiedProofMaker<Curve>::make(std::move(claim)));
  }
  return verified;
}

#define CUZK_INSTANTIATE(Curve)                                                            \
  template Result<VerifiedProof<Curve>> verify(Tasks&, const PreparedVerifyingKey<Curve>&, \
                                               Claim<Curve>);                              \
  template Result<std::vector<VerifiedProof<Curve>>> verify_batch(                         \
      Tasks&, const PreparedVerifyingKey<Curve>&, std::vector<Claim<Curve>>);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
