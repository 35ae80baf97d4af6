#include "circom/curve_id.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace cuzk::circom {

namespace {

template <std::size_t N>
bool equals(ByteSpan bytes, const Limbs<N>& limbs) {
  return bytes.size() == sizeof limbs && std::memcmp(bytes.data(), limbs.data(), sizeof limbs) == 0;
}

}  // namespace

std::string_view snarkjs_name(CurveId curve) {
  return curve == CurveId::kBn254 ? "bn128" : "bls12381";
}

std::string_view display_name(CurveId curve) {
  return curve == CurveId::kBn254 ? Bn254::kName : Bls12_381::kName;
}

std::optional<CurveId> curve_of_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '-' && c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  if (plain == "bn128" || plain == "bn254" || plain == "altbn128") return CurveId::kBn254;
  if (plain == "bls12381") return CurveId::kBls12_381;
  return std::nullopt;
}

std::optional<CurveId> curve_of_scalar_prime(ByteSpan prime) {
  if (equals(prime, bn254::Fr::kModulus)) return CurveId::kBn254;
  if (equals(prime, bls12_381::Fr::kModulus)) return CurveId::kBls12_381;
  return std::nullopt;
}

std::optional<CurveId> curve_of_base_prime(ByteSpan prime) {
  if (equals(prime, bn254::Fq::kModulus)) return CurveId::kBn254;
  if (equals(prime, bls12_381::Fq::kModulus)) return CurveId::kBls12_381;
  return std::nullopt;
}

}  // namespace cuzk::circom
