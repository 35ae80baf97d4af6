// Field arithmetic on the device against the host's, on random and extreme elements.

#include <gtest/gtest.h>

#include <vector>

#include "field/fp_inverse_cuda.cuh"
#include "gpu/launch_cuda.h"
#include "gpu/owners.h"

namespace cuzk {
namespace {

inline constexpr int kOperations = 8;

// a b by the quotient of a.
template <class P>
__device__ device::DeviceFp<P> by_quotient(const device::DeviceFp<P>& a,
                                           const device::DeviceFp<P>& b) {
  using F = device::DeviceFp<P>;
  F one = F::zero();
  one.w[0] = 1;
  return F::reduce_once(F::scaled_by(a * one, F::quotient_of(a), b));
}
template <class F>
__device__ device::DeviceFp2<F> by_quotient(const device::DeviceFp2<F>& a,
                                            const device::DeviceFp2<F>& b) {
  return a * b;
}

template <class F>
__global__ void all_operations(const F* a, const F* b, F* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  F* r = out + kOperations * i;
  r[0] = a[i] + b[i];
  r[1] = a[i] - b[i];
  r[2] = a[i] * b[i];
  r[3] = a[i].square();
  r[4] = -a[i];
  r[5] = a[i].dbl();
  r[6] = a[i].is_zero() ? a[i] : device::inverse(a[i]);
  r[7] = by_quotient(a[i], b[i]);
}

template <class F>
__global__ void invert_by_warps(const F* a, F* out, int count) {
  const int thread = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (thread / 32 < count) out[thread] = device::inverse_by_warp(a[thread / 32]);
}

template <class P>
std::vector<Fp<P>> extreme_elements() {
  using F = Fp<P>;
  std::vector<F> out = {F::zero(), F::one(), -F::one(), F{F::kR2}};
  Limbs<F::kLimbs> top = F::kModulus;  // limbs p - 1, p - 2 as stored
  top[0] -= 1;
  out.push_back(F{top});
  top[0] -= 1;
  out.push_back(F{top});
  for (std::size_t bit = 0; bit + 1 < F::kBits; bit += 31) {
    Limbs<F::kLimbs> power{};
    power[bit / 64] = std::uint64_t{1} << (bit % 64);
    out.push_back(F{power});
    Limbs<F::kLimbs> ones = power;  // 2^bit - 1
    std::uint64_t borrow = 1;
    for (auto& limb : ones) {
      const std::uint64_t before = limb;
      limb -= borrow;
      borrow = before < borrow;
    }
    out.push_back(F{ones});
  }
  return out;
}
template <class F>
struct Samples;
template <class P>
struct Samples<Fp<P>> {
  static std::vector<Fp<P>> extreme() { return extreme_elements<P>(); }
};
template <class F>
struct Samples<Fp2<F>> {
  static std::vector<Fp2<F>> extreme() {
    std::vector<Fp2<F>> out;
    const auto base = Samples<F>::extreme();
    for (std::size_t i = 0; i < base.size(); ++i) {
      out.push_back({base[i], base[(i * 7 + 3) % base.size()]});
      out.push_back({base[i], F::zero()});
      out.push_back({F::zero(), base[i]});
    }
    return out;
  }
};

template <class F>
class FieldCuda : public testing::Test {};
using Fields =
    testing::Types<bls12_381::Fr, bls12_381::Fq, bls12_381::Fq2, bn254::Fr, bn254::Fq, bn254::Fq2>;
TYPED_TEST_SUITE(FieldCuda, Fields);

TYPED_TEST(FieldCuda, AgreesWithTheHost) {
  using F = TypeParam;
  using D = device::DeviceField<F>;
  static_assert(sizeof(D) == sizeof(F));
  if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  std::vector<F> a, b;
  const auto extreme = Samples<F>::extreme();
  for (const F& x : extreme) {
    for (const F& y : extreme) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  SeededRandom random(1);
  for (int i = 0; i < 20000; ++i) {
    a.push_back(F::random(random));
    b.push_back(F::random(random));
  }
  const std::size_t count = a.size();
  auto da = gpu::DeviceBuffer<F>::allocate(count);
  auto db = gpu::DeviceBuffer<F>::allocate(count);
  auto out = gpu::DeviceBuffer<F>::allocate(kOperations * count);
  ASSERT_TRUE(da && db && out);
  ASSERT_TRUE(gpu::upload(nullptr, da->span(), std::span<const F>(a)));
  ASSERT_TRUE(gpu::upload(nullptr, db->span(), std::span<const F>(b)));
  all_operations<D><<<static_cast<unsigned>((count + 127) / 128), 128>>>(
      reinterpret_cast<const D*>(da->span().data()), reinterpret_cast<const D*>(db->span().data()),
      reinterpret_cast<D*>(out->span().data()), static_cast<int>(count));
  ASSERT_TRUE(gpu::launched("all_operations"));
  std::vector<F> got(kOperations * count);
  ASSERT_TRUE(gpu::download(nullptr, std::span<F>(got), out->const_span()));
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  for (std::size_t i = 0; i < count; ++i) {
    const F* r = &got[kOperations * i];
    ASSERT_EQ(r[0], a[i] + b[i]) << "sum " << i;
    ASSERT_EQ(r[1], a[i] - b[i]) << "difference " << i;
    ASSERT_EQ(r[2], a[i] * b[i]) << "product " << i;
    ASSERT_EQ(r[3], a[i].square()) << "square " << i;
    ASSERT_EQ(r[4], -a[i]) << "negative " << i;
    ASSERT_EQ(r[5], a[i].dbl()) << "double " << i;
    if (!a[i].is_zero()) {
      ASSERT_EQ(r[6] * a[i], F::one()) << "inverse " << i;
    }
    ASSERT_EQ(r[7], a[i] * b[i]) << "product by a quotient " << i;
  }
}

TYPED_TEST(FieldCuda, EveryLaneOfAWarpHasTheInverse) {
  using F = TypeParam;
  using D = device::DeviceField<F>;
  if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  std::vector<F> values;
  for (const F& x : Samples<F>::extreme()) {
    if (!x.is_zero()) values.push_back(x);
  }
  SeededRandom random(2);
  for (int i = 0; i < 3000; ++i) values.push_back(F::random(random));
  const std::size_t lanes = 32 * values.size();
  auto in = gpu::DeviceBuffer<F>::allocate(values.size());
  auto out = gpu::DeviceBuffer<F>::allocate(lanes);
  ASSERT_TRUE(in && out);
  ASSERT_TRUE(gpu::upload(nullptr, in->span(), std::span<const F>(values)));
  invert_by_warps<D><<<static_cast<unsigned>((lanes + 127) / 128), 128>>>(
      reinterpret_cast<const D*>(in->span().data()), reinterpret_cast<D*>(out->span().data()),
      static_cast<int>(values.size()));
  ASSERT_TRUE(gpu::launched("invert_by_warps"));
  std::vector<F> got(lanes);
  ASSERT_TRUE(gpu::download(nullptr, std::span<F>(got), out->const_span()));
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  for (std::size_t i = 0; i < lanes; ++i) {
    ASSERT_EQ(got[i] * values[i / 32], F::one()) << "lane " << i % 32 << " of value " << i / 32;
  }
}

}  // namespace
}  // namespace cuzk
