#include "engine/aggregate.h"

#include "aggregate/prover.h"
#include "base/random.h"
#include "engine/porep.h"
#include "engine/update.h"
#include "format/aggregate.h"

namespace cuzk::engine {

namespace fs = std::filesystem;

namespace {

using aggregate::Version;
using filecoin::PorepFeature;

// rust-fil-proofs 87348a74, srs-inner-product.json: the file's name, and the first 16 bytes of its
// BLAKE2b-512.
constexpr std::string_view kCeremonySrs = "v28-fil-inner-product-v1.srs";
constexpr std::string_view kCeremonySrsDigest = "ae20310138f5ba81451d723f858e3797";
constexpr std::string_view kDevSrs = "insecure-dev-inner-product.srs";
// FIP-0092.
constexpr std::size_t kMaxNonInteractiveSectors = 65;

Status append(const Result<Statement>& sector, std::size_t index, AggregateTarget& target) {
  if (!sector) return fail(sector.error().in(fmt::format("sectors[{}]", index)));
  if (index == 0) {
    target.statement.name = sector->name;
    target.statement.circuit = sector->circuit;
  }
  if (sector->circuit.stem != target.statement.circuit.stem) {
    return fail(ErrorCode::kMismatch,
                "sectors[{}] is of {}, the first of {}: an aggregate is of one circuit", index,
                sector->name, target.statement.name);
  }
  auto& all = target.statement.public_inputs;
  all.insert(all.end(), sector->public_inputs.begin(), sector->public_inputs.end());
  ++target.sectors;
  return {};
}

Result<AggregateTarget> target_of(const format::PorepStatements& sectors, Version version) {
  AggregateTarget target;
  target.version = version;
  const bool seedless = sectors.front().proof.feature == PorepFeature::kNonInteractive;
  if (seedless && sectors.size() > kMaxNonInteractiveSectors) {
    return fail(ErrorCode::kInvalidArgument,
                "{} non-interactive sectors are listed, {} can be aggregated", sectors.size(),
                kMaxNonInteractiveSectors);
  }
  Sha256 binding;
  for (std::size_t i = 0; i < sectors.size(); ++i) {
    if ((sectors[i].proof.feature == PorepFeature::kNonInteractive) != seedless) {
      return fail(ErrorCode::kMismatch,
                  "sectors[{}] is of {}, the first of {}: non-interactive proofs are aggregated "
                  "apart",
                  i, sectors[i].proof.name, sectors.front().proof.name);
    }
    CUZK_TRY_VOID(append(porep_statement(sectors[i]), i, target));
    if (!seedless) binding.update(sectors[i].seed);
    binding.update(sectors[i].comm_r);
  }
  target.binding = binding.finish();
  return target;
}

Result<AggregateTarget> target_of(const format::UpdateStatements& sectors, Version version) {
  if (version != Version::kV2) {
    return fail(ErrorCode::kInvalidArgument, "sector updates are aggregated by version v2 only");
  }
  AggregateTarget target;
  target.version = version;
  Sha256 binding;
  for (std::size_t i = 0; i < sectors.size(); ++i) {
    CUZK_TRY_VOID(append(update_statement(sectors[i]), i, target));
    const auto h = static_cast<std::uint8_t>(sectors[i].h);
    binding.update(ByteSpan(&h, 1));
    binding.update(sectors[i].comm_r_old);
    binding.update(sectors[i].comm_r_new);
    binding.update(sectors[i].comm_d_new);
  }
  target.binding = binding.finish();
  return target;
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<fs::path> find_srs(const Context& context, const ParameterStore& parameters,
                          const SrsChoice& choice, std::size_t proofs) {
  if (choice.file) return *choice.file;
  const fs::path official = parameters.directory() / kCeremonySrs;
  const fs::path dev = parameters.directory() / kDevSrs;
  if (is_there(official)) return official;
  if (choice.policy == KeyPolicy::kCeremonyOnly) {
    return fail(ErrorCode::kNotFound,
                "no SRS: {} is not in {} (for development, `cuzk aggregate srs --insecure-dev` "
                "makes one)",
                kCeremonySrs, parameters.directory().string());
  }
  if (is_there(dev)) return dev;
  if (!choice.make_missing_dev_srs) {
    return fail(ErrorCode::kNotFound, "no SRS: neither {} nor {} is in {}", kCeremonySrs, kDevSrs,
                parameters.directory().string());
  }
  return make_insecure_dev_srs(context, parameters, proofs, std::nullopt);
}

std::vector<groth16::Claim<Bls12_381>> claims_of(
    const AggregateTarget& target, const std::vector<aggregate::Groth16Proof>& proofs) {
  std::vector<groth16::Claim<Bls12_381>> claims;
  claims.reserve(proofs.size());
  for (std::size_t i = 0; i < proofs.size(); ++i) {
    claims.push_back({proofs[i], target.statement.public_inputs[i]});
  }
  return claims;
}

// Why an aggregate that was just made does not verify.
Error explain(const Context& context, const groth16::PreparedVerifyingKey<Bls12_381>& key,
              const AggregateTarget& target, const std::vector<aggregate::Groth16Proof>& proofs,
              const Error& error) {
  if (error.code != ErrorCode::kInvalidProof) return error;
  const auto verified =
      groth16::verify_batch<Bls12_381>(context.tasks, key, claims_of(target, proofs));
  if (!verified) return verified.error();
  return {ErrorCode::kInternal,
          fmt::format("self-check failed: every proof holds, but their aggregate does not ({}); "
                      "nothing was written",
                      error.message)};
}

Result<aggregate::VerifiedAggregate> checked(const Context& context,
                                             const aggregate::VerifierSrs& srs,
                                             const groth16::PreparedVerifyingKey<Bls12_381>& key,
                                             const AggregateTarget& target,
                                             aggregate::AggregateProof proof) {
  auto span = context.timeline.span("verify");
  return aggregate::verify(context.tasks, srs, key,
                           {target.version, target.binding, target.statement.public_inputs},
                           std::move(proof));
}

Result<aggregate::Srs> load_srs(const Context& context, const OpenSrs& srs, std::size_t n) {
  auto span = context.timeline.span("load_srs");
  // The digest speaks for every point of the ceremony's file, but not for being on the curve.
  const PointCheck check = srs.ceremony ? PointCheck::kOnCurve : PointCheck::kSubgroup;
  CUZK_TRY(auto loaded, srs.file.load(context.tasks, context.memory, n, check));
  if (!srs.ceremony) {
    if (auto status = aggregate::check_srs(context.tasks, context.memory, loaded); !status) {
      return fail(status.error().in(srs.path.string()));
    }
  }
  return loaded;
}

}  // namespace

Result<AggregateTarget> aggregate_target(const format::AggregateStatement& statement,
                                         Version version) {
  return std::visit([&](const auto& sectors) { return target_of(sectors, version); }, statement);
}

Result<OpenSrs> open_srs(const Context& context, const ParameterStore& parameters,
                         const SrsChoice& choice, std::size_t proofs) {
  OpenSrs out;
  CUZK_TRY(out.path, find_srs(context, parameters, choice, proofs));
  CUZK_TRY(out.file, format::InnerProductSrsFile::open(out.path));
  auto span = context.timeline.span("check_srs_digest");
  const Digest64 digest = blake2b_512(out.file.bytes());
  const std::string found = to_hex(ByteSpan(digest).first(16));
  out.ceremony = found == kCeremonySrsDigest;
  if (!out.ceremony && choice.policy == KeyPolicy::kCeremonyOnly) {
    return fail(ErrorCode::kInsecureKey,
                "{}: its digest is {}, the ceremony's SRS ({}) has {}; a locally made one needs "
                "--insecure-dev",
                out.path.string(), found, kCeremonySrs, kCeremonySrsDigest);
  }
  return out;
}

Result<fs::path> make_insecure_dev_srs(const Context& context, const ParameterStore& parameters,
                                       std::size_t proofs, const std::optional<fs::path>& file) {
  auto span = context.timeline.span("make_srs");
  const std::size_t n = aggregate::padded_count(proofs);
  if (n == 0 || n > aggregate::kMaxProofs / 2) {
    return fail(ErrorCode::kInvalidArgument, "an SRS for {} proofs: from 1 to {} are possible",
                proofs, aggregate::kMaxProofs / 2);
  }
  SystemRandom random;
  const auto secrets = aggregate::SrsSecrets::draw(random);
  CUZK_TRY(const auto srs, aggregate::insecure_dev_srs(context.tasks, context.memory, secrets,
                                                       aggregate::srs_powers_for(n)));
  const fs::path path = file ? *file : parameters.directory() / kDevSrs;
  if (!file) {
    std::error_code error;
    fs::create_directories(parameters.directory(), error);
    if (error) {
      return fail(ErrorCode::kIo, "{}: {}", parameters.directory().string(), error.message());
    }
  }
  CUZK_TRY_VOID(format::write_inner_product_srs(path, srs));
  return path;
}

Result<AggregateReply> create_aggregate(const Context& context, const OpenSrs& srs,
                                        const VerifyingKey<Bls12_381>& key,
                                        const AggregateTarget& target,
                                        const std::vector<aggregate::Groth16Proof>& proofs) {
  if (proofs.size() != target.num_proofs()) {
    return fail(ErrorCode::kMismatch, "{} proofs are given, {} sector{} of {} have {}",
                proofs.size(), target.sectors, target.sectors == 1 ? "" : "s",
                target.statement.name, target.num_proofs());
  }
  const auto padded = aggregate::pad_proofs(proofs);
  CUZK_TRY(const auto loaded, load_srs(context, srs, padded.size()));
  CUZK_TRY(auto proof, aggregate::create(context, loaded, target.version, target.binding, padded));
  CUZK_TRY(const auto verifier, aggregate::verifier_srs(loaded));
  const groth16::PreparedVerifyingKey<Bls12_381> prepared(key);
  const auto verified = checked(context, verifier, prepared, target, std::move(proof));
  if (!verified) return fail(explain(context, prepared, target, proofs, verified.error()));
  AggregateReply reply;
  reply.padded_proofs = padded.size();
  CUZK_TRY(reply.aggregate, format::encode_aggregate(verified->proof()));
  return reply;
}

Status verify_aggregate(const Context& context, const OpenSrs& srs,
                        const VerifyingKey<Bls12_381>& key, const AggregateTarget& target,
                        ByteSpan bytes, std::string_view what) {
  auto span = context.timeline.span("read");
  CUZK_TRY(const auto verifier, srs.file.load_verifier());
  CUZK_TRY(auto proof, format::decode_aggregate(context.tasks, bytes, what));
  span.end();
  // The network pads to the next power of two and no further.
  const std::size_t padded = aggregate::padded_count(target.num_proofs());
  if (proof.num_proofs() != padded) {
    return fail(ErrorCode::kMismatch,
                "{}: an aggregate of {} proofs; {} sector{} of {} have {}, padded to {}", what,
                proof.num_proofs(), target.sectors, target.sectors == 1 ? "" : "s",
                target.statement.name, target.num_proofs(), padded);
  }
  const groth16::PreparedVerifyingKey<Bls12_381> prepared(key);
  const auto verified = checked(context, verifier, prepared, target, std::move(proof));
  if (!verified) return fail(verified.error());
  return {};
}

}  // namespace cuzk::engine
