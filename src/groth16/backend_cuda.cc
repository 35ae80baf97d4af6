#include "groth16/backend_cuda.h"

#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <optional>

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "groth16/cuda_plan.h"
#include "groth16/stream_board.h"
#include "ntt/ntt_cuda.h"
#include "r1cs/eval.h"

namespace cuzk::groth16 {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kWordGrain = std::size_t{1} << 14;
constexpr std::uint32_t kNoRow = 0xffffffff;
constexpr std::size_t kMostGuests = 7;  // of a partition that streams
constexpr std::size_t kChunks[] = {1u << 23, 1u << 22, 1u << 21, 1u << 20,
                                   1u << 19, 1u << 18, 1u << 17, 1u << 16};
constexpr std::size_t kPairs[] = {1u << 28, 1u << 26, 1u << 24, 1u << 22};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The moments of a partition on the card. The ones of a query have been added and its full scalars
// gathered when *Ones comes; then they are summed.
enum Mark : unsigned {
  kBegin,
  kStageBegin,
  kStaged,
  kComputeBegin,
  kSumsBegin,
  kLOnes,
  kLDone,
  kAOnes,
  kADone,
  kBOnes,
  kG1Done,
  kG2Ones,
  kG2Done,
  kHandedOver,  // a guest's sums are in its pinned memory
  kRowsBegin,
  kRowsDone,
  kProductDone,
  kSecondRowsDone,
  kQuotientDone,
  kHBuckets,  // what is left of the sum of h keeps few of the device's blocks busy
  kHDone,
  kComputeEnd,
  kFetched,
  kDrained,
  kMarkCount,
};
static_assert(kMarkCount <= gpu::Slot::kMarks);

using Words = std::span<const std::uint64_t>;

// Set bits of `words`, and of `words` and a mask, which may be empty.
std::size_t count_bits(Tasks& tasks, Words words, Words mask) {
  std::atomic<std::size_t> total = 0;
  tasks.parallel_for(words.size(), kWordGrain, [&](std::size_t begin, std::size_t end) {
    std::size_t sum = 0;
    for (std::size_t w = begin; w < end; ++w) {
      sum += static_cast<std::size_t>(std::popcount(mask.empty() ? words[w] : words[w] & mask[w]));
    }
    total += sum;
  });
  return total;
}

// Chunks of at most `chunk_bases` bases each; of all words when it is 0. There is always one.
template <class Fr>
QueryPlan plan_query(Tasks& tasks, const CompactWitness<Fr>& witness, Words density,
                     std::size_t chunk_bases) {
  const std::size_t words = witness.ones().size();
  const std::size_t each = words_of_chunk(words, chunk_bases);
  QueryPlan plan;
  std::size_t base = 0;
  for (std::size_t begin = 0; begin < words || plan.chunks.empty(); begin += each) {
    WireChunk c;
    c.word_begin = begin;
    c.word_count = std::min(each, words - begin);
    c.base_begin = base;
    const Words mask = density.empty() ? density : density.subspan(begin, c.word_count);
    const std::size_t wires = std::min(64 * c.word_count, witness.num_aux() - 64 * begin);
    c.base_count = density.empty() ? wires : count_bits(tasks, mask, {});
    c.ones = count_bits(tasks, witness.ones().subspan(begin, c.word_count), mask);
    c.full = count_bits(tasks, witness.full().subspan(begin, c.word_count), mask);
    base += c.base_count;
    plan.chunks.push_back(c);
  }
  return plan;
}

// What of an input the card is given.
template <class Fr>
struct ProofInput {
  const CompactR1cs<Fr>& r1cs;
  const Density& density;
  const CompactWitness<Fr>& witness;
};

template <class Curve>
PartitionShape shape_of(Tasks& tasks, const CompactWitness<typename Curve::Fr>& witness,
                        const Density& density, unsigned domain_log2, const CudaMode& mode) {
  PartitionShape s;
  s.domain_log2 = domain_log2;
  s.aux = witness.num_aux();
  s.inputs = witness.inputs.size();
  s.full = witness.full_values().size();
  const std::size_t chunk = mode.is_streamed ? mode.stream_chunk : 0;
  s.l = plan_query(tasks, witness, {}, chunk);
  s.a = plan_query(tasks, witness, density.a_aux.words, chunk);
  s.b_g1 = plan_query(tasks, witness, density.b_aux.words, chunk);
  s.b_g2 = chunk ? plan_query(tasks, witness, density.b_aux.words, chunk / 2) : s.b_g1;
  set_mode<Curve>(mode, s);
  return s;
}

template <class Curve>
class CudaProof final : public PendingParts<Curve> {
 public:
  using Fr = typename Curve::Fr;
  using Scalar = typename Fr::Scalar;
  using G1 = typename Curve::G1;
  using G2 = typename Curve::G2;
  template <class T>
  using Span = gpu::DeviceSpan<T>;

  CudaProof(gpu::Card& card, const DeviceCircuit<Fr>& circuit, const KeyBases<Curve>& key,
            const CudaMode& mode, const CudaPlan<Curve>& largest, const CudaBackendOptions& options,
            const Context& context, const ProofInput<Fr>& input)
      : card_(card),
        circuit_(circuit),
        key_(key),
        mode_(mode),
        largest_(largest),
        options_(options),
        context_(context),
        input_(input) {}

  // What was queued, by itself or for it, must end before its memory is given away.
  ~CudaProof() override {
    if (is_posted_) key_.board->withdraw(this);
    if ((queued_ || is_summed_) && !fetched_) {
      gpu::Event& drained = slot_->marks[kDrained];
      const auto wait_for = [&](const gpu::Stream& s) {
        if (!drained.record(s.handle()) || !drained.synchronize()) {
          card_.fence("its work could not be waited for");
        }
      };
      wait_for(slot_->copies);
      for (const gpu::Stream& side : slot_->sides) wait_for(side);
      wait_for(slot_->stream);
    }
    if (tenancy_) tenancy_->settle();
  }

