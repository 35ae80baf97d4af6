// insecure_dev_setup_on_card (device_key.h).

#include <algorithm>
#include <vector>

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "groth16/device_key.h"
#include "groth16/setup_scalars.h"
#include "msm/fixed_base_cuda.h"

namespace cuzk::groth16 {

namespace {

constexpr std::size_t kGrain = std::size_t{1} << 12;
constexpr std::size_t kChunk = std::size_t{1} << 21;  // scalars that are multiplied at once
constexpr unsigned kWindowBits = 15;  // 17 windows; the tables are 51 and 107 MB on BLS12-381

// A table's multiples on the card.
template <class G>
struct ResidentTable {
  gpu::Lease lease;
  DeviceFixedBaseTable<G> table;

  static Result<ResidentTable> load(const Context& context, gpu::Card& card,
                                    const Affine<G>& base) {
    const auto span = context.timeline.span("fixed_base_tables", context.lane);
    CUZK_TRY(const auto host,
             FixedBaseTable<G>::create(context.tasks, context.memory, base, kWindowBits));
    const std::size_t count = std::size_t{host.windows()} << (kWindowBits - 1);
    ResidentTable out;
    CUZK_TRY(out.lease, card.arena().lease("fixed base table", sizeof(Affine<G>) * count));
    CUZK_TRY(const auto to, out.lease.template at<Affine<G>>(0, count));
    CUZK_TRY_VOID(gpu::load(card, context.tasks, to,
                            std::span<const Affine<G>>(&host.multiple(0, 1), count)));
    out.table = {kWindowBits, host.windows(), to};
    return out;
  }
};

// Fills queries on the card: scalars go up a chunk at a time and are multiplied there.
template <class Curve>
class CardGenerator {
 public:
  using Scalar = typename Curve::Fr::Scalar;
  using Range = void (SetupScalars<Curve>::*)(std::size_t, std::size_t, Scalar*) const;

  static Result<CardGenerator> create(const Context& context, gpu::Card& card,
                                      const SetupScalars<Curve>& scalars) {
    CardGenerator out(context, card, scalars);
    const KeyCounts& n = scalars.counts();
    const std::size_t most = std::max({n.ic, n.h, n.l, n.a, n.b_g1, n.b_g2, std::size_t{1}});
    const std::size_t chunk = out.chunk_ = std::min(kChunk, most);
    CUZK_TRY(out.scalar_lease_, card.arena().lease("setup scalars", sizeof(Scalar) * chunk));
    CUZK_TRY(out.scratch_lease_,
             card.arena().lease("setup scratch",
                                fixed_base_cuda_scratch_bytes<typename Curve::G2>(chunk)));
    CUZK_TRY(out.host_, Buffer<Scalar>::allocate(context.memory, "setup scalars", chunk));
    return out;
  }

  template <class G>
  Status fill(std::string_view name, const DeviceFixedBaseTable<G>& table, Range range,
              gpu::DeviceSpan<Affine<G>> out) {
    const auto span = context_.timeline.span(name, context_.lane);
    for (std::size_t first = 0; first < out.size(); first += chunk_) {
      const std::size_t count = std::min(chunk_, out.size() - first);
      context_.tasks.parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
        (scalars_.*range)(first + begin, first + end, host_.data() + begin);
      });
      if (context_.tasks.stop_requested()) {
        return fail(ErrorCode::kCancelled, "stopped while setting up");
      }
      CUZK_TRY(const auto to, scalar_lease_.template at<Scalar>(0, count));
      CUZK_TRY_VOID(
          gpu::load(card_, context_.tasks, to, std::span<const Scalar>(host_.data(), count)));
      CUZK_TRY_VOID(fixed_base_cuda<G>(card_.load_stream(), table, to, scratch_lease_.span(),
                                       out.subspan(first, count)));
    }
    return {};
  }

 private:
  CardGenerator(const Context& context, gpu::Card& card, const SetupScalars<Curve>& scalars)
      : context_(context), card_(card), scalars_(scalars) {}

  const Context& context_;
  gpu::Card& card_;
  const SetupScalars<Curve>& scalars_;
  std::size_t chunk_ = 0;
  gpu::Lease scalar_lease_, scratch_lease_;
  Buffer<Scalar> host_;
};

}  // namespace

template <class Curve>
Result<DeviceSetup<Curve>> insecure_dev_setup_on_card(const Context& context, gpu::Card& card,
                                                      const CompactR1cs<typename Curve::Fr>& r1cs,
                                                      const Density& density,
                                                      const ToxicWaste<Curve>& waste) {
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;
  using Scalars = SetupScalars<Curve>;
  CUZK_TRY_VOID(card.use());
  CUZK_TRY(auto scalars, Scalars::create(context, r1cs, density, waste));
  const KeyCounts& n = scalars.counts();
  DeviceSetup<Curve> out;
  CUZK_TRY(out.key, DeviceKey<Curve>::allocate(card, n));
  CUZK_TRY(const auto g1, ResidentTable<G1>::load(context, card, waste.g1));
  CUZK_TRY(const auto g2, ResidentTable<G2>::load(context, card, waste.g2));
  CUZK_TRY(auto generator, CardGenerator<Curve>::create(context, card, scalars));

  out.vk = verifying_key_without_ic(waste);
  out.vk.ic.resize(n.ic);
  CUZK_TRY(auto ic_lease, card.arena().lease("ic", sizeof(Affine<G1>) * n.ic));
  CUZK_TRY(const auto ic, ic_lease.template at<Affine<G1>>(0, n.ic));
  CUZK_TRY_VOID(generator.template fill<G1>("ic", g1.table, &Scalars::ic, ic));
  CUZK_TRY_VOID(gpu::download(card.load_stream(), std::span<Affine<G1>>(out.vk.ic),
                              gpu::DeviceSpan<const Affine<G1>>(ic)));
  DeviceKey<Curve>& key = *out.key;
  CUZK_TRY_VOID(
      generator.template fill<G1>("l_query", g1.table, &Scalars::l, key.l_query_to_fill()));
  scalars.drop_l_and_ic();
  CUZK_TRY_VOID(
      generator.template fill<G1>("a_query", g1.table, &Scalars::a, key.a_query_to_fill()));
  scalars.drop_a();
  CUZK_TRY_VOID(
      generator.template fill<G1>("b_g1_query", g1.table, &Scalars::b, key.b_g1_query_to_fill()));
  CUZK_TRY_VOID(
      generator.template fill<G2>("b_g2_query", g2.table, &Scalars::b, key.b_g2_query_to_fill()));
  scalars.drop_b();
  CUZK_TRY_VOID(
      generator.template fill<G1>("h_query", g1.table, &Scalars::h, key.h_query_to_fill()));
  CUZK_TRY_VOID(key.fetch_inputs(card, r1cs.num_inputs, density.b_input.count));
  return out;
}

#define CUZK_INSTANTIATE(Curve)                                                           \
  template Result<DeviceSetup<Curve>> insecure_dev_setup_on_card(                         \
      const Context&, gpu::Card&, const CompactR1cs<typename Curve::Fr>&, const Density&, \
      const ToxicWaste<Curve>&);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
