// The plan of a partition on a card, without one: what sums and sorts need is made up here, in a
// way that is worse than theirs (a sum of fewer terms may want much more scratch).

#include "groth16/cuda_plan.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "curve/bls12_381.h"
#include "curve/bn254.h"

namespace cuzk {

namespace {

constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  return (x ^ (x >> 27)) * 0x94d049bb133111eb >> 33;
}

}  // namespace

template <class G>
Result<MsmCudaPlan> msm_cuda_plan(std::size_t count, const MsmCudaOptions& options) {
  MsmCudaPlan plan;
  plan.count = count;
  plan.windows = 12 + static_cast<unsigned>(mixed(count) % 40);
  plan.narrow_bits = 256 / plan.windows;
  plan.wide_windows = 256 % plan.windows;
  plan.windows_per_batch = static_cast<unsigned>(std::clamp<std::size_t>(
      options.pairs_per_batch / std::max<std::size_t>(count, 1), 1, plan.windows));
  plan.affine = options.additions != MsmAdditions::kXyzz && count > 1000;
  const std::size_t chains = plan.affine ? 300000 : 0;
  plan.scratch_bytes = 8 * count + 50000 * (mixed(count + 1) % 20) + sizeof(Xyzz<G>) + chains;
  return plan;
}
template <class G>
std::size_t selected_sum_scratch_bytes(std::size_t terms) {
  return 1000 * sizeof(Xyzz<G>) + (terms < 5000 ? 0 : 100000);
}
template Result<MsmCudaPlan> msm_cuda_plan<Bls12_381G1>(std::size_t, const MsmCudaOptions&);
template Result<MsmCudaPlan> msm_cuda_plan<Bls12_381G2>(std::size_t, const MsmCudaOptions&);
template Result<MsmCudaPlan> msm_cuda_plan<Bn254G1>(std::size_t, const MsmCudaOptions&);
template Result<MsmCudaPlan> msm_cuda_plan<Bn254G2>(std::size_t, const MsmCudaOptions&);
template std::size_t selected_sum_scratch_bytes<Bls12_381G1>(std::size_t);
template std::size_t selected_sum_scratch_bytes<Bls12_381G2>(std::size_t);
template std::size_t selected_sum_scratch_bytes<Bn254G1>(std::size_t);
template std::size_t selected_sum_scratch_bytes<Bn254G2>(std::size_t);

namespace groth16 {
namespace {

using Curve = Bls12_381;
using Plan = CudaPlan<Curve>;

template <class T>
T take(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  if (!result) std::abort();
  return std::move(*result);
}

class CudaPlanTest : public ::testing::Test {
 protected:
  std::size_t below(std::size_t end) { return end ? random_.next_u64() % end : 0; }
  // Small numbers and large ones alike.
  std::size_t some(std::size_t most) { return below(most >> below(18)) + below(2); }

