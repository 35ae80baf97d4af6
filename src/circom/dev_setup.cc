#include "circom/dev_setup.h"

#include <optional>

#include "groth16/coset_key.h"
#include "groth16/qap.h"
#include "msm/fixed_base.h"

namespace cuzk::circom {

namespace {

constexpr std::size_t kGrain = std::size_t{1} << 12;

template <class Curve>
class Generator {
 public:
  using Fr = typename Curve::Fr;
  using Scalar = typename Fr::Scalar;
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;

  Generator(const groth16::Context& context, const CompactR1cs<Fr>& r1cs,
            const groth16::ToxicWaste<Curve>& waste)
      : context_(context), r1cs_(r1cs), waste_(waste), delta_inverse_(waste.delta.inverse()) {}

  Result<DevKey<Curve>> run() {
    DevKey<Curve> key;
    key.domain_log2 = r1cs_.domain_log2();
    CUZK_TRY_VOID(evaluate());
    CUZK_TRY_VOID(make_tables());
    set_head(key.vk);
    CUZK_TRY_VOID(set_ic(key.vk));
    const std::size_t inputs = r1cs_.num_inputs;
    CUZK_TRY(key.c, multiples(*table_g1_, "C", r1cs_.num_aux,
                              [&](std::size_t i) { return qap_.c[inputs + i] * delta_inverse_; }));
    qap_.c = {};
    const std::size_t wires = inputs + r1cs_.num_aux;
    CUZK_TRY(key.a, multiples(*table_g1_, "A", wires, [&](std::size_t i) { return qap_.a[i]; }));
    qap_.a = {};
    const auto b = [&](std::size_t i) { return qap_.b[i]; };
    CUZK_TRY(key.b_g1, multiples(*table_g1_, "B1", wires, b));
    CUZK_TRY(key.b_g2, multiples(*table_g2_, "B2", wires, b));
    qap_.b = {};
    table_g2_.reset();
    CUZK_TRY(key.h, h_points(key.domain_log2));
    return key;
  }

 private:
  // After this, qap_.c holds beta A + alpha B + C.
  Status evaluate() {
    const auto span = context_.timeline.span("qap", context_.lane);
    CUZK_TRY(qap_, groth16::evaluate_qap(context_.tasks, context_.memory, r1cs_, waste_.tau,
                                         groth16::kCosetGenerator));
    context_.tasks.parallel_for(qap_.c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        qap_.c[i] += waste_.beta * qap_.a[i] + waste_.alpha * qap_.b[i];
      }
    });
    return {};
  }

  Status make_tables() {
    const auto span = context_.timeline.span("fixed_base_tables", context_.lane);
    const std::size_t wires = std::size_t{r1cs_.num_inputs} + r1cs_.num_aux;
    const std::size_t g1_count = 3 * wires + (std::size_t{1} << r1cs_.domain_log2());
    CUZK_TRY(table_g1_, FixedBaseTable<G1>::create(context_.tasks, context_.memory, waste_.g1,
                                                   FixedBaseTable<G1>::window_bits_for(g1_count)));
    CUZK_TRY(table_g2_, FixedBaseTable<G2>::create(context_.tasks, context_.memory, waste_.g2,
                                                   FixedBaseTable<G2>::window_bits_for(wires)));
    return {};
  }

  // value(i) * base for i < count.
  template <class G, class F>
  Result<Buffer<Affine<G>>> multiples(const FixedBaseTable<G>& table, std::string_view owner,
                                      std::size_t count, F&& value) {
    const auto span = context_.timeline.span(owner, context_.lane);
    CUZK_TRY(auto out, Buffer<Affine<G>>::allocate(context_.memory, owner, count));
    CUZK_TRY(auto scalars, Buffer<Scalar>::allocate(context_.memory, "setup scalars", count));
    context_.tasks.parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) scalars[i] = value(i).to_scalar();
    });
    CUZK_TRY_VOID(fixed_base_mul_batch<G>(context_.tasks, table, scalars.span(), out.span()));
    return out;
  }

  void set_head(VerifyingKey<Curve>& vk) const {
    const auto times = [](const auto& base, const Fr& k) {
      using G = typename std::decay_t<decltype(base)>::Group;
      return Xyzz<G>::from_affine(base).mul(k.to_scalar()).to_affine();
    };
    vk.alpha_g1 = times(waste_.g1, waste_.alpha);
    vk.beta_g1 = times(waste_.g1, waste_.beta);
    vk.beta_g2 = times(waste_.g2, waste_.beta);
    vk.gamma_g2 = waste_.g2;
    vk.delta_g1 = times(waste_.g1, waste_.delta);
    vk.delta_g2 = times(waste_.g2, waste_.delta);
  }

  Status set_ic(VerifyingKey<Curve>& vk) {
    CUZK_TRY(const auto ic, multiples(*table_g1_, "IC", r1cs_.num_inputs,
                                      [&](std::size_t i) { return qap_.c[i]; }));
    vk.ic.assign(ic.begin(), ic.end());
    return {};
  }

  Result<Buffer<Affine<G1>>> h_points(unsigned domain_log2) {
    const std::size_t points = std::size_t{1} << domain_log2;
    CUZK_TRY(const auto lagrange,
             groth16::lagrange_at(context_.tasks, context_.memory, domain_log2 + 1, 2 * points,
                                  waste_.tau, groth16::kCosetGenerator));
    return multiples(*table_g1_, "H", points,
                     [&](std::size_t i) { return lagrange[2 * i + 1] * delta_inverse_; });
  }

  const groth16::Context& context_;
  const CompactR1cs<Fr>& r1cs_;
  const groth16::ToxicWaste<Curve>& waste_;
  const Fr delta_inverse_;
  groth16::QapValues<Fr> qap_;
  std::optional<FixedBaseTable<G1>> table_g1_;
  std::optional<FixedBaseTable<G2>> table_g2_;
};

}  // namespace

template <class Curve>
Result<DevKey<Curve>> insecure_dev_setup(const groth16::Context& context,
                                         const Program<typename Curve::Fr>& program,
                                         const groth16::ToxicWaste<Curve>& waste) {
  return Generator<Curve>(context, program.r1cs, waste).run();
}

template Result<DevKey<Bn254>> insecure_dev_setup(const groth16::Context&,
                                                  const Program<bn254::Fr>&,
                                                  const groth16::ToxicWaste<Bn254>&);
template Result<DevKey<Bls12_381>> insecure_dev_setup(const groth16::Context&,
                                                      const Program<bls12_381::Fr>&,
                                                      const groth16::ToxicWaste<Bls12_381>&);

}  // namespace cuzk::circom
