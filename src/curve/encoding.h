#pragma once
// The byte forms of BLS12-381 points that zcash introduced and bellman, blst and Filecoin use.
//
// Form: coordinates big-endian and canonical, an Fq2 coordinate as c1 then c0. Compressed is x;
//       uncompressed is x then y. The three top bits of the first byte are flags:
//         0x80  compressed
//         0x40  identity: every other bit but 0x80 is zero
//         0x20  compressed only: y is the larger of y and -y (for Fq2: c1 decides, then c0)
// Errors:  kCorruptInput for every other byte string: wrong length, a wrong combination of flags, a
//          coordinate that is not below q, x = y = 0 without the identity flag, x without a y, and
//          by PointCheck a point off the curve or outside the subgroup. Nothing is accepted
//          leniently.
// Threads: pure functions.

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "base/error.h"
#include "curve/bls12_381.h"
#include "curve/point.h"

namespace cuzk {

// How much decode asks of a point.
enum class PointCheck {
  kFormOnly,  // the byte form; uncompressed points may lie off the curve (files checked otherwise)
  kOnCurve,   // and the curve equation; a compressed point always meets it
  kSubgroup,  // and the order r
};

// Instantiated for Bls12_381G1 (48 and 96 bytes) and Bls12_381G2 (96 and 192 bytes).
template <class G>
inline constexpr std::size_t kCompressedBytes = sizeof(typename G::Field);
template <class G>
inline constexpr std::size_t kUncompressedBytes = 2 * sizeof(typename G::Field);

template <class G>
Result<Affine<G>> decode_compressed(ByteSpan bytes, PointCheck check);
template <class G>
Result<Affine<G>> decode_uncompressed(ByteSpan bytes, PointCheck check);

template <class G>
std::array<std::uint8_t, kCompressedBytes<G>> encode_compressed(const Affine<G>& p);
template <class G>
std::array<std::uint8_t, kUncompressedBytes<G>> encode_uncompressed(const Affine<G>& p);

}  // namespace cuzk
