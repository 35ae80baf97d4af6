#include "groth16/cuda_plan.h"

#include <algorithm>

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "msm/witness_cuda.h"

namespace cuzk::groth16 {

namespace {

// The longest list that a chunk needs.
std::size_t longest_list(const PartitionShape& shape) {
  std::size_t longest = 0;
  for (const QueryPlan* q : {&shape.l, &shape.a, &shape.b_g1, &shape.b_g2}) {
    for (const WireChunk& c : q->chunks) longest = std::max({longest, c.ones, c.full});
  }
  return longest;
}

}  // namespace

template <class Curve>
Result<CudaPlan<Curve>> CudaPlan<Curve>::make(PartitionShape shape) {
  CudaPlan p;
  p.shape = std::move(shape);
  const PartitionShape& s = p.shape;
  const std::size_t n = p.domain();
  const MsmCudaOptions options = {.pairs_per_batch = s.pairs_per_batch};
  CUZK_TRY(p.h_plan, msm_cuda_plan<G1>(std::min(s.h_terms, s.h_chunk), options));
  CUZK_TRY(p.l_plan, msm_cuda_plan<G1>(s.l.full(), options));
  CUZK_TRY(p.a_plan, msm_cuda_plan<G1>(s.a.full(), options));
  CUZK_TRY(p.b_g1_plan, msm_cuda_plan<G1>(s.b_g1.full(), options));
  CUZK_TRY(p.b_g2_plan, msm_cuda_plan<G2>(s.b_g2.full(), options));
  gpu::MemoryPlan& m = p.memory;
  const std::size_t words = (s.aux + 63) / 64;
  constexpr std::size_t kRankBits = CompactWitness<Fr>::kRankBits;
  const unsigned sums_end = s.sums_beside ? kHSum : kSums;
  const unsigned wires_end = s.sums_beside ? kHSum : kRows;

  p.g1_results = m.add("results in G1", sizeof(Xyzz<G1>) * p.g1_count(), kStage, kHSum);
  p.g2_results = m.add("results in G2", sizeof(Xyzz<G2>) * p.g2_count(), kStage, kHSum);
  p.words = m.add("failing row and counters", 4 * 64, kStage, kHSum);
  for (Id& half : p.halves) half = m.add("streamed bases", s.chunk_bytes, kStage, kHSum);

  p.inputs = m.add("inputs", sizeof(Fr) * s.inputs, kStage, kRows);
  p.full_values = m.add("full scalars", sizeof(Fr) * s.full, kStage, wires_end);
  p.ones = m.add("ones", 8 * words, kStage, wires_end);
  p.full = m.add("full", 8 * words, kStage, wires_end);
  p.full_ranks = m.add("ranks", 4 * ((s.aux + kRankBits - 1) / kRankBits), kStage, wires_end);

  const std::size_t tails = std::max({s.l.full(), s.a.full(), s.b_g1.full()});
  const std::size_t base_bytes =
      std::max(sizeof(Affine<G1>) * tails, sizeof(Affine<G2>) * s.b_g2.full());
  const std::size_t tail = std::max({p.l_plan.scratch_bytes, p.a_plan.scratch_bytes,
                                     p.b_g1_plan.scratch_bytes, p.b_g2_plan.scratch_bytes});
  const std::size_t list = longest_list(s);
  const std::size_t sum =
      std::max(selected_sum_scratch_bytes<G1>(list), selected_sum_scratch_bytes<G2>(list));
  p.full_scalars = m.add("canonical full scalars", sizeof(Scalar) * s.full, kSums, sums_end);
  p.list = m.add("list of bases", 4 * list, kSums, sums_end);
  p.value_list = m.add("list of scalars", 4 * std::min(list, s.full), kSums, sums_end);
  p.bases = m.add("gathered bases", base_bytes, kSums, sums_end);
  p.scalars = m.add("gathered scalars", sizeof(Scalar) * tails, kSums, sums_end);
  p.tail_scratch = m.add("scratch of the tail sums", tail, kSums, sums_end);
  p.sum_scratch = m.add("scratch of the bitmap sums", sum, kSums, sums_end);

  p.b = m.add("b", sizeof(Fr) * n, kRows, s.keep_products ? kRows : kHSum);
  p.a = m.add("a, then the product", sizeof(Fr) * n, kRows, kRows);
  p.products = m.add("C z", s.keep_products ? sizeof(Fr) * n : 0, kRows, kHSum);
  p.h = s.keep_products ? p.products : p.b;
  p.h_scratch = m.add("scratch of the H sum", p.h_plan.scratch_bytes, kHSum, kHSum);
  m.place();
  return p;
}

template class CudaPlan<Bls12_381>;
template class CudaPlan<Bn254>;

}  // namespace cuzk::groth16