  Status start() {
    started_ = Clock::now();
    slot_ = card_.take_slot(options_.urgency);
    CUZK_TRY_VOID(mark(kBegin));
    began_ = Clock::now();
    {
      const auto span = context_.timeline.span("prep", context_.lane);
      const auto begin = Clock::now();
      auto shape = shape_of<Curve>(context_.tasks, input_.witness, input_.density,
                                   circuit_.matrices().domain_log2, mode_);
      if (context_.tasks.stop_requested()) {
        return fail(ErrorCode::kCancelled, "stopped before a partition went to the device");
      }
      CUZK_TRY(plan_, CudaPlan<Curve>::make_within(std::move(shape), largest_));
      timing_.prep_ms = ms_since(begin);
    }
    if (may_share()) {
      key_.board->post(this, kind());
      is_posted_ = true;
    }
    {
      const auto span = context_.timeline.span("memory_wait", context_.lane);
      const auto begin = Clock::now();
      CUZK_TRY(tenancy_,
               card_.gate().enter("partition", plan_->memory.total_bytes(), options_.urgency,
                                  [this] { return context_.tasks.stop_requested(); }));
      timing_.memory_wait_ms = ms_since(begin);
      timing_.vram_lease_bytes = plan_->memory.total_bytes();
    }
    queued_ = true;
    CUZK_TRY_VOID(stage());
    auto turn = card_.gate().compute_turn(*tenancy_);
    if (is_posted_) key_.board->withdraw(this);
    is_posted_ = false;
    // Critical work runs beside what was queued before it, on streams that go first; what comes
    // after follows the others, as if it were not there.
    const bool beside = options_.urgency == gpu::Urgency::kCritical;
    CUZK_TRY_VOID(compute(beside ? nullptr : turn.before()));
    const Mark left = plan_->shape.sums_beside ? kHBuckets : kComputeEnd;
    turn.leave(beside ? nullptr : &slot_->marks[left]);
    return {};
  }

  Result<ProofParts<Curve>> finish() override {
    CUZK_TRY_VOID(card_.use());
    auto parts = joined();
    if (!parts && parts.error().code == ErrorCode::kDeviceLost) {
      card_.fence(parts.error().message);
    }
    return parts;
  }

 private:
  template <class T>
  Result<Span<T>> buffer(gpu::MemoryPlan::Id id, std::size_t count) const {
    return tenancy_->lease().template at<T>(plan_->memory.offset(id), count);
  }
  gpu::StreamHandle stream() const { return slot_->stream.handle(); }
  template <class G>
  static constexpr bool kInG2 = std::is_same_v<G, G2>;
  // Where the sums over the assignment run in the group.
  template <class G>
  gpu::Stream& sums() const {
    return plan_->shape.sums_beside ? slot_->sides[kInG2<G>] : slot_->stream;
  }
  // What they use there, and what they gather of a member.
  template <class G>
  const typename CudaPlan<Curve>::Room& room() const {
    return kInG2<G> ? plan_->in_g2 : plan_->in_g1;
  }
  template <class G>
  static const typename CudaPlan<Curve>::Gathered& gathered_of(
      const typename CudaPlan<Curve>::Place& place) {
    return kInG2<G> ? place.in_g2 : place.in_g1;
  }
  Status mark(Mark m) { return slot_->marks[m].record(stream()); }
  // On the records of all members.
  Status mark_sums(Mark mark, const gpu::Stream& where) {
    for (const Member& m : members_) {
      CUZK_TRY_VOID(m.proof->slot_->marks[mark].record(where.handle()));
    }
    return {};
  }

  // Critical work, which runs beside the rest, has its streaming buffer to itself.
  bool may_share() const {
    return key_.is_streamed && key_.board && options_.urgency == gpu::Urgency::kNormal;
  }
  StreamBoard::Kind kind() const { return {&circuit_, mode_}; }

  // A partition that the sums over the assignment are for, with its place in this one's lease: this
  // one, or a guest, which waits for its turn meanwhile.
  struct Member {
    CudaProof* proof;
    const typename CudaPlan<Curve>::Place* place;
    DeviceAssignment<Fr> assignment;
    Span<Xyzz<G1>> g1;
    Span<Xyzz<G2>> g2;
    std::size_t gathered = 0;  // full scalars of the query at hand
  };

  template <class T>
  Result<Span<T>> staged(gpu::MemoryPlan::Id id, std::span<const T> from) {
    CUZK_TRY(const auto to, buffer<T>(id, from.size()));
    CUZK_TRY_VOID(card_.staging().upload(context_.tasks, stream(), to, from));
    timing_.upload_bytes += from.size_bytes();
    return to;
  }

  Status stage() {
    const auto span = context_.timeline.span("stage_host", context_.lane);
    CUZK_TRY_VOID(mark(kStageBegin));
    CUZK_TRY(words_, buffer<std::uint32_t>(plan_->words, 64));
    CUZK_TRY_VOID(gpu::runtime::fill_bytes(stream(), words_.data(), 0xff, words_.size_bytes()));
    CUZK_TRY(assignment_, assignment(input_.witness, plan_->own));
    CUZK_TRY(assignment_.inputs, staged(plan_->inputs, std::span<const Fr>(input_.witness.inputs)));
    return mark(kStaged);
  }

  // Without the inputs.
  Result<DeviceAssignment<Fr>> assignment(const CompactWitness<Fr>& witness,
                                          const typename CudaPlan<Curve>::Place& place) {
    DeviceAssignment<Fr> out;
    CUZK_TRY(out.full_values, staged(place.full_values, witness.full_values()));
    CUZK_TRY(out.wires.ones, staged(place.ones, witness.ones()));
    CUZK_TRY(out.wires.full, staged(place.full, witness.full()));
    CUZK_TRY(out.wires.full_ranks, staged(place.full_ranks, witness.full_ranks()));
    return out;
  }

