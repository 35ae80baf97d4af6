#include "engine/job_devices.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>

#include "engine/footprint.h"
#include "format/bellman_key.h"
#include "groth16/prover.h"

namespace cuzk::engine {

namespace {

using Clock = std::chrono::steady_clock;
using Curve = Bls12_381;
using VerifiedProof = groth16::VerifiedProof<Curve>;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Whether another device may do better.
bool blames_device(ErrorCode code) {
  return code == ErrorCode::kDeviceLost || code == ErrorCode::kInternal ||
         code == ErrorCode::kInvalidProof || code == ErrorCode::kOutOfBudget;
}

// A partition on its way. What a proof borrows is declared before it.
struct InFlight {
  std::size_t partition = 0;
  std::size_t card = 0;
  std::vector<bool> tried;  // by card
  Witness witness;
  double synthesis_ms = 0;
  std::unique_ptr<CardBackend<Curve>> backend;
  groth16::PartitionTiming timing;
  std::optional<groth16::PendingProof<Curve>> pending;
};

class CardJob {
 public:
  CardJob(const Context& context, CircuitStore& circuits, const ParameterStore& parameters,
          const Job& job, const KeyChoice& choice, const JobDevices& devices)
      : context_(context),
        circuits_(circuits),
        parameters_(parameters),
        job_(job),
        choice_(choice),
        devices_(devices),
        cards_(devices.cards) {}
  // What lasts on the cards borrows this job's circuit and key.
  ~CardJob() {
    in_flight_.clear();
    for (const auto& card : devices_.cards) card->forget(key_id());
  }

  Result<ProofReply> run() {
    CUZK_TRY(circuit_, circuits_.get(context_, job_.circuit));
    CUZK_TRY(files_, parameters_.find_or_make(context_, job_.circuit, *circuit_, choice_.policy,
                                              choice_.make_missing_dev_key));
    CUZK_TRY(key_.vk, parameters_.check_proving_key(files_, *circuit_, choice_.policy));
    verifying_key_.emplace(key_.vk);
    CUZK_TRY_VOID(plan());
    verified_.resize(job_.partitions());
    for (std::size_t p = 0; p < job_.partitions(); ++p) {
      auto next = std::make_unique<InFlight>();
      next->partition = p;
      next->tried.assign(cards_.size(), false);
      const auto start = Clock::now();
      CUZK_TRY(next->witness, synthesize(context_, job_, p));
      next->synthesis_ms = ms_since(start);
      reply_.witness_bytes = std::max(reply_.witness_bytes, next->witness.bytes());
      while (in_flight_.size() >= places()) CUZK_TRY_VOID(finish_oldest());
      CUZK_TRY_VOID(send(std::move(next)));
    }
    while (!in_flight_.empty()) CUZK_TRY_VOID(finish_oldest());
    std::vector<VerifiedProof> proofs;
    for (auto& proof : verified_) proofs.push_back(std::move(*proof));
    reply_.proof = encode_proofs(proofs);
    reply_.params_file = files_.params.string();
    reply_.insecure_dev = files_.insecure_dev;
    reply_.circuit_bytes = circuit_->r1cs.bytes();
    return std::move(reply_);
  }

 private:
  void tell(const std::string& what) const {
    if (devices_.tell) devices_.tell(what);
  }

  // Cards that are too small for the circuit are left out; a streamed key comes to memory.
  Status plan() {
    std::optional<Error> last;
    std::vector<std::shared_ptr<CudaDevice>> able;
    bool is_streamed = false;
    for (const auto& card : cards_) {
      const auto how = card->plan(key_id(), circuit_->r1cs, circuit_->density);
      if (!how) {
        last = how.error();
        tell(fmt::format("{} is not used: {}", card->name(), last->message));
        continue;
      }
      is_streamed |= how->is_streamed;
      tell(fmt::format("{}: {}, its key {}", card->name(), circuit_->r1cs.name,
                       how->is_streamed ? "is streamed from the host" : "stays on the card"));
      able.push_back(card);
    }
    cards_ = std::move(able);
    if (cards_.empty() && !devices_.cpu_fallback) return fail(*last);
    return is_streamed ? load_host_key() : Status();
  }

  Status load_host_key() {
    if (!key_.h_query.empty()) return {};
    CUZK_TRY(const Footprint need, footprint_of(files_, *circuit_));
    const std::size_t room = context_.memory.limit_bytes() - context_.memory.used_bytes();
    if (need.key_bytes > room) {
      return fail(ErrorCode::kOutOfBudget,
                  "the key of {} takes {} bytes of memory, the budget has room for {}: raise "
                  "--memory or use a larger card",
                  circuit_->r1cs.name, need.key_bytes, room);
    }
    CUZK_TRY(auto key, parameters_.load_proving_key(context_, files_, *circuit_, choice_.policy));
    key_ = std::move(key);
    return {};
  }

  std::string key_id() const { return files_.params.string(); }

  // Partitions that may be on the cards at once.
  std::size_t places() const {
    std::size_t sum = 0;
    for (const auto& card : cards_) sum += card->check_usable() ? card->workers() : 0;
    return std::max<std::size_t>(sum, 1);
  }

