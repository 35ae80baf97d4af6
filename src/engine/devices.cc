#include "engine/devices.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include "format/bellman_key.h"
#include "ntt/ntt_cuda.h"

namespace cuzk::engine {

namespace {

double gib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

// What a partition takes in each way to prove it, with multiples if they are wanted.
template <class Curve>
Result<CardNeeds> needs_of(const CompactR1cs<typename Curve::Fr>& r1cs, const Density& density,
                           const groth16::KeyCounts& counts, std::optional<unsigned> coset_log2,
                           bool multiples) {
  using Fr = typename Curve::Fr;
  CardNeeds out;
  out.circuit_bytes = groth16::DeviceCircuit<Fr>::bytes(r1cs, density) +
                      ntt_cuda_table_bytes(coset_log2.value_or(r1cs.domain_log2()));
  out.key_bytes = groth16::DeviceKey<Curve>::bytes(counts);
  groth16::CudaLease lease;
  lease.coset_domain_log2 = coset_log2;
  const auto resident_ways = [&](CardNeeds::Resident& to) -> Status {
    lease.memory = groth16::CudaMemory::kRoomy;
    CUZK_TRY(to.roomy, groth16::cuda_ways<Curve>(r1cs, density, lease));
    lease.memory = groth16::CudaMemory::kFrugal;
    CUZK_TRY(to.frugal, groth16::cuda_ways<Curve>(r1cs, density, lease));
    return {};
  };
  CUZK_TRY_VOID(resident_ways(out.resident));
  if (multiples) {
    CUZK_TRY(const auto of_h, groth16::DeviceKey<Curve>::multiples_of(counts));
    out.multiples_bytes = of_h.bytes;
    lease.h_windows = of_h.windows;
    if (of_h.windows) CUZK_TRY_VOID(resident_ways(out.with_multiples));
    lease.h_windows = 0;
  }
  lease.is_streamed = true;
  CUZK_TRY(out.streamed, groth16::cuda_ways<Curve>(r1cs, density, lease));
  return out;
}

template <class Curve>
groth16::KeyCounts counts_of(const circom::Key<Curve>& key) {
  const auto& p = key.proving;
  return {p.vk.ic.size(),   p.h_query.size(),    p.l_query.size(),
          p.a_query.size(), p.b_g1_query.size(), p.b_g2_query.size()};
}

// Every wire in both matrices, every coefficient another one.
template <class Curve>
Result<CardNeeds> most_needs_of(const format::ZkeyHeader& key, bool multiples) {
  using Fr = typename Curve::Fr;
  const std::size_t coefficients = key.num_coefficients, domain = key.domain_size;
  CompactR1cs<Fr> r1cs;
  r1cs.num_inputs = key.num_public + 1;
  r1cs.num_aux = r1cs.num_full_aux = key.num_wires - r1cs.num_inputs;
  Density density;
  density.a_aux.count = density.b_aux.count = r1cs.num_aux;
  const std::size_t wires = key.num_wires;
  CUZK_TRY(
      auto out,
      needs_of<Curve>(r1cs, density, {r1cs.num_inputs, domain, r1cs.num_aux, wires, wires, wires},
                      static_cast<unsigned>(std::countr_zero(key.domain_size)), multiples));
  constexpr std::size_t kParts = 16 * gpu::Arena::kAlignment;
  out.circuit_bytes += coefficients * (sizeof(Term) + sizeof(Fr)) + 16 * domain + wires + kParts;
  return out;
}

// From the file to the card, decoded in the pinned buffers between them.
Result<std::unique_ptr<groth16::DeviceKey<Bls12_381>>> load_from_file(
    const Context& context, gpu::Card& card, const std::filesystem::path& path,
    std::size_t a_inputs, std::size_t b_inputs) {
  CUZK_TRY(const auto file, bellman::ParamsFile::open(path));
  CUZK_TRY(auto key, groth16::DeviceKey<Bls12_381>::allocate(card, file.counts()));
  const auto send = [&]<class G>(std::string_view name, const bellman::ParamsFile::Section& section,
                                 gpu::DeviceSpan<Affine<G>> to) {
    constexpr std::size_t kPoint = sizeof(Affine<G>);
    const auto make = [&](std::size_t offset, std::span<std::byte> out) {
      const std::span<Affine<G>> points{reinterpret_cast<Affine<G>*>(out.data()),
                                        out.size() / kPoint};
      return file.decode<G>(context.tasks, section, name, offset / kPoint, points,
                            PointCheck::kFormOnly);
    };
    return card.load_staging().upload_made(
        card.load_stream(), reinterpret_cast<std::byte*>(to.data()), to.size_bytes(), kPoint, make);
  };
  const auto& layout = file.layout();
  CUZK_TRY_VOID(send.operator()<Bls12_381G1>("h", layout.h, key->h_query_to_fill()));
  CUZK_TRY_VOID(send.operator()<Bls12_381G1>("l", layout.l, key->l_query_to_fill()));
  CUZK_TRY_VOID(send.operator()<Bls12_381G1>("a", layout.a, key->a_query_to_fill()));
  CUZK_TRY_VOID(send.operator()<Bls12_381G1>("b_g1", layout.b_g1, key->b_g1_query_to_fill()));
  CUZK_TRY_VOID(send.operator()<Bls12_381G2>("b_g2", layout.b_g2, key->b_g2_query_to_fill()));
  CUZK_TRY_VOID(key->fetch_inputs(card, a_inputs, b_inputs));
  return key;
}

Result<int> parse_ordinal(std::string_view text, std::string_view whole) {
  std::string_view digits = text;
  if (digits.starts_with("cuda:")) digits.remove_prefix(5);
  int out = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error == std::errc() && end == digits.data() + digits.size() && out >= 0) return out;
  return fail(ErrorCode::kInvalidArgument,
              "device '{}': write auto, cpu, cuda, or cards such as cuda:0,cuda:1", whole);
}

std::size_t default_critical_reserve(std::size_t card_bytes) {
  return std::min(card_bytes / 16, std::size_t{1} << 30);
}

std::size_t card_bytes(int ordinal) {
  for (const gpu::DeviceInfo& d : gpu::list_devices()) {
    if (d.index == ordinal) return d.memory_bytes;
  }
  return 0;
}

}  // namespace

