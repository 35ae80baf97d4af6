#include "format/wtns.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include "circom/decimal.h"
#include "format/iden3_sections.h"

namespace cuzk::format {

namespace {

constexpr std::uint32_t kHeader = 1, kValues = 2;
constexpr std::size_t kPieceWires = std::size_t{1} << 15;

template <class Fr>
Limbs<4> limbs_at(ByteSpan values, std::size_t wire) {
  Limbs<4> limbs;
  std::memcpy(limbs.data(), values.data() + wire * kWtnsValueBytes, sizeof limbs);
  return limbs;
}

// The wires [begin, end) as a piece of a witness, all of them auxiliaries. The error names the
// first that is not canonical.
template <class Fr>
Result<CompactWitness<Fr>> piece_of(ByteSpan values, std::size_t begin, std::size_t end,
                                    const std::string& what) {
  CompactWitness<Fr> piece;
  for (std::size_t wire = begin; wire < end; ++wire) {
    const Limbs<4> limbs = limbs_at<Fr>(values, wire);
    if ((limbs[1] | limbs[2] | limbs[3]) == 0 && limbs[0] <= 1) {
      piece.push_bits(limbs[0], 1);
      continue;
    }
    if (compare(limbs, Fr::kModulus) >= 0) {
      return fail(
          ErrorCode::kCorruptInput,
          "{}: value {} is {}, not below the prime of the field: the witness is not reduced", what,
          wire, circom::to_decimal(limbs));
    }
    piece.push(Fr::from_scalar({limbs}));
  }
  piece.finish();
  return piece;
}

}  // namespace

Result<WtnsFile> WtnsFile::parse(InputBytes input) {
  WtnsFile out(std::move(input));
  const ByteSpan bytes = out.input_.bytes();
  const std::string& what = out.input_.name();
  CUZK_TRY(const auto sections, Iden3Sections::parse(bytes, what, "wtns", 2));
  CUZK_TRY(const auto header, sections.find(kHeader, "header"));
  ByteReader reader(bytes.subspan(header.offset, header.size),
                    section_name(what, kHeader, "header"));
  CUZK_TRY(const std::uint32_t n8, reader.u32_le("bytes of a value"));
  CUZK_TRY(const ByteSpan prime, reader.take(n8, "prime"));
  CUZK_TRY(out.num_values_, reader.u32_le("number of values"));
  CUZK_TRY_VOID(reader.expect_end());
  const auto curve = circom::curve_of_scalar_prime(prime);
  if (!curve) {
    return fail(ErrorCode::kCorruptInput,
                "{}: the prime is neither BN254's nor BLS12-381's: {} (little-endian)", what,
                to_hex(prime.first(std::min<std::size_t>(prime.size(), 64))));
  }
  out.curve_ = *curve;
  CUZK_TRY(const auto values, sections.find(kValues, "values"));
  if (values.size != std::uint64_t{out.num_values_} * kWtnsValueBytes) {
    return fail(ErrorCode::kCorruptInput,
                "{} has {} bytes, expected {} for the {} values that the header declares",
                section_name(what, kValues, "values"), values.size,
                std::uint64_t{out.num_values_} * kWtnsValueBytes, out.num_values_);
  }
  out.values_ = bytes.subspan(values.offset, values.size);
  return out;
}

template <class Fr>
Result<CompactWitness<Fr>> WtnsFile::to_witness(Tasks& tasks, std::uint32_t num_public) const {
  const std::string& what = input_.name();
  if (num_values_ <= num_public) {
    return fail(ErrorCode::kMismatch,
                "{}: the witness has {} values, the circuit has {} public signals", what,
                num_values_, num_public);
  }
  if (limbs_at<Fr>(values_, 0) != Limbs<4>{1}) {
    return fail(ErrorCode::kUnsatisfied, "{}: value 0 is {}, it must be 1", what,
                circom::to_decimal(limbs_at<Fr>(values_, 0)));
  }
  const std::size_t first_aux = std::size_t{num_public} + 1;
  CompactWitness<Fr> witness;
  CUZK_TRY(const auto inputs, piece_of<Fr>(values_, 0, first_aux, what));
  witness.inputs.reserve(first_aux);
  for (std::size_t i = 0; i < first_aux; ++i) witness.inputs.push_back(inputs.aux(i));
  // Room for the worst case: pages that nothing is written to cost nothing.
  witness.reserve(num_values_ - first_aux, num_values_ - first_aux);

  // Some pieces at a time, so that little is held twice.
  const std::size_t group = kPieceWires * static_cast<std::size_t>(4 * tasks.threads());
  for (std::size_t at = first_aux; at < num_values_; at += group) {
    const std::size_t end = std::min<std::size_t>(at + group, num_values_);
    const std::size_t count = (end - at + kPieceWires - 1) / kPieceWires;
    std::vector<Result<CompactWitness<Fr>>> pieces(count);
    tasks.parallel_for(count, 1, [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) {
        const std::size_t begin = at + i * kPieceWires;
        pieces[i] = piece_of<Fr>(values_, begin, std::min(begin + kPieceWires, end), what);
      }
    });
    if (tasks.stop_requested())
      return fail(ErrorCode::kCancelled, "{}: stopped while reading", what);
    for (const auto& piece : pieces) {
      if (!piece) return fail(piece.error());
      witness.append(*piece);
    }
    input_.done_with(values_.subspan(at * kWtnsValueBytes, (end - at) * kWtnsValueBytes));
  }
  witness.finish();
  return witness;
}

template <class Fr>
std::vector<std::uint8_t> encode_wtns(std::span<const Fr> values) {
  constexpr std::size_t kHeaderBytes = 4 + kWtnsValueBytes + 4;
  std::vector<std::uint8_t> out(12 + 12 + kHeaderBytes + 12 + values.size() * kWtnsValueBytes);
  std::uint8_t* p = out.data();
  const auto put = [&](const auto& v) {
    std::memcpy(p, &v, sizeof v);
    p += sizeof v;
  };
  std::memcpy(p, "wtns", 4);
  p += 4;
  put(std::uint32_t{2});
  put(std::uint32_t{2});
  put(kHeader);
  put(std::uint64_t{kHeaderBytes});
  put(static_cast<std::uint32_t>(kWtnsValueBytes));
  put(Fr::kModulus);
  put(static_cast<std::uint32_t>(values.size()));
  put(kValues);
  put(std::uint64_t{values.size() * kWtnsValueBytes});
  for (const Fr& v : values) put(v.to_scalar().limbs);
  return out;
}

#define CUZK_INSTANTIATE(Fr)                                                             \
  template Result<CompactWitness<Fr>> WtnsFile::to_witness(Tasks&, std::uint32_t) const; \
  template std::vector<std::uint8_t> encode_wtns(std::span<const Fr>)
CUZK_INSTANTIATE(bn254::Fr);
CUZK_INSTANTIATE(bls12_381::Fr);
#undef CUZK_INSTANTIATE

}  // namespace cuzk::format
