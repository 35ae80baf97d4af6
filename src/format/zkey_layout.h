#pragma once
// Where things lie in a .zkey: shared by its reader and its writer.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "circom/curve_id.h"

namespace cuzk::format::zkey_internal {

enum SectionId : std::uint32_t {
  kProtocol = 1,
  kHeader = 2,
  kIc = 3,
  kCoefficients = 4,
  kA = 5,
  kB1 = 6,
  kB2 = 7,
  kC = 8,
  kH = 9,
  kContributions = 10,
};

constexpr std::string_view name_of(std::uint32_t id) {
  constexpr std::string_view kNames[] = {"?",  "protocol", "header", "IC", "coefficients", "A",
                                         "B1", "B2",       "C",      "H",  "contributions"};
  return id <= kContributions ? kNames[id] : kNames[0];
}

// matrix u32 | row u32 | wire u32 | value 32 bytes
inline constexpr std::size_t kCoefficientBytes = 44;

constexpr std::size_t field_bytes(circom::CurveId curve) {
  return curve == circom::CurveId::kBn254 ? 32 : 48;
}
constexpr std::size_t g1_bytes(circom::CurveId curve) { return 2 * field_bytes(curve); }
constexpr std::size_t g2_bytes(circom::CurveId curve) { return 4 * field_bytes(curve); }

// Offsets of the points in the header, behind the primes and the three counts.
struct HeaderPoints {
  std::size_t alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2, end;
};
constexpr HeaderPoints header_points(circom::CurveId curve) {
  const std::size_t g1 = g1_bytes(curve), g2 = g2_bytes(curve);
  HeaderPoints at{};
  at.alpha_g1 = 4 + field_bytes(curve) + 4 + 32 + 3 * 4;
  at.beta_g1 = at.alpha_g1 + g1;
  at.beta_g2 = at.beta_g1 + g1;
  at.gamma_g2 = at.beta_g2 + g2;
  at.delta_g1 = at.gamma_g2 + g2;
  at.delta_g2 = at.delta_g1 + g1;
  at.end = at.delta_g2 + g2;
  return at;
}

}  // namespace cuzk::format::zkey_internal
