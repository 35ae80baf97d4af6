#include "filecoin/post_circuit.h"

#include <bit>
#include <optional>

#include "filecoin/hash.h"
#include "filecoin/merkle_path.h"
#include "filecoin/post_circuit.inl"

namespace cuzk::filecoin {
namespace {

using Witness = CompactWitness<Fr>;
using Place = circuit::PostPlace<Fr>;

// Changes whenever the rows of this circuit change.
constexpr std::string_view kRevision = "post-1";

Status check_circuit_shape(const PostShape& shape) {
  std::uint64_t leaves = 1;
  for (const std::uint32_t arity : shape.path_arities()) {
    if (arity != 2 && arity != 4 && arity != 8) {
      return fail(ErrorCode::kInvalidArgument, "{}: no circuit for a tree of arity {}",
                  post_kind_name(shape.kind), arity);
    }
    leaves *= arity;
  }
  if (shape.nodes() < 2 || !std::has_single_bit(shape.nodes()) || leaves != shape.nodes()) {
    return fail(ErrorCode::kInvalidArgument,
                "{}: {} nodes of a sector do not make a tree of shape {}",
                post_kind_name(shape.kind), shape.nodes(), shape.tree.name());
  }
  if (shape.circuit_sectors == 0 || shape.circuit_challenges == 0) {
    return fail(ErrorCode::kInvalidArgument, "{}: a partition of no challenges",
                post_kind_name(shape.kind));
  }
  return {};
}

circuit::PostOpening<Fr> opening_of(const MerkleProof& proof) {
  circuit::PostOpening<Fr> out;
  out.leaf = element_of(proof.leaf);
  for (const MerkleStep& step : proof.path) {
    out.path.push_back({step.index, elements_of(step.siblings)});
  }
  return out;
}

// Where the openings of place `i` are: a sector, and the first of its inclusion proofs.
struct Source {
  std::size_t sector = 0;
  std::size_t first = 0;
};
Source source_of(const PostShape& shape, std::size_t num_sectors, std::size_t place) {
  if (shape.kind == PostKind::kWinning) return {0, place * shape.circuit_challenges};
  return {std::min(place, num_sectors - 1), 0};
}

Place place_of(const PostShape& shape, const PostSectorProof& proof, std::size_t first,
               const Fr& comm_r) {
  Place out;
  out.comm_r = comm_r;
  out.comm_c = element_of(proof.comm_c);
  out.comm_r_last = element_of(proof.comm_r_last);
  for (std::size_t i = 0; i < shape.circuit_challenges; ++i) {
    out.openings.push_back(opening_of(proof.inclusion[first + i]));
  }
  return out;
}

Status check_arguments(const PostShape& shape, std::span<const PostSectorProof> sectors,
                       std::size_t num_inputs) {
  CUZK_TRY_VOID(check_circuit_shape(shape));
  if (sectors.empty() || sectors.size() > shape.sectors_per_partition()) {
    return fail(ErrorCode::kMismatch, "{}: {} sectors for one partition, which has 1 to {}",
                post_kind_name(shape.kind), sectors.size(), shape.sectors_per_partition());
  }
  if (num_inputs != shape.num_public_inputs()) {
    return fail(ErrorCode::kMismatch, "{}: {} public inputs are given, the circuit has {}",
                post_kind_name(shape.kind), num_inputs, shape.num_public_inputs());
  }
  for (const PostSectorProof& proof : sectors) CUZK_TRY_VOID(check_post_shape(proof, shape));
  return {};
}

// The challenges that the circuit packed from the paths must be the statement's.
Status compare_inputs(const PostShape& shape, std::span<const PostSectorProof> sectors,
                      const Witness& witness, std::span<const Fr> public_inputs) {
  for (std::size_t i = 0; i < public_inputs.size(); ++i) {
    if (witness.inputs[i + 1] == public_inputs[i]) continue;
    const std::size_t each = 1 + shape.circuit_challenges;
    const Source source = source_of(shape, sectors.size(), i / each);
    CUZK_CHECK(i % each > 0);
    return fail(ErrorCode::kMismatch,
                "sector {}: inclusion_proofs[{}] opens leaf {}, the statement asks for {}",
                sectors[source.sector].sector, source.first + i % each - 1,
                witness.inputs[i + 1].to_scalar().limbs[0], public_inputs[i].to_scalar().limbs[0]);
  }
  return {};
}

}  // namespace

Result<CompactR1cs<Fr>> compile_post(const PostShape& shape) {
  CUZK_TRY_VOID(check_circuit_shape(shape));
  gadget::Recorder<Fr> cs(
      fmt::format("{} {}", post_kind_name(shape.kind), sector_size_name(shape.sector_bytes)));
  circuit::synthesize_post(cs, shape.path_arities(), shape.circuit_sectors,
                           shape.circuit_challenges,
                           [](std::uint32_t) { return std::optional<Place>(); });
  return cs.finish();
}

CircuitSpec post_circuit_spec(const PostShape& shape) {
  return {
      .name =
          fmt::format("{} {}", post_kind_name(shape.kind), sector_size_name(shape.sector_bytes)),
      .identifier = fmt::format("{}:{}, tree: {}", kRevision, shape.parameter_identifier(),
                                shape.tree.name()),
      .stem = shape.parameter_stem(),
      .sector_bytes = shape.sector_bytes,
      // A WinningPoSt of any size is half a million rows.
      .development_size = shape.kind == PostKind::kWinning || shape.circuit_sectors == 2,
      .compile = [shape] { return compile_post(shape); },
  };
}

Result<Witness> synthesize_post_witness(Tasks& tasks, const PostShape& shape,
                                        std::span<const PostSectorProof> sectors,
                                        std::span<const Fr> public_inputs) {
  CUZK_TRY_VOID(check_arguments(shape, sectors, public_inputs.size()));
  gadget::WitnessBuilder<Fr> cs(tasks);
  circuit::synthesize_post(
      cs, shape.path_arities(), shape.circuit_sectors, shape.circuit_challenges,
      [&](std::uint32_t i) {
        const Source source = source_of(shape, sectors.size(), i);
        const Fr& comm_r = public_inputs[std::size_t{i} * (1 + shape.circuit_challenges)];
        return std::optional(place_of(shape, sectors[source.sector], source.first, comm_r));
      });
  if (tasks.stop_requested()) return fail(ErrorCode::kCancelled, "asked to stop");
  Witness witness = cs.finish();
  CUZK_CHECK(witness.inputs.size() == public_inputs.size() + 1);
  CUZK_TRY_VOID(compare_inputs(shape, sectors, witness, public_inputs));
  return witness;
}

}  // namespace cuzk::filecoin
