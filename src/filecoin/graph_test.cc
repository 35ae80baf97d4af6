#include "filecoin/graph.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include "base/hash.h"
#include "base/random.h"
#include "filecoin/test_support.h"

namespace cuzk::filecoin {
namespace {

using testing::api_from_text;
using testing::node_from_hex;
using testing::testdata_json;

TEST(ChaCha, TwentyRoundsEqualLibsodium) {
  SeededRandom random(3);
  for (int i = 0; i < 50; ++i) {
    ChaChaKey key;
    random.fill(key);
    std::array<std::uint32_t, 4> tail;
    for (auto& word : tail) word = static_cast<std::uint32_t>(random.next_u64());
    const auto block = chacha_block(key, tail, 20);
    std::array<std::uint8_t, 64> expected{};
    crypto_stream_chacha20_ietf_xor_ic(expected.data(), expected.data(), expected.size(),
                                       reinterpret_cast<const std::uint8_t*>(&tail[1]), tail[0],
                                       key.data());
    EXPECT_EQ(0, std::memcmp(block.data(), expected.data(), expected.size()));
  }
}

void expect_parents(const nlohmann::json& graph_json) {
  const SectorGraph graph(graph_json["nodes"].get<std::uint64_t>(),
                          node_from_hex(graph_json["porep_id"]),
                          api_from_text(graph_json["api_version"]));
  for (const auto& entry : graph_json["parents"]) {
    const auto node = entry["node"].get<std::uint32_t>();
    EXPECT_EQ(graph.drg_parents(node), entry["drg_parents"].get<DrgParents>()) << node;
    EXPECT_EQ(graph.expander_parents(node), entry["exp_parents"].get<ExpanderParents>()) << node;
  }
}

TEST(SectorGraph, EveryNodeOfASmallSectorHasTheReferencesParents) {
  for (const auto& graph : testdata_json("graph/graph_2kib.json")) {
    ASSERT_EQ(graph["parents"].size(), 64u);
    expect_parents(graph);
  }
}

TEST(SectorGraph, NodesOfLargeSectorsHaveTheReferencesParents) {
  for (const auto& graph : testdata_json("graph/graph_big.json")) expect_parents(graph);
}

TEST(SectorGraph, WholeParentTablesHashToThePublishedDigests) {
  int count = 0;
  for (const auto& entry : testdata_json("graph/parent_cache_digests.json")) {
    const std::uint64_t bytes = *parse_sector_size(entry["sector"].get<std::string>());
    if (bytes > std::uint64_t{8} << 20) continue;
    const SealProof proof = *seal_proof(entry["porep_id_first_byte"].get<std::uint32_t>());
    ASSERT_EQ(proof.sector_bytes, bytes);
    const SectorGraph graph(proof.shape.nodes(), proof.porep_id(), proof.api);
    Sha256 hash;
    std::array<std::uint8_t, 4 * (kDrgParents + kExpanderParents)> row;
    for (std::uint32_t node = 0; node < graph.nodes(); ++node) {
      std::size_t used = 0;
      const auto append = [&](std::uint32_t parent) {
        store_le(row.data() + used, parent);
        used += 4;
      };
      for (const std::uint32_t parent : graph.drg_parents(node)) append(parent);
      for (const std::uint32_t parent : graph.expander_parents(node)) append(parent);
      hash.update(row);
    }
    EXPECT_EQ(to_hex(hash.finish()), entry["published"].get<std::string>()) << proof.name;
    ++count;
  }
  EXPECT_EQ(count, 4);
}

TEST(SectorGraph, ParentsComeBeforeTheirNode) {
  const SealProof proof = *seal_proof("StackedDrg64GiBV1_1");
  const SectorGraph graph(proof.shape.nodes(), proof.porep_id(), proof.api);
  SeededRandom random(4);
  for (int i = 0; i < 2000; ++i) {
    const auto node = static_cast<std::uint32_t>(random.next_u64() % (graph.nodes() - 2)) + 2;
    const DrgParents drg = graph.drg_parents(node);
    EXPECT_EQ(drg[0], node - 1);
    for (const std::uint32_t parent : drg) EXPECT_LT(parent, node);
    for (const std::uint32_t parent : graph.expander_parents(node)) {
      EXPECT_LT(parent, graph.nodes());
    }
  }
}

}  // namespace
}  // namespace cuzk::filecoin
