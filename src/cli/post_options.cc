#include "cli/post_options.h"

#include "cli/options.h"
#include "format/base64.h"
#include "format/post_sectors.h"

namespace cuzk::cli {

namespace {

using filecoin::PostKind;

// 64 hexadecimal digits, or base64 as Go prints it.
Result<filecoin::Node> parse_randomness(const std::string& text) {
  if (text.size() != 44) return parse_node(text, "--randomness");
  const auto bytes = format::decode_base64(text);
  if (!bytes || bytes->size() != 32) {
    return fail(ErrorCode::kInvalidArgument,
                "--randomness: '{}' is neither 64 hexadecimal digits nor base64 of 32 bytes", text);
  }
  filecoin::Node out;
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

}  // namespace

void PostOptions::add(CLI::App& app, bool sectors_required) {
  const bool winning = kind == PostKind::kWinning;
  app.add_option("--registered-proof", registered_proof,
                 winning ? "Name or number, e.g. StackedDrgWinning32GiBV1 or 3"
                         : "Name or number, e.g. StackedDrgWindow32GiBV1_1 or 13");
  app.add_option("--sector-size", sector_size, "Instead of --registered-proof: e.g. 2KiB or 32GiB");
  if (!winning) {
    app.add_option("--version", version,
                   "With --sector-size: V1 or V1_1 (also spelled V1_2; default V1_1)");
  }
  app.add_option("--randomness", randomness,
                 "The chain's randomness: 64 hexadecimal digits, or base64");
  app.add_option("--sectors", sectors_file,
                 std::string("JSON: [{\"sector\": 7, \"comm_r\": CID or hex}, ...], or the "
                             "statement that Lotus and Curio verify from") +
                     (sectors_required ? "" : " (default: as the vanilla proofs say)"))
      ->required(sectors_required);
  if (winning) {
    app.add_option("--miner", miner,
                   "Storage provider, e.g. 1000 or f01000; needed when --sectors lists all "
                   "eligible sectors, to choose the challenged one");
  } else {
    app.add_option("--partition", partitions,
                   "Which partitions of the sectors, from 0 (repeatable; default: all)");
  }
}

Result<filecoin::PostProof> PostOptions::proof(std::optional<std::uint32_t> in_file) const {
  if (!registered_proof.empty() && !sector_size.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "--registered-proof and --sector-size say the same: give one of them");
  }
  if (!version.empty() && sector_size.empty()) {
    return fail(ErrorCode::kInvalidArgument, "--version belongs to --sector-size");
  }
  if (!sector_size.empty()) {
    CUZK_TRY(const std::uint64_t bytes, filecoin::parse_sector_size(sector_size));
    const bool winning = kind == PostKind::kWinning;
    const std::string newest = winning ? "V1" : "V1_1";
    return filecoin::post_proof(fmt::format("StackedDrg{}{}{}", winning ? "Winning" : "Window",
                                            filecoin::sector_size_name(bytes),
                                            version.empty() ? newest : version));
  }
  if (!registered_proof.empty()) return filecoin::post_proof(registered_proof);
  if (in_file) return filecoin::post_proof(*in_file);
  return fail(ErrorCode::kInvalidArgument,
              "--registered-proof (or --sector-size) is missing: which proof it is cannot be seen "
              "from the vanilla proofs");
}

Result<engine::PostClaim> PostOptions::claim() const {
  format::PostSectorsFile file;
  if (!sectors_file.empty()) {
    CUZK_TRY(file, format::read_post_sectors(sectors_file));
  }
  engine::PostClaim claim;
  CUZK_TRY(claim.proof, proof(file.registered_proof));
  if (claim.proof.shape.kind != kind) {
    return fail(ErrorCode::kInvalidArgument, "{} is no {}", claim.proof.name,
                filecoin::post_kind_name(kind));
  }
  if (!randomness.empty()) {
    CUZK_TRY(claim.randomness, parse_randomness(randomness));
  } else if (file.randomness) {
    claim.randomness = *file.randomness;
  } else {
    return fail(ErrorCode::kInvalidArgument, "--randomness is missing");
  }
  claim.partitions = partitions;
  if (!sectors_file.empty()) claim.sectors = std::move(file.sectors);
  if (kind == PostKind::kWinning && claim.sectors && claim.sectors->size() > 1) {
    if (!miner.empty()) {
      CUZK_TRY(file.miner, parse_actor(miner));
    }
    if (!file.miner) {
      return fail(ErrorCode::kInvalidArgument,
                  "{} lists {} sectors: --miner is needed to choose the one that the randomness "
                  "challenges",
                  sectors_file, claim.sectors->size());
    }
    CUZK_TRY(const auto chosen,
             engine::winning_sector(*claim.sectors, filecoin::prover_id_of_actor(*file.miner),
                                    claim.randomness));
    claim.sectors = {chosen};
  }
  return claim;
}

}  // namespace cuzk::cli
