// The CPU backend: quotient and sums, one after the other, each on all threads.

#include <array>
#include <type_traits>
#include <utility>
#include <vector>

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "groth16/coset_key.h"
#include "groth16/prover.h"
#include "groth16/quotient.h"
#include "msm/msm.h"

namespace cuzk::groth16 {

namespace {

template <class Curve>
class DoneParts final : public PendingParts<Curve> {
 public:
  explicit DoneParts(ProofParts<Curve> parts) : parts_(std::move(parts)) {}
  Result<ProofParts<Curve>> finish() override { return parts_; }

 private:
  ProofParts<Curve> parts_;
};

template <class G>
Result<QueryPoints<G>> points_of(const Context&, const Buffer<Affine<G>>& query) {
  return QueryPoints<G>(query.span());
}
template <class G>
Result<QueryPoints<G>> points_of(const Context& context, const Query<G>& query) {
  return query.points(context);
}

// Input: ProveInput<Curve> or CosetProveInput<Curve>, which differ in h alone.
template <class Curve, class Input>
class CpuProof {
 public:
  using Fr = typename Curve::Fr;
  using Scalar = typename Fr::Scalar;
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;

  CpuProof(const Context& context, const Input& input)
      : context_(context),
        input_(input),
        wires_{input.witness.num_aux(), input.witness.ones(), input.witness.full(),
               input.witness.full_values()} {}

  Result<ProofParts<Curve>> run() {
    CUZK_TRY_VOID(sum_h());
    CUZK_TRY_VOID(sum_l());
    CUZK_TRY_VOID(sum_a());
    CUZK_TRY_VOID(
        sum_b<G1>("b_g1_msm", input_.key.b_g1_query, parts_.b_g1_inputs, parts_.b_g1_aux));
    CUZK_TRY_VOID(
        sum_b<G2>("b_g2_msm", input_.key.b_g2_query, parts_.b_g2_inputs, parts_.b_g2_aux));
    return parts_;
  }

 private:
  Status sum_h() {
    if constexpr (std::is_same_v<Input, CosetProveInput<Curve>>) {
      CUZK_TRY(const auto h,
               compute_coset_values(context_, input_.r1cs, input_.witness, input_.key.domain_log2));
      return sum_h(h.values);
    } else {
      CUZK_TRY(const auto h, compute_quotient(context_, input_.r1cs, input_.witness));
      return sum_h(h.coefficients);
    }
  }

  Status sum_h(std::span<const Scalar> scalars) {
    CUZK_TRY(const auto query, points_of(context_, input_.key.h_query));
    const auto span = context_.timeline.span("h_msm", context_.lane);
    CUZK_TRY(const auto sum, msm<G1>(context_.tasks, context_.memory, scalars, query.span()));
    parts_.h = sum.to_affine();
    return {};
  }

  Status sum_l() {
    CUZK_TRY(const auto query, points_of(context_, input_.key.l_query));
    const auto span = context_.timeline.span("l_msm", context_.lane);
    CUZK_TRY(const auto sum,
             witness_msm<G1>(context_.tasks, context_.memory, wires_, query.span()));
    parts_.l = sum.to_affine();
    return {};
  }

  Status sum_a() {
    CUZK_TRY(const auto query, points_of(context_, input_.key.a_query));
    const auto span = context_.timeline.span("a_msm", context_.lane);
    std::vector<Scalar> scalars;
    for (const Fr& v : input_.witness.inputs) scalars.push_back(v.to_scalar());
    return sum_query<G1>(query.span(), scalars, input_.density.a_aux, parts_.a_inputs,
                         parts_.a_aux);
  }

  // Points: Buffer<Affine<G>> or Query<G>.
  template <class G, class Points>
  Status sum_b(std::string_view name, const Points& points, Affine<G>& inputs, Affine<G>& aux) {
    CUZK_TRY(const auto query, points_of(context_, points));
    const auto span = context_.timeline.span(name, context_.lane);
    std::vector<Scalar> scalars;
    for (std::size_t i = 0; i < input_.witness.inputs.size(); ++i) {
      if (input_.density.b_input.contains(i)) {
        scalars.push_back(input_.witness.inputs[i].to_scalar());
      }
    }
    return sum_query<G>(query.span(), scalars, input_.density.b_aux, inputs, aux);
  }

  // A query begins with the bases of the inputs in `scalars`; those of the dense auxiliaries
  // follow.
  template <class G>
  Status sum_query(std::span<const Affine<G>> query, std::span<const Scalar> scalars,
                   const VariableSet& dense, Affine<G>& inputs, Affine<G>& aux) {
    CUZK_TRY(const auto input_sum,
             msm<G>(context_.tasks, context_.memory, scalars, query.first(scalars.size())));
    CUZK_TRY(const auto aux_sum,
             witness_msm<G>(context_.tasks, context_.memory, wires_, query.subspan(scalars.size()),
                            std::span<const std::uint64_t>(dense.words)));
    inputs = input_sum.to_affine();
    aux = aux_sum.to_affine();
    return {};
  }

  const Context& context_;
  const Input& input_;
  const WitnessView<Fr> wires_;
  ProofParts<Curve> parts_;
};

template <class Curve>
class CpuBackend final : public Backend<Curve> {
 public:
  std::string_view name() const override { return "cpu"; }
  Result<std::unique_ptr<PendingParts<Curve>>> start(const Context& context,
                                                     const ProveInput<Curve>& input) override {
    return run(context, input);
  }
  Result<std::unique_ptr<PendingParts<Curve>>> start_coset(
      const Context& context, const CosetProveInput<Curve>& input) override {
    return run(context, input);
  }

 private:
  template <class Input>
  static Result<std::unique_ptr<PendingParts<Curve>>> run(const Context& context,
                                                          const Input& input) {
    CUZK_TRY(auto parts, (CpuProof<Curve, Input>(context, input).run()));
    return std::make_unique<DoneParts<Curve>>(std::move(parts));
  }
};

}  // namespace

template <class Curve>
std::unique_ptr<Backend<Curve>> make_cpu_backend() {
  return std::make_unique<CpuBackend<Curve>>();
}

template std::unique_ptr<Backend<Bls12_381>> make_cpu_backend();
template std::unique_ptr<Backend<Bn254>> make_cpu_backend();

}  // namespace cuzk::groth16
