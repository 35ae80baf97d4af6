#pragma once
// bincode 1.3 with default options, and the Merkle proofs that every vanilla proof is made of.
//
// Little-endian integers, u64 lengths, u32 enum tags, fixed arrays without length, Option as one
// byte, PhantomData as nothing.
//
// Errors:  kCorruptInput names source, field and offset. Nothing is allocated from a declared
//          length: a list is refused when the bytes left cannot hold it.
// Threads: pure functions.

#include <vector>

#include "base/bytes.h"
#include "filecoin/vanilla.h"

namespace cuzk::format::bincode {

// Smallest number of bytes that a Merkle proof can take: what bounds a declared length.
inline constexpr std::size_t kMerkleBytes = 4 + 64 + 8;

Result<filecoin::Node> read_node(ByteReader& r, std::string_view field);

// parse(r) for each element; `element_bytes` is the fewest that one can take.
template <class T, class F>
Result<std::vector<T>> read_list(ByteReader& r, std::string_view field, std::size_t element_bytes,
                                 F&& parse) {
  CUZK_TRY(const std::uint64_t count, r.count_u64_le(field, element_bytes));
  std::vector<T> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    CUZK_TRY(T v, parse(r));
    out.push_back(std::move(v));
  }
  return out;
}

Result<std::vector<filecoin::Node>> read_nodes(ByteReader& r, std::string_view field);
Result<filecoin::MerkleProof> read_merkle(ByteReader& r);

class Writer {
 public:
  std::vector<std::uint8_t> take() { return std::move(out_); }

  template <class T>
  void integer(T v) {
    std::uint8_t b[sizeof v];
    store_le(b, v);
    append(b);
  }
  void node(const filecoin::Node& n) { append(n); }
  template <class T, class F>
  void list(const std::vector<T>& items, F&& write) {
    integer<std::uint64_t>(items.size());
    for (const T& item : items) write(item);
  }
  void nodes(const std::vector<filecoin::Node>& items) {
    list(items, [&](const filecoin::Node& n) { node(n); });
  }
  void merkle(const filecoin::MerkleProof& p);

 private:
  void append(ByteSpan bytes);
  void path(const filecoin::MerkleProof& p, std::size_t begin, std::size_t end);

  std::vector<std::uint8_t> out_;
};

}  // namespace cuzk::format::bincode