  Status add_member(CudaProof& proof, const typename CudaPlan<Curve>::Place& place,
                    const DeviceAssignment<Fr>& assignment) {
    Member m = {&proof, &place, assignment, {}, {}};
    CUZK_TRY(m.g1, buffer<Xyzz<G1>>(place.g1_results, proof.plan_->g1_count()));
    CUZK_TRY(m.g2, buffer<Xyzz<G2>>(place.g2_results, proof.plan_->g2_count()));
    members_.push_back(m);
    return {};
  }

  // Those that wait for the same bases go up now, under the partition before, if there is one.
  Status invite(const StreamBoard::Claim& claim) {
    for (std::size_t i = 0; i < claim.partitions().size(); ++i) {
      auto& guest = *static_cast<CudaProof*>(claim.partitions()[i]);
      const auto& place = plan_->guests[i];
      CUZK_TRY(const auto wires, assignment(guest.input_.witness, place));
      CUZK_TRY_VOID(add_member(guest, place, wires));
    }
    return {};
  }

  // The guests' sums go to their own pinned memory, and their streams follow. Errors from here on
  // are the card's, which is fenced for all of them.
  Status hand_over() {
    for (Member& m : std::span(members_).subspan(1)) {
      CudaProof& guest = *m.proof;
      const std::size_t first = guest.plan_->l_at();
      const auto g1 = m.g1.subspan(first, m.g1.size() - first);
      guest.is_summed_ = true;
      guest.timing_.pass = members_.size();
      CUZK_TRY_VOID(gpu::runtime::copy_to_host(stream(), guest.host_g1() + sizeof(Xyzz<G1>) * first,
                                               g1.data(), g1.size_bytes()));
      CUZK_TRY_VOID(
          gpu::runtime::copy_to_host(stream(), guest.host_g2(), m.g2.data(), m.g2.size_bytes()));
      CUZK_TRY_VOID(guest.slot_->marks[kHandedOver].record(stream()));
      CUZK_TRY_VOID(guest.slot_->stream.wait(guest.slot_->marks[kHandedOver]));
    }
    return {};
  }

  Status compute(const gpu::Event* before) {
    StreamBoard::Claim guests;
    CUZK_TRY_VOID(add_member(*this, plan_->own, assignment_));
    if (may_share() && !is_summed_) guests = key_.board->claim(kind(), plan_->guests.size());
    CUZK_TRY_VOID(invite(guests));
    if (before) {
      CUZK_TRY(const bool ended, before->has_happened());
      timing_.prestage_ok = !ended;
      CUZK_TRY_VOID(slot_->stream.wait(*before));
    }
    CUZK_TRY_VOID(mark(kComputeBegin));
    const bool beside = plan_->shape.sums_beside;
    if (!is_summed_) {
      CUZK_TRY_VOID(sum_witness());
      CUZK_TRY_VOID(hand_over());
    }
    members_.erase(members_.begin() + 1, members_.end());
    guests = {};
    // Behind what the guests take with them, too.
    CUZK_TRY_VOID(mark(kRowsBegin));
    if (!beside) {
      tenancy_->shrink_after(slot_->marks[kRowsBegin],
                             plan_->memory.bytes_from(CudaPlan<Curve>::kRows));
    }
    CUZK_TRY_VOID(quotient());
    if (!beside) {
      tenancy_->shrink_after(slot_->marks[kQuotientDone],
                             plan_->memory.bytes_from(CudaPlan<Curve>::kHSum));
    }
    CUZK_TRY_VOID(sum_h());
    if (beside) {
      for (const Mark m : {kG1Done, kG2Done, kHDone}) {
        CUZK_TRY_VOID(slot_->stream.wait(slot_->marks[m]));
      }
    }
    CUZK_TRY_VOID(mark(kComputeEnd));
    CUZK_TRY_VOID(fetch());
    tenancy_->shrink_after(slot_->marks[kFetched], 0);
    return {};
  }

  // Bases [begin, begin + count) of a query on the card: a view when it is resident, else the next
  // half of the streaming buffer, which `user` may use until done_with_bases().
  template <class G>
  Result<Span<const Affine<G>>> bases_of(const QueryBases<G>& query, std::size_t begin,
                                         std::size_t count, gpu::Stream& user) {
    if (!query.is_streamed) return query.resident.subspan(begin, count);
    const unsigned half = streamed_chunks_ % gpu::Slot::kHalves;
    if (streamed_chunks_ >= gpu::Slot::kHalves) {
      CUZK_TRY_VOID(slot_->copies.wait(slot_->freed[half]));
    }
    CUZK_TRY(const auto to, buffer<Affine<G>>(plan_->halves[half], count));
    CUZK_TRY_VOID(gpu::upload(slot_->copies.handle(), to, query.host.subspan(begin, count)));
    CUZK_TRY_VOID(slot_->filled[half].record(slot_->copies.handle()));
    CUZK_TRY_VOID(user.wait(slot_->filled[half]));
    timing_.upload_bytes += to.size_bytes();
    return Span<const Affine<G>>(to);
  }
  template <class G>
  Status done_with_bases(const QueryBases<G>& query, gpu::Stream& user) {
    if (!query.is_streamed) return {};
    return slot_->freed[streamed_chunks_++ % gpu::Slot::kHalves].record(user.handle());
  }

  // What a sum over the assignments is of, and where it goes.
  template <class G>
  struct QuerySum {
    const QueryBases<G>& bases;
    DeviceDensity density;
    QueryPlan PartitionShape::*chunks;
    MsmCudaPlan CudaPlan<Curve>::*tail;
    std::size_t (CudaPlan<Curve>::*windows_at)() const;
    std::size_t (CudaPlan<Curve>::*ones_at)() const;
    Span<Xyzz<G>> Member::*results;
    Mark ones_done, done;
  };

