#include "engine/circom.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "circom/decimal.h"
#include "circom/dev_setup.h"
#include "engine/devices.h"
#include "format/r1cs_file.h"
#include "format/wtns.h"
#include "groth16/key_check.h"
#include "groth16/prover.h"
#include "groth16/verifier.h"

namespace cuzk::engine {

namespace {

using circom::CurveId;
using circom::display_name;
using format::InputBytes;

Status check_contributions(const format::ZkeyFile& file) {
  CUZK_TRY(const auto contributions, file.contributions());
  if (!contributions.empty()) return {};
  return fail(ErrorCode::kInsecureKey,
              "{}: no phase-2 contribution is recorded: whoever made the key can forge proofs",
              file.name());
}

// What makes proofs under the key forgeable, beyond the verifying key.
Status check_ceremony(const format::ZkeyFile& file) {
  if (file.h_is_all_identity()) {
    return fail(ErrorCode::kInsecureKey,
                "{}: every point of H is the identity, no constraint is proved under such a key",
                file.name());
  }
  return check_contributions(file);
}

template <class Curve>
Status check_key_safety(const format::ZkeyFile& file, const VerifyingKey<Curve>& vk) {
  CUZK_TRY_VOID(groth16::check_verifying_key(vk, file.name()));
  return check_ceremony(file);
}

Result<circom::Symbols> symbols_of(const std::optional<InputBytes>& sym) {
  if (!sym) return circom::Symbols();
  return circom::Symbols::parse(sym->text(), sym->name());
}

// The circuit's own opinion of a witness that has been read.
template <class Fr>
Status check_against_circuit(const Context& context, const CompactWitness<Fr>& witness,
                             const circom::Program<Fr>& program,
                             const std::optional<InputBytes>& sym) {
  const auto span = context.timeline.span("satisfy", context.lane);
  CUZK_TRY(const circom::Symbols symbols, symbols_of(sym));
  return circom::check_satisfied(context.tasks, program, witness, symbols);
}

Status check_curves(CurveId witness, CurveId other, std::string_view other_name) {
  if (witness == other) return {};
  return fail(ErrorCode::kMismatch, "the curve of the witness ({}) differs from that of {} ({})",
              display_name(witness), other_name, display_name(other));
}

Status check_counts(std::uint32_t values, std::uint32_t wires, std::string_view wanting) {
  if (values == wires) return {};
  return fail(ErrorCode::kMismatch, "the witness has {} values, {} wants {}", values, wanting,
              wires);
}

}  // namespace

class CircomProver::Impl {
 public:
  virtual ~Impl() = default;
  virtual const format::ZkeyHeader& header() const = 0;
  virtual std::string verification_key_json() const = 0;
  virtual std::uint32_t num_constraints() const = 0;
  virtual Result<std::unique_ptr<CircomWitness>> read_witness(
      const Context& context, const InputBytes& wtns, const CircomProveOptions& options) const = 0;
  virtual Result<std::unique_ptr<CircomPending>> start(const Context& context,
                                                       const CircomWitness& witness,
                                                       const CircomProveOptions& options) const = 0;
};

namespace {

template <class Curve>
class ProverOf final : public CircomProver::Impl {
 public:
  using Fr = typename Curve::Fr;

  static Result<std::unique_ptr<CircomProver::Impl>> open(const Context& context,
                                                          const format::ZkeyFile& file,
                                                          const CircomKeyOptions& options) {
    CUZK_TRY(const format::ZkeyHeader header, file.header());
    CUZK_TRY(auto key, file.load<Curve>(context));
    if (!options.allow_insecure_key) {
      const auto span = context.timeline.span("check_key", context.lane);
      CUZK_TRY_VOID(check_key_safety(file, key.proving.vk));
    }
    if (options.resident) CUZK_TRY_VOID(load_queries(context, key.proving));
    auto out = std::unique_ptr<ProverOf>(new ProverOf(file.name(), header, std::move(key)));
    if (options.r1cs) CUZK_TRY_VOID(out->keep_circuit(context, options));
    return std::unique_ptr<CircomProver::Impl>(std::move(out));
  }

  // What lasts on the cards borrows the key.
  ~ProverOf() override {
    for (const auto& card : cards_) card->forget(card_id());
  }

