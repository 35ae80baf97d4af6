#include "filecoin/challenges.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "filecoin/chacha.h"

namespace cuzk::filecoin {
namespace {

constexpr std::uint64_t kMaxSyntheticCandidates = std::uint64_t{1} << 18;

ByteSpan bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// A little-endian integer reduced to [1, nodes - 1]; node 0 has no parents and is never asked for.
std::uint32_t to_challenge(const Node& bytes, std::uint64_t nodes) {
  CUZK_CHECK(nodes >= 2 && nodes <= std::uint64_t{1} << 32);
  std::uint64_t rest = 0;
  for (std::size_t i = 32; i-- > 0;) rest = (rest << 8 | bytes[i]) % (nodes - 1);
  return static_cast<std::uint32_t>(rest + 1);
}

template <class F>
std::vector<std::uint32_t> each(const ChallengeRange& range, F&& challenge) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < range.count; ++i) {
    out.push_back(to_challenge(challenge(range.first + i), range.nodes));
  }
  return out;
}

std::array<std::uint8_t, 4> le_bytes(std::uint32_t v) {
  std::array<std::uint8_t, 4> out;
  store_le(out.data(), v);
  return out;
}

// The key stream of ChaCha20 with a 32-bit counter, in words.
class SyntheticStream {
 public:
  SyntheticStream(std::string_view key_tag, const Node& a, const Node& b) {
    Blake2b hash(32, bytes_of(key_tag));
    hash.update(a);
    hash.update(b);
    hash.finish(key_);
  }
  std::uint32_t word(std::uint64_t index) const { return block(index / 16)[index % 16]; }
  // The index-th 32 bytes.
  Node node(std::uint64_t index) const {
    const auto words = block(index / 2);
    Node out;
    for (std::size_t i = 0; i < 8; ++i) store_le(out.data() + 4 * i, words[8 * (index % 2) + i]);
    return out;
  }

 private:
  std::array<std::uint32_t, 16> block(std::uint64_t counter) const {
    const auto* nonce = reinterpret_cast<const std::uint8_t*>("synth-porep");  // with its final 0
    return chacha_block(key_,
                        {static_cast<std::uint32_t>(counter), load_le<std::uint32_t>(nonce),
                         load_le<std::uint32_t>(nonce + 4), load_le<std::uint32_t>(nonce + 8)},
                        20);
  }
  ChaChaKey key_{};
};

}  // namespace

std::vector<std::uint32_t> interactive_challenges(const ChallengeRange& range,
                                                  const Node& replica_id, const Node& seed) {
  return each(range, [&](std::uint32_t number) {
    Sha256 hash;
    hash.update(replica_id);
    hash.update(seed);
    hash.update(le_bytes(number));
    return hash.finish();
  });
}

std::vector<std::uint32_t> synthetic_challenges(const ChallengeRange& range, const Node& replica_id,
                                                const Node& comm_r, const Node& seed) {
  const SyntheticStream candidates("filecoin.io|PoRep|1|Synthetic|1|Generation", replica_id,
                                   comm_r);
  const SyntheticStream selection("filecoin.io|PoRep|1|Synthetic|1|Selection", replica_id, seed);
  const std::uint64_t count = std::min(range.nodes, kMaxSyntheticCandidates);
  return each(
      range, [&](std::uint32_t number) { return candidates.node(selection.word(number) % count); });
}

std::vector<std::uint32_t> non_interactive_challenges(const ChallengeRange& range,
                                                      const Node& replica_id, const Node& comm_r) {
  return each(range, [&](std::uint32_t number) {
    Sha256 hash;
    hash.update(bytes_of("filecoin.io|PoRep|1|NonInteractive|1"));
    hash.update(replica_id);
    hash.update(comm_r);
    hash.update(le_bytes(number));
    return hash.finish();
  });
}

}  // namespace cuzk::filecoin