  // Everything but h, of all members.
  Status sum_witness() {
    using Plan = CudaPlan<Curve>;
    using Shape = PartitionShape;
    timing_.pass = members_.size();
    for (const Member& m : members_) {
      CUZK_TRY(const auto canonical,
               buffer<Scalar>(m.place->full_scalars, m.proof->plan_->shape.full));
      CUZK_TRY_VOID(to_scalars<Fr>(stream(), m.assignment.full_values, canonical));
    }
    CUZK_TRY_VOID(mark_sums(kSumsBegin, slot_->stream));
    if (plan_->shape.sums_beside) {
      for (gpu::Stream& side : slot_->sides) {
        CUZK_TRY_VOID(side.wait(slot_->marks[kSumsBegin]));
      }
    }
    CUZK_TRY_VOID(sum_query(QuerySum<G1>{key_.l,
                                         {},
                                         &Shape::l,
                                         &Plan::l_plan,
                                         &Plan::l_at,
                                         &Plan::l_ones_at,
                                         &Member::g1,
                                         kLOnes,
                                         kLDone}));
    CUZK_TRY_VOID(
        sum_query(QuerySum<G1>{key_.a_aux, circuit_.a_density(), &Shape::a, &Plan::a_plan,
                               &Plan::a_at, &Plan::a_ones_at, &Member::g1, kAOnes, kADone}));
    CUZK_TRY_VOID(
        sum_query(QuerySum<G1>{key_.b_g1_aux, circuit_.b_density(), &Shape::b_g1, &Plan::b_g1_plan,
                               &Plan::b_g1_at, &Plan::b_g1_ones_at, &Member::g1, kBOnes, kG1Done}));
    return sum_query(QuerySum<G2>{key_.b_g2_aux, circuit_.b_density(), &Shape::b_g2,
                                  &Plan::b_g2_plan, &Plan::b_g2_at, &Plan::b_g2_ones_at,
                                  &Member::g2, kG2Ones, kG2Done});
  }

  // The ones of each chunk are added up, the bases of its full scalars are gathered; the gathered
  // of all chunks are summed at the end.
  template <class G>
  Status sum_query(const QuerySum<G>& q) {
    gpu::Stream& user = sums<G>();
    const auto& chunks = (plan_->shape.*q.chunks).chunks;
    for (Member& m : members_) m.gathered = 0;
    for (std::size_t k = 0; k < chunks.size(); ++k) {
      const WireChunk& c = chunks[k];
      CUZK_TRY(const auto bases, bases_of(q.bases, c.base_begin, c.base_count, user));
      const auto dense =
          q.density.part(c.word_begin, c.word_count, static_cast<std::uint32_t>(c.base_begin));
      for (Member& m : members_) {
        const CudaPlan<Curve>& plan = *m.proof->plan_;
        const WireChunk& selected = (plan.shape.*q.chunks).chunks[k];
        const auto wires = m.assignment.wires.part(c.word_begin, c.word_count);
        CUZK_TRY_VOID(add_ones<G>(bases, wires, dense, selected.ones,
                                  (m.*q.results).subspan((plan.*q.ones_at)() + k, 1)));
        CUZK_TRY_VOID(gather_full<G>(m, bases, wires, dense, selected.full));
      }
      CUZK_TRY_VOID(done_with_bases(q.bases, user));
    }
    CUZK_TRY_VOID(mark_sums(q.ones_done, user));
    for (const Member& m : members_) {
      const CudaPlan<Curve>& plan = *m.proof->plan_;
      const MsmCudaPlan& tail = plan.*q.tail;
      const auto& from = gathered_of<G>(*m.place);
      CUZK_TRY(const auto gathered, buffer<Affine<G>>(from.bases, m.gathered));
      CUZK_TRY(const auto scalars, buffer<Scalar>(from.scalars, m.gathered));
      CUZK_TRY(const auto scratch, buffer<std::byte>(room<G>().tail_scratch, tail.scratch_bytes));
      CUZK_TRY_VOID(msm_cuda<G>(user.handle(), tail, scalars, gathered, scratch,
                                (m.*q.results).subspan((plan.*q.windows_at)(), tail.sums())));
    }
    return mark_sums(q.done, user);
  }

  template <class G>
  Status add_ones(Span<const Affine<G>> bases, const DeviceWires& wires,
                  const DeviceDensity& density, std::size_t count, Span<Xyzz<G>> result) {
    const auto on = sums<G>().handle();
    CUZK_TRY(const auto list, buffer<std::uint32_t>(room<G>().list, count));
    CUZK_TRY(const auto scratch,
             buffer<std::byte>(room<G>().sum_scratch, selected_sum_scratch_bytes<G>(count)));
    CUZK_TRY_VOID(select_ones(on, wires, density, list, list_counter<G>()));
    return sum_selected<G>(on, bases, list, scratch, result);
  }

  template <class G>
  Span<std::uint32_t> list_counter() const {
    return words_.subspan(kInG2<G> ? 2 : 1, 1);
  }

  // The next `count` full scalars of a member, and their bases.
  template <class G>
  Status gather_full(Member& m, Span<const Affine<G>> bases, const DeviceWires& wires,
                     const DeviceDensity& density, std::size_t count) {
    const auto on = sums<G>().handle();
    const std::size_t end = m.gathered + count;
    const auto& to = gathered_of<G>(*m.place);
    CUZK_TRY(const auto out_bases, buffer<Affine<G>>(to.bases, end));
    CUZK_TRY(const auto out_scalars, buffer<Scalar>(to.scalars, end));
    CUZK_TRY(const auto list, buffer<std::uint32_t>(room<G>().list, count));
    CUZK_TRY(const auto values, buffer<std::uint32_t>(room<G>().value_list, count));
    CUZK_TRY(const auto canonical,
             buffer<Scalar>(m.place->full_scalars, m.proof->plan_->shape.full));
    CUZK_TRY_VOID(select_full(on, wires, density, list, values, list_counter<G>()));
    CUZK_TRY_VOID(gather_selected<G>(on, bases, list, canonical, values,
                                     out_bases.subspan(m.gathered, count),
                                     out_scalars.subspan(m.gathered, count)));
    m.gathered = end;
    return {};
  }

