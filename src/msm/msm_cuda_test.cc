// Sums on the device against the closed form of multiples of the generator, or against plain sums.

#include "msm/msm_cuda.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu/owners.h"
#include "msm/msm_cases.h"
#include "msm/witness_cuda.h"

namespace cuzk {
namespace {

template <class G>
class MsmCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  }
};
using Groups = testing::Types<Bls12_381G1, Bn254G1, Bls12_381G2, Bn254G2>;
TYPED_TEST_SUITE(MsmCuda, Groups);

template <class G>
Result<Xyzz<G>> sum_on_device(const std::vector<ScalarFor<G>>& scalars,
                              const std::vector<Affine<G>>& bases, std::size_t planned,
                              const MsmCudaOptions& options = {}) {
  CUZK_TRY(const MsmCudaPlan plan, msm_cuda_plan<G>(planned, options));
  CUZK_TRY(auto device_scalars, gpu::DeviceBuffer<ScalarFor<G>>::allocate(scalars.size()));
  const std::size_t room = plan.multiples ? plan.bases() : bases.size();
  CUZK_TRY(auto device_bases, gpu::DeviceBuffer<Affine<G>>::allocate(room));
  CUZK_TRY(auto scratch, gpu::DeviceBuffer<std::byte>::allocate(plan.scratch_bytes));
  CUZK_TRY(auto result, gpu::DeviceBuffer<Xyzz<G>>::allocate(plan.sums()));
  CUZK_TRY(auto done, gpu::Event::create());
  // What the scratch held before must not matter.
  CUZK_TRY_VOID(gpu::runtime::fill_bytes(nullptr, scratch.span().data(), 0xa5, scratch.size()));
  CUZK_TRY_VOID(
      gpu::upload(nullptr, device_scalars.span(), std::span<const ScalarFor<G>>(scalars)));
  CUZK_TRY_VOID(gpu::upload(nullptr, device_bases.span().first(bases.size()),
                            std::span<const Affine<G>>(bases)));
  if (plan.multiples) {
    CUZK_TRY(auto work, gpu::DeviceBuffer<std::byte>::allocate(
                            msm_cuda_multiples_scratch_bytes<G>(plan.count)));
    CUZK_TRY_VOID(msm_cuda_fill_multiples<G>(nullptr, plan, device_bases.span(), work.span()));
    CUZK_TRY_VOID(done.record(nullptr));
    CUZK_TRY_VOID(done.synchronize());
  }
  CUZK_TRY_VOID(msm_cuda<G>(nullptr, plan, device_scalars.const_span(), device_bases.const_span(),
                            scratch.span(), result.span()));
  std::vector<Xyzz<G>> out(plan.sums());
  CUZK_TRY_VOID(gpu::download(nullptr, std::span<Xyzz<G>>(out), result.const_span()));
  CUZK_TRY_VOID(done.record(nullptr));
  CUZK_TRY_VOID(done.synchronize());
  return msm_cuda_finish<G>(plan, out);
}

constexpr MsmAdditions kBoth[] = {MsmAdditions::kXyzz, MsmAdditions::kAffine};
const char* name_of(MsmAdditions additions) {
  return additions == MsmAdditions::kXyzz ? "XYZZ" : "affine";
}
// Each form of the additions, without and with multiples of the bases.
constexpr MsmCudaOptions kWays[] = {{.additions = MsmAdditions::kXyzz},
                                    {.additions = MsmAdditions::kAffine},
                                    {.additions = MsmAdditions::kXyzz, .multiples = true},
                                    {.additions = MsmAdditions::kAffine, .multiples = true}};
std::string name_of(const MsmCudaOptions& way) {
  return std::string(name_of(way.additions)) + (way.multiples ? ", multiples" : "");
}

// (sum of (i + 1) s_i) G, the sum over the bases i * G.
template <class G>
Xyzz<G> closed_form(const std::vector<ScalarFor<G>>& scalars) {
  using Fr = ScalarField<G>;
  Fr total = Fr::zero();
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    total += Fr::from_u64(i + 1) * Fr::from_scalar(scalars[i]);
  }
  return Xyzz<G>::from_affine(G::generator()).mul(total.to_scalar());
}

template <class G>
Xyzz<G> plain_sum(const std::vector<ScalarFor<G>>& scalars, const std::vector<Affine<G>>& bases) {
  Xyzz<G> sum = Xyzz<G>::identity();
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    sum += Xyzz<G>::from_affine(bases[i]).mul(scalars[i]);
  }
  return sum;
}

