#include "groth16/cuda_plan.h"

#include <algorithm>

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "msm/witness_cuda.h"

namespace cuzk::groth16 {

namespace {

// The longest list that a chunk of a query needs.
std::size_t longest_list(const QueryPlan& query) {
  std::size_t longest = 0;
  for (const WireChunk& c : query.chunks) longest = std::max({longest, c.ones, c.full});
  return longest;
}
std::size_t longest_list(const PartitionShape& s) {
  return std::max(
      {longest_list(s.l), longest_list(s.a), longest_list(s.b_g1), longest_list(s.b_g2)});
}

// As many chunks as every witness has, with the most that each may select.
QueryPlan largest_query(const CircuitSize& size, std::size_t bases, std::size_t chunk_bases) {
  const std::size_t words = (size.aux + 63) / 64;
  const std::size_t each = words_of_chunk(words, chunk_bases);
  QueryPlan plan;
  std::size_t full = std::min(size.full, bases);
  for (std::size_t begin = 0; begin < words || plan.chunks.empty(); begin += each) {
    const std::size_t most = std::min(bases, 64 * std::min(each, words - begin));
    WireChunk c;
    c.ones = most;
    c.full = std::min(full, most);
    full -= c.full;
    plan.chunks.push_back(c);
  }
  return plan;
}

bool fits_into(const QueryPlan& query, const QueryPlan& largest) {
  return query.chunks.size() == largest.chunks.size() && query.full() <= largest.full();
}

// Latencies, in products of field elements: of a batch's sorts, launches and last blocks, and of a
// sum's folds.
constexpr double kBatchProducts = 1.5e7;
constexpr double kFoldProducts = 5e7;

}  // namespace

std::size_t words_of_chunk(std::size_t words, std::size_t chunk_bases) {
  constexpr std::size_t kStep = DeviceWires::kWordsPerRank;
  if (chunk_bases == 0) return std::max(words, kStep);
  return std::max(chunk_bases / 64 / kStep * kStep, kStep);
}

template <class Curve>
void set_mode(const CudaMode& mode, PartitionShape& shape) {
  shape.h_terms = (std::size_t{1} << shape.domain_log2) - (mode.is_coset ? 0 : 1);
  shape.h_chunk = mode.is_streamed ? mode.stream_chunk : std::size_t{1} << shape.domain_log2;
  shape.chunk_bytes = mode.is_streamed ? sizeof(Affine<typename Curve::G1>) * mode.stream_chunk : 0;
  // One buffer of streamed bases can serve only one sum at a time.
  shape.sums_beside = mode.roomy && !mode.is_streamed;
  shape.keep_products = mode.roomy;
  shape.sums.pairs_per_batch = mode.pairs_per_batch;
  shape.sums.additions = mode.additions;
  shape.h_sum = shape.sums;
  shape.h_sum.windows = mode.h_windows;
  shape.h_sum.multiples = mode.h_windows > 0;
}

template <class Curve>
PartitionShape largest_shape(const CircuitSize& size, const CudaMode& mode) {
  PartitionShape s;
  s.domain_log2 = size.domain_log2;
  s.aux = size.aux;
  s.inputs = size.inputs;
  s.full = size.full;
  const std::size_t chunk = mode.is_streamed ? mode.stream_chunk : 0;
  s.l = largest_query(size, size.aux, chunk);
  s.a = largest_query(size, size.dense_a, chunk);
  s.b_g1 = largest_query(size, size.dense_b, chunk);
  s.b_g2 = largest_query(size, size.dense_b, chunk / 2);
  set_mode<Curve>(mode, s);
  return s;
}

template <class Curve>
Result<CudaPlan<Curve>> CudaPlan<Curve>::make(PartitionShape shape, std::size_t most_guests) {
  CudaPlan p;
  p.shape = std::move(shape);
  const PartitionShape& s = p.shape;
  const MsmCudaOptions& options = s.sums;
  CUZK_TRY(p.h_plan, msm_cuda_plan<G1>(std::min(s.h_terms, s.h_chunk), s.h_sum));
  CUZK_TRY(p.l_plan, msm_cuda_plan<G1>(s.l.full(), options));
  CUZK_TRY(p.a_plan, msm_cuda_plan<G1>(s.a.full(), options));
  CUZK_TRY(p.b_g1_plan, msm_cuda_plan<G1>(s.b_g1.full(), options));
  CUZK_TRY(p.b_g2_plan, msm_cuda_plan<G2>(s.b_g2.full(), options));
  p.lay_out(0);
  const std::size_t alone = p.memory.total_bytes();
  for (std::size_t count = most_guests; count > 0; --count) {
    p.lay_out(count);
    if (p.memory.total_bytes() <= alone) return p;
  }
  p.lay_out(0);
  return p;
}

template <class Curve>
typename CudaPlan<Curve>::GroupSizes CudaPlan<Curve>::GroupSizes::joined(
    const GroupSizes& other) const {
  return {std::max(longest_list, other.longest_list), std::max(full, other.full),
          std::max(base_bytes, other.base_bytes), std::max(tail_scratch, other.tail_scratch),
          std::max(sum_scratch, other.sum_scratch)};
}

template <class Curve>
typename CudaPlan<Curve>::GroupSizes CudaPlan<Curve>::sizes_in_g1() const {
  const PartitionShape& s = shape;
  GroupSizes out;
  out.longest_list = std::max({longest_list(s.l), longest_list(s.a), longest_list(s.b_g1)});
  out.full = std::max({s.l.full(), s.a.full(), s.b_g1.full()});
  out.base_bytes = sizeof(Affine<G1>) * out.full;
  out.tail_scratch =
      std::max({l_plan.scratch_bytes, a_plan.scratch_bytes, b_g1_plan.scratch_bytes});
  out.sum_scratch = selected_sum_scratch_bytes<G1>(out.longest_list);
  return out;
}

template <class Curve>
typename CudaPlan<Curve>::GroupSizes CudaPlan<Curve>::sizes_in_g2() const {
  GroupSizes out;
  out.longest_list = longest_list(shape.b_g2);
  out.full = shape.b_g2.full();
  out.base_bytes = sizeof(Affine<G2>) * out.full;
  out.tail_scratch = b_g2_plan.scratch_bytes;
  out.sum_scratch = selected_sum_scratch_bytes<G2>(out.longest_list);
  return out;
}

template <class Curve>
typename CudaPlan<Curve>::Gathered CudaPlan<Curve>::add_gathered(const GroupSizes& sizes,
                                                                 unsigned end) {
  return {memory.add("gathered bases", sizes.base_bytes, kSums, end),
          memory.add("gathered scalars", sizeof(Scalar) * sizes.full, kSums, end)};
}

template <class Curve>
typename CudaPlan<Curve>::Room CudaPlan<Curve>::add_room(const GroupSizes& sizes, unsigned end) {
  Room out;
  out.list = memory.add("list of bases", 4 * sizes.longest_list, kSums, end);
  out.value_list =
      memory.add("list of scalars", 4 * std::min(sizes.longest_list, shape.full), kSums, end);
  out.tail_scratch = memory.add("scratch of the tail sums", sizes.tail_scratch, kSums, end);
  out.sum_scratch = memory.add("scratch of the bitmap sums", sizes.sum_scratch, kSums, end);
  return out;
}

template <class Curve>
typename CudaPlan<Curve>::Place CudaPlan<Curve>::add_place(unsigned wires_end, unsigned sums_end,
                                                           unsigned results_end) {
  const PartitionShape& s = shape;
  const std::size_t words_of_wires = (s.aux + 63) / 64;
  constexpr std::size_t kRankBits = CompactWitness<Fr>::kRankBits;
  gpu::MemoryPlan& m = memory;
  Place out;
  out.g1_results = m.add("results in G1", sizeof(Xyzz<G1>) * g1_count(), kStage, results_end);
  out.g2_results = m.add("results in G2", sizeof(Xyzz<G2>) * g2_count(), kStage, results_end);
  out.full_values = m.add("full scalars", sizeof(Fr) * s.full, kStage, wires_end);
  out.ones = m.add("ones", 8 * words_of_wires, kStage, wires_end);
  out.full = m.add("full", 8 * words_of_wires, kStage, wires_end);
  out.full_ranks = m.add("ranks", 4 * ((s.aux + kRankBits - 1) / kRankBits), kStage, wires_end);
  out.full_scalars = m.add("canonical full scalars", sizeof(Scalar) * s.full, kSums, sums_end);
  if (s.sums_beside) {
    out.in_g1 = add_gathered(sizes_in_g1(), sums_end);
    out.in_g2 = add_gathered(sizes_in_g2(), sums_end);
  } else {
    out.in_g1 = out.in_g2 = add_gathered(sizes_in_g1().joined(sizes_in_g2()), sums_end);
  }
  return out;
}

template <class Curve>
void CudaPlan<Curve>::lay_out(std::size_t guest_count) {
  const PartitionShape& s = shape;
  const std::size_t n = domain();
  const unsigned sums_end = s.sums_beside ? kHSum : kSums;
  const unsigned wires_end = s.sums_beside ? kHSum : kRows;
  memory = {};
  guests.clear();
  gpu::MemoryPlan& m = memory;
  words = m.add("failing row and counters", 4 * 64, kStage, kHSum);
  for (Id& half : halves) half = m.add("streamed bases", s.chunk_bytes, kStage, kHSum);
  inputs = m.add("inputs", sizeof(Fr) * s.inputs, kStage, kRows);
  own = add_place(wires_end, sums_end, kHSum);
  for (std::size_t i = 0; i < guest_count; ++i) guests.push_back(add_place(kSums, kSums, kSums));

  if (s.sums_beside) {
    in_g1 = add_room(sizes_in_g1(), sums_end);
    in_g2 = add_room(sizes_in_g2(), sums_end);
  } else {
    in_g1 = in_g2 = add_room(sizes_in_g1().joined(sizes_in_g2()), sums_end);
  }

  b = m.add("b", sizeof(Fr) * n, kRows, s.keep_products ? kRows : kHSum);
  a = m.add("a, then the product", sizeof(Fr) * n, kRows, kRows);
  products = m.add("C z", s.keep_products ? sizeof(Fr) * n : 0, kRows, kHSum);
  h = s.keep_products ? products : b;
  h_scratch = m.add("scratch of the H sum", h_plan.scratch_bytes, kHSum, kHSum);
  m.place();
}

template <class Curve>
Result<CudaPlan<Curve>> CudaPlan<Curve>::make_within(PartitionShape shape,
                                                     const CudaPlan& largest) {
  const PartitionShape& most = largest.shape;
  if (shape.full > most.full || shape.aux != most.aux || shape.inputs != most.inputs ||
      longest_list(shape) > longest_list(most) || !fits_into(shape.l, most.l) ||
      !fits_into(shape.a, most.a) || !fits_into(shape.b_g1, most.b_g1) ||
      !fits_into(shape.b_g2, most.b_g2)) {
    return fail(ErrorCode::kInternal,
                "a partition of {} wires, {} of them full, in {} chunks, exceeds its circuit's {}, "
                "{}, {}",
                shape.aux, shape.full, shape.l.chunks.size(), most.aux, most.full,
                most.l.chunks.size());
  }
  CUZK_TRY(CudaPlan alone, make(shape));
  const bool is_streamed = shape.chunk_bytes > 0;
  if (!is_streamed && alone.memory.total_bytes() <= largest.memory.total_bytes() &&
      alone.result_bytes() <= largest.result_bytes()) {
    return alone;
  }
  CudaPlan out = largest;
  out.shape = std::move(shape);
  // Windows for the terms that there are, where their scratch and results find room.
  if (alone.sizes_in_g1().tail_scratch <= largest.memory.bytes(largest.in_g1.tail_scratch) &&
      alone.sizes_in_g2().tail_scratch <= largest.memory.bytes(largest.in_g2.tail_scratch) &&
      alone.g1_count() <= largest.g1_count() && alone.g2_count() <= largest.g2_count()) {
    out.l_plan = alone.l_plan;
    out.a_plan = alone.a_plan;
    out.b_g1_plan = alone.b_g1_plan;
    out.b_g2_plan = alone.b_g2_plan;
  }
  return out;
}

template <class Curve>
double CudaPlan<Curve>::h_cost() const {
  const double terms = static_cast<double>(h_plan.count);
  const double buckets = static_cast<double>(std::size_t{1} << h_plan.bucket_log());
  const double window = (h_plan.affine ? 9.0 : 11.0) * terms + 40.0 * buckets;
  return static_cast<double>(h_chunks()) *
         (h_plan.windows * window + h_plan.batches() * kBatchProducts + kFoldProducts);
}

#define CUZK_INSTANTIATE(Curve)                                    \
  template class CudaPlan<Curve>;                                  \
  template void set_mode<Curve>(const CudaMode&, PartitionShape&); \
  template PartitionShape largest_shape<Curve>(const CircuitSize&, const CudaMode&);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
