#pragma once
// What this CPU can do, read once at start. CUZK_CPU=portable or CUZK_CPU=adx in the environment
// forces a variant (so that tests run each one); asking for one that the CPU lacks ends the process
// with a message.

#include <string_view>

namespace cuzk {

enum class CpuVariant { kPortable, kAdx };

// The variant of the field code in use.
CpuVariant cpu_variant();
std::string_view cpu_variant_name(CpuVariant variant);

struct CpuFeatures {
  bool bmi2_adx = false;     // mulx, adcx, adox
  bool avx512_ifma = false;  // vpmadd52
  bool sha_ni = false;
};
const CpuFeatures& cpu_features();

namespace internal {
extern const bool kUseAdx;  // cpu_variant() == kAdx, as a plain load for hot code
}

}  // namespace cuzk
