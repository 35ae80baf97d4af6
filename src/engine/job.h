#pragma once
// A job, whatever its kind: a request whose statement is settled and whose inputs hold, and what
// every later stage does with it: admit, synthesize, prove, assemble, verify, reply.
//
// Each kind (porep.h, ...) has one function that parses its request into a job. An unverified proof
// cannot become a reply: replies are made of groth16::VerifiedProof only.
//
// Threads: a job is immutable and may be shared; its synthesize may run for several partitions at
//          once. One call below uses context.tasks; several calls may run at once.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "engine/parameters.h"
#include "filecoin/circuit_spec.h"
#include "groth16/verifier.h"
#include "r1cs/witness.h"

namespace cuzk::engine {

using Witness = CompactWitness<bls12_381::Fr>;
using PublicInputs = std::vector<bls12_381::Fr>;  // of one partition, without the constant one

struct CircomOrder;  // circom_circuits.h

struct Job {
  std::string name;  // for people and logs: "StackedDrg2KiBV1_1"
  filecoin::CircuitSpec circuit;
  std::vector<PublicInputs> public_inputs;  // of each partition
  // The witness of a partition. Errors: kMismatch, kCorruptInput, kCancelled.
  std::function<Result<Witness>(Tasks&, std::size_t partition)> synthesize;
  // Which of the request's partitions these are; empty: 0, 1, ... A WindowPoSt request may be for
  // one partition of several.
  std::vector<std::uint32_t> partition_numbers;
  // Instead of synthesize, and with only name and identifier in `circuit`: a circom proof, of one
  // partition. The pipeline proves it by CircomProver.
  std::shared_ptr<const CircomOrder> circom;

  std::size_t partitions() const { return public_inputs.size(); }
  std::string partition_name(std::size_t partition) const;  // "partition 3 of 10"
};

struct KeyChoice {
  KeyPolicy policy = KeyPolicy::kCeremonyOnly;
  bool make_missing_dev_key = false;  // only with kAllowInsecureDev
};

// What proving one partition takes at its peak, from sizes known before it starts.
struct Footprint {
  std::size_t key_bytes = 0;
  std::size_t vector_bytes = 0;   // a, b and c over the domain
  std::size_t witness_bytes = 0;  // with the compiled circuit
  std::size_t total() const { return key_bytes + vector_bytes + witness_bytes; }
};
Result<Footprint> footprint_of(const KeyFiles& files, const CompiledCircuit& circuit);

// Finds the key, makes it if that is allowed, and sees that proving fits the budget before anything
// large exists. Errors: kNotFound, kOutOfBudget with what is needed and what there is.
Result<KeyFiles> admit(const Context& context, const ParameterStore& parameters,
                       const filecoin::CircuitSpec& spec, const CompiledCircuit& circuit,
                       const KeyChoice& choice);

// Span synthesize.
Result<Witness> synthesize(const Context& context, const Job& job, std::size_t partition);

// One partition from its witness to a proof that holds; spans of groth16::prove, and verify.
// Errors: kUnsatisfied; kInternal when a finished proof does not verify.
Result<groth16::VerifiedProof<Bls12_381>> prove_partition(
    const Context& context, const Job& job, std::size_t partition, const CompiledCircuit& circuit,
    const ProvingKey<Bls12_381>& key, const groth16::PreparedVerifyingKey<Bls12_381>& verifying_key,
    const Witness& witness);

struct ProofReply {
  std::vector<std::uint8_t> proof;  // 192 bytes for each partition; circom: proof.json
  std::string public_json;          // circom's
  std::string params_file;
  bool insecure_dev = false;
  std::size_t circuit_bytes = 0;
  std::size_t witness_bytes = 0;  // of the largest partition
};

// The bytes of verified proofs, in the order of their partitions.
std::vector<std::uint8_t> encode_proofs(std::span<const groth16::VerifiedProof<Bls12_381>> proofs);

// All partitions one after the other. Every proof in the reply has been verified.
Result<ProofReply> prove_job(const Context& context, CircuitStore& circuits,
                             const ParameterStore& parameters, const Job& job,
                             const KeyChoice& choice);

// What a proof is checked against, whatever its kind.
struct Statement {
  std::string name;  // for errors: "StackedDrg32GiBV1_1"
  filecoin::CircuitSpec circuit;
  std::vector<PublicInputs> public_inputs;  // of each partition
};

// All partitions in one batch. Errors: kInvalidProof names the first partition that fails;
// kCorruptInput for a proof of another length than 192 bytes a partition, or that is no points.
Status verify_statement(const Context& context, const VerifyingKey<Bls12_381>& key,
                        const Statement& statement, ByteSpan proof);

struct SatisfactionReport {
  std::size_t partitions = 0;
  std::uint64_t rows = 0;         // of one partition
  std::size_t witness_bytes = 0;  // of the largest partition
  std::size_t full_scalars = 0;   // likewise
};

// Synthesizes every partition and checks every row; needs no key (spans synthesize, satisfy).
// Errors: kUnsatisfied names partition, row and gadget.
Result<SatisfactionReport> check_satisfied(const Context& context, CircuitStore& circuits,
                                           const Job& job);

}  // namespace cuzk::engine
