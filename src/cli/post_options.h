#pragma once
// What `cuzk prove` and `cuzk verify` of proofs of spacetime share: which proof, which randomness,
// which sectors, which partitions.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/post.h"

namespace cuzk::cli {

struct PostOptions {
  filecoin::PostKind kind = filecoin::PostKind::kWindow;
  std::string registered_proof, sector_size, version;
  std::string randomness;
  std::string miner;
  std::string sectors_file;
  std::vector<std::uint32_t> partitions;

  // `sectors_required`: a statement to verify against needs them, a proof may take them from its
  // vanilla proofs.
  void add(CLI::App& app, bool sectors_required);
  // Errors: kInvalidArgument for options that are missing or do not fit together, and those of the
  // sectors' file. Of a WinningPoSt's several sectors the one that the randomness chooses remains.
  Result<engine::PostClaim> claim() const;

 private:
  Result<filecoin::PostProof> proof(std::optional<std::uint32_t> in_file) const;
};

}  // namespace cuzk::cli
