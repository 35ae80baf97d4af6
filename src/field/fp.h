#pragma once
// A prime field in Montgomery form, from nine lines of parameters.
//
// Form:    an Fp holds x * 2^(64 * kLimbs) mod p, fully reduced; a Scalar holds x itself, reduced.
//          The two types never mix: to_scalar() and from_scalar() convert.
// Needs:   the top bit of the modulus is clear (so that sums of two elements fit the limbs).
// Threads: values.
// Time:    products, sums and differences do not branch on their values; inverse, pow, sqrt,
//          comparison and conversion do (_vartime in spirit: the prover's secrets are its witness,
//          on the user's own machine).
// Speed:   prefer `r *= a`, `r.square_in_place()` and initialising declarations to `r = r * a`. The
//          kernels store 8 bytes at a time; an assignment copies 16 at a time, and on x86-64 such
//          a load cannot be served from the store buffer (8 ns on a product of 26, Zen 5).

#include <cstring>
#include <optional>
#include <span>

#include "base/cpu.h"
#include "base/random.h"
#include "field/bigint.h"
#include "field/fp_inverse.h"
#include "field/fp_kernels.h"

namespace cuzk {

// A canonical integer below the modulus of the field with parameters P; little-endian limbs.
template <class P>
struct ScalarOf {
  static constexpr std::size_t kLimbs = P::kModulus.size();
  Limbs<kLimbs> limbs{};

  friend bool operator==(const ScalarOf&, const ScalarOf&) = default;
};

template <class P>
struct Fp {
  using Params = P;
  static constexpr std::size_t kLimbs = P::kModulus.size();
  static constexpr std::size_t kBytes = 8 * kLimbs;
  static constexpr Limbs<kLimbs> kModulus = P::kModulus;
  static constexpr std::size_t kBits = bit_length(kModulus);
  static constexpr std::uint64_t kInv = montgomery_inverse(kModulus);
  static constexpr Limbs<kLimbs> kR = power_of_two_mod(64 * kLimbs, kModulus);
  static constexpr Limbs<kLimbs> kR2 = power_of_two_mod(128 * kLimbs, kModulus);
  static_assert(kModulus[kLimbs - 1] >> 63 == 0);
  using Scalar = ScalarOf<P>;

  Limbs<kLimbs> limbs{};

  static constexpr Fp zero() { return {}; }
  static constexpr Fp one() { return {kR}; }
  static Fp from_u64(std::uint64_t v) {
    Scalar s;
    s.limbs[0] = v;
    return from_scalar(s);
  }
  static Fp from_scalar(const Scalar& s) { return Fp{s.limbs} * Fp{kR2}; }
  Scalar to_scalar() const {
    Limbs<kLimbs> one_limb{};
    one_limb[0] = 1;
    return Scalar{(*this * Fp{one_limb}).limbs};
  }

  bool is_zero() const { return cuzk::is_zero(limbs); }
  bool is_one() const { return limbs == kR; }
  friend bool operator==(const Fp&, const Fp&) = default;

  friend Fp operator+(const Fp& a, const Fp& b) {
    Fp r;
    kernels::add<P>(r.limbs, a.limbs, b.limbs);
    return r;
  }
  friend Fp operator-(const Fp& a, const Fp& b) {
    Fp r;
    kernels::sub<P>(r.limbs, a.limbs, b.limbs);
    return r;
  }
  friend Fp operator*(const Fp& a, const Fp& b) {
    Fp r;
    kernels::mul<P>(r.limbs, a.limbs, b.limbs);
    return r;
  }
  Fp operator-() const { return Fp{} - *this; }
  Fp& operator+=(const Fp& b) {
    kernels::add<P>(limbs, limbs, b.limbs);
    return *this;
  }
  Fp& operator-=(const Fp& b) {
    kernels::sub<P>(limbs, limbs, b.limbs);
    return *this;
  }
  Fp& operator*=(const Fp& b) {
    kernels::mul<P>(limbs, limbs, b.limbs);
    return *this;
  }
  Fp dbl() const { return *this + *this; }
  Fp square() const {
    Fp r;
    kernels::square<P>(r.limbs, limbs);
    return r;
  }

