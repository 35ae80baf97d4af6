#pragma once
// The buffers of one partition on a card, by phase, before it starts.
//
//   phase     works on
//   stage     the assignment goes up
//   sums      lists and sums of the ones and of the full scalars, one query after the other, in
//             buffers that all of them share
//   rows      a = A z, b = B z; their values on the odd coset, the product in a; then c in b, h in
//   b h_sum     scalars in b, scratch of the H sum in what a left
// The sums go first, while nothing else is there: the vectors then take their place, and the lease
// shrinks to nothing behind the H sum.
//
// Threads: values.

#include <cstdint>

#include "gpu/memory_plan.h"
#include "msm/msm_cuda.h"
#include "r1cs/density.h"
#include "r1cs/witness.h"

namespace cuzk::groth16 {

// How long the lists of a witness are.
struct WitnessCounts {
  std::size_t aux = 0;
  std::size_t inputs = 0;
  std::size_t full = 0;    // full scalars: those of l
  std::size_t ones_l = 0;  // ones, and those dense in A and in B
  std::size_t ones_a = 0;
  std::size_t ones_b = 0;
  std::size_t full_a = 0;
  std::size_t full_b = 0;
};

template <class Curve>
class CudaPlan {
 public:
  enum Phase : unsigned { kStage = 0, kSums = 1, kRows = 2, kHSum = 3, kDone = 4 };
  using Fr = typename Curve::Fr;
  using Scalar = typename Fr::Scalar;
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;
  using Id = gpu::MemoryPlan::Id;

  // The current device is asked what its sorts need.
  static Result<CudaPlan> make(unsigned domain_log2, const WitnessCounts& counts);

  gpu::MemoryPlan memory;
  WitnessCounts counts;
  unsigned domain_log2 = 0;
  MsmCudaPlan h_plan, l_plan, a_plan, b_g1_plan, b_g2_plan;
  // The assignment.
  Id inputs{}, full_values{}, ones{}, full{}, full_ranks{};
  // The sums.
  Id full_scalars{}, list{}, value_list{}, bases{}, scalars{}, tail_scratch{}, sum_scratch{};
  // The rows.
  Id a{}, b{}, h_scratch{};
  // Results, fetched at the end.
  Id g1_results{}, g2_results{}, words{};

  // Places among the results: windows of h, l, a, b_g1, then one point each for the ones of l, a,
  // b_g1; in G2 windows of b_g2, then its ones.
  std::size_t g1_count() const {
    return h_plan.windows + l_plan.windows + a_plan.windows + b_g1_plan.windows + 3;
  }
  std::size_t g2_count() const { return b_g2_plan.windows + 1; }
};

}  // namespace cuzk::groth16
