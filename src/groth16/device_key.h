#pragma once
// A proving key on a card: every query in its memory, loaded once and used by every partition.
//
// Form:    as keys.h. The bases of inputs, which are few, stay on the host too: their sums are the
//          CPU's part of a proof.
// Threads: immutable once loaded; the card outlives it.

#include <memory>
#include <span>
#include <vector>

#include "gpu/card.h"
#include "groth16/context.h"
#include "groth16/coset_key.h"
#include "groth16/key_check.h"
#include "groth16/keys.h"
#include "groth16/toxic_waste.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/density.h"

namespace cuzk::groth16 {

class StreamBoard;

// Where a partition's bases are: in the memory of a card, or in pinned memory of the host, from
// where they are streamed.
template <class G>
struct QueryBases {
  gpu::DeviceSpan<const Affine<G>> resident;
  std::span<const Affine<G>> host;
  bool is_streamed = false;
  std::size_t size() const { return is_streamed ? host.size() : resident.size(); }
};
template <class Curve>
struct KeyBases {
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;
  KeyCounts counts;
  bool is_streamed = false;
  // h pairs with the values on the odd coset (coset_key.h), and is in reversed order, as the
  // transforms leave them.
  bool is_coset = false;
  QueryBases<G1> h, l, a_aux, b_g1_aux;  // without the bases of inputs
  // h with its multiples for so many windows (msm_cuda.h); empty without them.
  gpu::DeviceSpan<const Affine<G1>> h_multiples;
  unsigned h_windows = 0;
  QueryBases<G2> b_g2_aux;
  std::span<const Affine<G1>> a_inputs, b_g1_inputs;  // on the host
  std::span<const Affine<G2>> b_g2_inputs;
  std::shared_ptr<StreamBoard> board;  // of a streamed key: its partitions that wait
};

template <class Curve>
class DeviceKey {
 public:
  using G1 = Affine<typename Curve::G1>;
  using G2 = Affine<typename Curve::G2>;

  static std::size_t bytes(const KeyCounts& counts);
  // Multiples of h for so many windows, beside it: the sum of h is then of fewer buckets, in wider
  // windows. None where that is no quicker, or there would be more points than a sum can index.
  struct Multiples {
    unsigned windows = 0;
    std::size_t bytes = 0;
  };
  static Result<Multiples> multiples_of(const KeyCounts& counts);
  // Uploads a key for a circuit with these numbers of inputs in A and B.
  // Errors: kOutOfBudget, kDeviceLost, kCancelled.
  static Result<std::unique_ptr<DeviceKey>> load(gpu::Card& card, Tasks& tasks,
                                                 const ProvingKey<Curve>& key, std::size_t a_inputs,
                                                 std::size_t b_inputs);

  // The same for a key of the other world of h, read query by query: of the host's memory it takes
  // one query at a time. Span read_key. Errors: also those of the key's readers.
  static Result<std::unique_ptr<DeviceKey>> load(const Context& context, gpu::Card& card,
                                                 const CosetProvingKey<Curve>& key,
                                                 std::size_t a_inputs, std::size_t b_inputs);

  const KeyCounts& counts() const { return counts_; }
  gpu::DeviceSpan<const G1> h_query() const { return h_; }
  gpu::DeviceSpan<const G1> l_query() const { return l_; }
  // Without the bases of inputs.
  gpu::DeviceSpan<const G1> a_aux() const {
    return a_.subspan(a_inputs_.size(), a_.size() - a_inputs_.size());
  }
  gpu::DeviceSpan<const G1> b_g1_aux() const {
    return b_g1_.subspan(b_g1_inputs_.size(), b_g1_.size() - b_g1_inputs_.size());
  }
  gpu::DeviceSpan<const G2> b_g2_aux() const {
    return b_g2_.subspan(b_g2_inputs_.size(), b_g2_.size() - b_g2_inputs_.size());
  }
  KeyBases<Curve> bases() const;
  // Computes the multiples of h, in memory of the card's of their own. Before bases(); takes 0.1
  // seconds for a million points. Errors: kInvalidArgument where there are none; kOutOfBudget,
  // kDeviceLost.
  Status add_multiples(gpu::Card& card);
  // The queries on the host, e.g. of a key that was made on the card. Without its vk.
  Result<ProvingKey<Curve>> to_host(gpu::Card& card, MemoryBudget& memory) const;
  const std::vector<G1>& a_inputs() const { return a_inputs_; }
  const std::vector<G1>& b_g1_inputs() const { return b_g1_inputs_; }
  const std::vector<G2>& b_g2_inputs() const { return b_g2_inputs_; }

