#include "groth16/setup_scalars.h"

#include <atomic>
#include <bit>

#include "base/check.h"
#include "curve/bls12_381.h"
#include "curve/bn254.h"

namespace cuzk::groth16 {

namespace {

constexpr std::size_t kGrain = std::size_t{1} << 12;
constexpr std::size_t kNone = SIZE_MAX;

template <class Curve>
Status check_secrets(const ToxicWaste<Curve>& waste) {
  struct Secret {
    std::string_view name;
    bool is_zero;
  };
  const Secret secrets[] = {{"alpha", waste.alpha.is_zero()}, {"beta", waste.beta.is_zero()},
                            {"gamma", waste.gamma.is_zero()}, {"delta", waste.delta.is_zero()},
                            {"tau", waste.tau.is_zero()},     {"g1", waste.g1.is_identity()},
                            {"g2", waste.g2.is_identity()}};
  for (const Secret& secret : secrets) {
    if (secret.is_zero) {
      return fail(ErrorCode::kInvalidArgument, "setup: {} is zero, no key can be made of it",
                  secret.name);
    }
  }
  return {};
}

// Indices of the set's members, ascending.
Result<Buffer<std::uint32_t>> members(MemoryBudget& memory, const VariableSet& set) {
  CUZK_TRY(auto out, Buffer<std::uint32_t>::allocate(memory, "dense variables", set.count));
  std::size_t n = 0;
  for (std::size_t w = 0; w < set.words.size(); ++w) {
    for (std::uint64_t bits = set.words[w]; bits; bits &= bits - 1) {
      out[n++] = static_cast<std::uint32_t>(64 * w + static_cast<unsigned>(std::countr_zero(bits)));
    }
  }
  CUZK_CHECK(n == set.count);
  return out;
}

// bellman drops the points that are the identity, the prover selects by density: they agree as
// long as no polynomial of a dense variable has the root tau.
template <class Fr>
Status check_dense(std::span<const Fr> values, std::size_t num_inputs,
                   std::span<const std::uint32_t> dense) {
  for (const std::uint32_t i : dense) {
    if (values[num_inputs + i].is_zero()) {
      return fail(ErrorCode::kInvalidArgument,
                  "setup: tau is a root of the polynomial of auxiliary {}", i);
    }
  }
  return {};
}

}  // namespace

template <class Curve>
Result<SetupScalars<Curve>> SetupScalars<Curve>::create(const Context& context,
                                                        const CompactR1cs<Fr>& r1cs,
                                                        const Density& density,
                                                        const ToxicWaste<Curve>& waste) {
  CUZK_TRY_VOID(check_secrets(waste));
  SetupScalars s;
  s.counts_ = expected_key_counts(r1cs, density);
  s.num_inputs_ = r1cs.num_inputs;
  s.gamma_inverse_ = waste.gamma.inverse();
  s.delta_inverse_ = waste.delta.inverse();
  s.tau_ = waste.tau;
  const std::uint64_t m = std::uint64_t{1} << r1cs.domain_log2();
  s.h_scale_ = (waste.tau.pow(m) - Fr::one()) * s.delta_inverse_;
  const auto span = context.timeline.span("qap", context.lane);
  CUZK_TRY(s.qap_, evaluate_qap(context.tasks, context.memory, r1cs, waste.tau));
  CUZK_TRY(s.dense_a_, members(context.memory, density.a_aux));
  CUZK_TRY(s.dense_b_inputs_, members(context.memory, density.b_input));
  CUZK_TRY(s.dense_b_, members(context.memory, density.b_aux));
  CUZK_TRY_VOID(s.check_values(context, waste));
  return s;
}

// After this, qap_.c holds beta A + alpha B + C.
template <class Curve>
Status SetupScalars<Curve>::check_values(const Context& context, const ToxicWaste<Curve>& waste) {
  std::atomic<std::size_t> free_variable = kNone;
  context.tasks.parallel_for(qap_.c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v) {
      qap_.c[v] += waste.beta * qap_.a[v] + waste.alpha * qap_.b[v];
      if (qap_.c[v].is_zero()) free_variable = v;
    }
  });
  const std::size_t v = free_variable;
  if (v != kNone && v < num_inputs_) {
    return fail(ErrorCode::kInvalidArgument, "setup: tau is a root of the polynomial of input {}",
                v);
  }
  if (v != kNone) {
    return fail(ErrorCode::kInvalidArgument,
                "setup: auxiliary {} of {} occurs in no row, a circuit with a free variable has no "
                "key",
                v - num_inputs_, qap_.c.size() - num_inputs_);
  }
  CUZK_TRY_VOID(check_dense<Fr>(qap_.a.span(), num_inputs_, dense_a_.span()));
  return check_dense<Fr>(qap_.b.span(), num_inputs_, dense_b_.span());
}

template <class Curve>
void SetupScalars<Curve>::ic(std::size_t begin, std::size_t end, Scalar* out) const {
  for (std::size_t i = begin; i < end; ++i) *out++ = (qap_.c[i] * gamma_inverse_).to_scalar();
}

template <class Curve>
void SetupScalars<Curve>::h(std::size_t begin, std::size_t end, Scalar* out) const {
  Fr value = h_scale_ * tau_.pow(begin);
  for (std::size_t i = begin; i < end; ++i, value *= tau_) *out++ = value.to_scalar();
}

template <class Curve>
void SetupScalars<Curve>::l(std::size_t begin, std::size_t end, Scalar* out) const {
  for (std::size_t i = begin; i < end; ++i) {
    *out++ = (qap_.c[num_inputs_ + i] * delta_inverse_).to_scalar();
  }
}

template <class Curve>
void SetupScalars<Curve>::a(std::size_t begin, std::size_t end, Scalar* out) const {
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t v = i < num_inputs_ ? i : num_inputs_ + dense_a_[i - num_inputs_];
    *out++ = qap_.a[v].to_scalar();
  }
}

template <class Curve>
void SetupScalars<Curve>::b(std::size_t begin, std::size_t end, Scalar* out) const {
  const std::size_t inputs = dense_b_inputs_.size();
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t v = i < inputs ? dense_b_inputs_[i] : num_inputs_ + dense_b_[i - inputs];
    *out++ = qap_.b[v].to_scalar();
  }
}

template <class Curve>
VerifyingKey<Curve> verifying_key_without_ic(const ToxicWaste<Curve>& waste) {
  const auto times = [](const auto& base, const typename Curve::Fr& k) {
    using G = typename std::decay_t<decltype(base)>::Group;
    return Xyzz<G>::from_affine(base).mul(k.to_scalar()).to_affine();
  };
  VerifyingKey<Curve> vk;
  vk.alpha_g1 = times(waste.g1, waste.alpha);
  vk.beta_g1 = times(waste.g1, waste.beta);
  vk.beta_g2 = times(waste.g2, waste.beta);
  vk.gamma_g2 = times(waste.g2, waste.gamma);
  vk.delta_g1 = times(waste.g1, waste.delta);
  vk.delta_g2 = times(waste.g2, waste.delta);
  return vk;
}

#define CUZK_INSTANTIATE(Curve)       \
  template class SetupScalars<Curve>; \
  template VerifyingKey<Curve> verifying_key_without_ic(const ToxicWaste<Curve>&);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
