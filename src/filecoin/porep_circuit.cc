#include "filecoin/porep_circuit.h"

#include <algorithm>
#include <bit>

#include "filecoin/hash.h"
#include "filecoin/porep_circuit.inl"

namespace cuzk::filecoin {
namespace {

using Witness = CompactWitness<Fr>;

// Changes whenever the rows of this circuit change.
constexpr std::string_view kRevision = "porep-1";
constexpr std::size_t kInputsBefore = 3;  // replica id, comm_d, comm_r
constexpr std::size_t kInputsPerChallenge = 18;

Status check_circuit_shape(const PorepShape& shape) {
  const auto arities = shape.path_arities();
  std::uint64_t leaves = 1;
  for (const std::uint32_t arity : arities) {
    if (arity != 2 && arity != 4 && arity != 8) {
      return fail(ErrorCode::kInvalidArgument, "PoRep: no circuit for a tree of arity {}", arity);
    }
    leaves *= arity;
  }
  if (shape.nodes() < 2 || !std::has_single_bit(shape.nodes()) || leaves != shape.nodes()) {
    return fail(ErrorCode::kInvalidArgument,
                "PoRep: {} nodes of a sector do not make a tree of shape {}", shape.nodes(),
                shape.tree.name());
  }
  if (shape.layers != 2 && shape.layers != 11) {
    return fail(ErrorCode::kInvalidArgument, "PoRep: no column hash for {} layers, only 2 or 11",
                shape.layers);
  }
  if (shape.challenges_per_partition == 0) {
    return fail(ErrorCode::kInvalidArgument, "PoRep: a partition of no challenges");
  }
  return {};
}

// Reads the parts of a vanilla proof into field elements; `where` names the challenge in errors.
class Reader {
 public:
  Reader(const PorepShape& shape, std::size_t challenge)
      : shape_(shape),
        data_arities_(static_cast<std::size_t>(std::countr_zero(shape.nodes())), 2),
        tree_arities_(shape.path_arities()),
        challenge_(challenge) {}

  Result<circuit::Challenge<Fr>> challenge(const PorepChallengeProof& proof, std::uint64_t node) {
    circuit::Challenge<Fr> out;
    out.node = node;
    CUZK_TRY(out.data_leaf, element(proof.comm_d_proof.leaf, "comm_d_proofs.leaf"));
    CUZK_TRY(out.data_path, path(proof.comm_d_proof, data_arities_, "comm_d_proofs"));
    CUZK_TRY(out.drg_parents, columns(proof.drg_parents, kDrgParents, "drg_parents"));
    CUZK_TRY(out.expander_parents, columns(proof.exp_parents, kExpanderParents, "exp_parents"));
    CUZK_TRY(out.replica_path, path(proof.comm_r_last_proof, tree_arities_, "comm_r_last_proof"));
    CUZK_TRY(out.column_path, path(proof.c_x.inclusion, tree_arities_, "c_x.inclusion_proof"));
    return out;
  }
  Result<Fr> element(const Node& node, std::string_view what) {
    if (const auto v = node_to_fr(node)) return *v;
    return fail(ErrorCode::kCorruptInput, "challenge {}: {}: a node is not below the modulus",
                challenge_, what);
  }

 private:
  Result<std::vector<circuit::Column<Fr>>> columns(std::span<const ColumnProof> proofs,
                                                   std::size_t count, std::string_view what) {
    if (proofs.size() != count) {
      return fail(ErrorCode::kMismatch, "challenge {}: {} has {} columns, the circuit {}",
                  challenge_, what, proofs.size(), count);
    }
    std::vector<circuit::Column<Fr>> out(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (proofs[i].rows.size() != shape_.layers) {
        return fail(ErrorCode::kMismatch, "challenge {}: {}[{}] has {} rows, the circuit {}",
                    challenge_, what, i, proofs[i].rows.size(), shape_.layers);
      }
      for (const Node& row : proofs[i].rows) {
        CUZK_TRY(const Fr v, element(row, what));
        out[i].rows.push_back(v);
      }
      CUZK_TRY(out[i].path, path(proofs[i].inclusion, tree_arities_, what));
    }
    return out;
  }

  Result<gadget::Path<Fr>> path(const MerkleProof& proof, std::span<const std::uint32_t> arities,
                                std::string_view what) {
    if (proof.path.size() != arities.size()) {
      return fail(ErrorCode::kMismatch, "challenge {}: {} has a path of {} steps, the circuit {}",
                  challenge_, what, proof.path.size(), arities.size());
    }
    gadget::Path<Fr> out(arities.size());
    for (std::size_t i = 0; i < arities.size(); ++i) {
      const MerkleStep& step = proof.path[i];
      if (step.siblings.size() + 1 != arities[i] || step.index >= arities[i]) {
        return fail(
            ErrorCode::kMismatch,
            "challenge {}: {}: step {} has place {} and {} siblings, the tree's arity is {}",
            challenge_, what, i, step.index, step.siblings.size(), arities[i]);
      }
      out[i].index = step.index;
      for (const Node& sibling : step.siblings) {
        CUZK_TRY(const Fr v, element(sibling, what));
        out[i].siblings.push_back(v);
      }
    }
    return out;
  }