  const format::ZkeyHeader& header() const override { return header_; }
  std::string verification_key_json() const override {
    return format::write_verification_key_json(key_.proving.vk);
  }

  std::uint32_t num_constraints() const override { return key_.matrices.num_rows; }

  Result<std::unique_ptr<CircomWitness>> read_witness(
      const Context& context, const InputBytes& wtns,
      const CircomProveOptions& options) const override {
    auto out = std::make_unique<WitnessOf>();
    CUZK_TRY(out->values, values_of(context, wtns));
    if (options.r1cs) {
      CUZK_TRY(const auto circuit, load_circuit(context, *options.r1cs, options.sym));
      CUZK_TRY_VOID(check_satisfied(context, out->values, circuit));
    } else if (circuit_) {
      CUZK_TRY_VOID(check_satisfied(context, out->values, *circuit_));
    }
    return std::unique_ptr<CircomWitness>(std::move(out));
  }

  Result<std::unique_ptr<CircomPending>> start(const Context& context, const CircomWitness& witness,
                                               const CircomProveOptions& options) const override {
    const auto* own = dynamic_cast<const WitnessOf*>(&witness);
    CUZK_CHECK(own != nullptr);
    CUZK_TRY(const auto blinding, blinding_of(options));
    auto out = std::make_unique<PendingOf>(*this, context, own->values, options);
    CUZK_TRY_VOID(out->start(blinding));
    return std::unique_ptr<CircomPending>(std::move(out));
  }

 private:
  struct WitnessOf final : CircomWitness {
    CompactWitness<Fr> values;
  };

  // The circuit that witnesses are checked against.
  struct Circuit {
    std::string name;
    circom::Program<Fr> program;
    circom::Symbols symbols;
    Reservation memory;
  };

  class PendingOf final : public CircomPending {
   public:
    PendingOf(const ProverOf& prover, const Context& context, const CompactWitness<Fr>& witness,
              const CircomProveOptions& options)
        : prover_(prover), context_(context), witness_(witness), options_(options) {}

    Status start(const groth16::Blinding<Curve>& blinding) {
      groth16::Backend<Curve>* backend = nullptr;
      if (options_.device) {
        CUZK_TRY(on_card_, prover_.use_card(context_, options_));
        backend = &on_card_->backend();
      } else {
        backend_ = groth16::make_cpu_backend<Curve>();
        backend = backend_.get();
      }
      input_.emplace(groth16::CosetProveInput<Curve>{prover_.key_.matrices, *prover_.key_.density,
                                                     witness_, prover_.key_.proving});
      CUZK_TRY(auto pending,
               groth16::start_proof_with_blinding(*backend, context_, *input_, blinding));
      pending_.emplace(std::move(pending));
      return {};
    }
    Result<CircomReply> finish() override {
      CUZK_TRY(const auto proof, pending_->finish());
      return prover_.reply_of(context_, proof, witness_, options_);
    }

   private:
    const ProverOf& prover_;
    const Context context_;
    const CompactWitness<Fr>& witness_;
    const CircomProveOptions options_;
    std::unique_ptr<groth16::Backend<Curve>> backend_;
    std::unique_ptr<CardBackend<Curve>> on_card_;
    std::optional<groth16::CosetProveInput<Curve>> input_;
    std::optional<groth16::PendingProof<Curve>> pending_;
  };

  ProverOf(std::string name, const format::ZkeyHeader& header, circom::Key<Curve> key)
      : name_(std::move(name)),
        header_(header),
        key_(std::move(key)),
        verifying_key_(key_.proving.vk) {}

  std::string card_id() const {
    return fmt::format("{} at {}", name_, static_cast<const void*>(&key_));
  }
  Result<std::unique_ptr<CardBackend<Curve>>> use_card(const Context& context,
                                                       const CircomProveOptions& options) const {
    const std::shared_ptr<CudaDevice>& card = options.device;
    {
      const std::lock_guard lock(cards_mutex_);
      if (std::ranges::find(cards_, card) == cards_.end()) cards_.push_back(card);
    }
    return card->use<Curve>(context, card_id(), key_, options.on_timing, options.urgency);
  }

  static Status load_queries(const Context& context, groth16::CosetProvingKey<Curve>& key) {
    const auto span = context.timeline.span("read_key", context.lane);
    CUZK_TRY_VOID(key.h_query.load(context));
    CUZK_TRY_VOID(key.l_query.load(context));
    CUZK_TRY_VOID(key.a_query.load(context));
    CUZK_TRY_VOID(key.b_g1_query.load(context));
    return key.b_g2_query.load(context);
  }

