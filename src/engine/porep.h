#pragma once
// PoRep from request to reply: parse, admit, synthesize, prove, assemble, verify, reply.
//
// Each stage takes the previous stage's type. An unverified proof cannot become a reply: replies
// are made of groth16::VerifiedProof only.
//
// Threads: one call uses context.tasks; several calls may run at once.

#include <filesystem>
#include <optional>
#include <vector>

#include "engine/parameters.h"
#include "filecoin/statement.h"
#include "format/c1.h"

namespace cuzk::engine {

struct PorepRequest {
  std::filesystem::path c1;
  // Who sealed what: when given, the replica id is recomputed and compared with the file's.
  std::optional<filecoin::Node> prover_id;
  std::optional<std::uint64_t> sector;
  // Networks of one's own may use another than the registered proof's.
  std::optional<filecoin::PorepId> porep_id;
  KeyPolicy key_policy = KeyPolicy::kCeremonyOnly;
  bool make_missing_dev_key = false;  // only with kAllowInsecureDev
};

// A parsed C1 whose statement is settled and whose vanilla proofs hold.
struct ParsedJob {
  filecoin::PorepC1 c1;
  filecoin::PorepStatement statement;
  std::vector<std::vector<bls12_381::Fr>> public_inputs;  // of each partition, without the one
  bool replica_id_recomputed = false;
};

// Spans parse, check_vanilla. Errors name the file, the partition, the challenge and the item.
Result<ParsedJob> parse_porep(const Context& context, const PorepRequest& request);

// What proving one partition takes at its peak, from sizes known before it starts.
struct Footprint {
  std::size_t key_bytes = 0;
  std::size_t vector_bytes = 0;   // a, b and c over the domain
  std::size_t witness_bytes = 0;  // with the compiled circuit
  std::size_t total() const { return key_bytes + vector_bytes + witness_bytes; }
};
Result<Footprint> porep_footprint(const KeyFiles& files, const CompiledCircuit& circuit);

struct PorepReply {
  std::vector<std::uint8_t> proof;  // 192 bytes for each partition
  filecoin::PorepStatement statement;
  std::string params_file;
  bool insecure_dev = false;
  bool replica_id_recomputed = false;
  std::size_t circuit_bytes = 0;
  std::size_t witness_bytes = 0;  // of the largest partition
};

// Every proof in the reply has been verified.
// Errors: kUnsatisfied names row and gadget; kInternal when a finished proof does not verify.
Result<PorepReply> prove_porep(const Context& context, CircuitStore& circuits,
                               const ParameterStore& parameters, const PorepRequest& request);

// Checks all partitions in one batch. kInvalidProof names the first partition that fails.
Status verify_porep(const Context& context, const VerifyingKey<Bls12_381>& key,
                    const filecoin::PorepStatement& statement, ByteSpan proof);

struct SatisfactionReport {
  std::size_t partitions = 0;
  std::uint64_t rows = 0;         // of one partition
  std::size_t witness_bytes = 0;  // of the largest partition
  std::size_t full_scalars = 0;   // likewise
};

// Synthesizes every partition and checks every row; needs no key (spans synthesize, satisfy).
// Errors: kUnsatisfied names partition, row and gadget.
Result<SatisfactionReport> check_porep_satisfied(const Context& context, CircuitStore& circuits,
                                                 const PorepRequest& request);

}  // namespace cuzk::engine