Result<DeviceChoice> parse_device_choice(std::string_view text) {
  using Kind = DeviceChoice::Kind;
  if (text == "auto") return DeviceChoice{Kind::kAuto, {}};
  if (text == "cpu") return DeviceChoice{Kind::kCpu, {}};
  if (text == "cuda") return DeviceChoice{Kind::kCuda, {}};
  DeviceChoice out{Kind::kCuda, {}};
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    if (!item.starts_with("cuda:")) return fail(parse_ordinal("", text).error());
    CUZK_TRY(const int ordinal, parse_ordinal(item, text));
    if (std::ranges::count(out.cards, ordinal)) {
      return fail(ErrorCode::kInvalidArgument, "device '{}': cuda:{} is named twice", text,
                  ordinal);
    }
    out.cards.push_back(ordinal);
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 1);
  }
}

Result<CardPlan> choose_card_plan(const CardNeeds& needs, std::size_t arena_bytes, unsigned workers,
                                  std::string_view circuit) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  // `at_once` partitions beside what lasts.
  const auto first_that_fits = [&](const std::vector<groth16::CudaWay>& ways, std::size_t lasting,
                                   unsigned at_once) {
    for (const groth16::CudaWay& way : ways) {
      least = std::min(least, lasting + at_once * way.lease_bytes);
      if (lasting + at_once * way.lease_bytes <= arena_bytes) return &way;
    }
    return static_cast<const groth16::CudaWay*>(nullptr);
  };
  const auto resident_plan = [&](const CardNeeds::Resident& ways, std::size_t lasting,
                                 unsigned at_once) -> std::optional<CardPlan> {
    const auto* way = first_that_fits(ways.frugal, lasting, at_once);
    if (!way) return std::nullopt;
    CardPlan plan{.lasting_bytes = lasting, .way = *way};
    const auto* roomy = first_that_fits(ways.roomy, lasting, workers);
    if (roomy) plan.roomy_way = *roomy;
    return plan;
  };
  const std::size_t resident = needs.circuit_bytes + needs.key_bytes;
  if (needs.multiples_bytes) {
    auto plan = resident_plan(needs.with_multiples, resident + needs.multiples_bytes, workers);
    if (plan) {
      plan->multiples = true;
      return *plan;
    }
  }
  if (auto plan = resident_plan(needs.resident, resident, 1)) return *plan;
  if (const auto* way = first_that_fits(needs.streamed, needs.circuit_bytes, 1)) {
    return CardPlan{.is_streamed = true, .lasting_bytes = needs.circuit_bytes, .way = *way};
  }
  return fail(ErrorCode::kOutOfBudget,
              "{} needs {:.2f} GiB of a card's memory, its arena has {:.2f} GiB", circuit,
              gib(least), gib(arena_bytes));
}

