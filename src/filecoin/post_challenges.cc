#include "filecoin/post_challenges.h"

#include <array>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"

namespace cuzk::filecoin {
namespace {

std::array<std::uint8_t, 8> le_bytes(std::uint64_t v) {
  std::array<std::uint8_t, 8> out;
  store_le(out.data(), v);
  return out;
}

std::uint64_t reduced(const Digest32& digest, std::uint64_t count) {
  CUZK_CHECK(count > 0);
  return load_le<std::uint64_t>(digest.data()) % count;
}

}  // namespace

Node post_randomness(const Node& chain_randomness) {
  Node out = chain_randomness;
  out[31] &= 0x3f;
  return out;
}

std::vector<std::uint64_t> post_leaf_challenges(const PostDraws& draws, const Node& randomness,
                                                std::uint64_t sector) {
  std::vector<std::uint64_t> out;
  for (std::uint32_t i = 0; i < draws.count; ++i) {
    Sha256 hash;
    hash.update(randomness);
    hash.update(le_bytes(sector));
    hash.update(le_bytes(draws.first_index + i));
    out.push_back(reduced(hash.finish(), draws.nodes));
  }
  return out;
}

std::uint64_t winning_sector_index(const Node& prover_id, const Node& randomness,
                                   std::uint64_t count) {
  Sha256 hash;
  hash.update(prover_id);
  hash.update(randomness);
  hash.update(le_bytes(0));  // the first and only draw
  return reduced(hash.finish(), count);
}

}  // namespace cuzk::filecoin