  // The values of A and B go to the odd coset and become the product; then come the coefficients of
  // C, which is A B on the domain; or, for a key of the other world, its values on the odd coset.
  Status quotient() {
    const CudaPlan<Curve>& p = *plan_;
    const auto& matrices = circuit_.matrices();
    const auto table = circuit_.twiddles();
    const bool keep = p.shape.keep_products;
    const bool coset = mode_.is_coset;
    const NttCudaOptions plain = {.coset = NttCoset::kNone, .scale = false};
    const NttCudaOptions odd = {.coset = NttCoset::kOdd, .scale = false};
    CUZK_TRY(const auto a, buffer<Fr>(p.a, p.domain()));
    CUZK_TRY(const auto b, buffer<Fr>(p.b, p.domain()));
    CUZK_TRY(const auto h, buffer<Fr>(p.h, p.domain()));
    CUZK_TRY_VOID(rows_of_a_and_b<Fr>(stream(), matrices, assignment_, a, b, keep ? h : Span<Fr>(),
                                      coset ? Span<std::uint32_t>() : words_.first(1)));
    CUZK_TRY_VOID(mark(kRowsDone));
    for (const auto& v : {a, b}) {
      CUZK_TRY_VOID(ntt_cuda_inverse_reversed_to_natural<Fr>(stream(), table, v, plain));
      CUZK_TRY_VOID(ntt_cuda_forward_natural_to_reversed<Fr>(stream(), table, v, odd));
    }
    CUZK_TRY_VOID(multiply_into<Fr>(stream(), a, b));
    if (!coset) CUZK_TRY_VOID(ntt_cuda_inverse_reversed_to_natural<Fr>(stream(), table, a, odd));
    CUZK_TRY_VOID(mark(kProductDone));
    if (!keep) CUZK_TRY_VOID(rows_of_products<Fr>(stream(), matrices, assignment_, h));
    CUZK_TRY_VOID(mark(kSecondRowsDone));
    CUZK_TRY_VOID(ntt_cuda_inverse_reversed_to_natural<Fr>(stream(), table, h, plain));
    if (coset) {
      CUZK_TRY_VOID(ntt_cuda_forward_natural_to_reversed<Fr>(stream(), table, h, odd));
      CUZK_TRY_VOID(coset_scalars<Fr>(stream(), p.shape.domain_log2, h, a));
    } else {
      CUZK_TRY_VOID(quotient_scalars<Fr>(stream(), p.shape.domain_log2, h, a));
    }
    return mark(kQuotientDone);
  }

  Status sum_h() {
    const CudaPlan<Curve>& p = *plan_;
    const std::size_t terms = p.shape.h_terms;
    CUZK_TRY(const auto scalars, buffer<Scalar>(p.h, terms));
    CUZK_TRY(const auto scratch, buffer<std::byte>(p.h_scratch, p.h_plan.scratch_bytes));
    for (std::size_t chunk = 0; chunk < p.h_chunks(); ++chunk) {
      const std::size_t begin = chunk * p.shape.h_chunk;
      const std::size_t count = std::min(p.shape.h_chunk, terms - begin);
      CUZK_TRY(const auto bases, p.h_plan.multiples
                                     ? Result<Span<const Affine<G1>>>(key_.h_multiples)
                                     : bases_of(key_.h, begin, count, slot_->stream));
      CUZK_TRY_VOID(
          msm_cuda_buckets<G1>(stream(), p.h_plan, scalars.subspan(begin, count), bases, scratch));
      CUZK_TRY_VOID(mark(kHBuckets));
      // Beside the next partition, on a card with room.
      gpu::Stream& folds = p.shape.sums_beside ? slot_->sides[0] : slot_->stream;
      if (p.shape.sums_beside) CUZK_TRY_VOID(folds.wait(slot_->marks[kHBuckets]));
      CUZK_TRY_VOID(
          msm_cuda_fold<G1>(folds.handle(), p.h_plan, scratch,
                            members_[0].g1.subspan(chunk * p.h_plan.sums(), p.h_plan.sums())));
      CUZK_TRY_VOID(slot_->marks[kHDone].record(folds.handle()));
      CUZK_TRY_VOID(done_with_bases(key_.h, slot_->stream));
    }
    return {};
  }

  // Host places of the results: the failing row, then those in G1, then those in G2.
  std::byte* host_g1() const { return slot_->results.span().data() + 256; }
  std::byte* host_g2() const { return host_g1() + sizeof(Xyzz<G1>) * plan_->g1_count(); }

  Status fetch() {
    const std::size_t bytes = plan_->result_bytes();
    if (bytes > slot_->results.size()) {
      return fail(ErrorCode::kInternal, "results of {} bytes, room for {}", bytes,
                  slot_->results.size());
    }
    using gpu::runtime::copy_to_host;
    CUZK_TRY_VOID(copy_to_host(stream(), slot_->results.span().data(), words_.data(), 256));
    // A guest's other sums are there already.
    const auto g1 = is_summed_ ? members_[0].g1.first(plan_->l_at()) : members_[0].g1;
    const auto g2 = is_summed_ ? members_[0].g2.first(0) : members_[0].g2;
    CUZK_TRY_VOID(copy_to_host(stream(), host_g1(), g1.data(), g1.size_bytes()));
    CUZK_TRY_VOID(copy_to_host(stream(), host_g2(), g2.data(), g2.size_bytes()));
    return mark(kFetched);
  }

