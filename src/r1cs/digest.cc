#include "r1cs/digest.h"

#include <cstring>

#include "field/bls12_381.h"
#include "field/bn254.h"
#include "r1cs/rows.h"

namespace cuzk {
namespace {

// Collects bytes and hands them on in large pieces.
class ByteStream {
 public:
  explicit ByteStream(std::function<void(ByteSpan)> sink) : sink_(std::move(sink)) {
    bytes_.resize(kCapacity);
  }
  void put_u64(std::uint64_t v) { store_le(claim(8), v); }
  std::uint8_t* claim(std::size_t n) {
    if (used_ + n > kCapacity) flush();
    std::uint8_t* p = bytes_.data() + used_;
    used_ += n;
    return p;
  }
  void flush() {
    sink_({bytes_.data(), used_});
    used_ = 0;
  }

 private:
  static constexpr std::size_t kCapacity = 1 << 16;
  std::function<void(ByteSpan)> sink_;
  std::vector<std::uint8_t> bytes_;
  std::size_t used_ = 0;
};

template <class Fr>
using CanonicalDictionary = std::vector<std::array<std::uint8_t, Fr::kBytes>>;

template <class Fr>
CanonicalDictionary<Fr> canonical(std::span<const Fr> dictionary) {
  CanonicalDictionary<Fr> out;
  out.reserve(dictionary.size());
  for (const Fr& c : dictionary) out.push_back(c.to_bytes_le());
  return out;
}

template <class Fr>
void put_rows(ByteStream& out, const CompactR1cs<Fr>& r1cs,
              const CanonicalDictionary<Fr>& dictionary, std::size_t begin, std::size_t end) {
  for_each_row(r1cs, begin, end,
               [&](std::size_t, const RowBlock& block, std::size_t row, const Segment& segment) {
                 for (const RowMatrix& matrix : block.matrices) {
                   const auto terms = matrix.row(row);
                   out.put_u64(terms.size());
                   for (const Term& term : terms) {
                     const ColumnRef column = r1cs.resolve(term.column, segment);
                     std::uint8_t* p = out.claim(9 + Fr::kBytes);
                     *p = column.kind() == ColumnRef::kAux;
                     store_le<std::uint64_t>(p + 1, column.index());
                     std::memcpy(p + 9, dictionary[term.coefficient].data(), Fr::kBytes);
                   }
                 }
               });
}

}  // namespace

template <class Fr>
void r1cs_encode(const CompactR1cs<Fr>& r1cs, const std::function<void(ByteSpan)>& sink) {
  ByteStream out(sink);
  out.put_u64(r1cs.num_inputs);
  out.put_u64(r1cs.num_aux);
  out.put_u64(r1cs.num_rows);
  put_rows<Fr>(out, r1cs, canonical<Fr>(r1cs.dictionary), 0, r1cs.num_rows);
  out.flush();
}

template <class Fr>
Digest32 r1cs_digest(const CompactR1cs<Fr>& r1cs) {
  Blake2b hash(32);
  r1cs_encode<Fr>(r1cs, [&](ByteSpan bytes) { hash.update(bytes); });
  Digest32 digest;
  hash.finish(digest);
  return digest;
}

template <class Fr>
std::vector<SegmentDigest> r1cs_segment_digests(const CompactR1cs<Fr>& r1cs,
                                                std::size_t rows_per_segment) {
  CUZK_CHECK(rows_per_segment > 0);
  const CanonicalDictionary<Fr> dictionary = canonical<Fr>(r1cs.dictionary);
  std::vector<SegmentDigest> out;
  for (std::size_t begin = 0; begin < r1cs.num_rows; begin += rows_per_segment) {
    Blake2b hash(32);
    ByteStream stream([&](ByteSpan bytes) { hash.update(bytes); });
    put_rows<Fr>(stream, r1cs, dictionary, begin,
                 std::min<std::size_t>(begin + rows_per_segment, r1cs.num_rows));
    stream.flush();
    Digest32 digest;
    hash.finish(digest);
    std::memcpy(out.emplace_back().data(), digest.data(), sizeof(SegmentDigest));
  }
  return out;
}

template <class Fr>
Digest32 witness_digest(const CompactWitness<Fr>& witness) {
  Blake2b hash(32);
  ByteStream out([&](ByteSpan bytes) { hash.update(bytes); });
  out.put_u64(witness.inputs.size());
  out.put_u64(witness.num_aux());
  const auto put = [&](const Fr& v) {
    const auto bytes = v.to_bytes_le();
    std::memcpy(out.claim(Fr::kBytes), bytes.data(), Fr::kBytes);
  };
  for (const Fr& v : witness.inputs) put(v);
  auto full = witness.full_values().begin();
  for (std::size_t i = 0; i < witness.num_aux(); ++i) {
    if (witness.is_full(i)) {
      put(*full++);
    } else {
      std::uint8_t* p = out.claim(Fr::kBytes);
      std::memset(p, 0, Fr::kBytes);
      *p = witness.is_one(i);
    }
  }
  out.flush();
  Digest32 digest;
  hash.finish(digest);
  return digest;
}

template <class Fr>
Digest32 evaluation_digest(std::span<const Fr> values) {
  Blake2b hash(32);
  ByteStream out([&](ByteSpan bytes) { hash.update(bytes); });
  for (const Fr& v : values) {
    const auto bytes = v.to_bytes_le();
    std::memcpy(out.claim(Fr::kBytes), bytes.data(), Fr::kBytes);
  }
  out.flush();
  Digest32 digest;
  hash.finish(digest);
  return digest;
}

template <class Fr>
TermCounts count_terms(const CompactR1cs<Fr>& r1cs) {
  TermCounts counts;
  for (const Segment& segment : r1cs.segments) {
    const RowBlock& block = r1cs.blocks[segment.block];
    counts.a += block.matrix(Matrix::kA).terms.size();
    counts.b += block.matrix(Matrix::kB).terms.size();
    counts.c += block.matrix(Matrix::kC).terms.size();
  }
  return counts;
}

#define CUZK_INSTANTIATE(Fr)                                                                     \
  template void r1cs_encode(const CompactR1cs<Fr>&, const std::function<void(ByteSpan)>&);       \
  template Digest32 r1cs_digest(const CompactR1cs<Fr>&);                                         \
  template std::vector<SegmentDigest> r1cs_segment_digests(const CompactR1cs<Fr>&, std::size_t); \
  template Digest32 witness_digest(const CompactWitness<Fr>&);                                   \
  template Digest32 evaluation_digest(std::span<const Fr>);                                      \
  template TermCounts count_terms(const CompactR1cs<Fr>&);
CUZK_INSTANTIATE(bls12_381::Fr)
CUZK_INSTANTIATE(bn254::Fr)
#undef CUZK_INSTANTIATE

}  // namespace cuzk
