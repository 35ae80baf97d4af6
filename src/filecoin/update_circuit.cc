#include "filecoin/update_circuit.h"

#include <bit>

#include "filecoin/merkle_path.h"
#include "filecoin/update_circuit.inl"

namespace cuzk::filecoin {
namespace {

using Witness = CompactWitness<Fr>;

// Changes whenever the rows of this circuit change.
constexpr std::string_view kRevision = "update-1";
// Sizes up to here are proved in minutes on a laptop.
constexpr std::uint64_t kLargestDevelopmentBytes = std::uint64_t{512} << 20;

Status check_circuit_shape(const UpdateShape& shape) {
  const std::uint64_t nodes = shape.nodes();
  std::uint64_t leaves = 1;
  for (const std::uint32_t arity : shape.path_arities()) {
    if (arity != 2 && arity != 4 && arity != 8) {
      return fail(ErrorCode::kInvalidArgument, "update: no circuit for a tree of arity {}", arity);
    }
    leaves *= arity;
  }
  if (nodes < 2 || !std::has_single_bit(nodes) || leaves != nodes || nodes >> 32) {
    return fail(ErrorCode::kInvalidArgument,
                "update: {} nodes of a sector do not make a tree of shape {}", nodes,
                shape.tree.name());
  }
  if (!std::has_single_bit(shape.partitions) || !std::has_single_bit(shape.apex_leafs) ||
      shape.apex_leafs < 2 || std::uint64_t{shape.partitions} * shape.apex_leafs >= nodes) {
    return fail(ErrorCode::kInvalidArgument,
                "update: {} partitions of {} apex leafs do not divide {} nodes", shape.partitions,
                shape.apex_leafs, nodes);
  }
  if (shape.challenges == 0) {
    return fail(ErrorCode::kInvalidArgument, "update: a partition of no challenges");
  }
  for (const std::uint32_t h : shape.h_values) {
    if (h == 0 || h > shape.node_bits()) {
      return fail(ErrorCode::kInvalidArgument, "update: a node of {} bits has no {} highest ones",
                  shape.node_bits(), h);
    }
  }
  return {};
}

update_circuit::Siblings<Fr> siblings_of(std::span<const MerkleStep> path) {
  update_circuit::Siblings<Fr> out;
  for (const MerkleStep& step : path) out.push_back(elements_of(step.siblings));
  return out;
}

Status check_opened(const MerkleProof& proof, std::uint32_t node, std::size_t challenge,
                    std::string_view name) {
  if (proof.leaf_index() == node) return {};
  return fail(ErrorCode::kMismatch, "{} opens node {}, the statement asks for {}",
              update_item_path(challenge, name), proof.leaf_index(), node);
}

// The proof has passed check_update_partition_shape.
Result<update_circuit::Partition<Fr>> read_partition(const UpdateShape& shape,
                                                     const UpdatePartitionProof& proof,
                                                     std::span<const Fr> public_inputs) {
  update_circuit::Partition<Fr> out;
  out.k_and_h_select = public_inputs[0];
  out.comm_r_old = public_inputs[1];
  out.comm_d_new = public_inputs[2];
  out.comm_r_new = public_inputs[3];
  const auto partition =
      static_cast<std::uint32_t>(out.k_and_h_select.to_scalar().limbs[0]) & (shape.partitions - 1);
  const auto nodes = update_challenges(shape, out.comm_r_new, partition);
  out.comm_c = element_of(proof.comm_c);
  out.root_r_old = element_of(proof.challenges[0].proof_r_old.root);
  out.root_r_new = element_of(proof.challenges[0].proof_r_new.root);
  out.apex_leafs = elements_of(proof.apex_leafs);
  const std::span<const MerkleStep> first_path = proof.challenges[0].proof_d_new.path;
  for (const MerkleStep& step : first_path.last(shape.partition_bits())) {
    out.partition_path.push_back(element_of(step.siblings[0]));
  }
  for (std::size_t i = 0; i < proof.challenges.size(); ++i) {
    const UpdateChallengeProof& p = proof.challenges[i];
    CUZK_TRY_VOID(check_opened(p.proof_r_old, nodes[i], i, "proof_r_old"));
    CUZK_TRY_VOID(check_opened(p.proof_d_new, nodes[i], i, "proof_d_new"));
    CUZK_TRY_VOID(check_opened(p.proof_r_new, nodes[i], i, "proof_r_new"));
    const std::span<const MerkleStep> data_path = p.proof_d_new.path;
    out.challenges.push_back({element_of(p.proof_r_old.leaf), element_of(p.proof_d_new.leaf),
                              siblings_of(p.proof_r_old.path), siblings_of(p.proof_r_new.path),
                              siblings_of(data_path.first(shape.steps_below_apex()))});
  }
  return out;
}

}  // namespace

Result<CompactR1cs<Fr>> compile_update(const UpdateShape& shape) {
  CUZK_TRY_VOID(check_circuit_shape(shape));
  gadget::Recorder<Fr> cs("update " + sector_size_name(shape.sector_bytes));
  update_circuit::synthesize_update(cs, shape, nullptr);
  return cs.finish();
}

CircuitSpec update_circuit_spec(const UpdateShape& shape) {
  return {
      .name = "update " + sector_size_name(shape.sector_bytes),
      .identifier = std::string(kRevision) + ":" + shape.parameter_identifier(),
      .stem = shape.parameter_stem(),
      .sector_bytes = shape.sector_bytes,
      .development_size = shape.sector_bytes < kLargestDevelopmentBytes,
      .compile = [shape] { return compile_update(shape); },
  };
}

Result<Witness> synthesize_update_witness(Tasks& tasks, const UpdateShape& shape,
                                          const UpdatePartitionProof& proof,
                                          std::span<const Fr> public_inputs) {
  CUZK_TRY_VOID(check_circuit_shape(shape));
  if (public_inputs.size() != UpdateShape::kPublicInputs) {
    return fail(ErrorCode::kMismatch, "update: {} public inputs are given, the circuit has {}",
                public_inputs.size(), UpdateShape::kPublicInputs);
  }
  CUZK_TRY_VOID(check_update_partition_shape(shape, proof));
  CUZK_TRY(const auto partition, read_partition(shape, proof, public_inputs));
  gadget::WitnessBuilder<Fr> cs(tasks);
  update_circuit::synthesize_update(cs, shape, &partition);
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "asked to stop");
  return cs.finish();
}

}  // namespace cuzk::filecoin
