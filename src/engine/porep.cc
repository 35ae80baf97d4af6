#include "engine/porep.h"

#include "filecoin/vanilla_check.h"
#include "format/bellman_key.h"
#include "format/bellman_proof.h"
#include "groth16/prover.h"
#include "groth16/verifier.h"
#include "r1cs/eval.h"

namespace cuzk::engine {

namespace {

using Fr = bls12_381::Fr;
using Witness = CompactWitness<Fr>;

// Settles who the statement is about: the identity that the caller gives, or the file's replica id.
Status check_replica_id(const filecoin::PorepStatement& statement, const filecoin::Node& ticket,
                        const PorepRequest& request) {
  const filecoin::ReplicaIdentity identity = {*request.prover_id, *request.sector, ticket};
  const filecoin::Node expected =
      filecoin::replica_id_of(identity, statement.comm_d, statement.porep_id);
  if (expected == statement.replica_id) return {};
  return fail(
      ErrorCode::kMismatch,
      "{}: replica_id is {}, but sector {} of this miner with the file's ticket and comm_d has {}",
      request.c1.string(), to_hex(statement.replica_id), *request.sector, to_hex(expected));
}

double gib(std::size_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

std::string partition_name(std::size_t partition, std::size_t count) {
  return fmt::format("partition {} of {}", partition, count);
}

Result<Witness> synthesize(const Context& context, const ParsedJob& job, std::size_t partition) {
  auto span = context.timeline.span("synthesize", static_cast<int>(partition));
  auto witness = filecoin::synthesize_porep_witness(context.tasks, job.statement.proof.shape,
                                                    job.c1.partitions[partition],
                                                    job.public_inputs[partition]);
  if (!witness)
    return fail(witness.error().in(partition_name(partition, job.c1.partitions.size())));
  return witness;
}

// Finds the key and sees that the whole job fits the budget before anything large exists.
Result<KeyFiles> admit(const Context& context, const ParameterStore& parameters,
                       const filecoin::PorepShape& shape, const CompiledCircuit& circuit,
                       const PorepRequest& request) {
  auto files = parameters.find(shape, request.key_policy);
  if (!files && files.error().code == ErrorCode::kNotFound && request.make_missing_dev_key) {
    files = parameters.make_insecure_dev(context, shape, circuit, std::nullopt);
  }
  if (!files) return files;
  CUZK_TRY(const Footprint footprint, porep_footprint(*files, circuit));
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

struct Prover {
  const Context& context;
  const ParsedJob& job;
  const CompiledCircuit& circuit;
  const ProvingKey<Bls12_381>& key;
  const groth16::PreparedVerifyingKey<Bls12_381>& verifying_key;

  // One partition from its witness to a proof that holds.
  Result<groth16::VerifiedProof<Bls12_381>> prove(std::size_t partition,
                                                  const Witness& witness) const {
    const Context lane{context.tasks, context.memory, context.timeline,
                       static_cast<int>(partition)};
    CUZK_TRY(const auto proof,
             groth16::prove<Bls12_381>(lane, {circuit.r1cs, circuit.density, witness, key}));
    auto span = context.timeline.span("verify", lane.lane);
    auto verified = groth16::verify<Bls12_381>(context.tasks, verifying_key,
                                               {proof, job.public_inputs[partition]});
    if (!verified) {
      return fail(ErrorCode::kInternal,
                  "self-check failed: the finished proof does not verify ({}); nothing was written",
                  verified.error().message);
    }
    return verified;
  }
};

PorepReply reply_of(const ParsedJob& job,
                    std::span<const groth16::VerifiedProof<Bls12_381>> proofs) {
  PorepReply reply;
  reply.statement = job.statement;
  reply.replica_id_recomputed = job.replica_id_recomputed;
  for (const auto& proof : proofs) {
    const auto bytes = bellman::encode_proof(proof.proof());
    reply.proof.insert(reply.proof.end(), bytes.begin(), bytes.end());
  }
  return reply;
}

}  // namespace

Result<Footprint> porep_footprint(const KeyFiles& files, const CompiledCircuit& circuit) {
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

Result<ParsedJob> parse_porep(const Context& context, const PorepRequest& request) {
  ParsedJob job;
  {
    auto span = context.timeline.span("parse");
    CUZK_TRY(job.c1, format::read_c1(request.c1));
  }
  auto span = context.timeline.span("check_vanilla");
  job.statement = filecoin::PorepStatement::of(job.c1);
  if (request.porep_id) job.statement.porep_id = *request.porep_id;
  if (request.prover_id) {
    CUZK_TRY_VOID(check_replica_id(job.statement, job.c1.ticket, request));
    job.replica_id_recomputed = true;
  }
  if (auto status = filecoin::check_vanilla(context.tasks, job.c1, job.statement); !status) {
    return fail(status.error().in(request.c1.string()));
  }
  for (std::uint32_t p = 0; p < job.c1.partitions.size(); ++p) {
    CUZK_TRY(auto inputs, filecoin::porep_public_inputs(job.statement, p));
    job.public_inputs.push_back(std::move(inputs));
  }
  return job;
}

Result<PorepReply> prove_porep(const Context& context, CircuitStore& circuits,
                               const ParameterStore& parameters, const PorepRequest& request) {
  CUZK_TRY(const ParsedJob job, parse_porep(context, request));
  const filecoin::PorepShape& shape = job.statement.proof.shape;
  CUZK_TRY(const auto circuit, circuits.porep(context, shape));
  CUZK_TRY(const KeyFiles files, admit(context, parameters, shape, *circuit, request));
  CUZK_TRY(const auto key,
           parameters.load_proving_key(context, files, *circuit, request.key_policy));
  const groth16::PreparedVerifyingKey<Bls12_381> verifying_key(key.vk);

  const Prover prover{context, job, *circuit, key, verifying_key};
  std::vector<groth16::VerifiedProof<Bls12_381>> proofs;
  std::size_t witness_bytes = 0;
  for (std::size_t p = 0; p < job.c1.partitions.size(); ++p) {
    CUZK_TRY(const Witness witness, synthesize(context, job, p));
    witness_bytes = std::max(witness_bytes, witness.bytes());
    auto proof = prover.prove(p, witness);
    if (!proof) return fail(proof.error().in(partition_name(p, job.c1.partitions.size())));
    proofs.push_back(std::move(*proof));
  }
  PorepReply reply = reply_of(job, proofs);
  reply.params_file = files.params.string();
  reply.insecure_dev = files.insecure_dev;
  reply.circuit_bytes = circuit->r1cs.bytes();
  reply.witness_bytes = witness_bytes;
  return reply;
}

Status verify_porep(const Context& context, const VerifyingKey<Bls12_381>& key,
                    const filecoin::PorepStatement& statement, ByteSpan proof) {
  const std::uint32_t partitions = statement.proof.partitions;
  if (proof.size() != partitions * bellman::kProofBytes) {
    return fail(ErrorCode::kCorruptInput,
                "the proof has {} bytes, {} has {} partitions of {} bytes", proof.size(),
                statement.proof.name, partitions, bellman::kProofBytes);
  }
  CUZK_TRY(const auto proofs, bellman::decode_proofs(proof, "the proof"));
  std::vector<groth16::Claim<Bls12_381>> claims;
  for (std::uint32_t p = 0; p < partitions; ++p) {
    CUZK_TRY(auto inputs, filecoin::porep_public_inputs(statement, p));
    claims.push_back({proofs[p], std::move(inputs)});
  }
  const groth16::PreparedVerifyingKey<Bls12_381> prepared(key);
  const auto verified =
      groth16::verify_batch<Bls12_381>(context.tasks, prepared, std::move(claims));
  if (!verified) return fail(verified.error());
  return {};
}

Result<SatisfactionReport> check_porep_satisfied(const Context& context, CircuitStore& circuits,
                                                 const PorepRequest& request) {
  CUZK_TRY(const ParsedJob job, parse_porep(context, request));
  CUZK_TRY(const auto circuit, circuits.porep(context, job.statement.proof.shape));
  SatisfactionReport report;
  report.partitions = job.c1.partitions.size();
  report.rows = circuit->r1cs.num_rows;
  for (std::size_t p = 0; p < report.partitions; ++p) {
    CUZK_TRY(const Witness witness, synthesize(context, job, p));
    report.witness_bytes = std::max(report.witness_bytes, witness.bytes());
    report.full_scalars = std::max(report.full_scalars, witness.full_values().size());
    auto span = context.timeline.span("satisfy", static_cast<int>(p));
    if (auto status = check_satisfied(context.tasks, circuit->r1cs, witness); !status) {
      return fail(status.error().in(partition_name(p, report.partitions)));
    }
  }
  return report;
}

}  // namespace cuzk::engine