// What lasts on the card for one circuit and key.
template <class Curve>
struct CudaDevice::Content {
  std::shared_ptr<const void> owner;  // of the host's part
  std::unique_ptr<groth16::DeviceCircuit<typename Curve::Fr>> circuit;
  std::unique_ptr<groth16::DeviceKey<Curve>> key;
  std::unique_ptr<groth16::PinnedKey<Curve>> pinned;
  groth16::KeyBases<Curve> bases;
};

CudaDevice::CudaDevice(std::unique_ptr<gpu::Card> card, std::size_t pinned_bytes, bool multiples)
    : card_(std::move(card)),
      pinned_bytes_(pinned_bytes),
      multiples_(multiples),
      name_(fmt::format("cuda:{}", card_->info().index)),
      keys_(card_->arena()) {}

Result<std::shared_ptr<CudaDevice>> CudaDevice::open(const Context& context, int ordinal,
                                                     const CardsOptions& options) {
  const auto span = context.timeline.span("open_device", context.lane);
  gpu::CardOptions wanted;
  wanted.device = ordinal;
  wanted.vram_budget = options.vram_budget;
  wanted.workers = options.workers;
  wanted.critical_reserve = options.critical_reserve.value_or(
      default_critical_reserve(options.vram_budget ? options.vram_budget : card_bytes(ordinal)));
  CUZK_TRY(auto card, gpu::Card::open(context.memory, wanted));
  CUZK_TRY_VOID(groth16::self_test(context, *card));
  return std::shared_ptr<CudaDevice>(
      new CudaDevice(std::move(card), gpu::Card::pinned_bytes(wanted), options.multiples));
}

std::string CudaDevice::description() const {
  std::string out = fmt::format("{}, arena of {:.1f} GiB, {} worker{}", card_->info().name,
                                gib(arena_bytes()), workers(), workers() == 1 ? "" : "s");
  if (reserve_bytes()) {
    out += fmt::format(", {:.1f} GiB more for critical work", gib(reserve_bytes()));
  }
  return out;
}

CardStatus CudaDevice::status() const {
  CardStatus out;
  out.name = name_;
  out.description = card_->info().name;
  if (const Status usable = card_->check_usable(); !usable) out.fenced = usable.error().message;
  const gpu::Arena& arena = card_->arena();
  out.arena_bytes = arena.total_bytes();
  out.reserve_bytes = reserve_bytes();
  out.lasting_bytes = arena.lasting_bytes();
  out.free_bytes = arena.free_bytes();
  out.peak_bytes = arena.peak_bytes();
  out.keys = keys_.held();
  out.key_loads = keys_.loads();
  out.key_evictions = keys_.evictions();
  return out;
}

Result<CardPlan> CudaDevice::plan_known(const std::string& id, std::string_view circuit,
                                        const std::function<Result<CardNeeds>()>& needs) const {
  {
    const std::lock_guard lock(plans_mutex_);
    if (const auto known = plans_.find(id); known != plans_.end()) return known->second;
  }
  CUZK_TRY_VOID(card_->use());
  CUZK_TRY(const CardNeeds sizes, needs());
  CUZK_TRY(const CardPlan made, choose_card_plan(sizes, arena_bytes(), workers(), circuit));
  const std::lock_guard lock(plans_mutex_);
  plans_[id] = made;
  return made;
}

Result<CardPlan> CudaDevice::plan(const std::string& id, const CompactR1cs<bls12_381::Fr>& r1cs,
                                  const Density& density) const {
  return plan_known(id, r1cs.name, [&] {
    return needs_of<Bls12_381>(r1cs, density, groth16::expected_key_counts(r1cs, density), {},
                               multiples_);
  });
}

template <class Curve>
Result<CardPlan> CudaDevice::plan(const std::string& id, const circom::Key<Curve>& key) const {
  return plan_known(id, key.matrices.name, [&] {
    return needs_of<Curve>(key.matrices, *key.density, counts_of(key), key.proving.domain_log2,
                           multiples_);
  });
}

Result<CardPlan> CudaDevice::plan(const format::ZkeyHeader& key, std::string_view name) const {
  const std::string id =
      fmt::format("zkey of {} {} {} {} {}", static_cast<int>(key.curve), key.num_wires,
                  key.num_public, key.domain_size, key.num_coefficients);
  return plan_known(id, name, [&] {
    return circom::with_curve(key.curve,
                              [&]<class Curve>() { return most_needs_of<Curve>(key, multiples_); });
  });
}

