#include "groth16/setup.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "groth16/qap.h"
#include "msm/fixed_base.h"

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

template <class Curve>
class Generator {
 public:
  using Fr = typename Curve::Fr;
  using Scalar = typename Fr::Scalar;
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;

  Generator(const Context& context, const CompactR1cs<Fr>& r1cs, const Density& density,
            const ToxicWaste<Curve>& waste)
      : context_(context), r1cs_(r1cs), density_(density), waste_(waste) {}

  Result<ProvingKey<Curve>> run() {
    CUZK_TRY_VOID(check_secrets(waste_));
    CUZK_TRY_VOID(evaluate());
    CUZK_TRY_VOID(make_tables());
    ProvingKey<Curve> key;
    CUZK_TRY(key.vk, verifying_key());
    CUZK_TRY(key.l_query, l_query());
    qap_.c = {};
    CUZK_TRY(key.a_query, a_query());
    qap_.a = {};
    CUZK_TRY(key.b_g1_query, b_query<G1>(*table_g1_, "b_g1_query"));
    CUZK_TRY(key.b_g2_query, b_query<G2>(*table_g2_, "b_g2_query"));
    qap_.b = {};
    table_g2_.reset();
    CUZK_TRY(key.h_query, h_query());
    return key;
  }

 private:
  // After this, qap_.c holds beta A + alpha B + C.
  Status evaluate() {
    auto span = context_.timeline.span("qap", context_.lane);
    CUZK_TRY(qap_, evaluate_qap(context_.tasks, context_.memory, r1cs_, waste_.tau));
    std::atomic<std::size_t> free_aux = kNone;
    context_.tasks.parallel_for(qap_.c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v < end; ++v) {
        qap_.c[v] += waste_.beta * qap_.a[v] + waste_.alpha * qap_.b[v];
        if (qap_.c[v].is_zero()) free_aux = v;
      }
    });
    if (free_aux == kNone) return {};
    const std::size_t v = free_aux;
    if (v < r1cs_.num_inputs) {
      return fail(ErrorCode::kInvalidArgument, "setup: tau is a root of the polynomial of input {}",
                  v);
    }
    return fail(ErrorCode::kInvalidArgument,
                "setup: auxiliary {} of {} occurs in no row, a circuit with a free variable has no "
                "key",
                v - r1cs_.num_inputs, r1cs_.num_aux);
  }

  Status make_tables() {
    auto span = context_.timeline.span("fixed_base_tables", context_.lane);
    const std::size_t b_count = density_.b_input.count + density_.b_aux.count;
    const std::size_t g1_count = (std::size_t{1} << r1cs_.domain_log2()) + r1cs_.num_aux +
                                 density_.a_aux.count + 2 * r1cs_.num_inputs + b_count;
    CUZK_TRY(table_g1_, FixedBaseTable<G1>::create(context_.tasks, context_.memory, waste_.g1,
                                                   FixedBaseTable<G1>::window_bits_for(g1_count)));
    CUZK_TRY(table_g2_, FixedBaseTable<G2>::create(context_.tasks, context_.memory, waste_.g2,
                                                   FixedBaseTable<G2>::window_bits_for(b_count)));
    return {};
  }

  // scalar(begin, end, out): the canonical scalars of a range.
  template <class G, class F>
  Result<Buffer<Affine<G>>> multiples(const FixedBaseTable<G>& table, std::string_view owner,
                                      std::size_t count, F&& scalars_of) {
    auto span = context_.timeline.span(owner, context_.lane);
    CUZK_TRY(auto out, Buffer<Affine<G>>::allocate(context_.memory, owner, count));
    CUZK_TRY(auto scalars, Buffer<Scalar>::allocate(context_.memory, "setup scalars", count));
    context_.tasks.parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
      scalars_of(begin, end, scalars.data() + begin);
    });
    CUZK_TRY_VOID(fixed_base_mul_batch<G>(context_.tasks, table, scalars.span(), out.span()));
    return out;
  }

  Result<VerifyingKey<Curve>> verifying_key() {
    VerifyingKey<Curve> vk;
    const auto times = [](const auto& base, const Fr& k) {
      using G = typename std::decay_t<decltype(base)>::Group;
      return Xyzz<G>::from_affine(base).mul(k.to_scalar()).to_affine();
    };
    vk.alpha_g1 = times(waste_.g1, waste_.alpha);
    vk.beta_g1 = times(waste_.g1, waste_.beta);
    vk.beta_g2 = times(waste_.g2, waste_.beta);
    vk.gamma_g2 = times(waste_.g2, waste_.gamma);
    vk.delta_g1 = times(waste_.g1, waste_.delta);
    vk.delta_g2 = times(waste_.g2, waste_.delta);
    const Fr gamma_inverse = waste_.gamma.inverse();
    CUZK_TRY(const auto ic, multiples<G1>(*table_g1_, "ic", r1cs_.num_inputs,
                                          [&](std::size_t begin, std::size_t end, Scalar* out) {
                                            for (std::size_t i = begin; i < end; ++i) {
                                              *out++ = (qap_.c[i] * gamma_inverse).to_scalar();
                                            }
                                          }));
    vk.ic.assign(ic.begin(), ic.end());
    return vk;
  }

  Result<Buffer<Affine<G1>>> h_query() {
    const std::uint64_t m = std::uint64_t{1} << r1cs_.domain_log2();
    const Fr scale = (waste_.tau.pow(m) - Fr::one()) * waste_.delta.inverse();
    return multiples<G1>(*table_g1_, "h_query", m - 1,
                         [&](std::size_t begin, std::size_t end, Scalar* out) {
                           Fr value = scale * waste_.tau.pow(begin);
                           for (std::size_t i = begin; i < end; ++i, value *= waste_.tau) {
                             *out++ = value.to_scalar();
                           }
                         });
  }

  Result<Buffer<Affine<G1>>> l_query() {
    const Fr delta_inverse = waste_.delta.inverse();
    return multiples<G1>(*table_g1_, "l_query", r1cs_.num_aux,
                         [&](std::size_t begin, std::size_t end, Scalar* out) {
                           for (std::size_t i = begin; i < end; ++i) {
                             *out++ = (qap_.c[r1cs_.num_inputs + i] * delta_inverse).to_scalar();
                           }
                         });
  }

  Result<Buffer<Affine<G1>>> a_query() {
    CUZK_TRY(const auto dense, members(context_.memory, density_.a_aux));
    CUZK_TRY_VOID(check_dense(qap_.a.span(), dense.span()));
    const std::size_t inputs = r1cs_.num_inputs;
    return multiples<G1>(*table_g1_, "a_query", inputs + dense.size(),
                         [&](std::size_t begin, std::size_t end, Scalar* out) {
                           for (std::size_t i = begin; i < end; ++i) {
                             const std::size_t v = i < inputs ? i : inputs + dense[i - inputs];
                             *out++ = qap_.a[v].to_scalar();
                           }
                         });
  }

  template <class G>
  Result<Buffer<Affine<G>>> b_query(const FixedBaseTable<G>& table, std::string_view owner) {
    CUZK_TRY(const auto dense_inputs, members(context_.memory, density_.b_input));
    CUZK_TRY(const auto dense_aux, members(context_.memory, density_.b_aux));
    CUZK_TRY_VOID(check_dense(qap_.b.span(), dense_aux.span()));
    const std::size_t inputs = dense_inputs.size();
    return multiples<G>(table, owner, inputs + dense_aux.size(),
                        [&](std::size_t begin, std::size_t end, Scalar* out) {
                          for (std::size_t i = begin; i < end; ++i) {
                            const std::size_t v = i < inputs
                                                      ? dense_inputs[i]
                                                      : r1cs_.num_inputs + dense_aux[i - inputs];
                            *out++ = qap_.b[v].to_scalar();
                          }
                        });
  }

  // bellman drops the points that are the identity, the prover selects by density: they agree as
  // long as no polynomial of a dense variable has the root tau.
  Status check_dense(std::span<const Fr> values, std::span<const std::uint32_t> dense) {
    for (const std::uint32_t i : dense) {
      if (values[r1cs_.num_inputs + i].is_zero()) {
        return fail(ErrorCode::kInvalidArgument,
                    "setup: tau is a root of the polynomial of auxiliary {}", i);
      }
    }
    return {};
  }

  const Context& context_;
  const CompactR1cs<Fr>& r1cs_;
  const Density& density_;
  const ToxicWaste<Curve>& waste_;
  QapValues<Fr> qap_;
  std::optional<FixedBaseTable<G1>> table_g1_;
  std::optional<FixedBaseTable<G2>> table_g2_;
};

}  // namespace

template <class Curve>
Result<ProvingKey<Curve>> insecure_dev_setup(const Context& context,
                                             const CompactR1cs<typename Curve::Fr>& r1cs,
                                             const Density& density,
                                             const ToxicWaste<Curve>& waste) {
  return Generator<Curve>(context, r1cs, density, waste).run();
}

#define CUZK_INSTANTIATE(Curve)                                                                 \
  template Result<ProvingKey<Curve>> insecure_dev_setup(const Context&,                         \
                                                        const CompactR1cs<typename Curve::Fr>&, \
                                                        const Density&, const ToxicWaste<Curve>&);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
