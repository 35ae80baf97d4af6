#include "groth16/setup.h"

#include <optional>
#include <utility>

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "groth16/setup_scalars.h"
#include "msm/fixed_base.h"

namespace cuzk::groth16 {

namespace {

constexpr std::size_t kGrain = std::size_t{1} << 12;

// Makes the queries one after the other and lets go of the values that are needed no more.
template <class Curve>
class Generator {
 public:
  using Scalar = typename Curve::Fr::Scalar;
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;

  Generator(const Context& context, SetupScalars<Curve> scalars, const ToxicWaste<Curve>& waste)
      : context_(context), scalars_(std::move(scalars)), waste_(waste) {}

  Result<ProvingKey<Curve>> run() {
    CUZK_TRY_VOID(make_tables());
    const KeyCounts& n = scalars_.counts();
    ProvingKey<Curve> key;
    key.vk = verifying_key_without_ic(waste_);
    CUZK_TRY(const auto ic, multiples<G1>(*table_g1_, "ic", n.ic, &SetupScalars<Curve>::ic));
    key.vk.ic.assign(ic.begin(), ic.end());
    CUZK_TRY(key.l_query, multiples<G1>(*table_g1_, "l_query", n.l, &SetupScalars<Curve>::l));
    scalars_.drop_l_and_ic();
    CUZK_TRY(key.a_query, multiples<G1>(*table_g1_, "a_query", n.a, &SetupScalars<Curve>::a));
    scalars_.drop_a();
    CUZK_TRY(key.b_g1_query,
             multiples<G1>(*table_g1_, "b_g1_query", n.b_g1, &SetupScalars<Curve>::b));
    CUZK_TRY(key.b_g2_query,
             multiples<G2>(*table_g2_, "b_g2_query", n.b_g2, &SetupScalars<Curve>::b));
    scalars_.drop_b();
    table_g2_.reset();
    CUZK_TRY(key.h_query, multiples<G1>(*table_g1_, "h_query", n.h, &SetupScalars<Curve>::h));
    return key;
  }

 private:
  using Range = void (SetupScalars<Curve>::*)(std::size_t, std::size_t, Scalar*) const;

  Status make_tables() {
    auto span = context_.timeline.span("fixed_base_tables", context_.lane);
    const KeyCounts& n = scalars_.counts();
    const std::size_t g1_count = n.ic + n.h + n.l + n.a + n.b_g1;
    CUZK_TRY(table_g1_, FixedBaseTable<G1>::create(context_.tasks, context_.memory, waste_.g1,
                                                   FixedBaseTable<G1>::window_bits_for(g1_count)));
    CUZK_TRY(table_g2_, FixedBaseTable<G2>::create(context_.tasks, context_.memory, waste_.g2,
                                                   FixedBaseTable<G2>::window_bits_for(n.b_g2)));
    return {};
  }

  template <class G>
  Result<Buffer<Affine<G>>> multiples(const FixedBaseTable<G>& table, std::string_view owner,
                                      std::size_t count, Range range) {
    auto span = context_.timeline.span(owner, context_.lane);
    CUZK_TRY(auto out, Buffer<Affine<G>>::allocate(context_.memory, owner, count));
    CUZK_TRY(auto scalars, Buffer<Scalar>::allocate(context_.memory, "setup scalars", count));
    context_.tasks.parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
      (scalars_.*range)(begin, end, scalars.data() + begin);
    });
    CUZK_TRY_VOID(fixed_base_mul_batch<G>(context_.tasks, table, scalars.span(), out.span()));
    return out;
  }

  const Context& context_;
  SetupScalars<Curve> scalars_;
  const ToxicWaste<Curve>& waste_;
  std::optional<FixedBaseTable<G1>> table_g1_;
  std::optional<FixedBaseTable<G2>> table_g2_;
};

}  // namespace

template <class Curve>
Result<ProvingKey<Curve>> insecure_dev_setup(const Context& context,
                                             const CompactR1cs<typename Curve::Fr>& r1cs,
                                             const Density& density,
                                             const ToxicWaste<Curve>& waste) {
  CUZK_TRY(auto scalars, SetupScalars<Curve>::create(context, r1cs, density, waste));
  return Generator<Curve>(context, std::move(scalars), waste).run();
}

#define CUZK_INSTANTIATE(Curve)                                                                 \
  template Result<ProvingKey<Curve>> insecure_dev_setup(const Context&,                         \
                                                        const CompactR1cs<typename Curve::Fr>&, \
                                                        const Density&, const ToxicWaste<Curve>&);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