template <class Fr>
Status CudaDevice::load_circuit(const Context& context, const CompactR1cs<Fr>& r1cs,
                                const Density& density, groth16::DeviceDomain<Fr> domain,
                                std::unique_ptr<groth16::DeviceCircuit<Fr>>& out) {
  auto& known = std::get<Twiddles<Fr>>(twiddles_)[domain.generator];
  CUZK_TRY(out, groth16::DeviceCircuit<Fr>::load(*card_, context.tasks, r1cs, density, known.lock(),
                                                 domain));
  known = out->shared_twiddles();
  return {};
}

template <class Curve>
Result<std::unique_ptr<CardBackend<Curve>>> CudaDevice::backend_of(const Context& context,
                                                                   const CardKeys::Wanted& wanted,
                                                                   const CardPlan& plan,
                                                                   const CardKeys::Loader& load,
                                                                   OnPartitionTiming on_timing) {
  CUZK_TRY_VOID(card_->check_usable());
  CUZK_TRY_VOID(card_->use());
  // What is in the reserve stays as small as it was planned.
  const std::size_t larger = wanted.lease_bytes ? plan.roomy_way.lease_bytes : 0;
  auto used = keys_.use(context.tasks, wanted, larger, larger * workers(),
                        [&]() -> Result<std::shared_ptr<void>> {
                          const auto span = context.timeline.span("load_device_key", context.lane);
                          return load();
                        });
  if (!used) {
    if (used.error().code == ErrorCode::kDeviceLost) card_->fence(used.error().message);
    return fail(used.error());
  }
  const auto& content = *static_cast<const Content<Curve>*>(used->content());
  const bool roomy = used->lease_bytes() > plan.way.lease_bytes;
  groth16::CudaBackendOptions how;
  how.memory = roomy ? groth16::CudaMemory::kRoomy : groth16::CudaMemory::kFrugal;
  const groth16::CudaWay& way = roomy ? plan.roomy_way : plan.way;
  how.stream_chunk = way.stream_chunk;
  how.pairs_per_batch = way.pairs_per_batch;
  how.additions = way.additions;
  how.urgency = wanted.urgency;
  how.on_timing = std::move(on_timing);
  CUZK_TRY(auto backend, groth16::make_cuda_backend<Curve>(*card_, *content.circuit, content.bases,
                                                           std::move(how)));
  return std::make_unique<CardBackend<Curve>>(std::move(*used), std::move(backend));
}

// A critical partition that fits into the reserve needs no room in the arena.
CardKeys::Wanted CudaDevice::wanted(const std::string& id, const CardPlan& plan,
                                    gpu::Urgency urgency) const {
  const bool reserved =
      urgency == gpu::Urgency::kCritical && plan.way.lease_bytes <= reserve_bytes();
  return {id, plan.lasting_bytes, reserved ? 0 : plan.way.lease_bytes,
          plan.is_streamed ? "streamed" : "resident", urgency};
}

Result<std::unique_ptr<CardBackend<Bls12_381>>> CudaDevice::use(const Context& context,
                                                                const ParamsKey& key,
                                                                OnPartitionTiming on_timing,
                                                                gpu::Urgency urgency) {
  CUZK_TRY(const CardPlan how, plan(key.id, key.r1cs, key.density));
  const bool in_memory = key.host && !key.host->h_query.empty();
  if (how.is_streamed && !in_memory) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: its key must be streamed to {}, and is not in memory", key.r1cs.name, name_);
  }
  const std::size_t a_inputs = key.r1cs.num_inputs, b_inputs = key.density.b_input.count;
  const auto load = [&]() -> Result<std::shared_ptr<void>> {
    auto out = std::make_shared<Content<Bls12_381>>();
    CUZK_TRY_VOID(load_circuit<bls12_381::Fr>(context, key.r1cs, key.density, {}, out->circuit));
    if (how.is_streamed) {
      out->owner = key.owner;
      CUZK_TRY(out->pinned,
               groth16::PinnedKey<Bls12_381>::pin(*card_, *key.host, a_inputs, b_inputs));
    } else if (in_memory) {
      CUZK_TRY(out->key, groth16::DeviceKey<Bls12_381>::load(*card_, context.tasks, *key.host,
                                                             a_inputs, b_inputs));
    } else {
      CUZK_TRY(out->key, load_from_file(context, *card_, key.file, a_inputs, b_inputs));
    }
    if (how.multiples) CUZK_TRY_VOID(out->key->add_multiples(*card_));
    out->bases = how.is_streamed ? out->pinned->bases() : out->key->bases();
    return std::shared_ptr<void>(std::move(out));
  };
  // Another object of the same circuit is another one to the backend.
  return backend_of<Bls12_381>(context, wanted(key.id, how, urgency), how, load,
                               std::move(on_timing));
}

