#pragma once
// What `cuzk prove update` and `cuzk verify update` share: which proof, and what it claims.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "filecoin/update_statement.h"

namespace cuzk::cli {

struct UpdateOptions {
  std::string registered_proof, sector_size;
  std::string comm_r_old, comm_r_new, comm_d_new;
  std::optional<std::uint32_t> h;

  void add(CLI::App& app);
  // Errors: kInvalidArgument for an option that is missing or malformed; names it.
  Result<filecoin::UpdateStatement> statement() const;

 private:
  Result<filecoin::UpdateProof> proof() const;
};

}  // namespace cuzk::cli