  Result<ProofParts<Curve>> joined() {
    CUZK_TRY_VOID(slot_->marks[kFetched].synchronize());
    fetched_ = true;
    CUZK_TRY_VOID(take_times());
    tenancy_->settle();
    const auto span = context_.timeline.span("join", context_.lane);
    const auto begin = Clock::now();
    std::uint32_t failing = 0;
    std::memcpy(&failing, slot_->results.span().data(), sizeof(failing));
    if (failing != kNoRow) {
      CUZK_TRY_VOID(check_satisfied(context_.tasks, input_.r1cs, input_.witness));
      return fail(ErrorCode::kInternal,
                  "{}: row {} fails on device {}, the satisfaction check accepts it",
                  input_.r1cs.name, failing, card_.info().index);
    }
    ProofParts<Curve> parts;
    CUZK_TRY_VOID(join_sums(parts));
    CUZK_TRY_VOID(sum_inputs(parts));
    timing_.finish_ms = ms_since(begin);
    timing_.total_ms = ms_since(started_);
    if (options_.on_timing) options_.on_timing(timing_);
    return parts;
  }

  template <class G>
  std::vector<Xyzz<G>> fetched(const std::byte* from, std::size_t first, std::size_t count) const {
    std::vector<Xyzz<G>> out(count);
    std::memcpy(out.data(), from + sizeof(Xyzz<G>) * first, sizeof(Xyzz<G>) * count);
    return out;
  }

  template <class G>
  Xyzz<G> total(const std::byte* from, std::size_t first, std::size_t count) const {
    Xyzz<G> sum = Xyzz<G>::identity();
    for (const Xyzz<G>& point : fetched<G>(from, first, count)) sum += point;
    return sum;
  }

  Status join_sums(ProofParts<Curve>& parts) {
    const CudaPlan<Curve>& p = *plan_;
    const auto windows = [&](const MsmCudaPlan& plan, std::size_t at) {
      return msm_cuda_finish<G1>(plan, fetched<G1>(host_g1(), at, plan.sums()));
    };
    Xyzz<G1> h = Xyzz<G1>::identity();
    for (std::size_t chunk = 0; chunk < p.h_chunks(); ++chunk) {
      h += windows(p.h_plan, chunk * p.h_plan.sums());
    }
    const auto& s = p.shape;
    const auto l =
        windows(p.l_plan, p.l_at()) + total<G1>(host_g1(), p.l_ones_at(), s.l.chunks.size());
    const auto a =
        windows(p.a_plan, p.a_at()) + total<G1>(host_g1(), p.a_ones_at(), s.a.chunks.size());
    const auto b = windows(p.b_g1_plan, p.b_g1_at()) +
                   total<G1>(host_g1(), p.b_g1_ones_at(), s.b_g1.chunks.size());
    const auto b_g2 =
        msm_cuda_finish<G2>(p.b_g2_plan, fetched<G2>(host_g2(), 0, p.b_g2_plan.sums())) +
        total<G2>(host_g2(), p.b_g2_plan.sums(), s.b_g2.chunks.size());
    parts.h = h.to_affine();
    parts.l = l.to_affine();
    parts.a_aux = a.to_affine();
    parts.b_g1_aux = b.to_affine();
    parts.b_g2_aux = b_g2.to_affine();
    return {};
  }

  Status sum_inputs(ProofParts<Curve>& parts) {
    std::vector<Scalar> all, dense;
    for (std::size_t i = 0; i < input_.witness.inputs.size(); ++i) {
      all.push_back(input_.witness.inputs[i].to_scalar());
      if (input_.density.b_input.contains(i)) dense.push_back(all.back());
    }
    Tasks& tasks = context_.tasks;
    CUZK_TRY(const auto a, msm<G1>(tasks, context_.memory, all, key_.a_inputs));
    CUZK_TRY(const auto b_g1, msm<G1>(tasks, context_.memory, dense, key_.b_g1_inputs));
    CUZK_TRY(const auto b_g2, msm<G2>(tasks, context_.memory, dense, key_.b_g2_inputs));
    parts.a_inputs = a.to_affine();
    parts.b_g1_inputs = b_g1.to_affine();
    parts.b_g2_inputs = b_g2.to_affine();
    return {};
  }

  // Event times into the record and onto the timeline, from the moment the first was recorded.
  Status take_times() {
    struct Stretch {
      const char* name;
      Mark from, to;
      double* into;
    };
    PartitionTiming& t = timing_;
    const Stretch stretches[] = {
        {"stage", kStageBegin, kStaged, &t.stage_ms},
        {"compute_wait", kStaged, kComputeBegin, &t.compute_wait_ms},
        {"witness_msm", kSumsBegin, kG1Done, &t.witness_msm_ms},
        {"batch_add", kSumsBegin, kLOnes, &t.batch_add_ms},
        {"tail_msm", kLOnes, kLDone, &t.tail_msm_ms},
        {"batch_add", kLDone, kAOnes, &t.batch_add_ms},
        {"tail_msm", kAOnes, kADone, &t.tail_msm_ms},
        {"batch_add", kADone, kBOnes, &t.batch_add_ms},
        {"tail_msm", kBOnes, kG1Done, &t.tail_msm_ms},
        {"b_g2_msm", plan_->shape.sums_beside ? kSumsBegin : kG1Done, kG2Done, &t.b_g2_msm_ms},
        {"matvec", kRowsBegin, kRowsDone, &t.matvec_ms},
        {"ntt", kRowsDone, kProductDone, &t.ntt_ms},
        {"matvec", kProductDone, kSecondRowsDone, &t.matvec_ms},
        {"ntt", kSecondRowsDone, kQuotientDone, &t.ntt_ms},
        {"h_msm", kQuotientDone, kHDone, &t.h_msm_ms},
        {"gpu_total", kComputeBegin, kComputeEnd, &t.gpu_total_ms},
    };
    const auto& marks = slot_->marks;
    for (const Stretch& s : stretches) {
      CUZK_TRY(const float offset, marks[s.from].milliseconds_since(marks[kBegin]));
      CUZK_TRY(const float length, marks[s.to].milliseconds_since(marks[s.from]));
      *s.into += length;
      const auto start = began_ + std::chrono::microseconds(std::int64_t(offset * 1000));
      context_.timeline.measured(s.name, context_.lane, start,
                                 std::chrono::microseconds(std::int64_t(length * 1000)));
    }
    t.partition = context_.lane;
    t.device = card_.info().index;
    t.worker = slot_->number;
    t.vram_peak_bytes = card_.arena().peak_bytes();
    return {};
  }

