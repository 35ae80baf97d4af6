#pragma once
// circom: from a .zkey and a witness to a verified proof, and from JSON files to a verdict.
//
//   CircomProver::open   a key: structure, coefficients and safety checked; either curve
//   CircomProver::prove  a witness -> proof.json and public.json. Every proof was verified under
//   the
//                        key it was made with before it is returned.
//   verify_circom        verification_key.json, public.json, proof.json -> holds, or why not
//
// Inputs are format::InputBytes: a mapped file, memory of one's own, or the caller's. A prover
// keeps its key's input alive (for borrow(), the caller does).
//
// Errors:  kCorruptInput for malformed files, also other protocols than Groth16; kMismatch when key
//          and witness do not belong together (curve, number of values, circuit), with both sides;
//          kUnsatisfied when the witness does not satisfy the circuit: with the circuit's .r1cs the
//          failing constraint is named; kInsecureKey for a key whose proofs can be forged;
//          kOutOfBudget; kCancelled; kDeviceLost.
// Threads: a CircomProver may be used by several threads at once, each prove() with its own Context
//          or a shared one; a call uses context.tasks, and is cancelled by their stop token.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "circom/curve_id.h"
#include "engine/context.h"
#include "format/input_bytes.h"
#include "format/snarkjs_json.h"
#include "format/zkey.h"
#include "groth16/backend_cuda.h"

namespace cuzk::engine {

struct CircomKeyOptions {
  bool allow_insecure_key = false;
  // Reads the key's points at once and keeps them, for many proofs; otherwise each proof reads what
  // it sums when it sums it, which takes least memory.
  bool resident = false;
  // The circuit and its names, kept with the key: every witness is checked against them, as with
  // CircomProveOptions.
  std::optional<format::InputBytes> r1cs = {};
  std::optional<format::InputBytes> sym = {};
};

class CudaDevice;  // devices.h

struct CircomProveOptions {
  // The circuit, to name the constraint that a wrong witness fails; its names, to name the signals.
  std::optional<format::InputBytes> r1cs;
  std::optional<format::InputBytes> sym;
  format::JsonStyle style = format::JsonStyle::kSnarkjs;
  // A card that proves; null: the CPU. The key stays there, or is streamed to it, until the prover
  // goes. `on_timing` is called by finish().
  std::shared_ptr<CudaDevice> device;
  std::function<void(const groth16::PartitionTiming&)> on_timing;
  gpu::Urgency urgency = gpu::Urgency::kNormal;  // on a card
  // Fixed blinding as canonical decimals, for comparison with snarkjs. Such a proof hides nothing.
  struct InsecureBlinding {
    std::string r, s;
  };
  std::optional<InsecureBlinding> insecure_blinding_for_tests;
};

struct CircomReply {
  std::string proof_json;
  std::string public_json;
  std::uint32_t num_public = 0;
};

// prove() in its stages, for those who have several proofs under way: a witness that was read and
// fits the key, and a proof that was started, which borrows prover, context and witness.
class CircomWitness {
 public:
  virtual ~CircomWitness() = default;
};
class CircomPending {
 public:
  virtual ~CircomPending() = default;
  // Once. Spans: finish, verify.
  virtual Result<CircomReply> finish() = 0;
};

class CircomProver {
 public:
  // Spans: read_coefficients, check_key, and with `resident` read_key.
  static Result<CircomProver> open(const Context& context, const format::InputBytes& zkey,
                                   const CircomKeyOptions& options = {});

  circom::CurveId curve() const;
  const format::ZkeyHeader& header() const;
  // Written as snarkjs exports it.
  std::string verification_key_json() const;

  // Spans: read_witness, read_key, those of groth16::prove, verify.
  Result<CircomReply> prove(const Context& context, const format::InputBytes& wtns,
                            const CircomProveOptions& options = {}) const;

  // Spans: read_witness, satisfy.
  Result<std::unique_ptr<CircomWitness>> read_witness(const Context& context,
                                                      const format::InputBytes& wtns,
                                                      const CircomProveOptions& options = {}) const;
  // `witness` is of read_witness of this prover. Spans: read_key, those of groth16::prove.
  Result<std::unique_ptr<CircomPending>> start(const Context& context, const CircomWitness& witness,
                                               const CircomProveOptions& options = {}) const;

  std::uint32_t num_constraints() const;

  CircomProver(CircomProver&&) noexcept;
  CircomProver& operator=(CircomProver&&) noexcept;
  ~CircomProver();

  class Impl;  // one for each curve; circom.cc

 private:
  explicit CircomProver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The three JSON files of snarkjs, in the order of its verifier.
struct CircomClaim {
  format::InputBytes verification_key;
  format::InputBytes public_signals;
  format::InputBytes proof;
};

// Errors: kInvalidProof says why a well-formed proof is no proof of these signals; kMismatch for
//         another number of signals than the key's; kInsecureKey.
Status verify_circom(Tasks& tasks, const CircomClaim& claim, bool allow_insecure_key = false);

// Is the key of the file one that proofs can be trusted under? The header's and the verifying key's
// points, gamma, delta and the generators, whether anybody contributed, whether h is empty; with
// `full` every point of the file: on the curve, in the subgroup (span check_points).
// Errors: kInsecureKey or kCorruptInput says what is wrong.
Status check_zkey(const Context& context, const format::ZkeyFile& file, bool full);

// The part of it that needs no coefficients, and hence no memory: the header's points, gamma, delta
// and the generators, the contributions, whether h is empty. Errors: the same.
Status check_zkey_trust(const format::ZkeyFile& file);

// As CircomProver::verification_key_json, from the header alone.
Result<std::string> verification_key_json_of(const format::ZkeyFile& file);

// A witness in either form as a .wtns: an array of decimals, as snarkjs exports it, becomes one of
// the curve; anything else stays as it is. Errors: kCorruptInput.
Result<format::InputBytes> wtns_of(circom::CurveId curve, const format::InputBytes& witness);

// Structure, curve and number of values, nothing more. Errors: kCorruptInput, kMismatch.
Status check_wtns_header(const format::InputBytes& wtns, const format::ZkeyHeader& key);

// Everything that is wrong with a witness by itself or, given the circuit, with the two together.
// Errors: kUnsatisfied names the failing constraint; the others as above.
Status check_wtns(const Context& context, const format::InputBytes& wtns,
                  const std::optional<format::InputBytes>& r1cs,
                  const std::optional<format::InputBytes>& sym);

// Reads every constraint; the number of terms in A, B and C. Errors: kCorruptInput.
struct R1csStatistics {
  std::size_t terms[3] = {};
  std::size_t distinct_coefficients = 0;
};
Result<R1csStatistics> check_r1cs(const Context& context, const format::InputBytes& r1cs);

// Writes a .zkey of the circuit whose maker can forge proofs: for tests and benches. With a seed it
// is the same key each time. Every reader refuses it unless insecure keys are allowed.
// Spans: those of circom::insecure_dev_setup, write_key.
Status make_insecure_dev_zkey(const Context& context, const format::InputBytes& r1cs,
                              std::optional<std::uint64_t> seed,
                              const std::filesystem::path& output);

}  // namespace cuzk::engine