  static Result<groth16::Blinding<Curve>> blinding_of(const CircomProveOptions& options) {
    if (!options.insecure_blinding_for_tests) return groth16::Blinding<Curve>::draw();
    const auto& fixed = *options.insecure_blinding_for_tests;
    const auto r = circom::from_decimal(std::string_view(fixed.r), Fr::kModulus);
    const auto s = circom::from_decimal(std::string_view(fixed.s), Fr::kModulus);
    if (!r || !s) {
      return fail(ErrorCode::kInvalidArgument, "r and s must be decimal numbers below the prime");
    }
    return groth16::Blinding<Curve>::insecure_fixed_for_tests(Fr::from_scalar({*r}),
                                                              Fr::from_scalar({*s}));
  }

  Result<CompactWitness<Fr>> values_of(const Context& context, const InputBytes& wtns) const {
    const auto span = context.timeline.span("read_witness", context.lane);
    CUZK_TRY_VOID(check_wtns_header(wtns, header_));
    CUZK_TRY(const auto file, format::WtnsFile::parse(wtns));
    return file.to_witness<Fr>(context.tasks, header_.num_public);
  }

  Status keep_circuit(const Context& context, const CircomKeyOptions& options) {
    CUZK_TRY(auto circuit, load_circuit(context, *options.r1cs, options.sym));
    circuit_.emplace(std::move(circuit));
    return {};
  }

  Result<Circuit> load_circuit(const Context& context, const InputBytes& r1cs,
                               const std::optional<InputBytes>& sym) const {
    CUZK_TRY(const auto file, format::R1csFile::parse(r1cs));
    const auto& h = file.header();
    if (h.curve != header_.curve || h.num_wires != header_.num_wires ||
        h.num_public() != header_.num_public) {
      return fail(ErrorCode::kMismatch,
                  "{} is a circuit over {} with {} wires and {} public signals, the key is of one "
                  "over {} with {} and {}",
                  file.name(), display_name(h.curve), h.num_wires, h.num_public(),
                  display_name(header_.curve), header_.num_wires, header_.num_public);
    }
    Circuit out;
    out.name = file.name();
    CUZK_TRY(out.program, file.load<Fr>(context.tasks, context.memory));
    CUZK_TRY(out.memory,
             context.memory.reserve(file.name() + ": constraints", out.program.r1cs.bytes()));
    CUZK_TRY(out.symbols, symbols_of(sym));
    return out;
  }

  Status check_satisfied(const Context& context, const CompactWitness<Fr>& witness,
                         const Circuit& circuit) const {
    const auto span = context.timeline.span("satisfy", context.lane);
    return circom::check_satisfied(context.tasks, circuit.program, witness, circuit.symbols);
  }

  Result<CircomReply> reply_of(const Context& context, const Proof<Curve>& proof,
                               const CompactWitness<Fr>& witness,
                               const CircomProveOptions& options) const {
    const auto span = context.timeline.span("verify", context.lane);
    std::vector<Fr> signals(witness.inputs.begin() + 1, witness.inputs.end());
    const auto verified =
        groth16::verify<Curve>(context.tasks, verifying_key_, {proof, std::move(signals)});
    if (!verified) return fail(why_not(verified.error(), options));
    return CircomReply{format::write_proof_json(verified->proof(), options.style),
                       format::write_public_json(verified->public_inputs(), options.style),
                       header_.num_public};
  }

  // Without C a wrong witness shows in the finished proof only.
  Error why_not(const Error& error, const CircomProveOptions& options) const {
    if (error.code != ErrorCode::kInvalidProof) return error;
    if (!options.r1cs && !circuit_) {
      return {
          ErrorCode::kUnsatisfied,
          fmt::format("the witness does not satisfy the circuit of {}: the finished proof does "
                      "not verify; with the circuit's .r1cs the failing constraint can be named",
                      name_)};
    }
    return {
        ErrorCode::kMismatch,
        fmt::format("the witness satisfies {}, but the finished proof does not verify: {} is the "
                    "key of another circuit, or damaged",
                    options.r1cs ? options.r1cs->name() : circuit_->name, name_)};
  }