template <class G>
void expect_sum(const Result<Xyzz<G>>& got, const Xyzz<G>& want) {
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(*got == want);
  const Affine<G> affine = got->to_affine();
  EXPECT_TRUE(affine.is_on_curve());
}

TYPED_TEST(MsmCuda, AgreesWithTheClosedFormAtEverySize) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(20000);
  for (std::size_t n : {0, 1, 2, 31, 32, 33, 127, 255, 256, 257, 1023, 1025, 4095, 4097, 20000}) {
    const auto scalars = cases::uniform_scalars<G>(n, n);
    const auto want = closed_form<G>(scalars);
    const std::vector<Affine<G>> some(bases.begin(), bases.begin() + static_cast<long>(n));
    for (const MsmCudaOptions& way : kWays) {
      SCOPED_TRACE(testing::Message() << n << " terms, " << name_of(way));
      expect_sum<G>(sum_on_device<G>(scalars, some, n, way), want);
    }
  }
}

TYPED_TEST(MsmCuda, EveryWindowCountAgrees) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(1000);
  const auto scalars = cases::uniform_scalars<G>(1000, 7);
  const auto want = closed_form<G>(scalars);
  for (unsigned windows : {13u, 15u, 16u, 20u, 26u, 32u, 43u, 64u}) {
    for (std::size_t pairs : {std::size_t{1}, std::size_t{3000}, std::size_t{1} << 20}) {
      SCOPED_TRACE(testing::Message() << windows << " windows, " << pairs << " pairs a batch");
      for (MsmCudaOptions way : kWays) {
        SCOPED_TRACE(name_of(way));
        way.windows = windows;
        way.pairs_per_batch = pairs;
        expect_sum<G>(sum_on_device<G>(scalars, bases, 1000, way), want);
      }
    }
  }
}

TYPED_TEST(MsmCuda, APlanServesSmallerCounts) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(3000);
  for (std::size_t n : {0, 1, 17, 2999}) {
    const auto scalars = cases::uniform_scalars<G>(n, 5);
    for (const MsmAdditions additions : kBoth) {
      expect_sum<G>(sum_on_device<G>(scalars, {bases.begin(), bases.begin() + static_cast<long>(n)},
                                     3000, {.additions = additions}),
                    closed_form<G>(scalars));
    }
  }
}

TYPED_TEST(MsmCuda, ExtremeScalarsAndSpecialBases) {
  using G = TypeParam;
  using Fr = ScalarField<G>;
  const auto some = cases::multiples_of_generator<G>(8);
  std::vector<ScalarFor<G>> extreme;
  extreme.push_back(Fr::zero().to_scalar());
  extreme.push_back(Fr::one().to_scalar());
  extreme.push_back((-Fr::one()).to_scalar());
  extreme.push_back((-Fr::from_u64(2)).to_scalar());
  for (unsigned bit = 1; bit < 254; bit += 11) {
    ScalarFor<G> power;
    power.limbs[bit / 64] = std::uint64_t{1} << (bit % 64);
    extreme.push_back(power);
    extreme.push_back((-Fr::from_scalar(power)).to_scalar());
  }
  std::vector<ScalarFor<G>> scalars;
  std::vector<Affine<G>> bases;
  for (std::size_t i = 0; i < extreme.size(); ++i) {
    // Identity, equal and opposite bases meet in the same buckets.
    for (const Affine<G>& base : {some[i % 8], Affine<G>::identity(), some[0], -some[0], some[0]}) {
      scalars.push_back(extreme[i]);
      bases.push_back(base);
    }
  }
  const auto want = plain_sum<G>(scalars, bases);
  for (unsigned windows : {0u, 16u, 64u}) {
    for (MsmCudaOptions way : kWays) {
      SCOPED_TRACE(testing::Message() << windows << " windows, " << name_of(way));
      way.windows = windows;
      expect_sum<G>(sum_on_device<G>(scalars, bases, scalars.size(), way), want);
    }
  }
}

