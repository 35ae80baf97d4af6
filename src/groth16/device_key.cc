#include "groth16/device_key.h"

#include "curve/bls12_381.h"
#include "curve/bn254.h"
#include "gpu/memory_plan.h"
#include "groth16/stream_board.h"

namespace cuzk::groth16 {

namespace {

struct KeyPlan {
  gpu::MemoryPlan plan;
  gpu::MemoryPlan::Id h, l, a, b_g1, b_g2;
};

template <class Curve>
KeyPlan plan_of(const KeyCounts& counts) {
  constexpr std::size_t kG1 = sizeof(typename DeviceKey<Curve>::G1);
  constexpr std::size_t kG2 = sizeof(typename DeviceKey<Curve>::G2);
  KeyPlan p;
  p.h = p.plan.add("h_query", kG1 * counts.h, 0, 0);
  p.l = p.plan.add("l_query", kG1 * counts.l, 0, 0);
  p.a = p.plan.add("a_query", kG1 * counts.a, 0, 0);
  p.b_g1 = p.plan.add("b_g1_query", kG1 * counts.b_g1, 0, 0);
  p.b_g2 = p.plan.add("b_g2_query", kG2 * counts.b_g2, 0, 0);
  p.plan.place();
  return p;
}

template <class Curve>
KeyCounts coset_counts(const CosetProvingKey<Curve>& key) {
  return {key.vk.ic.size(),   key.h_query.size(),    key.l_query.size(),
          key.a_query.size(), key.b_g1_query.size(), key.b_g2_query.size()};
}

template <class Curve>
Status check_coset_key(const CosetProvingKey<Curve>& key) {
  const std::size_t points = key.h_query.size();
  if (key.domain_log2 < 32 && points == std::size_t{1} << key.domain_log2) return {};
  return fail(ErrorCode::kMismatch, "a key with {} points of h for a domain of 2^{}", points,
              key.domain_log2);
}

// out[i] = points[the reverse of first + i].
template <class Point>
void take_reversed(Tasks& tasks, std::span<const Point> points, unsigned log2, std::size_t first,
                   std::span<Point> out) {
  constexpr std::size_t kGrain = std::size_t{1} << 12;
  tasks.parallel_for(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::size_t reversed = 0;
      for (unsigned b = 0; b < log2; ++b) reversed |= ((first + i) >> b & 1) << (log2 - 1 - b);
      out[i] = points[reversed];
    }
  });
}

// Pageable memory: the copy has ended when the event has happened.
template <class Point>
Status fetch(gpu::Card& card, gpu::DeviceSpan<Point> from, std::vector<Point>& to) {
  to.resize(from.size());
  return gpu::download(card.load_stream(), std::span<Point>(to),
                       gpu::DeviceSpan<const Point>(from));
}

}  // namespace

template <class Curve>
std::size_t DeviceKey<Curve>::bytes(const KeyCounts& counts) {
  return plan_of<Curve>(counts).plan.total_bytes();
}

template <class Curve>
Result<std::unique_ptr<DeviceKey<Curve>>> DeviceKey<Curve>::allocate(gpu::Card& card,
                                                                     const KeyCounts& counts) {
  const KeyPlan p = plan_of<Curve>(counts);
  auto out = std::make_unique<DeviceKey>();
  out->counts_ = counts;
  CUZK_TRY(out->lease_,
           card.arena().lease("proving key", p.plan.total_bytes(), gpu::Hold::kLasting));
  const gpu::Lease& lease = out->lease_;
  CUZK_TRY(out->h_, lease.at<G1>(p.plan.offset(p.h), counts.h));
  CUZK_TRY(out->l_, lease.at<G1>(p.plan.offset(p.l), counts.l));
  CUZK_TRY(out->a_, lease.at<G1>(p.plan.offset(p.a), counts.a));
  CUZK_TRY(out->b_g1_, lease.at<G1>(p.plan.offset(p.b_g1), counts.b_g1));
  CUZK_TRY(out->b_g2_, lease.at<G2>(p.plan.offset(p.b_g2), counts.b_g2));
  return out;
}

template <class Curve>
Status DeviceKey<Curve>::fetch_inputs(gpu::Card& card, std::size_t a_inputs, std::size_t b_inputs) {
  if (a_inputs > a_.size() || b_inputs > b_g1_.size() || b_inputs > b_g2_.size()) {
    return fail(ErrorCode::kMismatch, "a key with {} and {} points for {} and {} inputs", a_.size(),
                b_g1_.size(), a_inputs, b_inputs);
  }
  CUZK_TRY_VOID(fetch(card, a_.first(a_inputs), a_inputs_));
  CUZK_TRY_VOID(fetch(card, b_g1_.first(b_inputs), b_g1_inputs_));
  CUZK_TRY_VOID(fetch(card, b_g2_.first(b_inputs), b_g2_inputs_));
  return gpu::wait_for_loads(card);
}