  gpu::Card& card_;
  const DeviceCircuit<Fr>& circuit_;
  const KeyBases<Curve>& key_;
  const CudaMode mode_;
  const CudaPlan<Curve>& largest_;
  const CudaBackendOptions& options_;
  const Context context_;
  const ProofInput<Fr> input_;
  gpu::Card::HeldSlot slot_;
  std::optional<CudaPlan<Curve>> plan_;
  std::unique_ptr<gpu::Tenancy> tenancy_;
  std::vector<Member> members_;  // itself, then its guests
  bool is_posted_ = false;       // as a guest of others
  bool is_summed_ = false;       // by another one, whose guest it was
  bool queued_ = false;
  bool fetched_ = false;
  unsigned streamed_chunks_ = 0;
  Span<std::uint32_t> words_;  // the failing row, a counter of the lists
  DeviceAssignment<Fr> assignment_;
  Clock::time_point started_, began_;
  PartitionTiming timing_;
};

template <class Curve>
class CudaBackend final : public Backend<Curve> {
 public:
  using Fr = typename Curve::Fr;
  CudaBackend(gpu::Card& card, const DeviceCircuit<Fr>& circuit, const KeyBases<Curve>& key,
              const CudaMode& mode, CudaPlan<Curve> largest, CudaBackendOptions options)
      : card_(card),
        circuit_(circuit),
        key_(key),
        mode_(mode),
        largest_(std::move(largest)),
        options_(std::move(options)) {}

  std::string_view name() const override { return "cuda"; }
  KeyCounts counts_of(const ProvingKey<Curve>& key) const override {
    KeyCounts counts = key_.counts;
    counts.ic = key.vk.ic.size();
    return counts;
  }
  Result<std::unique_ptr<PendingParts<Curve>>> start(const Context& context,
                                                     const ProveInput<Curve>& input) override {
    return start_with(context, {input.r1cs, input.density, input.witness}, false);
  }
  Result<std::unique_ptr<PendingParts<Curve>>> start_coset(
      const Context& context, const CosetProveInput<Curve>& input) override {
    return start_with(context, {input.r1cs, input.density, input.witness}, true);
  }

 private:
  Result<std::unique_ptr<PendingParts<Curve>>> start_with(const Context& context,
                                                          const ProofInput<Fr>& input,
                                                          bool is_coset) {
    if (!circuit_.is_of(input.r1cs)) {
      return fail(ErrorCode::kInvalidArgument, "the device holds another circuit than {}",
                  input.r1cs.name);
    }
    if (is_coset != key_.is_coset) {
      return fail(ErrorCode::kInvalidArgument, "the device holds a key of another kind than {}'s",
                  input.r1cs.name);
    }
    CUZK_TRY_VOID(card_.check_usable());
    CUZK_TRY_VOID(card_.use());
    auto proof = std::make_unique<CudaProof<Curve>>(card_, circuit_, key_, mode_, largest_,
                                                    options_, context, input);
    if (Status status = proof->start(); !status) {
      if (status.error().code == ErrorCode::kDeviceLost) card_.fence(status.error().message);
      return fail(std::move(status).error());
    }
    return proof;
  }

  gpu::Card& card_;
  const DeviceCircuit<Fr>& circuit_;
  const KeyBases<Curve> key_;
  const CudaMode mode_;
  const CudaPlan<Curve> largest_;  // what no partition exceeds
  const CudaBackendOptions options_;
};

template <class Curve>
Status check_domain(const CircuitSize& size) {
  using Fr = typename Curve::Fr;
  if (size.domain_log2 <= kLargestCardDomainLog2<Fr>) return {};
  return fail(ErrorCode::kOutOfBudget,
              "a circuit with a domain of 2^{} points, a card proves up to 2^{} in the field {}",
              size.domain_log2, kLargestCardDomainLog2<Fr>, Fr::Params::kName);
}

template <class Curve>
Result<CudaPlan<Curve>> largest_plan(const CircuitSize& size, const CudaMode& mode) {
  CUZK_TRY_VOID(check_domain<Curve>(size));
  CUZK_TRY(auto plan, CudaPlan<Curve>::make(largest_shape<Curve>(size, mode),
                                            mode.is_streamed ? kMostGuests : 0));
  if (plan.result_bytes() > gpu::Slot::kResultBytes) {
    return fail(ErrorCode::kInvalidArgument,
                "a domain of 2^{} in chunks of {} bases leaves {} bytes of sums to fetch, a "
                "partition has room for {}: stream larger chunks",
                size.domain_log2, mode.stream_chunk, plan.result_bytes(), gpu::Slot::kResultBytes);
  }
  return plan;
}

CudaMode mode_of(const CudaLease& lease) {
  return {lease.is_streamed,     lease.memory == CudaMemory::kRoomy,
          lease.stream_chunk,    lease.coset_domain_log2.has_value(),
          lease.pairs_per_batch, lease.additions,
          lease.h_windows};
}

// Ways to prove with a key that is resident (`mode` without a chunk) or streamed, quickest first.
template <class Curve>
Result<std::vector<CudaWay>> ways_of(const CircuitSize& size, CudaMode mode) {
  CUZK_TRY_VOID(check_domain<Curve>(size));
  std::vector<CudaWay> out;
  const auto add = [&]() -> Status {
    auto plan = CudaPlan<Curve>::make(largest_shape<Curve>(size, mode));
    if (!plan) return fail(plan.error());
    if (plan->result_bytes() > gpu::Slot::kResultBytes) return {};
    out.push_back({mode.stream_chunk, mode.pairs_per_batch, mode.additions,
                   plan->memory.total_bytes(), plan->h_cost()});
    return {};
  };
  const std::size_t whole[] = {0};
  for (const std::size_t chunk : mode.is_streamed ? std::span<const std::size_t>(kChunks) : whole) {
    mode.stream_chunk = chunk;
    for (const std::size_t pairs : kPairs) {
      mode.pairs_per_batch = pairs;
      for (const MsmAdditions additions : {MsmAdditions::kAuto, MsmAdditions::kXyzz}) {
        mode.additions = additions;
        CUZK_TRY_VOID(add());
      }
    }
  }
  std::ranges::stable_sort(out, [](const CudaWay& a, const CudaWay& b) {
    return a.cost != b.cost ? a.cost < b.cost : a.lease_bytes < b.lease_bytes;
  });
  return out;
}

template <class Curve>
CircuitSize size_of(const CompactR1cs<typename Curve::Fr>& r1cs, const Density& density,
                    std::optional<unsigned> coset_domain_log2) {
  return {coset_domain_log2.value_or(r1cs.domain_log2()),
          r1cs.num_aux,
          r1cs.num_inputs,
          r1cs.num_full_aux,
          density.a_aux.count,
          density.b_aux.count};
}

}  // namespace

