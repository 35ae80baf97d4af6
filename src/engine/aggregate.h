#pragma once
// Aggregates of Filecoin's proofs: from the sectors' statements and their proofs to one SnarkPack
// proof that has been verified, and the verdict on one.
//
// Threads: one call uses context.tasks; several calls may run at once.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/verifier.h"
#include "base/hash.h"
#include "engine/job.h"
#include "format/aggregate_statement.h"
#include "format/inner_product_srs.h"

namespace cuzk::engine {

// What an aggregate covers.
struct AggregateTarget {
  Statement statement;  // the public inputs of all partitions of all sectors, in order
  std::size_t sectors = 0;
  Digest32 binding{};  // docs/formats/snarkpack.md
  aggregate::Version version = aggregate::Version::kV2;

  std::size_t num_proofs() const { return statement.public_inputs.size(); }
};

// Errors: kInvalidArgument for updates under V1, or more than 65 non-interactive sectors;
//         kMismatch for sectors of several circuits, or non-interactive ones among others;
//         kCorruptInput for a commitment that is not below the modulus, with the sector.
Result<AggregateTarget> aggregate_target(const format::AggregateStatement& statement,
                                         aggregate::Version version);

// Where the SRS is.
struct SrsChoice {
  std::optional<std::filesystem::path> file;  // none: looked for in the parameters' directory
  KeyPolicy policy = KeyPolicy::kCeremonyOnly;
  bool make_missing_dev_srs = false;  // only with kAllowInsecureDev and no file
};
struct OpenSrs {
  format::InnerProductSrsFile file;
  std::filesystem::path path;
  bool ceremony = false;  // its digest is the published one
};

// The official name before an insecure-dev one; a missing one is made for `proofs` proofs.
// Spans check_srs_digest, make_srs.
// Errors: kNotFound names what was looked for; kInsecureKey for a file that is not the ceremony's,
//         unless the policy allows it; those of the reader.
Result<OpenSrs> open_srs(const Context& context, const ParameterStore& parameters,
                         const SrsChoice& choice, std::size_t proofs);

// Writes a development string under its insecure-dev name, or to `file`.
Result<std::filesystem::path> make_insecure_dev_srs(
    const Context& context, const ParameterStore& parameters, std::size_t proofs,
    const std::optional<std::filesystem::path>& file);

struct AggregateReply {
  std::vector<std::uint8_t> aggregate;
  std::size_t padded_proofs = 0;
};

// All proofs of the target, in order, padded and aggregated; the reply has been verified.
// Spans load_srs, those of aggregate::create, verify.
// Errors: kMismatch for another number of proofs than the target's; kInvalidProof names the proofs
//         that do not hold; kInternal when the aggregate of proofs that hold does not.
Result<AggregateReply> create_aggregate(const Context& context, const OpenSrs& srs,
                                        const VerifyingKey<Bls12_381>& key,
                                        const AggregateTarget& target,
                                        const std::vector<aggregate::Groth16Proof>& proofs);

// Spans read, verify. Errors: kInvalidProof with the reason; kCorruptInput for bytes that are no
// aggregate; kMismatch for an aggregate of another number of proofs than the target asks for.
Status verify_aggregate(const Context& context, const OpenSrs& srs,
                        const VerifyingKey<Bls12_381>& key, const AggregateTarget& target,
                        ByteSpan bytes, std::string_view what);

}  // namespace cuzk::engine
