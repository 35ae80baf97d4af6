#include "groth16/quotient.h"

#include <atomic>
#include <utility>

#include "field/bls12_381.h"
#include "field/bn254.h"
#include "groth16/coset_key.h"
#include "ntt/ntt.h"
#include "r1cs/eval.h"

namespace cuzk::groth16 {

namespace {

constexpr std::size_t kGrain = std::size_t{1} << 14;

template <class Fr>
Result<Buffer<Fr>> rows_of(const Context& context, const CompactR1cs<Fr>& r1cs,
                           const CompactWitness<Fr>& witness, Matrix matrix, unsigned domain_log2,
                           const char* owner) {
  CUZK_TRY(auto out, Buffer<Fr>::allocate(context.memory, owner, std::size_t{1} << domain_log2));
  CUZK_TRY_VOID(evaluate_matrix(context.tasks, r1cs, witness, matrix, out.span()));
  return out;
}

template <class Fr>
bool all_rows_hold(Tasks& tasks, const Buffer<Fr>& a, const Buffer<Fr>& b, const Buffer<Fr>& c) {
  std::atomic<bool> hold = true;
  tasks.parallel_for(a.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (a[i] * b[i] != c[i]) {
        hold = false;
        return;
      }
    }
  });
  return hold;
}

}  // namespace

template <class Fr>
Result<Quotient<Fr>> compute_quotient(const Context& context, const CompactR1cs<Fr>& r1cs,
                                      const CompactWitness<Fr>& witness) {
  const unsigned domain_log2 = r1cs.domain_log2();
  auto matvec = context.timeline.span("matvec", context.lane);
  CUZK_TRY(auto a, rows_of(context, r1cs, witness, Matrix::kA, domain_log2, "a = A z"));
  CUZK_TRY(auto b, rows_of(context, r1cs, witness, Matrix::kB, domain_log2, "b = B z"));
  CUZK_TRY(auto c, rows_of(context, r1cs, witness, Matrix::kC, domain_log2, "c = C z"));
  if (!all_rows_hold(context.tasks, a, b, c)) {
    CUZK_TRY_VOID(check_satisfied(context.tasks, r1cs, witness));  // names the row
    return fail(ErrorCode::kInternal, "{}: a row fails that the satisfaction check accepts",
                r1cs.name);
  }
  matvec.end();

  const auto ntt = context.timeline.span("ntt", context.lane);
  CUZK_TRY(const auto domain, Domain<Fr>::create(context.tasks, context.memory, domain_log2));
  CUZK_TRY(const auto h, quotient(context.tasks, domain, a.span(), b.span(), c.span()));
  return Quotient<Fr>{h, std::move(a)};
}

template <class Fr>
Result<CosetValues<Fr>> compute_coset_values(const Context& context, const CompactR1cs<Fr>& r1cs,
                                             const CompactWitness<Fr>& witness,
                                             unsigned domain_log2) {
  const std::uint64_t rows = r1cs.num_rows_with_inputs();
  if (domain_log2 > Fr::Params::kTwoAdicity || std::uint64_t{1} << domain_log2 < rows) {
    return fail(ErrorCode::kInvalidArgument, "{}: a domain of 2^{} points does not fit {} rows",
                r1cs.name, domain_log2, rows);
  }
  auto matvec = context.timeline.span("matvec", context.lane);
  CUZK_TRY(auto a, rows_of(context, r1cs, witness, Matrix::kA, domain_log2, "a = A z"));
  CUZK_TRY(auto b, rows_of(context, r1cs, witness, Matrix::kB, domain_log2, "b = B z"));
  CUZK_TRY(auto c, Buffer<Fr>::allocate(context.memory, "c = a b", a.size()));
  context.tasks.parallel_for(c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) c[i] = a[i] * b[i];
  });
  matvec.end();

  const auto ntt = context.timeline.span("ntt", context.lane);
  CUZK_TRY(const auto domain,
           Domain<Fr>::create(context.tasks, context.memory, domain_log2, kCosetGenerator));
  CUZK_TRY(const auto values,
           odd_coset_values(context.tasks, domain, a.span(), b.span(), c.span()));
  return CosetValues<Fr>{values, std::move(a)};
}

#define CUZK_INSTANTIATE(Fr)                                                                    \
  template Result<Quotient<Fr>> compute_quotient(const Context&, const CompactR1cs<Fr>&,        \
                                                 const CompactWitness<Fr>&);                    \
  template Result<CosetValues<Fr>> compute_coset_values(const Context&, const CompactR1cs<Fr>&, \
                                                        const CompactWitness<Fr>&, unsigned);
CUZK_INSTANTIATE(bls12_381::Fr)
CUZK_INSTANTIATE(bn254::Fr)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
