#include "groth16/cuda_plan.h"

#include <algorithm>

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "msm/witness_cuda.h"

namespace cuzk::groth16 {

template <class Curve>
Result<CudaPlan<Curve>> CudaPlan<Curve>::make(unsigned domain_log2, const WitnessCounts& counts) {
  CudaPlan p;
  p.counts = counts;
  p.domain_log2 = domain_log2;
  const std::size_t domain = std::size_t{1} << domain_log2;
  CUZK_TRY(p.h_plan, msm_cuda_plan<G1>(domain - 1));
  CUZK_TRY(p.l_plan, msm_cuda_plan<G1>(counts.full));
  CUZK_TRY(p.a_plan, msm_cuda_plan<G1>(counts.full_a));
  CUZK_TRY(p.b_g1_plan, msm_cuda_plan<G1>(counts.full_b));
  CUZK_TRY(p.b_g2_plan, msm_cuda_plan<G2>(counts.full_b));
  gpu::MemoryPlan& m = p.memory;
  const std::size_t words = (counts.aux + 63) / 64;
  constexpr std::size_t kRankBits = CompactWitness<Fr>::kRankBits;

  p.g1_results = m.add("results in G1", sizeof(Xyzz<G1>) * p.g1_count(), kStage, kHSum);
  p.g2_results = m.add("results in G2", sizeof(Xyzz<G2>) * p.g2_count(), kStage, kHSum);
  p.words = m.add("failing row and counters", 4 * 64, kStage, kHSum);

  p.inputs = m.add("inputs", sizeof(Fr) * counts.inputs, kStage, kRows);
  p.full_values = m.add("full scalars", sizeof(Fr) * counts.full, kStage, kRows);
  p.ones = m.add("ones", 8 * words, kStage, kRows);
  p.full = m.add("full", 8 * words, kStage, kRows);
  p.full_ranks = m.add("ranks", 4 * ((counts.aux + kRankBits - 1) / kRankBits), kStage, kRows);

  const std::size_t longest = std::max(counts.ones_l, counts.full);
  const std::size_t base_bytes =
      std::max(sizeof(Affine<G1>) * counts.full, sizeof(Affine<G2>) * counts.full_b);
  const std::size_t tail = std::max({p.l_plan.scratch_bytes, p.a_plan.scratch_bytes,
                                     p.b_g1_plan.scratch_bytes, p.b_g2_plan.scratch_bytes});
  const std::size_t sum =
      std::max(selected_sum_scratch_bytes<G1>(), selected_sum_scratch_bytes<G2>());
  p.full_scalars = m.add("canonical full scalars", sizeof(Scalar) * counts.full, kSums, kSums);
  p.list = m.add("list of bases", 4 * longest, kSums, kSums);
  p.value_list = m.add("list of scalars", 4 * counts.full, kSums, kSums);
  p.bases = m.add("gathered bases", base_bytes, kSums, kSums);
  p.scalars = m.add("gathered scalars", sizeof(Scalar) * counts.full, kSums, kSums);
  p.tail_scratch = m.add("scratch of the tail sums", tail, kSums, kSums);
  p.sum_scratch = m.add("scratch of the bitmap sums", sum, kSums, kSums);

  p.b = m.add("b, c, then h", sizeof(Fr) * domain, kRows, kHSum);
  p.a = m.add("a, then the product", sizeof(Fr) * domain, kRows, kRows);
  p.h_scratch = m.add("scratch of the H sum", p.h_plan.scratch_bytes, kHSum, kHSum);
  m.place();
  return p;
}

template class CudaPlan<Bls12_381>;
template class CudaPlan<Bn254>;

}  // namespace cuzk::groth16
