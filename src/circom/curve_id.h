#pragma once
// The two curves of circom's files, as a value; and the way from the value to code for the curve.
//
// Threads: values and pure functions.

#include <optional>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "curve/bls12_381.h"
#include "curve/bn254.h"

namespace cuzk::circom {

enum class CurveId { kBn254, kBls12_381 };

// "bn128" or "bls12381": what snarkjs writes.
std::string_view snarkjs_name(CurveId curve);
// "bn254" or "bls12-381": what people say.
std::string_view display_name(CurveId curve);
// bn128, bn254, alt_bn128, altbn128; bls12381, bls12-381, bls12_381; in any case of letters.
std::optional<CurveId> curve_of_name(std::string_view name);

// The curve whose scalar field (Fr) or base field (Fq) has the prime with these little-endian
// bytes.
std::optional<CurveId> curve_of_scalar_prime(ByteSpan prime);
std::optional<CurveId> curve_of_base_prime(ByteSpan prime);

// Calls f.template operator()<Curve>() for the curve.
template <class F>
decltype(auto) with_curve(CurveId curve, F&& f) {
  if (curve == CurveId::kBn254) return std::forward<F>(f).template operator()<Bn254>();
  return std::forward<F>(f).template operator()<Bls12_381>();
}

template <class Curve>
inline constexpr CurveId kCurveId = CurveId::kBn254;
template <>
inline constexpr CurveId kCurveId<Bls12_381> = CurveId::kBls12_381;

}  // namespace cuzk::circom
