// Transforms on the device against those on the host, every order, direction and coset.

#include "ntt/ntt_cuda.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "gpu/owners.h"
#include "ntt/ntt.h"

namespace cuzk {
namespace {

template <class Fr>
class NttCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::list_devices().empty()) GTEST_SKIP() << "no CUDA device: nothing was run";
  }
};
using Fields = testing::Types<bls12_381::Fr, bn254::Fr>;
TYPED_TEST_SUITE(NttCuda, Fields);

template <class Fr>
using DeviceTransform = Status (*)(gpu::StreamHandle, gpu::DeviceSpan<const Fr>,
                                   gpu::DeviceSpan<Fr>, const NttCudaOptions&);
template <class Fr>
using HostTransform = void (*)(Tasks&, const Domain<Fr>&, std::span<Fr>, const Fr&);

template <class Fr>
void download_and_wait(std::span<Fr> to, gpu::DeviceSpan<const Fr> from) {
  auto event = gpu::Event::create();
  ASSERT_TRUE(event);
  ASSERT_TRUE(gpu::download(nullptr, to, from));
  ASSERT_TRUE(event->record(nullptr));
  ASSERT_TRUE(event->synchronize());
}

template <class Fr>
void expect_agreement(DeviceTransform<Fr> on_device, HostTransform<Fr> on_host, unsigned log2_size,
                      NttCoset coset, gpu::DeviceSpan<const Fr> table) {
  Tasks tasks;
  MemoryBudget budget(std::size_t{8} << 30);
  auto domain = Domain<Fr>::create(tasks, budget, log2_size);
  ASSERT_TRUE(domain) << domain.error().message;
  SeededRandom random(log2_size);
  std::vector<Fr> data(std::size_t{1} << log2_size);
  for (Fr& v : data) v = Fr::random(random);
  auto resident = gpu::DeviceBuffer<Fr>::allocate(data.size());
  ASSERT_TRUE(resident);
  ASSERT_TRUE(gpu::upload(nullptr, resident->span(), std::span<const Fr>(data)));
  const Status status = on_device(nullptr, table, resident->span(), {.coset = coset});
  ASSERT_TRUE(status) << status.error().message;
  on_host(tasks, *domain, data, coset == NttCoset::kOdd ? domain->odd_shift() : Fr::one());
  std::vector<Fr> got(data.size());
  download_and_wait<Fr>(got, resident->const_span());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], data[i]) << "element " << i << " of 2^" << log2_size;
  }
}

TYPED_TEST(NttCuda, AgreesWithTheHost) {
  using Fr = TypeParam;
  constexpr unsigned kMost = 18;
  auto table = gpu::DeviceBuffer<Fr>::allocate(ntt_cuda_table_elements(kMost));
  ASSERT_TRUE(table);
  ASSERT_EQ(table->span().size_bytes(), ntt_cuda_table_bytes(kMost));
  ASSERT_TRUE(ntt_cuda_fill_table<Fr>(nullptr, table->span()));
  auto plain = gpu::DeviceBuffer<Fr>::allocate(std::size_t{1} << 13);
  ASSERT_TRUE(plain);
  ASSERT_TRUE(ntt_cuda_fill_table<Fr>(nullptr, plain->span()));
  for (unsigned k : {4u, 11u, 12u, 13u}) {
    expect_agreement<Fr>(ntt_cuda_forward_natural_to_reversed, forward_natural_to_reversed, k,
                         NttCoset::kOdd, plain->const_span());
    expect_agreement<Fr>(ntt_cuda_inverse_reversed_to_natural, inverse_reversed_to_natural, k,
                         NttCoset::kNone, plain->const_span());
  }
  for (unsigned k : {0u, 1u, 2u, 3u, 5u, 8u, 10u, 11u, 12u, 13u, 14u, 16u, 17u, 18u}) {
    for (NttCoset coset : {NttCoset::kNone, NttCoset::kOdd}) {
      SCOPED_TRACE(testing::Message() << "2^" << k << (coset == NttCoset::kOdd ? " odd" : ""));
      const auto t = table->const_span();
      expect_agreement<Fr>(ntt_cuda_forward_natural_to_reversed, forward_natural_to_reversed, k,
                           coset, t);
      expect_agreement<Fr>(ntt_cuda_forward_reversed_to_natural, forward_reversed_to_natural, k,
                           coset, t);
      expect_agreement<Fr>(ntt_cuda_inverse_natural_to_reversed, inverse_natural_to_reversed, k,
                           coset, t);
      expect_agreement<Fr>(ntt_cuda_inverse_reversed_to_natural, inverse_reversed_to_natural, k,
                           coset, t);
      if (this->HasFatalFailure()) return;
    }
  }
}

