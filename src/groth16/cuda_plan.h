#pragma once
// The buffers of one partition on a card, by phase, before it starts.
//
//   phase     works on
//   stage     the assignment goes up
//   sums      lists and sums of the ones and of the full scalars, one query after the other, in
//             buffers that all of them share
//   rows      a = A z, b = B z; their values on the odd coset, the product in a; C z = a b
//   h_sum     h, in the place of C z, and the scratch of the H sum
// A card with room runs the sums beside the rest, those in G2 beside those in G1, each group in
// buffers of its own, and keeps C z from the first pass over the rows. A frugal plan runs the sums
// first, gives their memory to the vectors, keeps two of them, and computes C z, in the place of b,
// when it is needed.
//
// Streamed: bases that go up once may serve other partitions too, guests, for whose assignments and
// sums there is room while the vectors are not there yet. All partitions of a streamed circuit lie
// alike, so that each can be a guest of any other.
//
// Bound:   a sum of fewer terms may want more scratch (other windows, other additions). So a
//          partition's plan is made within the largest of its circuit (make_within): what is
//          promised for a circuit holds for every witness.
// Threads: values.

#include <cstdint>
#include <vector>

#include "gpu/memory_plan.h"
#include "msm/msm_cuda.h"
#include "r1cs/density.h"
#include "r1cs/witness.h"

namespace cuzk::groth16 {

// How a partition uses a card.
struct CudaMode {
  bool is_streamed = false;
  bool roomy = false;            // the sums beside the quotient, in three vectors
  std::size_t stream_chunk = 0;  // bases in G1 at once, when streamed
  bool is_coset = false;         // a key of the other world of h (coset_key.h)
  std::size_t pairs_per_batch = std::size_t{1} << 26;  // of a sum (MsmCudaOptions)
  MsmAdditions additions = MsmAdditions::kAuto;
  unsigned h_windows = 0;  // of the multiples of h that the key has; 0: it has none
  friend bool operator==(const CudaMode&, const CudaMode&) = default;
};

// What the plans of all partitions of a circuit and key have in common.
struct CircuitSize {
  unsigned domain_log2 = 0;
  std::size_t aux = 0;
  std::size_t inputs = 0;
  std::size_t full = 0;  // full scalars of a witness, at most
  std::size_t dense_a = 0;
  std::size_t dense_b = 0;
};

// A stretch of wires, by words of 64, the bases they have in a query, and what it selects of them.
struct WireChunk {
  std::size_t word_begin = 0;
  std::size_t word_count = 0;
  std::size_t base_begin = 0;
  std::size_t base_count = 0;
  std::size_t ones = 0;
  std::size_t full = 0;
};

// One query's chunks: one when it is resident.
struct QueryPlan {
  std::vector<WireChunk> chunks;
  std::size_t full() const {
    std::size_t sum = 0;
    for (const WireChunk& c : chunks) sum += c.full;
    return sum;
  }
};

// Words of 64 wires in a chunk of at most `chunk_bases` bases; all of them for 0. Never none.
std::size_t words_of_chunk(std::size_t words, std::size_t chunk_bases);

struct PartitionShape {
  unsigned domain_log2 = 0;
  std::size_t aux = 0;
  std::size_t inputs = 0;
  std::size_t full = 0;
  QueryPlan l, a, b_g1, b_g2;
  std::size_t h_terms = 0;      // of the sum of h
  std::size_t h_chunk = 0;      // bases of h at once
  std::size_t chunk_bytes = 0;  // of one half of the streaming buffer; 0: nothing is streamed
  bool sums_beside = false;     // the sums run beside the rest
  bool keep_products = false;   // C z is kept from the first pass over the rows
  MsmCudaOptions sums = {};
  MsmCudaOptions h_sum = {};
};
// What the mode says of a shape whose queries are there.
template <class Curve>
void set_mode(const CudaMode& mode, PartitionShape& shape);
// The shape that no partition of the circuit exceeds: as many ones and full scalars as there are
// bases, in as many chunks as every partition has.
template <class Curve>
PartitionShape largest_shape(const CircuitSize& size, const CudaMode& mode);

template <class Curve>
class CudaPlan {
 public:
  enum Phase : unsigned { kStage = 0, kSums = 1, kRows = 2, kHSum = 3 };
  using Fr = typename Curve::Fr;
  using Scalar = typename Fr::Scalar;
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;
  using Id = gpu::MemoryPlan::Id;

