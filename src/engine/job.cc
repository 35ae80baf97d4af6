#include "engine/job.h"

#include "format/bellman_key.h"
#include "format/bellman_proof.h"
#include "groth16/prover.h"
#include "r1cs/eval.h"

namespace cuzk::engine {

namespace {

using Fr = bls12_381::Fr;

double gib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

}  // namespace

std::string Job::partition_name(std::size_t partition) const {
  const std::size_t number =
      partition_numbers.empty() ? partition : std::size_t{partition_numbers[partition]};
  return partition_numbers.empty() ? fmt::format("partition {} of {}", number, partitions())
                                   : fmt::format("partition {}", number);
}

Result<Footprint> footprint_of(const KeyFiles& files, const CompiledCircuit& circuit) {
  Footprint out;
  if (!files.params.empty()) {
    CUZK_TRY(const auto params, bellman::ParamsFile::open(files.params));
    out.key_bytes = params.loaded_bytes();
  }
  const auto& r1cs = circuit.r1cs;
  out.vector_bytes = 3 * sizeof(Fr) << r1cs.domain_log2();
  out.witness_bytes = r1cs.bytes() + r1cs.num_aux / 4 + sizeof(Fr) * r1cs.num_full_aux;
  return out;
}

Result<KeyFiles> admit(const Context& context, const ParameterStore& parameters,
                       const filecoin::CircuitSpec& spec, const CompiledCircuit& circuit,
                       const KeyChoice& choice) {
  CUZK_TRY(auto files, parameters.find_or_make(context, spec, circuit, choice.policy,
                                               choice.make_missing_dev_key));
  CUZK_TRY(const Footprint footprint, footprint_of(files, circuit));
  const std::size_t room = context.memory.limit_bytes() - context.memory.used_bytes();
  if (footprint.total() > room) {
    return fail(
        ErrorCode::kOutOfBudget,
        "{} needs about {:.1f} GiB (key {:.1f}, vectors {:.1f}, witness and circuit {:.1f}), "
        "the budget has room for {:.1f}: raise --memory or use a larger machine",
        circuit.r1cs.name, gib(footprint.total()), gib(footprint.key_bytes),
        gib(footprint.vector_bytes), gib(footprint.witness_bytes), gib(room));
  }
  return files;
}

Result<Witness> synthesize(const Context& context, const Job& job, std::size_t partition) {
  auto span = context.timeline.span("synthesize", static_cast<int>(partition));
  auto witness = job.synthesize(context.tasks, partition);
  if (!witness) return fail(witness.error().in(job.partition_name(partition)));
  return witness;
}

Result<groth16::VerifiedProof<Bls12_381>> prove_partition(
    const Context& context, const Job& job, std::size_t partition, const CompiledCircuit& circuit,
    const ProvingKey<Bls12_381>& key, const groth16::PreparedVerifyingKey<Bls12_381>& verifying_key,
    const Witness& witness) {
  const Context lane{context.tasks, context.memory, context.timeline, static_cast<int>(partition)};
  const auto proof = groth16::prove<Bls12_381>(lane, {circuit.r1cs, circuit.density, witness, key});
  if (!proof) return fail(proof.error().in(job.partition_name(partition)));
  auto span = context.timeline.span("verify", lane.lane);
  auto verified = groth16::verify<Bls12_381>(context.tasks, verifying_key,
                                             {*proof, job.public_inputs[partition]});
  if (!verified) {
    return fail(ErrorCode::kInternal,
                "{}: self-check failed: the finished proof does not verify ({}); nothing was "
                "written",
                job.partition_name(partition), verified.error().message);
  }
  return verified;
}

std::vector<std::uint8_t> encode_proofs(std::span<const groth16::VerifiedProof<Bls12_381>> proofs) {
  std::vector<std::uint8_t> out;
  for (const auto& proof : proofs) {
    const auto bytes = bellman::encode_proof(proof.proof());
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

Result<ProofReply> prove_job(const Context& context, CircuitStore& circuits,
                             const ParameterStore& parameters, const Job& job,
                             const KeyChoice& choice) {
  CUZK_TRY(const auto circuit, circuits.get(context, job.circuit));
  CUZK_TRY(const KeyFiles files, admit(context, parameters, job.circuit, *circuit, choice));
  CUZK_TRY(const auto key, parameters.load_proving_key(context, files, *circuit, choice.policy));
  const groth16::PreparedVerifyingKey<Bls12_381> verifying_key(key.vk);

  ProofReply reply;
  std::vector<groth16::VerifiedProof<Bls12_381>> proofs;
  for (std::size_t p = 0; p < job.partitions(); ++p) {
    CUZK_TRY(const Witness witness, synthesize(context, job, p));
    reply.witness_bytes = std::max(reply.witness_bytes, witness.bytes());
    CUZK_TRY(auto proof, prove_partition(context, job, p, *circuit, key, verifying_key, witness));
    proofs.push_back(std::move(proof));
  }
  reply.proof = encode_proofs(proofs);
  reply.params_file = files.params.string();
  reply.insecure_dev = files.insecure_dev;
  reply.circuit_bytes = circuit->r1cs.bytes();
  return reply;
}

Status verify_statement(const Context& context, const VerifyingKey<Bls12_381>& key,
                        const Statement& statement, ByteSpan proof) {
  const std::size_t partitions = statement.public_inputs.size();
  if (proof.size() != partitions * bellman::kProofBytes) {
    return fail(ErrorCode::kCorruptInput,
                "the proof has {} bytes, {} has {} partition{} of {} bytes", proof.size(),
                statement.name, partitions, partitions == 1 ? "" : "s", bellman::kProofBytes);
  }
  CUZK_TRY(const auto proofs, bellman::decode_proofs(proof, "the proof"));
  std::vector<groth16::Claim<Bls12_381>> claims;
  for (std::size_t p = 0; p < partitions; ++p) {
    claims.push_back({proofs[p], statement.public_inputs[p]});
  }
  const groth16::PreparedVerifyingKey<Bls12_381> prepared(key);
  const auto verified =
      groth16::verify_batch<Bls12_381>(context.tasks, prepared, std::move(claims));
  if (!verified) return fail(verified.error());
  return {};
}

Result<SatisfactionReport> check_satisfied(const Context& context, CircuitStore& circuits,
                                           const Job& job) {
  CUZK_TRY(const auto circuit, circuits.get(context, job.circuit));
  SatisfactionReport report;
  report.partitions = job.partitions();
  report.rows = circuit->r1cs.num_rows;
  for (std::size_t p = 0; p < report.partitions; ++p) {
    CUZK_TRY(const Witness witness, synthesize(context, job, p));
    report.witness_bytes = std::max(report.witness_bytes, witness.bytes());
    report.full_scalars = std::max(report.full_scalars, witness.full_values().size());
    auto span = context.timeline.span("satisfy", static_cast<int>(p));
    if (auto status = cuzk::check_satisfied(context.tasks, circuit->r1cs, witness); !status) {
      return fail(status.error().in(job.partition_name(p)));
    }
  }
  return report;
}

}  // namespace cuzk::engine
