#include "groth16/backend_cuda.h"

#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <optional>

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "groth16/cuda_plan.h"
#include "ntt/ntt_cuda.h"
#include "r1cs/eval.h"

namespace cuzk::groth16 {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kWordGrain = std::size_t{1} << 14;
constexpr std::uint32_t kNoRow = 0xffffffff;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The moments of a partition on the card.
enum Mark : unsigned {
  kBegin,
  kStaged,
  kComputeBegin,
  kBitsDone,
  kTailsDone,
  kG2Done,
  kRowsDone,
  kProductDone,
  kSecondRowsDone,
  kQuotientDone,
  kHDone,
  kFetched,
  kDrained,
  kMarkCount,
};
static_assert(kMarkCount <= gpu::Slot::kMarks);

// Set bits of `words`, and of `words` and a mask.
std::size_t count_bits(Tasks& tasks, std::span<const std::uint64_t> words,
                       const std::vector<std::uint64_t>* mask) {
  std::atomic<std::size_t> total = 0;
  tasks.parallel_for(words.size(), kWordGrain, [&](std::size_t begin, std::size_t end) {
    std::size_t sum = 0;
    for (std::size_t w = begin; w < end; ++w) {
      sum += static_cast<std::size_t>(std::popcount(mask ? words[w] & (*mask)[w] : words[w]));
    }
    total += sum;
  });
  return total;
}

template <class Fr>
WitnessCounts counts_of_witness(Tasks& tasks, const CompactWitness<Fr>& witness,
                                const Density& density) {
  WitnessCounts c;
  c.aux = witness.num_aux();
  c.inputs = witness.inputs.size();
  c.full = witness.full_values().size();
  c.ones_l = count_bits(tasks, witness.ones(), nullptr);
  c.ones_a = count_bits(tasks, witness.ones(), &density.a_aux.words);
  c.ones_b = count_bits(tasks, witness.ones(), &density.b_aux.words);
  c.full_a = count_bits(tasks, witness.full(), &density.a_aux.words);
  c.full_b = count_bits(tasks, witness.full(), &density.b_aux.words);
  return c;
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

  CudaProof(gpu::Card& card, const DeviceCircuit<Fr>& circuit, const DeviceKey<Curve>& key,
            const CudaBackendOptions& options, const Context& context,
            const ProveInput<Curve>& input)
      : card_(card),
        circuit_(circuit),
        key_(key),
        options_(options),
        context_(context),
        input_(input) {}

  // What was queued must end before its memory is given away.
  ~CudaProof() override {
    if (!tenancy_) return;
    if (queued_ && !fetched_) {
      gpu::Event& drained = slot_->marks[kDrained];
      if (!drained.record(slot_->stream.handle()) || !drained.synchronize()) {
        card_.fence("its work could not be waited for");
      }
    }
    tenancy_->settle();
  }

  Status start() {
    started_ = Clock::now();
    slot_ = card_.take_slot();
    {
      const auto span = context_.timeline.span("prep", context_.lane);
      const auto begin = Clock::now();
      const auto counts = counts_of_witness(context_.tasks, input_.witness, input_.density);
      if (context_.tasks.stop_requested()) {
        return fail(ErrorCode::kCancelled, "stopped before a partition went to the device");
      }
      CUZK_TRY(plan_, CudaPlan<Curve>::make(circuit_.matrices().domain_log2, counts));
      timing_.prep_ms = ms_since(begin);
    }
    {
      const auto span = context_.timeline.span("memory_wait", context_.lane);
      const auto begin = Clock::now();
      CUZK_TRY(tenancy_, card_.gate().enter("partition", plan_->memory.total_bytes()));
      timing_.memory_wait_ms = ms_since(begin);
      timing_.vram_lease_bytes = plan_->memory.total_bytes();
    }
    queued_ = true;
    CUZK_TRY_VOID(stage());
    auto turn = card_.gate().compute_turn(*tenancy_);
    CUZK_TRY_VOID(compute(turn.before()));
    turn.leave(&slot_->marks[kHDone]);
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
  Status mark(Mark m) { return slot_->marks[m].record(stream()); }

  template <class T>
  Result<Span<T>> staged(gpu::MemoryPlan::Id id, std::span<const T> from) {
    CUZK_TRY(const auto to, buffer<T>(id, from.size()));
    CUZK_TRY_VOID(card_.staging().upload(context_.tasks, stream(), to, from));
    timing_.upload_bytes += from.size_bytes();
    return to;
  }

  Status stage() {
    const auto span = context_.timeline.span("stage_host", context_.lane);
    const auto& witness = input_.witness;
    CUZK_TRY_VOID(mark(kBegin));
    began_ = Clock::now();
    CUZK_TRY(words_, buffer<std::uint32_t>(plan_->words, 64));
    CUZK_TRY_VOID(gpu::runtime::fill_bytes(stream(), words_.data(), 0xff, words_.size_bytes()));
    CUZK_TRY(assignment_.inputs, staged(plan_->inputs, std::span<const Fr>(witness.inputs)));
    CUZK_TRY(assignment_.full_values, staged(plan_->full_values, witness.full_values()));
    CUZK_TRY(assignment_.wires.ones, staged(plan_->ones, witness.ones()));
    CUZK_TRY(assignment_.wires.full, staged(plan_->full, witness.full()));
    CUZK_TRY(assignment_.wires.full_ranks, staged(plan_->full_ranks, witness.full_ranks()));
    return mark(kStaged);
  }

  Status compute(const gpu::Event* before) {
    if (before) {
      CUZK_TRY(const bool ended, before->has_happened());
      timing_.prestage_ok = !ended;
      CUZK_TRY_VOID(slot_->stream.wait(*before));
    }
    CUZK_TRY_VOID(mark(kComputeBegin));
    CUZK_TRY(g1_results_, buffer<Xyzz<G1>>(plan_->g1_results, plan_->g1_count()));
    CUZK_TRY(g2_results_, buffer<Xyzz<G2>>(plan_->g2_results, plan_->g2_count()));
    CUZK_TRY_VOID(sum_witness());
    tenancy_->shrink_after(slot_->marks[kG2Done], plan_->memory.bytes_from(CudaPlan<Curve>::kRows));
    CUZK_TRY_VOID(quotient());
    tenancy_->shrink_after(slot_->marks[kQuotientDone],
                           plan_->memory.bytes_from(CudaPlan<Curve>::kHSum));
    CUZK_TRY_VOID(sum_h());
    CUZK_TRY_VOID(fetch());
    tenancy_->shrink_after(slot_->marks[kFetched], 0);
    return {};
  }

  // Everything but h. Results after the windows of h: those of l, a and b_g1, then the ones'.
  Status sum_witness() {
    const CudaPlan<Curve>& p = *plan_;
    const DeviceDensity all = {};
    const std::size_t l = p.h_plan.windows;
    const std::size_t a = l + p.l_plan.windows;
    const std::size_t b = a + p.a_plan.windows;
    const std::size_t ones = b + p.b_g1_plan.windows;
    CUZK_TRY(const auto canonical, buffer<Scalar>(p.full_scalars, p.counts.full));
    CUZK_TRY_VOID(to_scalars<Fr>(stream(), assignment_.full_values, canonical));
    const auto& da = circuit_.a_density();
    const auto& db = circuit_.b_density();
    CUZK_TRY_VOID(sum_ones<G1>(key_.l_query(), all, p.counts.ones_l, g1_results_, ones));
    CUZK_TRY_VOID(sum_ones<G1>(key_.a_aux(), da, p.counts.ones_a, g1_results_, ones + 1));
    CUZK_TRY_VOID(sum_ones<G1>(key_.b_g1_aux(), db, p.counts.ones_b, g1_results_, ones + 2));
    CUZK_TRY_VOID(mark(kBitsDone));
    CUZK_TRY_VOID(sum_full<G1>(key_.l_query(), all, p.counts.full, p.l_plan, g1_results_, l));
    CUZK_TRY_VOID(sum_full<G1>(key_.a_aux(), da, p.counts.full_a, p.a_plan, g1_results_, a));
    CUZK_TRY_VOID(sum_full<G1>(key_.b_g1_aux(), db, p.counts.full_b, p.b_g1_plan, g1_results_, b));
    CUZK_TRY_VOID(mark(kTailsDone));
    CUZK_TRY_VOID(sum_full<G2>(key_.b_g2_aux(), db, p.counts.full_b, p.b_g2_plan, g2_results_, 0));
    CUZK_TRY_VOID(
        sum_ones<G2>(key_.b_g2_aux(), db, p.counts.ones_b, g2_results_, p.b_g2_plan.windows));
    return mark(kG2Done);
  }

  template <class G>
  Status sum_ones(Span<const Affine<G>> bases, const DeviceDensity& density, std::size_t count,
                  Span<Xyzz<G>> results, std::size_t at) {
    CUZK_TRY(const auto list, buffer<std::uint32_t>(plan_->list, count));
    CUZK_TRY(const auto scratch,
             buffer<std::byte>(plan_->sum_scratch, selected_sum_scratch_bytes<G>()));
    CUZK_TRY_VOID(select_ones(stream(), assignment_.wires, density, list, words_.subspan(1, 1)));
    return sum_selected<G>(stream(), bases, list, scratch, results.subspan(at, 1));
  }

  template <class G>
  Status sum_full(Span<const Affine<G>> bases, const DeviceDensity& density, std::size_t count,
                  const MsmCudaPlan& msm_plan, Span<Xyzz<G>> results, std::size_t at) {
    CUZK_TRY(const auto list, buffer<std::uint32_t>(plan_->list, count));
    CUZK_TRY(const auto values, buffer<std::uint32_t>(plan_->value_list, count));
    CUZK_TRY(const auto canonical, buffer<Scalar>(plan_->full_scalars, plan_->counts.full));
    CUZK_TRY(const auto gathered, buffer<Affine<G>>(plan_->bases, count));
    CUZK_TRY(const auto scalars, buffer<Scalar>(plan_->scalars, count));
    CUZK_TRY(const auto scratch, buffer<std::byte>(plan_->tail_scratch, msm_plan.scratch_bytes));
    CUZK_TRY_VOID(
        select_full(stream(), assignment_.wires, density, list, values, words_.subspan(1, 1)));
    CUZK_TRY_VOID(gather_selected<G>(stream(), bases, list, canonical, values, gathered, scalars));
    return msm_cuda<G>(stream(), msm_plan, scalars, gathered, scratch,
                       results.subspan(at, msm_plan.windows));
  }

  // The values of A and B go to the odd coset and become the product; C, which is A B on the
  // domain, takes the place of B.
  Status quotient() {
    const CudaPlan<Curve>& p = *plan_;
    const auto& matrices = circuit_.matrices();
    const auto table = circuit_.twiddles();
    const std::size_t n = std::size_t{1} << p.domain_log2;
    const NttCudaOptions plain = {.coset = NttCoset::kNone, .scale = false};
    const NttCudaOptions odd = {.coset = NttCoset::kOdd, .scale = false};
    CUZK_TRY(const auto a, buffer<Fr>(p.a, n));
    CUZK_TRY(const auto b, buffer<Fr>(p.b, n));
    CUZK_TRY_VOID(rows_of_a_and_b<Fr>(stream(), matrices, assignment_, a, b, words_.first(1)));
    CUZK_TRY_VOID(mark(kRowsDone));
    for (const auto& v : {a, b}) {
      CUZK_TRY_VOID(ntt_cuda_inverse_reversed_to_natural<Fr>(stream(), table, v, plain));
      CUZK_TRY_VOID(ntt_cuda_forward_natural_to_reversed<Fr>(stream(), table, v, odd));
    }
    CUZK_TRY_VOID(multiply_into<Fr>(stream(), a, b));
    CUZK_TRY_VOID(ntt_cuda_inverse_reversed_to_natural<Fr>(stream(), table, a, odd));
    CUZK_TRY_VOID(mark(kProductDone));
    CUZK_TRY_VOID(rows_of_products<Fr>(stream(), matrices, assignment_, b));
    CUZK_TRY_VOID(mark(kSecondRowsDone));
    CUZK_TRY_VOID(ntt_cuda_inverse_reversed_to_natural<Fr>(stream(), table, b, plain));
    CUZK_TRY_VOID(quotient_scalars<Fr>(stream(), p.domain_log2, b, a));
    return mark(kQuotientDone);
  }

  Status sum_h() {
    const CudaPlan<Curve>& p = *plan_;
    const std::size_t terms = (std::size_t{1} << p.domain_log2) - 1;
    CUZK_TRY(const auto scalars, buffer<Scalar>(p.b, terms));
    CUZK_TRY(const auto scratch, buffer<std::byte>(p.h_scratch, p.h_plan.scratch_bytes));
    CUZK_TRY_VOID(msm_cuda<G1>(stream(), p.h_plan, scalars, key_.h_query(), scratch,
                               g1_results_.first(p.h_plan.windows)));
    return mark(kHDone);
  }

  // Host places of the results: the failing row, then those in G1, then those in G2.
  std::byte* host_g1() const { return slot_->results.span().data() + 256; }
  std::byte* host_g2() const { return host_g1() + sizeof(Xyzz<G1>) * plan_->g1_count(); }

  Status fetch() {
    const std::size_t bytes =
        256 + sizeof(Xyzz<G1>) * plan_->g1_count() + sizeof(Xyzz<G2>) * plan_->g2_count();
    if (bytes > slot_->results.size()) {
      return fail(ErrorCode::kInternal, "results of {} bytes, room for {}", bytes,
                  slot_->results.size());
    }
    using gpu::runtime::copy_to_host;
    CUZK_TRY_VOID(copy_to_host(stream(), slot_->results.span().data(), words_.data(), 256));
    CUZK_TRY_VOID(copy_to_host(stream(), host_g1(), g1_results_.data(), g1_results_.size_bytes()));
    CUZK_TRY_VOID(copy_to_host(stream(), host_g2(), g2_results_.data(), g2_results_.size_bytes()));
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

  Status join_sums(ProofParts<Curve>& parts) {
    const CudaPlan<Curve>& p = *plan_;
    std::size_t at = 0;
    const auto next = [&](const MsmCudaPlan& plan) {
      const auto windows = fetched<G1>(host_g1(), at, plan.windows);
      at += plan.windows;
      return msm_cuda_finish<G1>(plan, windows);
    };
    const Xyzz<G1> h = next(p.h_plan), l = next(p.l_plan), a = next(p.a_plan),
                   b = next(p.b_g1_plan);
    const auto ones = fetched<G1>(host_g1(), at, 3);
    parts.h = h.to_affine();
    parts.l = (l + ones[0]).to_affine();
    parts.a_aux = (a + ones[1]).to_affine();
    parts.b_g1_aux = (b + ones[2]).to_affine();
    const auto windows = fetched<G2>(host_g2(), 0, p.b_g2_plan.windows);
    const auto ones_g2 = fetched<G2>(host_g2(), p.b_g2_plan.windows, 1);
    parts.b_g2_aux = (msm_cuda_finish<G2>(p.b_g2_plan, windows) + ones_g2[0]).to_affine();
    return {};
  }

  Status sum_inputs(ProofParts<Curve>& parts) {
    std::vector<Scalar> all, dense;
    for (std::size_t i = 0; i < input_.witness.inputs.size(); ++i) {
      all.push_back(input_.witness.inputs[i].to_scalar());
      if (input_.density.b_input.contains(i)) dense.push_back(all.back());
    }
    Tasks& tasks = context_.tasks;
    CUZK_TRY(const auto a, msm<G1>(tasks, context_.memory, all, std::span(key_.a_inputs())));
    CUZK_TRY(const auto b_g1,
             msm<G1>(tasks, context_.memory, dense, std::span(key_.b_g1_inputs())));
    CUZK_TRY(const auto b_g2,
             msm<G2>(tasks, context_.memory, dense, std::span(key_.b_g2_inputs())));
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
        {"stage", kBegin, kStaged, &t.stage_ms},
        {"compute_wait", kStaged, kComputeBegin, &t.compute_wait_ms},
        {"batch_add", kComputeBegin, kBitsDone, &t.batch_add_ms},
        {"tail_msm", kBitsDone, kTailsDone, &t.tail_msm_ms},
        {"b_g2_msm", kTailsDone, kG2Done, &t.b_g2_msm_ms},
        {"matvec", kG2Done, kRowsDone, &t.matvec_ms},
        {"ntt", kRowsDone, kProductDone, &t.ntt_ms},
        {"matvec", kProductDone, kSecondRowsDone, &t.matvec_ms},
        {"ntt", kSecondRowsDone, kQuotientDone, &t.ntt_ms},
        {"h_msm", kQuotientDone, kHDone, &t.h_msm_ms},
        {"gpu_total", kComputeBegin, kHDone, &t.gpu_total_ms},
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
  const DeviceKey<Curve>& key_;
  const CudaBackendOptions& options_;
  const Context context_;
  const ProveInput<Curve> input_;
  gpu::Card::HeldSlot slot_;
  std::optional<CudaPlan<Curve>> plan_;
  std::unique_ptr<gpu::Tenancy> tenancy_;
  bool queued_ = false;
  bool fetched_ = false;
  Span<std::uint32_t> words_;  // the failing row, a counter of the lists
  DeviceAssignment<Fr> assignment_;
  Span<Xyzz<G1>> g1_results_;
  Span<Xyzz<G2>> g2_results_;
  Clock::time_point started_, began_;
  PartitionTiming timing_;
};

template <class Curve>
class CudaBackend final : public Backend<Curve> {
 public:
  using Fr = typename Curve::Fr;
  CudaBackend(gpu::Card& card, const DeviceCircuit<Fr>& circuit, const DeviceKey<Curve>& key,
              CudaBackendOptions options)
      : card_(card), circuit_(circuit), key_(key), options_(std::move(options)) {}

  std::string_view name() const override { return "cuda"; }
  KeyCounts counts_of(const ProvingKey<Curve>& key) const override {
    KeyCounts counts = key_.counts();
    counts.ic = key.vk.ic.size();
    return counts;
  }
  Result<std::unique_ptr<PendingParts<Curve>>> start(const Context& context,
                                                     const ProveInput<Curve>& input) override {
    if (!circuit_.is_of(input.r1cs)) {
      return fail(ErrorCode::kInvalidArgument, "the device holds another circuit than {}",
                  input.r1cs.name);
    }
    CUZK_TRY_VOID(card_.check_usable());
    CUZK_TRY_VOID(card_.use());
    auto proof =
        std::make_unique<CudaProof<Curve>>(card_, circuit_, key_, options_, context, input);
    if (Status status = proof->start(); !status) {
      if (status.error().code == ErrorCode::kDeviceLost) card_.fence(status.error().message);
      return fail(std::move(status).error());
    }
    return proof;
  }

 private:
  gpu::Card& card_;
  const DeviceCircuit<Fr>& circuit_;
  const DeviceKey<Curve>& key_;
  const CudaBackendOptions options_;
};

}  // namespace

template <class Curve>
Result<std::unique_ptr<Backend<Curve>>> make_cuda_backend(
    gpu::Card& card, const DeviceCircuit<typename Curve::Fr>& circuit, const DeviceKey<Curve>& key,
    CudaBackendOptions options) {
  return std::make_unique<CudaBackend<Curve>>(card, circuit, key, std::move(options));
}

template <class Curve>
Result<std::size_t> cuda_lease_bytes(const CompactR1cs<typename Curve::Fr>& r1cs,
                                     const Density& density) {
  WitnessCounts worst;
  worst.aux = r1cs.num_aux;
  worst.inputs = r1cs.num_inputs;
  worst.full = r1cs.num_full_aux;
  worst.ones_l = r1cs.num_aux;
  worst.ones_a = density.a_aux.count;
  worst.ones_b = density.b_aux.count;
  worst.full_a = std::min<std::size_t>(worst.full, density.a_aux.count);
  worst.full_b = std::min<std::size_t>(worst.full, density.b_aux.count);
  CUZK_TRY(const auto plan, CudaPlan<Curve>::make(r1cs.domain_log2(), worst));
  return plan.memory.total_bytes();
}

#define CUZK_INSTANTIATE(Curve)                                                                \
  template Result<std::unique_ptr<Backend<Curve>>> make_cuda_backend(                          \
      gpu::Card&, const DeviceCircuit<typename Curve::Fr>&, const DeviceKey<Curve>&,           \
      CudaBackendOptions);                                                                     \
  template Result<std::size_t> cuda_lease_bytes<Curve>(const CompactR1cs<typename Curve::Fr>&, \
                                                       const Density&);
CUZK_INSTANTIATE(Bls12_381)
CUZK_INSTANTIATE(Bn254)
#undef CUZK_INSTANTIATE

}  // namespace cuzk::groth16