  const std::string name_;
  const format::ZkeyHeader header_;
  const circom::Key<Curve> key_;
  const groth16::PreparedVerifyingKey<Curve> verifying_key_;
  std::optional<Circuit> circuit_;
  mutable std::mutex cards_mutex_;
  mutable std::vector<std::shared_ptr<CudaDevice>> cards_;  // that were used
};

template <class Curve>
Status verify_claim(Tasks& tasks, const CircomClaim& claim, bool allow_insecure_key) {
  using Fr = typename Curve::Fr;
  const std::string& vk_name = claim.verification_key.name();
  CUZK_TRY(auto vk,
           format::read_verification_key_json<Curve>(claim.verification_key.text(), vk_name));
  if (!allow_insecure_key) CUZK_TRY_VOID(groth16::check_published_key(vk, vk_name));
  CUZK_TRY(auto signals,
           format::read_public_json<Fr>(claim.public_signals.text(), claim.public_signals.name()));
  CUZK_TRY(const auto proof,
           format::read_proof_json<Curve>(claim.proof.text(), claim.proof.name()));
  const groth16::PreparedVerifyingKey<Curve> key(std::move(vk));
  const auto verified = groth16::verify<Curve>(tasks, key, {proof, std::move(signals)});
  if (!verified) return fail(verified.error());
  return {};
}

template <class Fr>
Status check_wtns_of(const Context& context, const format::WtnsFile& file,
                     const std::optional<format::R1csFile>& r1cs,
                     const std::optional<InputBytes>& sym) {
  const std::uint32_t num_public = r1cs ? r1cs->header().num_public() : 0;
  CUZK_TRY(const auto witness, file.to_witness<Fr>(context.tasks, num_public));
  if (!r1cs) return {};
  CUZK_TRY(const auto program, r1cs->load<Fr>(context.tasks, context.memory));
  return check_against_circuit(context, witness, program, sym);
}

}  // namespace

CircomProver::CircomProver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CircomProver::CircomProver(CircomProver&&) noexcept = default;
CircomProver& CircomProver::operator=(CircomProver&&) noexcept = default;
CircomProver::~CircomProver() = default;

Result<CircomProver> CircomProver::open(const Context& context, const InputBytes& zkey,
                                        const CircomKeyOptions& options) {
  CUZK_TRY(const auto file, format::ZkeyFile::parse(zkey));
  CUZK_TRY(const format::ZkeyHeader header, file.header());
  CUZK_TRY(auto impl, circom::with_curve(header.curve, [&]<class Curve>() {
             return ProverOf<Curve>::open(context, file, options);
           }));
  return CircomProver(std::move(impl));
}

CurveId CircomProver::curve() const { return impl_->header().curve; }
const format::ZkeyHeader& CircomProver::header() const { return impl_->header(); }
std::string CircomProver::verification_key_json() const { return impl_->verification_key_json(); }

std::uint32_t CircomProver::num_constraints() const { return impl_->num_constraints(); }

Result<CircomReply> CircomProver::prove(const Context& context, const InputBytes& wtns,
                                        const CircomProveOptions& options) const {
  CUZK_TRY(const auto witness, read_witness(context, wtns, options));
  CUZK_TRY(const auto pending, start(context, *witness, options));
  return pending->finish();
}

Result<std::unique_ptr<CircomWitness>> CircomProver::read_witness(
    const Context& context, const InputBytes& wtns, const CircomProveOptions& options) const {
  return impl_->read_witness(context, wtns, options);
}

Result<std::unique_ptr<CircomPending>> CircomProver::start(
    const Context& context, const CircomWitness& witness, const CircomProveOptions& options) const {
  return impl_->start(context, witness, options);
}

Status verify_circom(Tasks& tasks, const CircomClaim& claim, bool allow_insecure_key) {
  const auto& vk = claim.verification_key;
  CUZK_TRY(const CurveId curve, format::curve_of_verification_key(vk.text(), vk.name()));
  return circom::with_curve(
      curve, [&]<class Curve>() { return verify_claim<Curve>(tasks, claim, allow_insecure_key); });
}

Status check_zkey(const Context& context, const format::ZkeyFile& file, bool full) {
  CUZK_TRY(const format::ZkeyHeader header, file.header());
  return circom::with_curve(header.curve, [&]<class Curve>() -> Status {
    CUZK_TRY(const auto key, file.load<Curve>(context));
    if (full) CUZK_TRY_VOID(file.check_points<Curve>(context));
    return check_key_safety(file, key.proving.vk);
  });
}

Status check_zkey_trust(const format::ZkeyFile& file) {
  CUZK_TRY(const format::ZkeyHeader header, file.header());
  return circom::with_curve(header.curve, [&]<class Curve>() -> Status {
    CUZK_TRY(const auto vk, file.verifying_key<Curve>(PointCheck::kSubgroup));
    return check_key_safety(file, vk);
  });
}

Status check_wtns_header(const InputBytes& wtns, const format::ZkeyHeader& key) {
  CUZK_TRY(const auto file, format::WtnsFile::parse(wtns));
  const auto checked = [&]() -> Status {
    CUZK_TRY_VOID(check_curves(file.curve(), key.curve, "the key"));
    return check_counts(file.num_values(), key.num_wires, "the key");
  }();
  if (!checked) return fail(checked.error().in(wtns.name()));
  return {};
}

Result<std::string> verification_key_json_of(const format::ZkeyFile& file) {
  CUZK_TRY(const format::ZkeyHeader header, file.header());
  return circom::with_curve(header.curve, [&]<class Curve>() -> Result<std::string> {
    CUZK_TRY(const auto vk, file.verifying_key<Curve>(PointCheck::kFormOnly));
    return format::write_verification_key_json(vk);
  });
}

Result<InputBytes> wtns_of(CurveId curve, const InputBytes& witness) {
  const std::string_view text = witness.text();
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '[') return witness;
  return circom::with_curve(curve, [&]<class Curve>() -> Result<InputBytes> {
    using Fr = typename Curve::Fr;
    CUZK_TRY(const auto values, format::read_public_json<Fr>(text, witness.name()));
    return InputBytes::own(format::encode_wtns<Fr>(values), witness.name());
  });
}