template <class Curve>
Result<std::unique_ptr<Backend<Curve>>> make_cuda_backend(
    gpu::Card& card, const DeviceCircuit<typename Curve::Fr>& circuit, const KeyBases<Curve>& key,
    CudaBackendOptions options) {
  CUZK_TRY_VOID(card.use());
  if (options.stream_chunk % 1024) {
    return fail(ErrorCode::kInvalidArgument,
                "chunks of {} streamed bases, expected a multiple of 1024", options.stream_chunk);
  }
  const CircuitSize size = {
      circuit.matrices().domain_log2, circuit.num_aux(), circuit.matrices().num_inputs,
      circuit.num_full_aux(),         key.a_aux.size(),  key.b_g1_aux.size()};
  CudaMode mode = {key.is_streamed,
                   options.memory == CudaMemory::kRoomy,
                   options.stream_chunk,
                   key.is_coset,
                   options.pairs_per_batch,
                   options.additions,
                   key.h_windows};
  if (mode.pairs_per_batch == 0) mode.pairs_per_batch = CudaWay().pairs_per_batch;
  const std::size_t free = card.arena().free_bytes();
  // Whether a way was found whose lease fits `most` bytes; the smallest, if not.
  const auto choose = [&](std::size_t most) -> Result<bool> {
    if (key.is_streamed ? options.stream_chunk : options.pairs_per_batch) {
      CUZK_TRY(const auto plan, largest_plan<Curve>(size, mode));
      return plan.memory.total_bytes() <= most;
    }
    CUZK_TRY(const auto ways, ways_of<Curve>(size, mode));
    const auto fits =
        std::ranges::find_if(ways, [&](const auto& w) { return w.lease_bytes <= most; });
    const auto least = std::ranges::min_element(ways, {}, &CudaWay::lease_bytes);
    const CudaWay& way = fits == ways.end() ? *least : *fits;
    mode.stream_chunk = way.stream_chunk;
    mode.pairs_per_batch = way.pairs_per_batch;
    mode.additions = way.additions;
    return fits != ways.end();
  };
  bool chosen = false;
  if (options.memory != CudaMemory::kFrugal) {
    mode.roomy = true;
    CUZK_TRY(chosen, choose(free / card.workers()));
  }
  if (options.memory != CudaMemory::kRoomy && !chosen) {
    mode.roomy = false;
    CUZK_TRY(chosen, choose(free));
  }
  CUZK_TRY(auto largest, largest_plan<Curve>(size, mode));
  return std::make_unique<CudaBackend<Curve>>(card, circuit, key, mode, std::move(largest),
                                              std::move(options));
}

template <class Curve>
Result<std::size_t> cuda_lease_bytes(const CompactR1cs<typename Curve::Fr>& r1cs,
                                     const Density& density, const CudaLease& lease) {
  CUZK_TRY(
      const auto plan,
      largest_plan<Curve>(size_of<Curve>(r1cs, density, lease.coset_domain_log2), mode_of(lease)));
  return plan.memory.total_bytes();
}

template <class Curve>
Result<std::vector<CudaWay>> cuda_ways(const CompactR1cs<typename Curve::Fr>& r1cs,
                                       const Density& density, const CudaLease& lease) {
  return ways_of<Curve>(size_of<Curve>(r1cs, density, lease.coset_domain_log2), mode_of(lease));
}

#define CUZK_INSTANTIATE(Curve)                                                                  \
  template Result<std::unique_ptr<Backend<Curve>>> make_cuda_backend(                            \
      gpu::Card&, const DeviceCircuit<typename Curve::Fr>&, const KeyBases<Curve>&,              \
      CudaBackendOptions);                                                                       \
  template Result<std::size_t> cuda_lease_bytes<Curve>(const CompactR1cs<typename Curve::Fr>&,   \
                                                       const Density&, const CudaLease&);        \
  template Result<std::vector<CudaWay>> cuda_ways<Curve>(const CompactR1cs<typename Curve::Fr>&, \
                                                         const Density&, const CudaLease&);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