  CircuitSize circuit() {
    CircuitSize c;
    c.aux = some(200000);
    c.inputs = 1 + some(100);
    c.full = std::min(c.aux, some(200000));
    c.dense_a = std::min(c.aux, some(200000));
    c.dense_b = std::min(c.aux, some(200000));
    while ((std::size_t{1} << c.domain_log2) < c.aux / 2 + c.inputs) ++c.domain_log2;
    return c;
  }
  CudaMode mode() {
    CudaMode m;
    m.is_streamed = below(2);
    m.roomy = below(2);
    m.is_coset = below(2);
    m.stream_chunk = m.is_streamed ? 1024 * (1 + below(40)) : 0;
    m.pairs_per_batch = std::size_t{1} << (12 + below(14));
    m.additions = below(2) ? MsmAdditions::kAuto : MsmAdditions::kXyzz;
    return m;
  }
  // What a witness could select of a query: chunk by chunk no more than it has bases.
  QueryPlan query(const QueryPlan& largest, std::size_t full) {
    QueryPlan out;
    const std::size_t sparse = below(6);
    for (const WireChunk& c : largest.chunks) {
      WireChunk mine;
      mine.full = std::min(full, below(c.full + 1) >> sparse);
      mine.ones = below(c.ones - mine.full + 1) >> below(6);
      full -= mine.full;
      out.chunks.push_back(mine);
    }
    return out;
  }
  PartitionShape partition(const CircuitSize& c, const CudaMode& m) {
    const PartitionShape largest = largest_shape<Curve>(c, m);
    PartitionShape s = largest;
    s.full = below(c.full + 1) >> below(10);
    s.l = query(largest.l, s.full);
    s.a = query(largest.a, s.full);
    s.b_g1 = query(largest.b_g1, s.full);
    s.b_g2 = query(largest.b_g2, s.full);
    return s;
  }
  SeededRandom random_{11};
};

// Every buffer that the backend asks for lies in the lease of `host` and is as large as `p` asks,
// whose assignment is at `place`.
void expect_room(const Plan& host, const Plan::Place& place, const Plan& p) {
  const PartitionShape& s = p.shape;
  const auto room = [&](gpu::MemoryPlan::Id id, std::size_t bytes) {
    EXPECT_LE(bytes, host.memory.bytes(id));
    EXPECT_LE(host.memory.offset(id) + host.memory.bytes(id), host.memory.total_bytes());
  };
  room(place.full_values, sizeof(Plan::Fr) * s.full);
  room(place.ones, (s.aux + 63) / 64 * 8);
  room(place.full, (s.aux + 63) / 64 * 8);
  room(place.full_ranks, 4 * ((s.aux + 511) / 512));
  room(place.full_scalars, sizeof(Plan::Scalar) * s.full);
  room(place.g1_results, sizeof(Xyzz<Plan::G1>) * p.g1_count());
  room(place.g2_results, sizeof(Xyzz<Plan::G2>) * p.g2_count());
  for (const QueryPlan* q : {&s.l, &s.a, &s.b_g1, &s.b_g2}) {
    const bool g2 = q == &s.b_g2;
    const Plan::Gathered& gathered = g2 ? place.in_g2 : place.in_g1;
    const Plan::Room& lists = g2 ? host.in_g2 : host.in_g1;
    room(gathered.scalars, sizeof(Plan::Scalar) * q->full());
    room(gathered.bases, (g2 ? sizeof(Affine<Plan::G2>) : sizeof(Affine<Plan::G1>)) * q->full());
    for (const WireChunk& c : q->chunks) {
      const std::size_t longest = std::max(c.ones, c.full);
      room(lists.list, 4 * longest);
      room(lists.value_list, 4 * c.full);
      room(lists.sum_scratch, g2 ? selected_sum_scratch_bytes<Plan::G2>(longest)
                                 : selected_sum_scratch_bytes<Plan::G1>(longest));
    }
  }
  for (const MsmCudaPlan* m : {&p.l_plan, &p.a_plan, &p.b_g1_plan}) {
    room(host.in_g1.tail_scratch, m->scratch_bytes);
  }
  room(host.in_g2.tail_scratch, p.b_g2_plan.scratch_bytes);
  // What runs beside each other shares nothing.
  if (s.sums_beside) {
    EXPECT_NE(place.in_g1.bases, place.in_g2.bases);
    EXPECT_NE(host.in_g1.list, host.in_g2.list);
  }
  EXPECT_GE(p.l_plan.count, s.l.full());
  EXPECT_GE(p.b_g2_plan.count, s.b_g2.full());
  room(host.h_scratch, p.h_plan.scratch_bytes);
}

TEST_F(CudaPlanTest, WhatIsPromisedForACircuitHoldsForEveryWitness) {
  int exceeded = 0, own = 0;
  for (int round = 0; round < 3000; ++round) {
    const CircuitSize c = circuit();
    const CudaMode m = mode();
    const Plan largest = take(Plan::make(largest_shape<Curve>(c, m)));
    const PartitionShape shape = partition(c, m);
    SCOPED_TRACE(::testing::Message() << "round " << round << ", aux " << c.aux << ", full "
                                      << c.full << " of which " << shape.full);
    const Plan plan = take(Plan::make_within(shape, largest));
    EXPECT_LE(plan.memory.total_bytes(), largest.memory.total_bytes());
    EXPECT_LE(plan.result_bytes(), largest.result_bytes());
    EXPECT_EQ(plan.shape.l.full(), shape.l.full());
    expect_room(plan, plan.own, plan);
    const Plan alone = take(Plan::make(shape));
    (alone.memory.total_bytes() > largest.memory.total_bytes() ? exceeded : own)++;
    if (HasFailure()) return;
  }
  // Both happen: a smaller witness that wants more, and one that wants less.
  EXPECT_GT(exceeded, 100);
  EXPECT_GT(own, 1000);
}

// Guests take what is free meanwhile, and any partition has room in any other one of its circuit.
TEST_F(CudaPlanTest, PartitionsOfAStreamedKeyHaveRoomForEachOther) {
  std::size_t with_guests = 0, without = 0, own_windows = 0;
  for (int round = 0; round < 1000; ++round) {
    const CircuitSize c = circuit();
    CudaMode m = mode();
    m.is_streamed = true;
    m.stream_chunk = 1024 * (1 + below(40));
    const PartitionShape most = largest_shape<Curve>(c, m);
    const Plan largest = take(Plan::make(most, 7));
    EXPECT_EQ(largest.memory.total_bytes(), take(Plan::make(most)).memory.total_bytes());
    EXPECT_LE(largest.guests.size(), 7u);
    (largest.guests.empty() ? without : with_guests)++;
    const Plan host = take(Plan::make_within(partition(c, m), largest));
    const Plan guest = take(Plan::make_within(partition(c, m), largest));
    EXPECT_EQ(host.memory.describe(), largest.memory.describe());
    EXPECT_EQ(host.guests.size(), largest.guests.size());
    own_windows += guest.l_plan.count < largest.l_plan.count;
    expect_room(host, host.own, host);
    for (const Plan::Place& place : host.guests) expect_room(host, place, guest);
    if (HasFailure()) return;
  }
  EXPECT_GT(with_guests, 100u);
  EXPECT_GT(without, 10u);
  EXPECT_GT(own_windows, 100u);
}

// Every other partition of a sector fits beside the first, in a shape like that of 32 GiB.
TEST_F(CudaPlanTest, TheLargestSectorsPartitionsAreSummedEightAtOnce) {
  const CircuitSize c = {27, 128000000, 60, 2700000, 113000000, 41000000};
  const CudaMode m = {.is_streamed = true, .stream_chunk = std::size_t{1} << 23};
  const Plan plan = take(Plan::make(largest_shape<Curve>(c, m), 7));
  EXPECT_EQ(plan.guests.size(), 7u);
  // Two vectors and the two halves of the streaming buffer are most of what it takes.
  const std::size_t vectors = 2 * sizeof(Plan::Fr) * plan.domain();
  const std::size_t halves = 2 * plan.shape.chunk_bytes;
  EXPECT_LT(plan.memory.total_bytes(), vectors + halves + (std::size_t{512} << 20));
}

TEST_F(CudaPlanTest, APartitionBeyondItsCircuitIsRefused) {
  const CircuitSize c = {12, 5000, 3, 1000, 4000, 4000};
  const CudaMode streamed = {.is_streamed = true, .stream_chunk = 1024};
  const Plan largest = take(Plan::make(largest_shape<Curve>(c, streamed)));
  EXPECT_EQ(largest.shape.l.chunks.size(), 5u);
  EXPECT_EQ(largest.shape.b_g2.chunks.size(), 10u);
  const auto refused = [&](auto&& change) {
    PartitionShape s = largest.shape;
    EXPECT_TRUE(Plan::make_within(s, largest));
    change(s);
    const auto plan = Plan::make_within(s, largest);
    return !plan && plan.error().code == ErrorCode::kInternal;
  };
  EXPECT_TRUE(refused([](PartitionShape& s) { ++s.full; }));
  EXPECT_TRUE(refused([](PartitionShape& s) { ++s.aux; }));
  EXPECT_TRUE(refused([](PartitionShape& s) { ++s.inputs; }));
  EXPECT_TRUE(refused([](PartitionShape& s) { s.l.chunks.push_back({}); }));
  EXPECT_TRUE(refused([](PartitionShape& s) { s.a.chunks[0].full += 1; }));
  EXPECT_TRUE(refused([](PartitionShape& s) { s.b_g1.chunks[0].ones = 1025; }));
}

TEST_F(CudaPlanTest, ChunksAreWholeRanksAndNeverNone) {
  EXPECT_EQ(words_of_chunk(0, 0), 8u);
  EXPECT_EQ(words_of_chunk(1000, 0), 1000u);
  EXPECT_EQ(words_of_chunk(1000, 1024), 16u);
  EXPECT_EQ(words_of_chunk(1000, 512), 8u);
  EXPECT_EQ(words_of_chunk(1000, 64), 8u);
}

// Of 2^27 points in chunks of 2^16, which once were more than a slot can fetch.
TEST_F(CudaPlanTest, SmallChunksLeaveMoreResultsAndCostMore) {
  const CircuitSize c = {27, 130000000, 30, 2000000, 100000000, 30000000};
  double cost = 0;
  std::size_t results = std::size_t{1} << 40;
  for (unsigned log = 16; log <= 23; ++log) {
    CudaMode m = {.is_streamed = true, .stream_chunk = std::size_t{1} << log};
    const Plan plan = take(Plan::make(largest_shape<Curve>(c, m)));
    EXPECT_EQ(plan.h_chunks(), std::size_t{1} << (27 - log));
    EXPECT_EQ(plan.result_bytes(), 256 + 192 * plan.g1_count() + 384 * plan.g2_count());
    // The windows are made up, so neither falls at every step; over three they do.
    if (log % 3 == 1) {
      EXPECT_LT(plan.result_bytes(), results);
      EXPECT_TRUE(cost == 0 || plan.h_cost() < cost);
      results = plan.result_bytes();
      cost = plan.h_cost();
    }
  }
}

}  // namespace
}  // namespace groth16
}  // namespace cuzk