Status check_wtns(const Context& context, const InputBytes& wtns,
                  const std::optional<InputBytes>& r1cs, const std::optional<InputBytes>& sym) {
  CUZK_TRY(const auto file, format::WtnsFile::parse(wtns));
  std::optional<format::R1csFile> circuit;
  if (r1cs) {
    CUZK_TRY(circuit, format::R1csFile::parse(*r1cs));
    CUZK_TRY_VOID(check_curves(file.curve(), circuit->header().curve, r1cs->name()));
    CUZK_TRY_VOID(check_counts(file.num_values(), circuit->header().num_wires, r1cs->name()));
  }
  return circom::with_curve(file.curve(), [&]<class Curve>() {
    return check_wtns_of<typename Curve::Fr>(context, file, circuit, sym);
  });
}

Result<R1csStatistics> check_r1cs(const Context& context, const InputBytes& r1cs) {
  CUZK_TRY(const auto file, format::R1csFile::parse(r1cs));
  return circom::with_curve(file.header().curve, [&]<class Curve>() -> Result<R1csStatistics> {
    CUZK_TRY(const auto program, file.load<typename Curve::Fr>(context.tasks, context.memory));
    R1csStatistics out;
    out.distinct_coefficients = program.r1cs.dictionary.size();
    for (const RowBlock& block : program.r1cs.blocks) {
      for (std::size_t m = 0; m < 3; ++m) out.terms[m] += block.matrices[m].terms.size();
    }
    return out;
  });
}

Status make_insecure_dev_zkey(const Context& context, const InputBytes& r1cs,
                              std::optional<std::uint64_t> seed,
                              const std::filesystem::path& output) {
  CUZK_TRY(const auto file, format::R1csFile::parse(r1cs));
  std::unique_ptr<RandomSource> random = std::make_unique<SystemRandom>();
  if (seed) random = std::make_unique<SeededRandom>(*seed);
  return circom::with_curve(file.header().curve, [&]<class Curve>() -> Status {
    CUZK_TRY(const auto program, file.load<typename Curve::Fr>(context.tasks, context.memory));
    const auto waste = groth16::ToxicWaste<Curve>::draw(*random);
    CUZK_TRY(const auto key, circom::insecure_dev_setup<Curve>(context, program, waste));
    const auto span = context.timeline.span("write_key", context.lane);
    return format::write_zkey<Curve>(output, program, key);
  });
}

}  // namespace cuzk::engine
