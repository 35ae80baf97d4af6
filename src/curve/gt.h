#pragma once
// GT of BLS12-381, the pairing's values: membership, powers, and the two byte forms of SnarkPack.
//
// An element g = c0 + c1 w of GT has norm 1 over Fq6, so one coordinate of Fq6 is enough (the torus
// T2): t = (c0 + 1) / c1 and g = (t + w) / (t - w). The element 1 has c1 = 0 and no such form.
//
// Form:    compressed, 288 bytes: t as c0.c0, c0.c1, c1.c0, ..., c2.c1;
//          uncompressed, 576 bytes: c0 as above, then c1.
//          Each coordinate is 48 bytes, LITTLE-endian, canonical (points are big-endian).
// Errors:  kCorruptInput for another length or a coordinate that is not below q;
//          kInvalidArgument for compressing the element 1.
// Time:    powers depend on their exponents (_vartime).
// Threads: pure functions; gt_product_of_powers uses `tasks` and has joined when it returns (a stop
//          leaves a product of no meaning: the caller looks at tasks.stop_requested()).
// Source:  Rubin, Silverberg 2003 (torus); Scott 2021 (membership); Galbraith, Scott 2008 (powers);
//          bytes: docs/formats/snarkpack.md.

#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "base/tasks.h"
#include "curve/pairing.h"

namespace cuzk {

inline constexpr std::size_t kGtCompressedBytes = 288;
inline constexpr std::size_t kGtBytes = 576;

// Is g an element of order r, or 1? For any value of Fq12.
//
// g^(q^4 - q^2 + 1) = 1 and g^q = g^z are asked; gcd(q^4 - q^2 + 1, q - z) = r
// (tools/check_curve_facts.py computes it).
bool is_in_gt(const Gt<Bls12_381>& g);
// The same asked the plain way, g^r = 1; the reference.
bool is_in_gt_reference(const Gt<Bls12_381>& g);

// g of norm 1 over Fq6, which every element of GT is.
Result<std::array<std::uint8_t, kGtCompressedBytes>> compress_gt(const Gt<Bls12_381>& g);
// The byte form alone: the result has norm 1 and may lie outside GT.
Result<Gt<Bls12_381>> decompress_gt(ByteSpan bytes);
std::array<std::uint8_t, kGtBytes> encode_gt(const Gt<Bls12_381>& g);

// bases[i]^exponents[i] multiplied over all i; 1 for none.
//
// Shape:   bases.size() == exponents.size(); bases in GT.
// Cost:    about 54 products and 12 Frobenius maps a base, 64 squarings for each chunk of bases.
Gt<Bls12_381> gt_product_of_powers(Tasks& tasks, std::span<const Gt<Bls12_381>> bases,
                                   std::span<const bls12_381::Fr::Scalar> exponents);

}  // namespace cuzk
