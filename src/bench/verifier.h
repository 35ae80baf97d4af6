#pragma once
// Checks proofs where they arrive: the statement from the request itself, the verifying key from
// this machine's files. A wrong or lying service is found out.
//
// Threads: from one thread at a time.

#include <filesystem>
#include <map>
#include <memory>

#include "engine/parameters.h"
#include "engine/request.h"

namespace cuzk::bench {

// verification_key.json of a circuit, by its id.
using CircomKeys = std::map<std::string, std::filesystem::path>;

class Verifier {
 public:
  Verifier(std::filesystem::path parameters, engine::KeyPolicy policy, CircomKeys circom = {});

  // Errors: kInvalidProof when it does not verify; kNotFound for a missing verifying key; those of
  // the request's parser.
  Status verify(const engine::ProofRequest& request, ByteSpan proof);

 private:
  struct Known {
    engine::Statement statement;
    VerifyingKey<Bls12_381> key;
  };
  Result<const Known*> known(const engine::ProofRequest& request);
  Status verify_circom(const engine::ProofRequest& request, ByteSpan proof);

  const engine::ParameterStore parameters_;
  const engine::KeyPolicy policy_;
  const CircomKeys circom_;
  Tasks tasks_;
  MemoryBudget memory_;
  Timeline timeline_;
  std::map<Digest32, Known> known_;  // by the request's digest
};

// "porep-2k": what preload calls the circuit of a request. Errors: those of the request's parser;
// kNotFound for a circuit without an id.
Result<std::string> circuit_id_of(const engine::ProofRequest& request);

}  // namespace cuzk::bench