// Nodes of the deepest levels have no quotients there.
TYPED_TEST(NttCuda, AgreesWithTheHostWhereTheTableHasPartOfTheQuotients) {
  using Fr = TypeParam;
  constexpr unsigned k = 24;
  static_assert(ntt_cuda_quotients_log(k) < k);
  auto table = gpu::DeviceBuffer<Fr>::allocate(ntt_cuda_table_elements(k));
  ASSERT_TRUE(table);
  ASSERT_TRUE(ntt_cuda_fill_table<Fr>(nullptr, table->span()));
  const auto t = table->const_span();
  expect_agreement<Fr>(ntt_cuda_forward_natural_to_reversed, forward_natural_to_reversed, k,
                       NttCoset::kOdd, t);
  expect_agreement<Fr>(ntt_cuda_inverse_reversed_to_natural, inverse_reversed_to_natural, k,
                       NttCoset::kNone, t);
}

TYPED_TEST(NttCuda, LargeRoundTripGivesTheInputBack) {
  using Fr = TypeParam;
  constexpr unsigned k = 21;
  auto table = gpu::DeviceBuffer<Fr>::allocate(ntt_cuda_table_elements(k));
  auto resident = gpu::DeviceBuffer<Fr>::allocate(std::size_t{1} << k);
  ASSERT_TRUE(table && resident);
  ASSERT_TRUE(ntt_cuda_fill_table<Fr>(nullptr, table->span()));
  SeededRandom random(k);
  std::vector<Fr> data(std::size_t{1} << k);
  for (Fr& v : data)
    v.limbs = {random.next_u64(), random.next_u64(), random.next_u64(), random.next_u64() >> 4};
  for (Fr& v : data) {
    if (compare(v.limbs, Fr::kModulus) >= 0) v = Fr::one();
  }
  ASSERT_TRUE(gpu::upload(nullptr, resident->span(), std::span<const Fr>(data)));
  ASSERT_TRUE(
      ntt_cuda_forward_natural_to_reversed<Fr>(nullptr, table->const_span(), resident->span(), {}));
  std::vector<Fr> got(data.size());
  download_and_wait<Fr>(got, resident->const_span());
  EXPECT_NE(got, data);
  ASSERT_TRUE(
      ntt_cuda_inverse_reversed_to_natural<Fr>(nullptr, table->const_span(), resident->span(), {}));
  download_and_wait<Fr>(got, resident->const_span());
  EXPECT_TRUE(got == data);
}

TYPED_TEST(NttCuda, RefusesWhatIsNoPowerOfTwoAndATableTooSmall) {
  using Fr = TypeParam;
  auto memory = gpu::DeviceBuffer<Fr>::allocate(64);
  ASSERT_TRUE(memory);
  const auto span = memory->span();
  const auto bad = ntt_cuda_forward_natural_to_reversed<Fr>(nullptr, span, span.first(24), {});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
  const auto small =
      ntt_cuda_forward_natural_to_reversed<Fr>(nullptr, span.first(16), span.first(32), {});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace cuzk