  // The current device is asked what its sorts need. With as many guests, up to `most_guests`, as
  // change nothing of what the plan takes.
  static Result<CudaPlan> make(PartitionShape shape, std::size_t most_guests = 0);
  // A plan for `shape` that takes no more than `largest`, which was made for the largest shape of
  // the same circuit and mode: that one itself, when the shape's own would take more, or when the
  // key is streamed.
  // Errors: kInternal for a shape that exceeds the largest.
  static Result<CudaPlan> make_within(PartitionShape shape, const CudaPlan& largest);

  // Of pinned memory, for what is fetched at the end.
  std::size_t result_bytes() const {
    return 256 + sizeof(Xyzz<G1>) * g1_count() + sizeof(Xyzz<G2>) * g2_count();
  }
  // What the sum of h takes, in products of field elements, its latencies counted as such: to
  // choose among ways to cut it, nothing else.
  double h_cost() const;

  PartitionShape shape;
  gpu::MemoryPlan memory;
  MsmCudaPlan h_plan, l_plan, a_plan, b_g1_plan, b_g2_plan;
  // What a group's sums gather of an assignment. Both groups have the same, one after the other,
  // unless they are summed beside each other.
  struct Gathered {
    Id bases{}, scalars{};
  };
  // An assignment, what is gathered for its sums, and their results.
  struct Place {
    Id full_values{}, ones{}, full{}, full_ranks{};
    Id full_scalars{};
    Gathered in_g1, in_g2;
    Id g1_results{}, g2_results{};
  };
  Place own;
  std::vector<Place> guests;
  Id inputs{};
  // Of the sums of own and guests alike; those of the groups as above.
  struct Room {
    Id list{}, value_list{}, tail_scratch{}, sum_scratch{};
  };
  Room in_g1, in_g2;
  // The rows. `h` is b or the buffer of the products.
  Id a{}, b{}, products{}, h{}, h_scratch{};
  Id halves[2] = {};
  Id words{};  // fetched at the end, with the results

  std::size_t domain() const { return std::size_t{1} << shape.domain_log2; }
  std::size_t h_chunks() const {
    return shape.h_terms == 0 ? 1 : (shape.h_terms - 1) / shape.h_chunk + 1;
  }
  // Places among the results in G1: windows of each chunk of h, windows of l, a and b_g1, then a
  // point for the ones of each chunk of l, a, b_g1. In G2 the windows of b_g2, then its ones.
  std::size_t l_at() const { return h_plan.sums() * h_chunks(); }
  std::size_t a_at() const { return l_at() + l_plan.sums(); }
  std::size_t b_g1_at() const { return a_at() + a_plan.sums(); }
  std::size_t l_ones_at() const { return b_g1_at() + b_g1_plan.sums(); }
  std::size_t a_ones_at() const { return l_ones_at() + shape.l.chunks.size(); }
  std::size_t b_g1_ones_at() const { return a_ones_at() + shape.a.chunks.size(); }
  std::size_t g1_count() const { return b_g1_ones_at() + shape.b_g1.chunks.size(); }
  std::size_t b_g2_at() const { return 0; }
  std::size_t b_g2_ones_at() const { return b_g2_plan.sums(); }
  std::size_t g2_count() const { return b_g2_ones_at() + shape.b_g2.chunks.size(); }

 private:
  // What the sums of a group, or of both, need at most.
  struct GroupSizes {
    std::size_t longest_list = 0;
    std::size_t full = 0;
    std::size_t base_bytes = 0;  // gathered
    std::size_t tail_scratch = 0;
    std::size_t sum_scratch = 0;
    GroupSizes joined(const GroupSizes& other) const;
  };
  GroupSizes sizes_in_g1() const;
  GroupSizes sizes_in_g2() const;
  Gathered add_gathered(const GroupSizes& sizes, unsigned end);
  Room add_room(const GroupSizes& sizes, unsigned end);
  Place add_place(unsigned wires_end, unsigned sums_end, unsigned results_end);
  void lay_out(std::size_t guest_count);
};

}  // namespace cuzk::groth16
