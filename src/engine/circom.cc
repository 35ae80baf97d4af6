#include "engine/circom.h"

#include <utility>

#include "base/random.h"
#include "circom/decimal.h"
#include "circom/dev_setup.h"
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
  virtual Result<CircomReply> prove(const Context& context, const InputBytes& wtns,
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
    return std::unique_ptr<CircomProver::Impl>(new ProverOf(file.name(), header, std::move(key)));
  }

  const format::ZkeyHeader& header() const override { return header_; }
  std::string verification_key_json() const override {
    return format::write_verification_key_json(key_.proving.vk);
  }

  Result<CircomReply> prove(const Context& context, const InputBytes& wtns,
                            const CircomProveOptions& options) const override {
    CUZK_TRY(const auto blinding, blinding_of(options));
    CUZK_TRY(const auto witness, read_witness(context, wtns));
    if (options.r1cs) CUZK_TRY_VOID(check_witness(context, witness, options));
    const auto backend = groth16::make_cpu_backend<Curve>();
    const groth16::CosetProveInput<Curve> input{key_.matrices, *key_.density, witness,
                                                key_.proving};
    CUZK_TRY(auto pending, groth16::start_proof_with_blinding(*backend, context, input, blinding));
    CUZK_TRY(const auto proof, pending.finish());
    return reply_of(context, proof, witness, options);
  }

 private:
  ProverOf(std::string name, const format::ZkeyHeader& header, circom::Key<Curve> key)
      : name_(std::move(name)),
        header_(header),
        key_(std::move(key)),
        verifying_key_(key_.proving.vk) {}

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

  Result<CompactWitness<Fr>> read_witness(const Context& context, const InputBytes& wtns) const {
    const auto span = context.timeline.span("read_witness", context.lane);
    CUZK_TRY(const auto file, format::WtnsFile::parse(wtns));
    const auto checked = [&]() -> Status {
      CUZK_TRY_VOID(check_curves(file.curve(), header_.curve, "the key"));
      return check_counts(file.num_values(), header_.num_wires, "the key");
    }();
    if (!checked) return fail(checked.error().in(wtns.name()));
    return file.to_witness<Fr>(context.tasks, header_.num_public);
  }

  Status check_witness(const Context& context, const CompactWitness<Fr>& witness,
                       const CircomProveOptions& options) const {
    CUZK_TRY(const auto file, format::R1csFile::parse(*options.r1cs));
    const auto& h = file.header();
    if (h.curve != header_.curve || h.num_wires != header_.num_wires ||
        h.num_public() != header_.num_public) {
      return fail(ErrorCode::kMismatch,
                  "{} is a circuit over {} with {} wires and {} public signals, the key is of one "
                  "over {} with {} and {}",
                  file.name(), display_name(h.curve), h.num_wires, h.num_public(),
                  display_name(header_.curve), header_.num_wires, header_.num_public);
    }
    CUZK_TRY(const auto program, file.load<Fr>(context.tasks, context.memory));
    return check_against_circuit(context, witness, program, options.sym);
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
    if (!options.r1cs) {
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
                    options.r1cs->name(), name_)};
  }

  const std::string name_;
  const format::ZkeyHeader header_;
  const circom::Key<Curve> key_;
  const groth16::PreparedVerifyingKey<Curve> verifying_key_;
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

Result<CircomReply> CircomProver::prove(const Context& context, const InputBytes& wtns,
                                        const CircomProveOptions& options) const {
  return impl_->prove(context, wtns, options);
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
