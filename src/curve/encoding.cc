#include "curve/encoding.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "curve/endomorphism.h"
#include "field/sqrt.h"

namespace cuzk {

namespace {

using bls12_381::Fq;
using bls12_381::Fq2;

constexpr std::uint8_t kCompressedFlag = 0x80;
constexpr std::uint8_t kIdentityFlag = 0x40;
constexpr std::uint8_t kLargerFlag = 0x20;
constexpr std::uint8_t kFlags = kCompressedFlag | kIdentityFlag | kLargerFlag;

template <class G>
constexpr std::string_view kGroupName = "G1";
template <>
constexpr std::string_view kGroupName<Bls12_381G2> = "G2";

std::optional<Fq> read_coordinate(const std::uint8_t* p, Fq*) {
  return Fq::from_bytes_be(std::span<const std::uint8_t, Fq::kBytes>(p, Fq::kBytes));
}
std::optional<Fq2> read_coordinate(const std::uint8_t* p, Fq2*) {
  const auto c1 = read_coordinate(p, static_cast<Fq*>(nullptr));
  const auto c0 = read_coordinate(p + Fq::kBytes, static_cast<Fq*>(nullptr));
  if (!c0 || !c1) return std::nullopt;
  return Fq2{*c0, *c1};
}

void write_coordinate(std::uint8_t* p, const Fq& v) { std::ranges::copy(v.to_bytes_be(), p); }
void write_coordinate(std::uint8_t* p, const Fq2& v) {
  write_coordinate(p, v.c1);
  write_coordinate(p + Fq::kBytes, v.c0);
}

// v > -v as canonical integers, that is v > (q - 1) / 2.
bool is_larger(const Fq& v) {
  Limbs<Fq::kLimbs> half = Fq::kModulus;
  shift_right_in_place(half, 1);
  return compare(v.to_scalar().limbs, half) > 0;
}
bool is_larger(const Fq2& v) { return v.c1.is_zero() ? is_larger(v.c0) : is_larger(v.c1); }

template <class G>
Result<typename G::Field> decode_coordinate(const std::uint8_t* p, std::string_view name) {
  const auto v = read_coordinate(p, static_cast<typename G::Field*>(nullptr));
  if (!v) {
    return fail(ErrorCode::kCorruptInput, "{} point: coordinate {} is not below the field modulus",
                kGroupName<G>, name);
  }
  return *v;
}

template <class G>
Status check_point(const Affine<G>& p, PointCheck check) {
  if (check != PointCheck::kFormOnly && !p.is_on_curve()) {
    return fail(ErrorCode::kCorruptInput, "{} point: (x, y) does not lie on the curve",
                kGroupName<G>);
  }
  if (check == PointCheck::kSubgroup && !is_in_subgroup(p)) {
    return fail(ErrorCode::kCorruptInput,
                "{} point: it lies on the curve but not in the subgroup of order r", kGroupName<G>);
  }
  return {};
}

// Length and compression flag; then, when the identity flag is set, that nothing else is.
template <class G>
Status check_frame(ByteSpan bytes, std::size_t expected_bytes, bool compressed) {
  const std::string_view form = compressed ? "compressed" : "uncompressed";
  if (bytes.size() != expected_bytes) {
    return fail(ErrorCode::kCorruptInput, "{} point: the {} form has {} bytes, found {}",
                kGroupName<G>, form, expected_bytes, bytes.size());
  }
  if (((bytes[0] & kCompressedFlag) != 0) != compressed) {
    return fail(ErrorCode::kCorruptInput,
                "{} point: the {} form needs flag 0x80 {}, found first byte {:#04x}", kGroupName<G>,
                form, compressed ? "set" : "clear", bytes[0]);
  }
  if (!compressed && (bytes[0] & kLargerFlag)) {
    return fail(ErrorCode::kCorruptInput,
                "{} point: the uncompressed form has no sign flag 0x20, found first byte {:#04x}",
                kGroupName<G>, bytes[0]);
  }
  if (!(bytes[0] & kIdentityFlag)) return {};
  const bool rest_is_zero = (bytes[0] & ~(kCompressedFlag | kIdentityFlag)) == 0 &&
                            std::ranges::all_of(bytes.subspan(1), [](auto b) { return b == 0; });
  if (!rest_is_zero) {
    return fail(ErrorCode::kCorruptInput,
                "{} point: the identity flag 0x40 is set but the other bits are not all zero",
                kGroupName<G>);
  }
  return {};
}

// The bytes with the flags cleared, for the coordinate reader.
template <std::size_t N>
std::array<std::uint8_t, N> without_flags(ByteSpan bytes) {
  std::array<std::uint8_t, N> out;
  std::ranges::copy(bytes, out.begin());
  out[0] &= static_cast<std::uint8_t>(~kFlags);
  return out;
}

}  // namespace

template <class G>
Result<Affine<G>> decode_compressed(ByteSpan bytes, PointCheck check) {
  CUZK_TRY_VOID(check_frame<G>(bytes, kCompressedBytes<G>, true));
  if (bytes[0] & kIdentityFlag) return Affine<G>::identity();
  const auto plain = without_flags<kCompressedBytes<G>>(bytes);
  CUZK_TRY(const auto x, decode_coordinate<G>(plain.data(), "x"));
  const auto y = sqrt(x.square() * x + G::b());
  if (!y) {
    return fail(ErrorCode::kCorruptInput, "{} point: no y on the curve belongs to x",
                kGroupName<G>);
  }
  const bool larger = (bytes[0] & kLargerFlag) != 0;
  const Affine<G> p{x, is_larger(*y) == larger ? *y : -*y};
  // The root was found from the equation, so only the order is left to ask.
  if (check == PointCheck::kSubgroup) CUZK_TRY_VOID(check_point(p, check));
  return p;
}

template <class G>
Result<Affine<G>> decode_uncompressed(ByteSpan bytes, PointCheck check) {
  CUZK_TRY_VOID(check_frame<G>(bytes, kUncompressedBytes<G>, false));
  if (bytes[0] & kIdentityFlag) return Affine<G>::identity();
  CUZK_TRY(const auto x, decode_coordinate<G>(bytes.data(), "x"));
  CUZK_TRY(const auto y, decode_coordinate<G>(bytes.data() + kCompressedBytes<G>, "y"));
  const Affine<G> p{x, y};
  // In memory (0, 0) stands for the identity; in bytes the flag does, and (0, 0) is off the curve.
  if (p.is_identity()) {
    return fail(ErrorCode::kCorruptInput,
                "{} point: x and y are zero but the identity flag 0x40 is clear", kGroupName<G>);
  }
  CUZK_TRY_VOID(check_point(p, check));
  return p;
}

template <class G>
std::array<std::uint8_t, kCompressedBytes<G>> encode_compressed(const Affine<G>& p) {
  std::array<std::uint8_t, kCompressedBytes<G>> out{};
  if (p.is_identity()) {
    out[0] = kCompressedFlag | kIdentityFlag;
    return out;
  }
  write_coordinate(out.data(), p.x);
  out[0] |= is_larger(p.y) ? kCompressedFlag | kLargerFlag : kCompressedFlag;
  return out;
}

template <class G>
std::array<std::uint8_t, kUncompressedBytes<G>> encode_uncompressed(const Affine<G>& p) {
  std::array<std::uint8_t, kUncompressedBytes<G>> out{};
  if (p.is_identity()) {
    out[0] = kIdentityFlag;
    return out;
  }
  write_coordinate(out.data(), p.x);
  write_coordinate(out.data() + kCompressedBytes<G>, p.y);
  return out;
}

#define CUZK_INSTANTIATE(G)                                                                      \
  template Result<Affine<G>> decode_compressed<G>(ByteSpan, PointCheck);                         \
  template Result<Affine<G>> decode_uncompressed<G>(ByteSpan, PointCheck);                       \
  template std::array<std::uint8_t, kCompressedBytes<G>> encode_compressed<G>(const Affine<G>&); \
  template std::array<std::uint8_t, kUncompressedBytes<G>> encode_uncompressed<G>(const Affine<G>&);
CUZK_INSTANTIATE(Bls12_381G1)
CUZK_INSTANTIATE(Bls12_381G2)
#undef CUZK_INSTANTIATE

}  // namespace cuzk