  // The usable card with the fewest partitions that has not failed this one.
  std::optional<std::size_t> card_for(const InFlight& part) const {
    std::optional<std::size_t> best;
    std::size_t least = 0;
    for (std::size_t c = 0; c < cards_.size(); ++c) {
      if (part.tried[c] || !cards_[c]->check_usable()) continue;
      const auto busy = static_cast<std::size_t>(
          std::ranges::count_if(in_flight_, [&](const auto& f) { return f->card == c; }));
      if (!best || busy < least) {
        best = c;
        least = busy;
      }
    }
    return best;
  }

  Context lane(std::size_t partition) const {
    return {context_.tasks, context_.memory, context_.timeline, static_cast<int>(partition)};
  }

  // Starts it on a card, or does it on the CPU.
  Status send(std::unique_ptr<InFlight> part) {
    std::optional<Error> last;
    while (const auto c = card_for(*part)) {
      part->card = *c;
      part->tried[*c] = true;
      const Status started = start(*part);
      if (started) {
        in_flight_.push_back(std::move(part));
        return {};
      }
      last = started.error();
      CUZK_TRY_VOID(excuse(*part, *last));
    }
    return prove_on_cpu(*part, last);
  }

  Status start(InFlight& part) {
    const Context context = lane(part.partition);
    const ParamsKey key{key_id(), circuit_->r1cs, circuit_->density, files_.params, &key_};
    CUZK_TRY(part.backend,
             cards_[part.card]->use(
                 context, key, [&part](const groth16::PartitionTiming& t) { part.timing = t; }));
    CUZK_TRY(auto pending,
             groth16::start_proof(part.backend->backend(), context,
                                  groth16::ProveInput<Curve>{circuit_->r1cs, circuit_->density,
                                                             part.witness, key_}));
    part.pending.emplace(std::move(pending));
    return {};
  }

  Status finish_oldest() {
    std::unique_ptr<InFlight> part = std::move(in_flight_.front());
    in_flight_.pop_front();
    const Status finished = finish(*part);
    part->pending.reset();
    part->backend.reset();
    if (finished) return {};
    CUZK_TRY_VOID(excuse(*part, finished.error()));
    return send(std::move(part));
  }

  Status finish(InFlight& part) {
    CUZK_TRY(const auto proof, part.pending->finish());
    const auto start = Clock::now();
    CUZK_TRY_VOID(verify(part.partition, proof));
    part.timing.job = devices_.log_id;
    part.timing.synthesis_ms = part.synthesis_ms;
    part.timing.verify_ms = ms_since(start);
    if (devices_.on_timing) devices_.on_timing(part.timing);
    return {};
  }

  Status verify(std::size_t partition, const Proof<Curve>& proof) {
    const auto span = context_.timeline.span("verify", static_cast<int>(partition));
    CUZK_TRY(auto verified, groth16::verify<Curve>(context_.tasks, *verifying_key_,
                                                   {proof, job_.public_inputs[partition]}));
    verified_[partition].emplace(std::move(verified));
    return {};
  }

  // Ends the job where no other device can help.
  Status excuse(InFlight& part, const Error& error) const {
    part.pending.reset();
    part.backend.reset();
    const std::string where = job_.partition_name(part.partition);
    if (!blames_device(error.code)) return fail(error.in(where));
    tell(fmt::format("{} on {} failed: {}", where, cards_[part.card]->name(), error.message));
    return {};
  }

  Status prove_on_cpu(const InFlight& part, const std::optional<Error>& last) {
    const std::string where = job_.partition_name(part.partition);
    if (!devices_.cpu_fallback) {
      if (last) return fail(last->in(where));
      return fail(ErrorCode::kDeviceLost, "{}: no card is left that could prove it", where);
    }
    tell(fmt::format("{}: proved on the CPU", where));
    CUZK_TRY_VOID(load_host_key());
    CUZK_TRY(auto proof, prove_partition(context_, job_, part.partition, *circuit_, key_,
                                         *verifying_key_, part.witness));
    verified_[part.partition].emplace(std::move(proof));
    return {};
  }

  const Context& context_;
  CircuitStore& circuits_;
  const ParameterStore& parameters_;
  const Job& job_;
  const KeyChoice& choice_;
  const JobDevices& devices_;
  std::vector<std::shared_ptr<CudaDevice>> cards_;
  std::shared_ptr<const CompiledCircuit> circuit_;
  KeyFiles files_;
  ProvingKey<Curve> key_;  // its queries are empty unless they are streamed
  std::optional<groth16::PreparedVerifyingKey<Curve>> verifying_key_;
  std::deque<std::unique_ptr<InFlight>> in_flight_;
  std::vector<std::optional<VerifiedProof>> verified_;
  ProofReply reply_;
};

}  // namespace

Result<ProofReply> prove_job(const Context& context, CircuitStore& circuits,
                             const ParameterStore& parameters, const Job& job,
                             const KeyChoice& choice, const JobDevices& devices) {
  if (devices.cards.empty()) return prove_job(context, circuits, parameters, job, choice);
  return CardJob(context, circuits, parameters, job, choice, devices).run();
}

}  // namespace cuzk::engine