  const PorepShape& shape_;
  std::vector<std::uint32_t> data_arities_;
  std::vector<std::uint32_t> tree_arities_;
  std::size_t challenge_;
};

Result<circuit::Partition<Fr>> read_partition(const PorepShape& shape,
                                              std::span<const PorepChallengeProof> challenges,
                                              std::span<const Fr> public_inputs) {
  circuit::Partition<Fr> out;
  out.replica_id = public_inputs[0];
  out.comm_d = public_inputs[1];
  out.comm_r = public_inputs[2];
  for (std::size_t i = 0; i < challenges.size(); ++i) {
    Reader reader(shape, i);
    const Fr& node = public_inputs[kInputsBefore + i * kInputsPerChallenge];
    CUZK_TRY(auto challenge, reader.challenge(challenges[i], node.to_scalar().limbs[0]));
    out.challenges.push_back(std::move(challenge));
  }
  Reader reader(shape, 0);
  CUZK_TRY(out.comm_r_last,
           reader.element(challenges[0].comm_r_last_proof.root, "comm_r_last_proof.root"));
  CUZK_TRY(out.comm_c,
           reader.element(challenges[0].c_x.inclusion.root, "c_x.inclusion_proof.root"));
  return out;
}

// What input `i` of a challenge is called in errors.
std::string input_name(std::size_t i) {
  if (i == 0) return "comm_d_proofs";
  if (i <= kDrgParents) return fmt::format("drg_parents[{}]", i - 1);
  if (i <= kDrgParents + kExpanderParents) {
    return fmt::format("exp_parents[{}]", i - 1 - kDrgParents);
  }
  constexpr const char* kLast[] = {"the node", "comm_r_last_proof", "c_x"};
  return kLast[i - 1 - kDrgParents - kExpanderParents];
}

// The inputs that the circuit packed from the paths must be the statement's.
Status compare_inputs(const Witness& witness, std::span<const Fr> public_inputs) {
  for (std::size_t i = 0; i < public_inputs.size(); ++i) {
    if (witness.inputs[i + 1] == public_inputs[i]) continue;
    CUZK_CHECK(i >= kInputsBefore);
    const std::size_t k = i - kInputsBefore;
    return fail(ErrorCode::kMismatch, "challenge {}: {} opens node {}, the statement asks for {}",
                k / kInputsPerChallenge, input_name(k % kInputsPerChallenge),
                witness.inputs[i + 1].to_scalar().limbs[0], public_inputs[i].to_scalar().limbs[0]);
  }
  return {};
}

}  // namespace

Result<CompactR1cs<Fr>> compile_porep(const PorepShape& shape) {
  CUZK_TRY_VOID(check_circuit_shape(shape));
  gadget::Recorder<Fr> cs("porep " + sector_size_name(shape.sector_bytes));
  circuit::synthesize_porep(cs, shape, nullptr);
  return cs.finish();
}

CircuitSpec porep_circuit_spec(const PorepShape& shape) {
  return {
      .name = "PoRep " + sector_size_name(shape.sector_bytes),
      .identifier = std::string(kRevision) + ":" + shape.parameter_identifier(),
      .stem = shape.parameter_stem(),
      .sector_bytes = shape.sector_bytes,
      .development_size = shape.layers == 2,
      .compile = [shape] { return compile_porep(shape); },
  };
}

Result<Witness> synthesize_porep_witness(Tasks& tasks, const PorepShape& shape,
                                         std::span<const PorepChallengeProof> challenges,
                                         std::span<const Fr> public_inputs) {
  CUZK_TRY_VOID(check_circuit_shape(shape));
  if (challenges.size() != shape.challenges_per_partition) {
    return fail(ErrorCode::kMismatch, "PoRep: the partition has {} challenges, the circuit {}",
                challenges.size(), shape.challenges_per_partition);
  }
  if (public_inputs.size() != shape.num_public_inputs()) {
    return fail(ErrorCode::kMismatch, "PoRep: {} public inputs are given, the circuit has {}",
                public_inputs.size(), shape.num_public_inputs());
  }
  CUZK_TRY(const auto partition, read_partition(shape, challenges, public_inputs));
  gadget::WitnessBuilder<Fr> cs(tasks);
  circuit::synthesize_porep(cs, shape, &partition);
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "asked to stop");
  Witness witness = cs.finish();
  CUZK_CHECK(witness.inputs.size() == public_inputs.size() + 1);
  CUZK_TRY_VOID(compare_inputs(witness, public_inputs));
  return witness;
}

}  // namespace cuzk::filecoin
