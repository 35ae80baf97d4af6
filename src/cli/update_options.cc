#include "cli/update_options.h"

#include "filecoin/cid.h"

namespace cuzk::cli {

void UpdateOptions::add(CLI::App& app) {
  app.add_option("--registered-proof,--update-proof", registered_proof,
                 "Registered update proof, e.g. StackedDrg32GiBV1 or 3");
  app.add_option("--sector-size", sector_size, "Instead of --registered-proof, e.g. 32GiB");
  const char* const form = "CID, or 64 hexadecimal digits";
  app.add_option("--comm-r-old", comm_r_old, std::string("Replica before the update: ") + form)
      ->required();
  app.add_option("--comm-r-new", comm_r_new, std::string("Replica after the update: ") + form)
      ->required();
  app.add_option("--comm-d-new", comm_d_new, std::string("New data: ") + form)->required();
  app.add_option("--h", h,
                 "How many of a node's highest bits its factor depends on (default: what every "
                 "network uses, 10, or 1 up to 32KiB)");
}

Result<filecoin::UpdateProof> UpdateOptions::proof() const {
  if (registered_proof.empty() == sector_size.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "give either --registered-proof or --sector-size, to say which update it is");
  }
  if (!registered_proof.empty()) return filecoin::update_proof(registered_proof);
  CUZK_TRY(const std::uint64_t bytes, filecoin::parse_sector_size(sector_size));
  CUZK_TRY(const filecoin::UpdateShape shape, filecoin::update_shape(bytes));
  return filecoin::update_proof_of(shape);
}

Result<filecoin::UpdateStatement> UpdateOptions::statement() const {
  using enum filecoin::CommitmentKind;
  filecoin::UpdateStatement out;
  CUZK_TRY(out.proof, proof());
  CUZK_TRY(out.comm_r_old, filecoin::parse_commitment(kSealed, comm_r_old, "--comm-r-old"));
  CUZK_TRY(out.comm_r_new, filecoin::parse_commitment(kSealed, comm_r_new, "--comm-r-new"));
  CUZK_TRY(out.comm_d_new, filecoin::parse_commitment(kUnsealed, comm_d_new, "--comm-d-new"));
  out.h = h.value_or(out.proof.shape.default_h());
  if (const auto place = out.proof.shape.h_index(out.h); !place) {
    return fail(place.error().in("--h"));
  }
  return out;
}

}  // namespace cuzk::cli