template <class Curve>
Result<std::unique_ptr<DeviceKey<Curve>>> DeviceKey<Curve>::load(gpu::Card& card, Tasks& tasks,
                                                                 const ProvingKey<Curve>& key,
                                                                 std::size_t a_inputs,
                                                                 std::size_t b_inputs) {
  CUZK_TRY_VOID(card.use());
  CUZK_TRY(auto out, allocate(card, key_counts(key)));
  CUZK_TRY_VOID(gpu::load(card, tasks, out->h_, key.h_query.span()));
  CUZK_TRY_VOID(gpu::load(card, tasks, out->l_, key.l_query.span()));
  CUZK_TRY_VOID(gpu::load(card, tasks, out->a_, key.a_query.span()));
  CUZK_TRY_VOID(gpu::load(card, tasks, out->b_g1_, key.b_g1_query.span()));
  CUZK_TRY_VOID(gpu::load(card, tasks, out->b_g2_, key.b_g2_query.span()));
  CUZK_TRY_VOID(out->fetch_inputs(card, a_inputs, b_inputs));
  return out;
}

template <class Curve>
Result<std::unique_ptr<DeviceKey<Curve>>> DeviceKey<Curve>::load(const Context& context,
                                                                 gpu::Card& card,
                                                                 const CosetProvingKey<Curve>& key,
                                                                 std::size_t a_inputs,
                                                                 std::size_t b_inputs) {
  CUZK_TRY_VOID(card.use());
  CUZK_TRY_VOID(check_coset_key(key));
  CUZK_TRY(auto out, allocate(card, coset_counts(key)));
  out->is_coset_ = true;
  const auto send = [&](const auto& query, auto to) -> Status {
    CUZK_TRY(const auto points, query.points(context));
    CUZK_TRY_VOID(gpu::load(card, context.tasks, to, points.span()));
    // The points leave the host's memory here, and the ring has read them all.
    return {};
  };
  {
    CUZK_TRY(const auto points, key.h_query.points(context));
    const auto make = [&](std::size_t offset, std::span<std::byte> bytes) -> Status {
      const std::span<G1> part{reinterpret_cast<G1*>(bytes.data()), bytes.size() / sizeof(G1)};
      take_reversed(context.tasks, points.span(), key.domain_log2, offset / sizeof(G1), part);
      if (!context.tasks.stop_requested()) return {};
      return fail(ErrorCode::kCancelled, "stopped while a key went to the device");
    };
    CUZK_TRY_VOID(card.load_staging().upload_made(card.load_stream(),
                                                  reinterpret_cast<std::byte*>(out->h_.data()),
                                                  out->h_.size_bytes(), sizeof(G1), make));
  }
  CUZK_TRY_VOID(send(key.l_query, out->l_));
  CUZK_TRY_VOID(send(key.a_query, out->a_));
  CUZK_TRY_VOID(send(key.b_g1_query, out->b_g1_));
  CUZK_TRY_VOID(send(key.b_g2_query, out->b_g2_));
  CUZK_TRY_VOID(out->fetch_inputs(card, a_inputs, b_inputs));
  return out;
}

template <class Curve>
KeyBases<Curve> DeviceKey<Curve>::bases() const {
  KeyBases<Curve> out;
  out.h_multiples = h_multiples_;
  out.h_windows = h_windows_;
  out.counts = counts_;
  out.is_coset = is_coset_;
  out.h.resident = h_query();
  out.l.resident = l_query();
  out.a_aux.resident = a_aux();
  out.b_g1_aux.resident = b_g1_aux();
  out.b_g2_aux.resident = b_g2_aux();
  out.a_inputs = a_inputs_;
  out.b_g1_inputs = b_g1_inputs_;
  out.b_g2_inputs = b_g2_inputs_;
  return out;
}

template <class Curve>
Result<ProvingKey<Curve>> DeviceKey<Curve>::to_host(gpu::Card& card, MemoryBudget& memory) const {
  ProvingKey<Curve> key;
  const auto fetch_query = [&]<class Point>(std::string_view name, gpu::DeviceSpan<Point> from,
                                            Buffer<Point>& to) -> Status {
    CUZK_TRY(to, Buffer<Point>::allocate(memory, name, from.size()));
    return gpu::download(card.load_stream(), to.span(), gpu::DeviceSpan<const Point>(from));
  };
  CUZK_TRY_VOID(fetch_query("h_query", h_, key.h_query));
  CUZK_TRY_VOID(fetch_query("l_query", l_, key.l_query));
  CUZK_TRY_VOID(fetch_query("a_query", a_, key.a_query));
  CUZK_TRY_VOID(fetch_query("b_g1_query", b_g1_, key.b_g1_query));
  CUZK_TRY_VOID(fetch_query("b_g2_query", b_g2_, key.b_g2_query));
  CUZK_TRY_VOID(gpu::wait_for_loads(card));
  return key;
}

