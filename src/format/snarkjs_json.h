#pragma once
// The JSON files of snarkjs: verification_key.json, proof.json, public.json.
//
// Writing: the bytes that snarkjs' command line writes (JSON.stringify with one blank, no line's
// end
//          after the last), or the single line that rapidsnark's prover writes.
// Reading: strict. Numbers are strings of canonical decimals below their prime; points in affine
//          form, or the identity as snarkjs writes it; no key twice; the protocol Groth16; the
//          curve by any name of circom/curve_id.h. Other keys are ignored, as snarkjs does.
// Checks:  points of a verification key lie on the curve and in the subgroup. Those of a proof are
//          the verifier's to check (groth16/verifier.h).
// Errors:  kCorruptInput names file, field and what is expected.
// Threads: pure functions.
// Source:  docs/formats/circom.md.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "circom/curve_id.h"
#include "groth16/keys.h"

namespace cuzk::format {

enum class JsonStyle {
  kSnarkjs,    // indented
  kRapidsnark  // one line, keys in alphabetical order, no "curve" in a proof
};

template <class Curve>
std::string write_proof_json(const Proof<Curve>& proof, JsonStyle style = JsonStyle::kSnarkjs);
template <class Fr>
std::string write_public_json(std::span<const Fr> signals, JsonStyle style = JsonStyle::kSnarkjs);
// With vk_alphabeta_12, the pairing of alpha and beta.
template <class Curve>
std::string write_verification_key_json(const VerifyingKey<Curve>& vk);

// The curve that a verification key names.
Result<circom::CurveId> curve_of_verification_key(std::string_view json, std::string_view what);

// beta_g1 and delta_g1 are not in the file: they are the identity in the result.
template <class Curve>
Result<VerifyingKey<Curve>> read_verification_key_json(std::string_view json,
                                                       std::string_view what);
// A proof may leave out its curve; one that names another is refused.
template <class Curve>
Result<Proof<Curve>> read_proof_json(std::string_view json, std::string_view what);
template <class Fr>
Result<std::vector<Fr>> read_public_json(std::string_view json, std::string_view what);

}  // namespace cuzk::format