// All terms in one bucket of each window: as one chain, and as pieces of a long bucket.
TYPED_TEST(MsmCuda, EqualScalarsAndEqualBasesFillOneBucket) {
  using G = TypeParam;
  using Fr = ScalarField<G>;
  SeededRandom random(3);
  const ScalarFor<G> scalar = Fr::random(random).to_scalar();
  const Affine<G> base = cases::multiples_of_generator<G>(3)[2];
  const auto times = [&](std::size_t n) {
    return Xyzz<G>::from_affine(base).mul((Fr::from_scalar(scalar) * Fr::from_u64(n)).to_scalar());
  };
  for (const std::size_t n : {2, 3, 200, 255, 256, 50000}) {
    for (const MsmAdditions additions : kBoth) {
      SCOPED_TRACE(testing::Message() << n << " terms, " << name_of(additions));
      const MsmCudaOptions options = {.additions = additions};
      const std::vector<ScalarFor<G>> scalars(n, scalar);
      expect_sum<G>(sum_on_device<G>(scalars, std::vector<Affine<G>>(n, base), n, options),
                    times(n));
      std::vector<Affine<G>> opposite(n, base);
      for (std::size_t i = 0; i < n; i += 2) opposite[i] = -base;
      expect_sum<G>(sum_on_device<G>(scalars, opposite, n, options), -times(n % 2));
      std::vector<Affine<G>> few(n, Affine<G>::identity());
      expect_sum<G>(sum_on_device<G>(scalars, few, n, options), Xyzz<G>::identity());
      few[n / 2] = base;
      few[n - 1] = base;
      expect_sum<G>(sum_on_device<G>(scalars, few, n, options), times(n == 2 ? 1 : 2));
    }
  }
}

// Bases of a handful of values, both signs, and the identity, in few buckets: equal, opposite and
// neutral operands meet everywhere, also in sums of several points.
TYPED_TEST(MsmCuda, FewBasesMeetInEveryWay) {
  using G = TypeParam;
  const auto some = cases::multiples_of_generator<G>(4);
  SeededRandom random(17);
  for (const std::size_t n : {64, 1000, 3000}) {
    std::vector<Affine<G>> bases;
    std::vector<ScalarFor<G>> scalars;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t pick = random.next_u64();
      Affine<G> base = pick % 9 == 0 ? Affine<G>::identity() : some[pick % 4];
      if (pick >> 32 & 1) base = -base;
      bases.push_back(base);
      ScalarFor<G> scalar;
      scalar.limbs[0] = 1 + (pick >> 40) % 5;
      scalars.push_back(scalar);
    }
    const auto want = plain_sum<G>(scalars, bases);
    for (const MsmAdditions additions : kBoth) {
      SCOPED_TRACE(testing::Message() << n << " terms, " << name_of(additions));
      expect_sum<G>(sum_on_device<G>(scalars, bases, n, {.additions = additions}), want);
    }
  }
}

TYPED_TEST(MsmCuda, AffineAdditionsAreTakenForManyBuckets) {
  const auto small = msm_cuda_plan<TypeParam>(1000);
  const auto large = msm_cuda_plan<TypeParam>(std::size_t{1} << 24);
  ASSERT_TRUE(small && large);
  EXPECT_FALSE(small->affine);
  EXPECT_EQ(large->affine, sizeof(Affine<TypeParam>) > 64);  // slower for BN254 G1
}

// What is leased for the largest of several sums serves all of them.
TYPED_TEST(MsmCuda, ScratchDoesNotFallAsTheCountRises) {
  using G = TypeParam;
  for (const std::size_t pairs : {std::size_t{1} << 22, std::size_t{1} << 26}) {
    for (const MsmAdditions additions : {MsmAdditions::kAuto, MsmAdditions::kXyzz}) {
      std::size_t before = 0;
      for (std::size_t n = 0; n < std::size_t{1} << 28; n += 1 + n / 7) {
        const auto plan = msm_cuda_plan<G>(n, {.pairs_per_batch = pairs, .additions = additions});
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_GE(plan->scratch_bytes, before) << n;
        before = plan->scratch_bytes;
      }
    }
  }
}

// Of so many terms that each form of additions is chosen for some of them.
TYPED_TEST(MsmCuda, BothSidesOfTheThresholdOfAffineAdditions) {
  using G = TypeParam;
  const std::size_t most = sizeof(Affine<G>) > 128 ? std::size_t{1} << 18 : std::size_t{1} << 20;
  const auto bases = cases::multiples_of_generator<G>(most);
  for (std::size_t n = most / 8; n <= most; n *= 2) {
    const auto scalars = cases::uniform_scalars<G>(n, n);
    const std::vector<Affine<G>> some(bases.begin(), bases.begin() + static_cast<long>(n));
    expect_sum<G>(sum_on_device<G>(scalars, some, n), closed_form<G>(scalars));
  }
}

// More chains than a grid of blocks takes at once.
TYPED_TEST(MsmCuda, ChainsBeyondOneRound) {
  using G = TypeParam;
  const std::size_t n = 20000;
  const auto bases = cases::multiples_of_generator<G>(n);
  const auto scalars = cases::uniform_scalars<G>(n, 23);
  const auto want = closed_form<G>(scalars);
  for (const unsigned windows : {11u, 12u}) {
    expect_sum<G>(sum_on_device<G>(scalars, bases, n,
                                   {.windows = windows, .additions = MsmAdditions::kAffine}),
                  want);
  }
}

