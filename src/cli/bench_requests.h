#pragma once
// The requests that cuzk-bench sends: from the options of Curio's cuzk-bench, or from a folder that
// `cuzk-bench gen-vanilla` made.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "bench/verifier.h"
#include "engine/request.h"

namespace cuzk::cli {

struct RequestOptions {
  std::string type;
  std::string c1;
  std::string vanilla;
  std::string input;  // a folder of gen-vanilla, instead of all the others
  std::string registered_proof = "0";
  std::string sector_size = "32GiB";
  std::uint64_t sector = 1;
  std::string miner = "1000";
  std::uint32_t partition = 0;
  std::string randomness;
  std::string comm_r_old, comm_r_new, comm_d_new;
  std::string circuit, witness, verification_key;  // circom's
  std::string priority;

  void add(CLI::App& app, bool with_partition);
  // Errors: kInvalidArgument names the option; those of reading the files.
  Result<engine::ProofRequest> request() const;
  // What --verify of a circom proof is made with, where it is known.
  Result<bench::CircomKeys> circom_keys() const;
  // As it was asked for, for headings: "porep".
  std::string type_name(const engine::ProofRequest& made) const;
};

// Every name that Curio's cuzk-bench has for a kind, and ours. Errors: kInvalidArgument.
Result<engine::ProofKind> parse_proof_type(const std::string& text);
Result<engine::Priority> parse_priority(const std::string& text);

// A folder of gen-vanilla, or one of a circom witness: statement.json is {"kind": "circom",
// "circuit": ID}, beside witness.wtns and perhaps verification_key.json.
// Errors: kCorruptInput names what statement.json lacks.
Result<RequestOptions> options_of_folder(const std::string& folder);

}  // namespace cuzk::cli
