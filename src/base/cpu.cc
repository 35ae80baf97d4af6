#include "base/cpu.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace cuzk {

namespace {

CpuFeatures detect() {
  CpuFeatures f;
#if defined(__x86_64__)
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    f.bmi2_adx = (b >> 8 & 1) && (b >> 19 & 1);
    f.sha_ni = b >> 29 & 1;
  }
  f.avx512_ifma = __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vl");
#endif
  return f;
}

CpuVariant choose() {
  const char* forced = std::getenv("CUZK_CPU");
  const bool adx = cpu_features().bmi2_adx;
#if defined(CUZK_PORTABLE_ONLY)
  constexpr bool built = false;
#else
  constexpr bool built = true;
#endif
  if (!forced || !*forced) return adx && built ? CpuVariant::kAdx : CpuVariant::kPortable;
  if (std::strcmp(forced, "portable") == 0) return CpuVariant::kPortable;
  if (std::strcmp(forced, "adx") == 0 && adx && built) return CpuVariant::kAdx;
  std::fprintf(stderr, "CUZK_CPU=%s: known variants here are portable%s\n", forced,
               adx && built ? " and adx" : "");
  std::exit(2);
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

CpuVariant cpu_variant() {
  static const CpuVariant variant = choose();
  return variant;
}

std::string_view cpu_variant_name(CpuVariant variant) {
  return variant == CpuVariant::kAdx ? "adx" : "portable";
}

namespace internal {
const bool kUseAdx = cpu_variant() == CpuVariant::kAdx;
}

}  // namespace cuzk