template <class Curve>
Result<std::unique_ptr<CardBackend<Curve>>> CudaDevice::use(const Context& context,
                                                            const std::string& id,
                                                            const circom::Key<Curve>& key,
                                                            OnPartitionTiming on_timing,
                                                            gpu::Urgency urgency) {
  using Fr = typename Curve::Fr;
  CUZK_TRY(const CardPlan how, plan(id, key));
  const std::size_t a_inputs = key.matrices.num_inputs, b_inputs = key.density->b_input.count;
  const auto load = [&]() -> Result<std::shared_ptr<void>> {
    auto out = std::make_shared<Content<Curve>>();
    CUZK_TRY_VOID(load_circuit<Fr>(context, key.matrices, *key.density,
                                   {key.proving.domain_log2, groth16::kCosetGenerator},
                                   out->circuit));
    if (how.is_streamed) {
      CUZK_TRY(out->pinned,
               groth16::PinnedKey<Curve>::pin(context, *card_, key.proving, a_inputs, b_inputs));
    } else {
      CUZK_TRY(out->key,
               groth16::DeviceKey<Curve>::load(context, *card_, key.proving, a_inputs, b_inputs));
    }
    if (how.multiples) CUZK_TRY_VOID(out->key->add_multiples(*card_));
    out->bases = how.is_streamed ? out->pinned->bases() : out->key->bases();
    return std::shared_ptr<void>(std::move(out));
  };
  return backend_of<Curve>(context, wanted(id, how, urgency), how, load, std::move(on_timing));
}

void CudaDevice::forget(const std::string& id) {
  keys_.forget(id);
  const std::lock_guard lock(plans_mutex_);
  plans_.erase(id);
}

void CudaDevice::forget_all() {
  keys_.forget_all();
  const std::lock_guard lock(plans_mutex_);
  plans_.clear();
}

template Result<CardPlan> CudaDevice::plan(const std::string&, const circom::Key<Bls12_381>&) const;
template Result<CardPlan> CudaDevice::plan(const std::string&, const circom::Key<Bn254>&) const;
template Result<std::unique_ptr<CardBackend<Bls12_381>>> CudaDevice::use(
    const Context&, const std::string&, const circom::Key<Bls12_381>&, OnPartitionTiming,
    gpu::Urgency);
template Result<std::unique_ptr<CardBackend<Bn254>>> CudaDevice::use(
    const Context&, const std::string&, const circom::Key<Bn254>&, OnPartitionTiming, gpu::Urgency);

Result<OpenedCards> open_cards_with(const OpenCard& open, const std::vector<int>& there,
                                    std::string_view why_none, const CardsOptions& options) {
  using Kind = DeviceChoice::Kind;
  OpenedCards out;
  if (options.choice.kind == Kind::kCpu) return out;
  const std::vector<int>& wanted = options.choice.cards.empty() ? there : options.choice.cards;
  if (wanted.empty()) {
    if (options.choice.kind == Kind::kAuto) {
      out.notes.push_back(fmt::format("no CUDA card: {}", why_none));
      return out;
    }
    return fail(ErrorCode::kInvalidArgument, "a CUDA card was asked for, and there is none: {}",
                why_none);
  }
  std::optional<ErrorCode> last;
  std::string reasons;
  for (const int ordinal : wanted) {
    if (options.at_most && out.cards.size() == options.at_most) break;
    auto opened = open(ordinal);
    if (opened) {
      out.notes.push_back(fmt::format("cuda:{}: {}", ordinal, opened->description));
      out.cards.push_back(std::move(opened->card));
      continue;
    }
    last = opened.error().code;
    const std::string& why = opened.error().message;
    out.notes.push_back(fmt::format("cuda:{} is not used: {}", ordinal, why));
    reasons += fmt::format("{}cuda:{}: {}", reasons.empty() ? "" : "; ", ordinal, why);
  }
  if (out.cards.empty() && options.choice.kind == Kind::kCuda) {
    return fail(*last, "no CUDA card can be used: {}", reasons);
  }
  return out;
}

Result<OpenedCards> open_cards(const Context& context, const CardsOptions& options) {
  if (options.choice.kind == DeviceChoice::Kind::kCpu) return OpenedCards();
  std::vector<int> there;
  for (const gpu::DeviceInfo& d : gpu::list_devices()) there.push_back(d.index);
  const auto open = [&](int ordinal) -> Result<OpenedCard> {
    CUZK_TRY(auto card, CudaDevice::open(context, ordinal, options));
    std::string description = card->description();
    return OpenedCard{std::move(card), std::move(description)};
  };
  return open_cards_with(open, there, gpu::no_device_reason(), options);
}

}  // namespace cuzk::engine
