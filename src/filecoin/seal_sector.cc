#include "filecoin/seal_sector.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "filecoin/hash.h"
#include "filecoin/seal_opening.h"

namespace cuzk::filecoin {
namespace {

constexpr std::uint64_t kNodeBits = 254;

// What open_node asks of a sealed sector.
struct Openings {
  const SealedSector& sector;

  const Node& label(std::uint32_t layer, std::uint32_t node) const {
    return sector.labels().at(layer, node);
  }
  std::vector<Node> rows(std::uint32_t node) const { return sector.labels().column(node); }
  MerkleProof data_path(std::uint32_t node) const { return sector.data().prove(node); }
  MerkleProof column_path(std::uint32_t node) const { return sector.columns().prove(node); }
  MerkleProof replica_path(std::uint32_t node) const { return sector.replica().prove(node); }
};

Result<SealTree> build_column_tree(Tasks& tasks, MemoryBudget& memory, const PorepShape& shape,
                                   const SectorLabels& labels) {
  return SealTree::build(tasks, memory, "tree C", poseidon_path_shape(shape.nodes(), shape.tree),
                         TreeHash::kPoseidon, [&](std::uint64_t first, std::span<Node> leaves) {
                           for (std::size_t i = 0; i < leaves.size(); ++i) {
                             const auto rows = labels.column(static_cast<std::uint32_t>(first + i));
                             leaves[i] = fr_to_node(column_hash(elements_of(rows)));
                           }
                         });
}

// The replica: data and key added in the field.
Result<SealTree> build_replica_tree(Tasks& tasks, MemoryBudget& memory, const PorepShape& shape,
                                    const SealTree& data, std::span<const Node> key) {
  return SealTree::build(
      tasks, memory, "tree R", poseidon_path_shape(shape.nodes(), shape.tree), TreeHash::kPoseidon,
      [&](std::uint64_t first, std::span<Node> leaves) {
        for (std::size_t i = 0; i < leaves.size(); ++i) {
          leaves[i] = fr_to_node(element_of(data.leaf(first + i)) + element_of(key[first + i]));
        }
      });
}

}  // namespace

std::uint64_t piece_capacity(std::uint64_t sector_bytes) { return sector_bytes / 128 * 127; }

Node piece_node(ByteSpan piece, std::uint64_t index) {
  const std::uint64_t begin = index * kNodeBits / 8;
  const unsigned shift = index * kNodeBits % 8;
  std::array<std::uint8_t, 33> window{};
  if (begin < piece.size()) {
    std::memcpy(window.data(), piece.data() + begin,
                std::min<std::uint64_t>(window.size(), piece.size() - begin));
  }
  Node node;
  for (std::size_t i = 0; i < node.size(); ++i) {
    node[i] = static_cast<std::uint8_t>((window[i] | window[i + 1] << 8) >> shift);
  }
  node[31] &= 0x3f;
  return node;
}

Result<SealTree> build_data_tree(Tasks& tasks, MemoryBudget& memory, std::uint64_t sector_bytes,
                                 ByteSpan piece) {
  const std::uint64_t capacity = piece_capacity(sector_bytes);
  if (piece.size() > capacity) {
    return fail(ErrorCode::kInvalidArgument, "piece: a {} sector holds {} bytes, found {}",
                sector_size_name(sector_bytes), capacity, piece.size());
  }
  return SealTree::build(tasks, memory, "tree D", data_path_shape(sector_bytes / 32),
                         TreeHash::kSha256, [&](std::uint64_t first, std::span<Node> leaves) {
                           for (Node& leaf : leaves) leaf = piece_node(piece, first++);
                         });
}

SealedSector::SealedSector(const SealRequest& request, SealTree data, SectorLabels labels,
                           SealTree columns, SealTree replica)
    : request_(request),
      replica_id_(replica_id_of(request.identity, data.root(), request.porep_id)),
      comm_r_(fr_to_node(comm_r_of(element_of(columns.root()), element_of(replica.root())))),
      data_(std::move(data)),
      labels_(std::move(labels)),
      columns_(std::move(columns)),
      replica_(std::move(replica)) {}

Result<SealedSector> SealedSector::seal(Tasks& tasks, MemoryBudget& memory,
                                        const SealRequest& request, ByteSpan piece) {
  const PorepShape& shape = request.proof.shape;
  CUZK_TRY(SealTree data, build_data_tree(tasks, memory, shape.sector_bytes, piece));
  const Node replica_id = replica_id_of(request.identity, data.root(), request.porep_id);
  const SectorGraph graph(shape.nodes(), request.porep_id, request.proof.api);
  CUZK_TRY(SectorLabels labels, SectorLabels::make(tasks, memory, graph, shape.layers, replica_id));
  CUZK_TRY(SealTree columns, build_column_tree(tasks, memory, shape, labels));
  CUZK_TRY(SealTree replica,
           build_replica_tree(tasks, memory, shape, data, labels.layer(shape.layers)));
  return SealedSector(request, std::move(data), std::move(labels), std::move(columns),
                      std::move(replica));
}

Result<PorepC1> SealedSector::open(const Node& seed) const {
  const SealProof& proof = request_.proof;
  const PorepStatement statement = {proof, request_.porep_id, replica_id_, comm_d(), comm_r_, seed};
  const SectorGraph graph(proof.shape.nodes(), request_.porep_id, proof.api);
  PorepC1 c1 = {proof, {}, comm_r_, comm_d(), replica_id_, seed, request_.identity.ticket};
  for (std::uint32_t p = 0; p < proof.partitions; ++p) {
    CUZK_TRY(const auto nodes, porep_challenges(statement, p));
    auto& partition = c1.partitions.emplace_back();
    for (const std::uint32_t node : nodes) {
      partition.push_back(open_node(Openings{*this}, graph, proof.shape.layers, node));
    }
  }
  return c1;
}

}  // namespace cuzk::filecoin