TYPED_TEST(MsmCuda, SmallScalarsAsAWitnessHasThem) {
  using G = TypeParam;
  const std::size_t n = 30000;
  const auto bases = cases::multiples_of_generator<G>(n);
  const auto witness = cases::witness<G>(n, 9);
  for (const MsmAdditions additions : kBoth) {
    expect_sum<G>(sum_on_device<G>(witness.scalars, bases, n, {.additions = additions}),
                  closed_form<G>(witness.scalars));
  }
}

template <class G>
Result<Xyzz<G>> sum_of_list(const std::vector<Affine<G>>& bases,
                            const std::vector<std::uint32_t>& list, MsmAdditions additions) {
  CUZK_TRY(auto device_bases, gpu::DeviceBuffer<Affine<G>>::allocate(bases.size()));
  CUZK_TRY(auto device_list, gpu::DeviceBuffer<std::uint32_t>::allocate(list.size()));
  CUZK_TRY(auto scratch,
           gpu::DeviceBuffer<std::byte>::allocate(selected_sum_scratch_bytes<G>(list.size())));
  CUZK_TRY(auto result, gpu::DeviceBuffer<Xyzz<G>>::allocate(1));
  CUZK_TRY(auto done, gpu::Event::create());
  CUZK_TRY_VOID(gpu::runtime::fill_bytes(nullptr, scratch.span().data(), 0xa5, scratch.size()));
  CUZK_TRY_VOID(gpu::upload(nullptr, device_bases.span(), std::span<const Affine<G>>(bases)));
  CUZK_TRY_VOID(gpu::upload(nullptr, device_list.span(), std::span<const std::uint32_t>(list)));
  CUZK_TRY_VOID(sum_selected<G>(nullptr, device_bases.const_span(), device_list.const_span(),
                                scratch.span(), result.span(), additions));
  std::vector<Xyzz<G>> out(1);
  CUZK_TRY_VOID(gpu::download(nullptr, std::span<Xyzz<G>>(out), result.const_span()));
  CUZK_TRY_VOID(done.record(nullptr));
  CUZK_TRY_VOID(done.synchronize());
  return out[0];
}

// Long enough for chains, with every way that operands can meet, and too short for them.
TYPED_TEST(MsmCuda, SumsOfLists) {
  using G = TypeParam;
  const auto some = cases::multiples_of_generator<G>(1000);
  for (const std::size_t n : {std::size_t{1}, std::size_t{4001}, (std::size_t{1} << 22) + 5}) {
    for (const unsigned kind : {0u, 1u, 2u}) {
      SCOPED_TRACE(testing::Message() << n << " terms, kind " << kind);
      // Kind 0: multiples of the generator; 1: one base; 2: its opposite and the identity too.
      std::vector<Affine<G>> bases = some;
      std::vector<std::uint32_t> list(n);
      std::int64_t multiple = 0;
      if (kind == 2) bases = {some[4], -some[4], Affine<G>::identity(), -some[4]};
      for (std::size_t i = 0; i < n; ++i) {
        list[i] = static_cast<std::uint32_t>(kind == 0   ? i * 7919 % 1000
                                             : kind == 1 ? 4
                                                         : (i * 2654435761u >> 13) % 4);
        const std::int64_t of_kind_2[] = {5, -5, 0, -5};
        multiple += kind == 2 ? of_kind_2[list[i]] : std::int64_t{list[i]} + 1;
      }
      using Fr = ScalarField<G>;
      Fr scalar = Fr::from_u64(static_cast<std::uint64_t>(multiple < 0 ? -multiple : multiple));
      if (multiple < 0) scalar = -scalar;
      const auto want = Xyzz<G>::from_affine(G::generator()).mul(scalar.to_scalar());
      for (const MsmAdditions additions : {MsmAdditions::kAuto, MsmAdditions::kXyzz}) {
        expect_sum<G>(sum_of_list<G>(bases, list, additions), want);
      }
    }
  }
}

TYPED_TEST(MsmCuda, RefusesLengthsThatDoNotBelongTogether) {
  using G = TypeParam;
  const auto bases = cases::multiples_of_generator<G>(4);
  const auto scalars = cases::uniform_scalars<G>(3, 1);
  const auto result = sum_on_device<G>(scalars, bases, 4);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(msm_cuda_plan<G>(std::size_t{1} << 31));
  EXPECT_FALSE(msm_cuda_plan<G>(8, {.windows = 3}));
}

}  // namespace
}  // namespace cuzk