  // *this = a - b, without the copy that an assignment makes; a and b may be *this.
  void set_difference(const Fp& a, const Fp& b) { kernels::sub<P>(limbs, a.limbs, b.limbs); }
  // *this = *this^2, without the copy that an assignment of square() makes.
  Fp& square_in_place() {
    kernels::square<P>(limbs, limbs);
    return *this;
  }

  // this^exponent, exponent as little-endian limbs; windows of four bits.
  Fp pow(std::span<const std::uint64_t> exponent) const {
    std::size_t top = exponent.size();
    while (top > 0 && exponent[top - 1] == 0) --top;
    if (top == 0) return one();
    std::array<Fp, 16> powers;
    powers[0] = one();
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * *this;
    Fp r = one();
    for (std::size_t i = 16 * top; i-- > 0;) {
      for (int k = 0; k < 4; ++k) r.square_in_place();
      const std::size_t digit = exponent[i / 16] >> (4 * (i % 16)) & 15;
      if (digit != 0) r *= powers[digit];
    }
    return r;
  }
  Fp pow(std::uint64_t exponent) const {
    Fp r = one();
    for (int i = 63 - __builtin_clzll(exponent | 1); i >= 0; --i) {
      r.square_in_place();
      if (exponent >> i & 1) r *= *this;
    }
    return r;
  }

  // The multiplicative inverse; zero for zero.
  Fp inverse() const {
    if (is_zero()) return *this;
    const auto gcd = internal::binary_gcd<P>(limbs);
    return Fp{gcd.v} * Fp{internal::kGcdCorrections<P>[gcd.rounds]};
  }
  // The same by Fermat's theorem, this^(p-2); the plain reference of inverse().
  Fp inverse_fermat() const {
    Limbs<kLimbs> e = kModulus;
    e[0] -= 2;
    return pow(e);
  }

  // Canonical bytes, little- or big-endian; nullopt for a value that is not below the modulus.
  static std::optional<Fp> from_bytes_le(std::span<const std::uint8_t, kBytes> bytes) {
    Scalar s;
    std::memcpy(s.limbs.data(), bytes.data(), kBytes);
    if (compare(s.limbs, kModulus) >= 0) return std::nullopt;
    return from_scalar(s);
  }
  static std::optional<Fp> from_bytes_be(std::span<const std::uint8_t, kBytes> bytes) {
    std::array<std::uint8_t, kBytes> le;
    for (std::size_t i = 0; i < kBytes; ++i) le[i] = bytes[kBytes - 1 - i];
    return from_bytes_le(le);
  }
  std::array<std::uint8_t, kBytes> to_bytes_le() const {
    const Scalar s = to_scalar();
    std::array<std::uint8_t, kBytes> out;
    std::memcpy(out.data(), s.limbs.data(), kBytes);
    return out;
  }
  std::array<std::uint8_t, kBytes> to_bytes_be() const {
    const auto le = to_bytes_le();
    std::array<std::uint8_t, kBytes> out;
    for (std::size_t i = 0; i < kBytes; ++i) out[i] = le[kBytes - 1 - i];
    return out;
  }

  // Uniform, by rejection of candidates of kBits bits.
  static Fp random(RandomSource& source) {
    for (;;) {
      std::array<std::uint8_t, kBytes> b;
      source.fill(b);
      if constexpr (kBits % 8 != 0) {
        b[(kBits - 1) / 8] &= static_cast<std::uint8_t>((1 << kBits % 8) - 1);
      }
      for (std::size_t i = (kBits + 7) / 8; i < kBytes; ++i) b[i] = 0;
      if (auto v = from_bytes_le(b)) return *v;
    }
  }
};

}  // namespace cuzk
