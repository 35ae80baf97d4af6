#include "groth16/prover.h"

#include <utility>

#include "base/check.h"
#include "curve/bls12_381.h"
#include "curve/bn254.h"

namespace cuzk::groth16 {

namespace {

template <class Input>
Status check_shape(const Input& input) {
  const auto& r1cs = input.r1cs;
  if (input.witness.inputs.size() != r1cs.num_inputs) {
    return fail(ErrorCode::kMismatch, "the witness has {} inputs, the circuit {} has {}",
                input.witness.inputs.size(), r1cs.name, r1cs.num_inputs);
  }
  if (input.witness.num_aux() != r1cs.num_aux) {
    return fail(ErrorCode::kMismatch, "the witness has {} auxiliaries, the circuit {} has {}",
                input.witness.num_aux(), r1cs.name, r1cs.num_aux);
  }
  if (input.density.a_aux.size != r1cs.num_aux || input.density.b_aux.size != r1cs.num_aux ||
      input.density.b_input.size != r1cs.num_inputs) {
    return fail(ErrorCode::kMismatch, "the density is of {} auxiliaries, the circuit {} has {}",
                input.density.a_aux.size, r1cs.name, r1cs.num_aux);
  }
  return {};
}

template <class Curve>
Status check_input(const Backend<Curve>& backend, const ProveInput<Curve>& input) {
  CUZK_TRY_VOID(check_shape(input));
  return check_key_counts(backend.counts_of(input.key),
                          expected_key_counts(input.r1cs, input.density), "the proving key",
                          input.r1cs.name);
}

template <class Curve>
Status check_input(const Backend<Curve>&, const CosetProveInput<Curve>& input) {
  CUZK_TRY_VOID(check_shape(input));
  const auto& key = input.key;
  const std::size_t points = std::size_t{1} << key.domain_log2;
  if (key.h_query.size() != points) {
    return fail(ErrorCode::kMismatch,
                "the proving key: h has {} points, expected {}, one for each of its domain",
                key.h_query.size(), points);
  }
  KeyCounts expected = expected_key_counts(input.r1cs, input.density);
  expected.h = points;
  const KeyCounts found = {key.vk.ic.size(),      points,
                           key.l_query.size(),    key.a_query.size(),
                           key.b_g1_query.size(), key.b_g2_query.size()};
  return check_key_counts(found, expected, "the proving key", input.r1cs.name);
}

}  // namespace

template <class Curve>
Result<Proof<Curve>> PendingProof<Curve>::finish() {
  CUZK_CHECK(pending_ != nullptr);
  const auto pending = std::exchange(pending_, nullptr);
  CUZK_TRY(parts_, pending->finish());
  const auto span = context_.timeline.span("finish", context_.lane);
  return assemble(*vk_, parts_, blinding_);
}

template <class Curve>
Result<PendingProof<Curve>> start_proof_with_blinding(Backend<Curve>& backend,
                                                      const Context& context,
                                                      const ProveInput<Curve>& input,
                                                      const Blinding<Curve>& blinding) {
  CUZK_TRY_VOID(check_input(backend, input));
  CUZK_TRY(auto pending, backend.start(context, input));
  return PendingProof<Curve>(context, input.key.vk, blinding, std::move(pending));
}

template <class Curve>
Result<PendingProof<Curve>> start_proof(Backend<Curve>& backend, const Context& context,
                                        const ProveInput<Curve>& input) {
  return start_proof_with_blinding(backend, context, input, Blinding<Curve>::draw());
}

template <class Curve>
Result<Proof<Curve>> prove(const Context& context, const ProveInput<Curve>& input) {
  const auto backend = make_cpu_backend<Curve>();
  CUZK_TRY(auto pending, start_proof(*backend, context, input));
  return pending.finish();
}

template <class Curve>
Result<PendingProof<Curve>> start_proof_with_blinding(Backend<Curve>& backend,
                                                      const Context& context,
                                                      const CosetProveInput<Curve>& input,
                                                      const Blinding<Curve>& blinding) {
  CUZK_TRY_VOID(check_input(backend, input));
  CUZK_TRY(auto pending, backend.start_coset(context, input));
  return PendingProof<Curve>(context, input.key.vk, blinding, std::move(pending));
}

template <class Curve>
Result<PendingProof<Curve>> start_proof(Backend<Curve>& backend, const Context& context,
                                        const CosetProveInput<Curve>& input) {
  return start_proof_with_blinding(backend, context, input, Blinding<Curve>::draw());
}

template <class Curve>
Result<Proof<Curve>> prove(const Context& context, const CosetProveInput<Curve>& input) {
  const auto backend = make_cpu_backend<Curve>();
  CUZK_TRY(auto pending, start_proof(*backend, context, input));
  return pending.finish();
}

#define CUZK_INSTANTIATE(Curve)                                                                \
  template class PendingProof<Curve>;                                                          \
  template Result<PendingProof<Curve>> start_proof_with_blinding(                              \
      Backend<Curve>&, const Context&, const ProveInput<Curve>&, const Blinding<Curve>&);      \
  template Result<PendingProof<Curve>> start_proof(Backend<Curve>&, const Context&,            \
                                                   const ProveInput<Curve>&);                  \
  template Result<Proof<Curve>> prove(const Context&, const ProveInput<Curve>&);               \
  template Result<PendingProof<Curve>> start_proof_with_blinding(                              \
      Backend<Curve>&, const Context&, const CosetProveInput<Curve>&, const Blinding<Curve>&); \
  template Result<PendingProof<Curve>> start_proof(Backend<Curve>&, const Context&,            \
                                                   const CosetProveInput<Curve>&);             \
  template Result<Proof<Curve>> prove(const Context&, const CosetProveInput<Curve>&);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