  // The queries, to be filled: for set-ups on the card.
  static Result<std::unique_ptr<DeviceKey>> allocate(gpu::Card& card, const KeyCounts& counts);
  gpu::DeviceSpan<G1> h_query_to_fill() { return h_; }
  gpu::DeviceSpan<G1> l_query_to_fill() { return l_; }
  gpu::DeviceSpan<G1> a_query_to_fill() { return a_; }
  gpu::DeviceSpan<G1> b_g1_query_to_fill() { return b_g1_; }
  gpu::DeviceSpan<G2> b_g2_query_to_fill() { return b_g2_; }
  // Fetches the bases of inputs once the queries are filled.
  Status fetch_inputs(gpu::Card& card, std::size_t a_inputs, std::size_t b_inputs);

 private:
  KeyCounts counts_;
  bool is_coset_ = false;
  gpu::Lease lease_;
  gpu::Lease multiples_lease_;
  gpu::DeviceSpan<const G1> h_multiples_;
  unsigned h_windows_ = 0;
  gpu::DeviceSpan<G1> h_, l_, a_, b_g1_;
  gpu::DeviceSpan<G2> b_g2_;
  std::vector<G1> a_inputs_, b_g1_inputs_;
  std::vector<G2> b_g2_inputs_;
};

// A proving key in host memory, pinned, for cards that cannot hold it: every partition streams it
// through two buffers.
//
// Threads: immutable; `key`, unless it was copied, outlives it, it outlives the backends made of
//          it.
template <class Curve>
class PinnedKey {
 public:
  // Cost: some 55 ms for each GiB. Errors: kOutOfBudget, kDeviceLost; kMismatch for too many
  // inputs.
  static Result<std::unique_ptr<PinnedKey>> pin(gpu::Card& card, const ProvingKey<Curve>& key,
                                                std::size_t a_inputs, std::size_t b_inputs);
  // The same for a key of the other world of h, of which it keeps a copy of its own.
  static Result<std::unique_ptr<PinnedKey>> pin(const Context& context, gpu::Card& card,
                                                const CosetProvingKey<Curve>& key,
                                                std::size_t a_inputs, std::size_t b_inputs);
  KeyBases<Curve> bases() const { return bases_; }

 private:
  Status pin_queries(const ProvingKey<Curve>& key, std::size_t a_inputs, std::size_t b_inputs);

  KeyBases<Curve> bases_;
  ProvingKey<Curve> own_;
  std::vector<gpu::Pinned> pinned_;
};

template <class Curve>
struct DeviceSetup {
  VerifyingKey<Curve> vk;
  std::unique_ptr<DeviceKey<Curve>> key;
};

// insecure_dev_setup (setup.h) with the queries made on the card, straight into its memory: the
// same points. The polynomials' values are computed on the host.
//
// Memory:  device: the key, two tables, and some 700 MB of scratch; host: 6 elements for each
//          variable, 1 for each row.
// Spans, errors: as there; also kDeviceLost.
template <class Curve>
Result<DeviceSetup<Curve>> insecure_dev_setup_on_card(const Context& context, gpu::Card& card,
                                                      const CompactR1cs<typename Curve::Fr>& r1cs,
                                                      const Density& density,
                                                      const ToxicWaste<Curve>& waste);

}  // namespace cuzk::groth16
