#pragma once
// The one orchestration of a Groth16 proof. What differs between machines is behind Backend.
//
//   start_proof   checks that circuit, witness and key belong together, draws the blinding, and has
//                 the backend start on the sums
//   finish        waits for the sums and assembles the proof
// A caller that feeds a device starts the next proof before it finishes this one.
//
// The proof is not verified here: only verifier.h makes a VerifiedProof.
//
// Memory (CPU backend): three vectors of the domain while the quotient is computed, then one of
// them

#include <memory>
#include <string_view>

#include "groth16/blinding.h"
#include "groth16/context.h"
#include "groth16/coset_key.h"
#include "groth16/key_check.h"
#include "groth16/keys.h"
#include "groth16/proof_parts.h"
#include "r1cs/compact_r1cs.h"
#include "r1cs/density.h"
#include "r1cs/witness.h"

namespace cuzk::groth16 {

// Borrowed until the pending proof has finished or is gone.
template <class Curve>
struct ProveInput {
  const CompactR1cs<typename Curve::Fr>& r1cs;
  const Density& density;  // compute_density(r1cs)
  const CompactWitness<typename Curve::Fr>& witness;
  const ProvingKey<Curve>& key;
};

// Sums that are being computed. One that is dropped unfinished joins its work first.
template <class Curve>
class PendingParts {
 public:
  virtual ~PendingParts() = default;
  // Once. Errors: kDeviceLost, kOutOfBudget, kCancelled, kUnsatisfied.
  virtual Result<ProofParts<Curve>> finish() = 0;
};

template <class Curve>
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  // How many points the queries have that this backend sums with: those of `key`, unless it was
  // made with a copy in the memory of a device (then the queries of `key` may be empty).
  virtual KeyCounts counts_of(const ProvingKey<Curve>& key) const { return key_counts(key); }
  // Queues everything that the backend's device does. `input` was checked.
  virtual Result<std::unique_ptr<PendingParts<Curve>>> start(const Context& context,
                                                             const ProveInput<Curve>& input) = 0;
  // The same with a key of the other world of h. kInvalidArgument from a backend that has not
  // learnt it.
  virtual Result<std::unique_ptr<PendingParts<Curve>>> start_coset(
      const Context& context, const CosetProveInput<Curve>& input) {
    return fail(ErrorCode::kInvalidArgument, "the {} backend cannot prove with .zkey keys", name());
  }
};

// All work is done in start, on context.tasks; finish only hands it over.
// Spans: matvec, ntt, h_msm, l_msm, a_msm, b_g1_msm, b_g2_msm.
template <class Curve>
std::unique_ptr<Backend<Curve>> make_cpu_backend();

template <class Curve>
class PendingProof {
 public:
  // Once. Span finish.
  // Errors: those of the backend.
  Result<Proof<Curve>> finish();
  // The sums behind the proof, after finish() succeeded.
  const ProofParts<Curve>& parts() const { return parts_; }

 private:
  template <class C>
  friend Result<PendingProof<C>> start_proof_with_blinding(Backend<C>&, const Context&,
                                                           const ProveInput<C>&,
                                                           const Blinding<C>&);
  template <class C>
  friend Result<PendingProof<C>> start_proof_with_blinding(Backend<C>&, const Context&,
                                                           const CosetProveInput<C>&,
                                                           const Blinding<C>&);
  PendingProof(const Context& context, const VerifyingKey<Curve>& vk,
               const Blinding<Curve>& blinding, std::unique_ptr<PendingParts<Curve>> pending)
      : context_(context), vk_(&vk), blinding_(blinding), pending_(std::move(pending)) {}

  Context context_;
  const VerifyingKey<Curve>* vk_;
  Blinding<Curve> blinding_;
  std::unique_ptr<PendingParts<Curve>> pending_;
  ProofParts<Curve> parts_;
};

// Errors: kMismatch when key, circuit or witness do not belong together, with both numbers; those
// of
//         the backend.
template <class Curve>
Result<PendingProof<Curve>> start_proof(Backend<Curve>& backend, const Context& context,
                                        const ProveInput<Curve>& input);

// With a blinding of the caller's. Blinding::insecure_fixed_for_tests says what that costs.
template <class Curve>
Result<PendingProof<Curve>> start_proof_with_blinding(Backend<Curve>& backend,
                                                      const Context& context,
                                                      const ProveInput<Curve>& input,
                                                      const Blinding<Curve>& blinding);

// start_proof and finish on the CPU.
template <class Curve>
Result<Proof<Curve>> prove(const Context& context, const ProveInput<Curve>& input);

// The same three with a key of the other world of h. A witness that does not satisfy the circuit
// gives a proof that does not verify, not an error.
template <class Curve>
Result<PendingProof<Curve>> start_proof(Backend<Curve>& backend, const Context& context,
                                        const CosetProveInput<Curve>& input);
template <class Curve>
Result<PendingProof<Curve>> start_proof_with_blinding(Backend<Curve>& backend,
                                                      const Context& context,
                                                      const CosetProveInput<Curve>& input,
                                                      const Blinding<Curve>& blinding);
template <class Curve>
Result<Proof<Curve>> prove(const Context& context, const CosetProveInput<Curve>& input);

}  // namespace cuzk::groth16