template <class Curve>
Result<std::unique_ptr<PinnedKey<Curve>>> PinnedKey<Curve>::pin(gpu::Card& card,
                                                                const ProvingKey<Curve>& key,
                                                                std::size_t a_inputs,
                                                                std::size_t b_inputs) {
  CUZK_TRY_VOID(card.use());
  auto out = std::make_unique<PinnedKey>();
  CUZK_TRY_VOID(out->pin_queries(key, a_inputs, b_inputs));
  return out;
}

template <class Curve>
Result<std::unique_ptr<PinnedKey<Curve>>> PinnedKey<Curve>::pin(const Context& context,
                                                                gpu::Card& card,
                                                                const CosetProvingKey<Curve>& key,
                                                                std::size_t a_inputs,
                                                                std::size_t b_inputs) {
  CUZK_TRY_VOID(card.use());
  CUZK_TRY_VOID(check_coset_key(key));
  auto out = std::make_unique<PinnedKey>();
  const auto copy = [&]<class G>(std::string_view name, const Query<G>& query,
                                 Buffer<Affine<G>>& to) -> Status {
    CUZK_TRY(const auto points, query.points(context));
    CUZK_TRY(to, Buffer<Affine<G>>::allocate(context.memory, name, query.size()));
    if (name == "h_query") {
      take_reversed(context.tasks, points.span(), key.domain_log2, 0, to.span());
    } else {
      std::ranges::copy(points.span(), to.begin());
    }
    if (!context.tasks.stop_requested()) return {};
    return fail(ErrorCode::kCancelled, "stopped while a key was read");
  };
  ProvingKey<Curve>& own = out->own_;
  CUZK_TRY_VOID(copy("h_query", key.h_query, own.h_query));
  CUZK_TRY_VOID(copy("l_query", key.l_query, own.l_query));
  CUZK_TRY_VOID(copy("a_query", key.a_query, own.a_query));
  CUZK_TRY_VOID(copy("b_g1_query", key.b_g1_query, own.b_g1_query));
  CUZK_TRY_VOID(copy("b_g2_query", key.b_g2_query, own.b_g2_query));
  CUZK_TRY_VOID(out->pin_queries(own, a_inputs, b_inputs));
  out->bases_.is_coset = true;
  return out;
}

template <class Curve>
Status PinnedKey<Curve>::pin_queries(const ProvingKey<Curve>& key, std::size_t a_inputs,
                                     std::size_t b_inputs) {
  KeyBases<Curve>& b = bases_;
  b.counts = key_counts(key);
  if (a_inputs > b.counts.a || b_inputs > b.counts.b_g1 || b_inputs > b.counts.b_g2) {
    return fail(ErrorCode::kMismatch, "a key with {} and {} points for {} and {} inputs",
                b.counts.a, b.counts.b_g1, a_inputs, b_inputs);
  }
  b.is_streamed = true;
  b.board = std::make_shared<StreamBoard>();
  const auto add = [&](auto& query, const auto& buffer, std::size_t inputs) -> Status {
    CUZK_TRY(auto pinned, gpu::Pinned::pin(buffer.data(), buffer.span().size_bytes()));
    pinned_.push_back(std::move(pinned));
    query.host = buffer.span().subspan(inputs);
    query.is_streamed = true;
    return {};
  };
  CUZK_TRY_VOID(add(b.h, key.h_query, 0));
  CUZK_TRY_VOID(add(b.l, key.l_query, 0));
  CUZK_TRY_VOID(add(b.a_aux, key.a_query, a_inputs));
  CUZK_TRY_VOID(add(b.b_g1_aux, key.b_g1_query, b_inputs));
  CUZK_TRY_VOID(add(b.b_g2_aux, key.b_g2_query, b_inputs));
  b.a_inputs = key.a_query.span().first(a_inputs);
  b.b_g1_inputs = key.b_g1_query.span().first(b_inputs);
  b.b_g2_inputs = key.b_g2_query.span().first(b_inputs);
  return {};
}

template class DeviceKey<Bls12_381>;
template class DeviceKey<Bn254>;
template class PinnedKey<Bls12_381>;
template class PinnedKey<Bn254>;

}  // namespace cuzk::groth16
