#pragma once
// Inverses on the device by divsteps, for the few inversions that many products share.
//
// Method:  thirty halvings at a time on the lowest 32 bits of f and g; the matrix that they make is
//          applied to f, g exactly and to d, e modulo p. Numbers are signed, in words of 30 bits.
//          Time depends on the operand: lanes of a warp should hold the same one, or take the time
//          of the slowest.
// Form:    Montgomery in and out; not zero. About 14,000 instructions for 381 bits, a tenth of what
//          a power takes, and two thirds of them are no multiplications.
// Threads: values.
// Source:  Bernstein and Yang, "Fast constant-time gcd computation and modular inversion", 2019.

#include "field/fp_cuda.cuh"

namespace cuzk::device {

template <class P>
class Divsteps {
 public:
  using Words = ModulusWords<P>;
  // Numbers between -2p and 2p.
  static constexpr int kBits = 32 * Words::kWords - __builtin_clzll(P::kModulus.back());
  static constexpr int kLimbs = (kBits + 2 + 29) / 30;

  struct Number {
    std::int32_t v[kLimbs];
  };

  // R^2 / a for the words of `a`, which is a R for the value in Montgomery form.
  __host__ __device__ static void invert(const u32* a, u32* result) {
    Number f, g, d, e;
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) {
      f.v[i] = modulus(i);
      g.v[i] = limb_of(a, i);
      d.v[i] = 0;
      e.v[i] = square_of_r(i);
    }
    int eta = -1;
    for (bool more = true; more;) {
      const Matrix m = halve(eta, static_cast<u32>(f.v[0]) | static_cast<u32>(f.v[1]) << 30,
                             static_cast<u32>(g.v[0]) | static_cast<u32>(g.v[1]) << 30);
      apply_modulo(m, d, e, -1);
      apply(m, f, g);
      std::int32_t any = 0;
#pragma unroll
      for (int i = 0; i < kLimbs; ++i) any |= g.v[i];
      more = any != 0;
    }
    finish(d, f.v[kLimbs - 1] < 0);
    to_words(d, result);
  }

  // The same by a whole warp whose lanes have the same operand: lanes of even number hold f and g,
  // the others d and e, so that one run of the code that applies a matrix serves both pairs.
  __device__ static void invert_by_warp(const u32* a, u32* result) {
    const bool odd = threadIdx.x & 1;
    const int even_lane = static_cast<int>(threadIdx.x % 32 & ~1u);
    Number x, y;
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) {
      x.v[i] = odd ? 0 : modulus(i);
      y.v[i] = odd ? square_of_r(i) : limb_of(a, i);
    }
    int eta = -1;
    for (bool more = true; more;) {
      const u32 f = static_cast<u32>(x.v[0]) | static_cast<u32>(x.v[1]) << 30;
      const u32 g = static_cast<u32>(y.v[0]) | static_cast<u32>(y.v[1]) << 30;
      const Matrix m = halve(eta, __shfl_sync(~0u, f, even_lane), __shfl_sync(~0u, g, even_lane));
      apply_modulo(m, x, y, odd ? -1 : 0);
      std::int32_t any = 0;
#pragma unroll
      for (int i = 0; i < kLimbs; ++i) any |= y.v[i];
      more = __shfl_sync(~0u, any, even_lane) != 0;
    }
    const bool negate = __shfl_sync(~0u, x.v[kLimbs - 1], even_lane) < 0;
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) x.v[i] = __shfl_sync(~0u, x.v[i], even_lane + 1);
    finish(x, negate);
    to_words(x, result);
  }

 private:
  static constexpr std::int32_t kMask = (1 << 30) - 1;
  // Row one makes the new f and d, row two the new g and e.
  struct Matrix {
    std::int32_t ff, fg, gf, gg;
  };

  template <class Limbs64>
  __host__ __device__ static constexpr std::int32_t limb_of_constant(const Limbs64& words, int i) {
    const int bit = 30 * i;
    const std::size_t at = static_cast<std::size_t>(bit / 64);
    const int shift = bit % 64;
    if (at >= words.size()) return 0;
    std::uint64_t r = words[at] >> shift;
    if (shift > 34 && at + 1 < words.size()) r |= words[at + 1] << (64 - shift);
    return static_cast<std::int32_t>(r & kMask);
  }
  __host__ __device__ static constexpr std::int32_t modulus(int i) {
    constexpr auto kCopy = P::kModulus;
    return limb_of_constant(kCopy, i);
  }
  __host__ __device__ static constexpr std::int32_t square_of_r(int i) {
    constexpr auto kCopy = power_of_two_mod(64 * Words::kWords, P::kModulus);
    return limb_of_constant(kCopy, i);
  }
  __host__ __device__ static std::int32_t limb_of(const u32* words, int i) {
    const int bit = 30 * i;
    const int at = bit / 32;
    const int shift = bit % 32;
    if (at >= Words::kWords) return 0;
    u32 r = words[at] >> shift;
    if (shift > 2 && at + 1 < Words::kWords) r |= words[at + 1] << (32 - shift);
    return static_cast<std::int32_t>(r & kMask);
  }
  __host__ __device__ static void to_words(const Number& a, u32* words) {
#pragma unroll
    for (int k = 0; k < Words::kWords; ++k) {
      const int at = 32 * k / 30;
      const int shift = 32 * k % 30;
      u32 r = static_cast<u32>(a.v[at]) >> shift;
      if (at + 1 < kLimbs) r |= static_cast<u32>(a.v[at + 1]) << (30 - shift);
      if (shift == 29 && at + 2 < kLimbs) r |= static_cast<u32>(a.v[at + 2]) << 31;
      words[k] = r;
    }
  }

  __host__ __device__ static int trailing_zeros(u32 a) {
#ifdef __CUDA_ARCH__
    return __ffs(static_cast<int>(a)) - 1;
#else
    return __builtin_ctz(a);
#endif
  }

  // Thirty steps; eta is minus the delta of the source. Where no exchange can come for a while, up
  // to six bits of g are cleared at once by a multiple of f.
  __host__ __device__ static Matrix halve(int& eta, u32 f, u32 g) {
    u32 ff = 1, fg = 0, gf = 0, gg = 1;
    int left = 30;
    for (;;) {
      const int zeros = trailing_zeros(g | ~0u << left);
      g >>= zeros;
      ff <<= zeros;
      fg <<= zeros;
      eta -= zeros;
      left -= zeros;
      if (left == 0) break;
      if (eta < 0) {
        eta = -eta;
        const u32 old_f = f, old_ff = ff, old_fg = fg;
        f = g;
        g = 0 - old_f;
        ff = gf;
        gf = 0 - old_ff;
        fg = gg;
        gg = 0 - old_fg;
      }
      const int run = eta + 1 < left ? eta + 1 : left;
      const u32 mask = run < 6 ? (1u << run) - 1 : 63u;
      const u32 times = f * g * (f * f - 2) & mask;  // -g / f modulo 64
      g += f * times;
      gf += ff * times;
      gg += fg * times;
    }
    return {static_cast<std::int32_t>(ff), static_cast<std::int32_t>(fg),
            static_cast<std::int32_t>(gf), static_cast<std::int32_t>(gg)};
  }

  // sum + a b, one instruction; the compiler would make several of it, for the sign.
  __host__ __device__ static std::int64_t wide_add(std::int32_t a, std::int32_t b,
                                                   std::int64_t sum) {
#ifdef __CUDA_ARCH__
    std::int64_t r;
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(r) : "r"(a), "r"(b), "l"(sum));
    return r;
#else
    return sum + static_cast<std::int64_t>(a) * b;
#endif
  }

  // (f, g) <- m (f, g) / 2^30, exact.
  __host__ __device__ static void apply(const Matrix& m, Number& f, Number& g) {
    std::int64_t cf = wide_add(m.ff, f.v[0], wide_add(m.fg, g.v[0], 0)) >> 30;
    std::int64_t cg = wide_add(m.gf, f.v[0], wide_add(m.gg, g.v[0], 0)) >> 30;
#pragma unroll
    for (int i = 1; i < kLimbs; ++i) {
      cf = wide_add(m.ff, f.v[i], wide_add(m.fg, g.v[i], cf));
      cg = wide_add(m.gf, f.v[i], wide_add(m.gg, g.v[i], cg));
      f.v[i - 1] = static_cast<std::int32_t>(cf) & kMask;
      g.v[i - 1] = static_cast<std::int32_t>(cg) & kMask;
      cf >>= 30;
      cg >>= 30;
    }
    f.v[kLimbs - 1] = static_cast<std::int32_t>(cf);
    g.v[kLimbs - 1] = static_cast<std::int32_t>(cg);
  }

  // (d, e) <- m (d, e) / 2^30 modulo p, from (-2p, p) to the same. The multiple of p that makes the
  // lowest word vanish is chosen so that it also undoes negative operands.
  // With `modulo` 0 in the place of -1, exact, as apply() is.
  __host__ __device__ static void apply_modulo(const Matrix& m, Number& d, Number& e,
                                               std::int32_t modulo) {
    constexpr u32 kInverse = 0u - Words::kInv;  // of p
    const std::int32_t sign_d = d.v[kLimbs - 1] >> 31 & modulo;
    const std::int32_t sign_e = e.v[kLimbs - 1] >> 31 & modulo;
    std::int32_t md = (m.ff & sign_d) + (m.fg & sign_e);
    std::int32_t me = (m.gf & sign_d) + (m.gg & sign_e);
    std::int64_t cd = wide_add(m.ff, d.v[0], wide_add(m.fg, e.v[0], 0));
    std::int64_t ce = wide_add(m.gf, d.v[0], wide_add(m.gg, e.v[0], 0));
    md -= static_cast<std::int32_t>((kInverse * static_cast<u32>(cd) + static_cast<u32>(md)) &
                                    static_cast<u32>(kMask & modulo));
    me -= static_cast<std::int32_t>((kInverse * static_cast<u32>(ce) + static_cast<u32>(me)) &
                                    static_cast<u32>(kMask & modulo));
    cd = wide_add(modulus(0), md, cd) >> 30;
    ce = wide_add(modulus(0), me, ce) >> 30;
#pragma unroll
    for (int i = 1; i < kLimbs; ++i) {
      cd = wide_add(m.ff, d.v[i], wide_add(m.fg, e.v[i], wide_add(modulus(i), md, cd)));
      ce = wide_add(m.gf, d.v[i], wide_add(m.gg, e.v[i], wide_add(modulus(i), me, ce)));
      d.v[i - 1] = static_cast<std::int32_t>(cd) & kMask;
      e.v[i - 1] = static_cast<std::int32_t>(ce) & kMask;
      cd >>= 30;
      ce >>= 30;
    }
    d.v[kLimbs - 1] = static_cast<std::int32_t>(cd);
    e.v[kLimbs - 1] = static_cast<std::int32_t>(ce);
  }

  // d, or -d, reduced to [0, p), for d in (-2p, p).
  __host__ __device__ static void finish(Number& d, bool negate) {
    add_modulus(d, d.v[kLimbs - 1] < 0, negate);
    add_modulus(d, d.v[kLimbs - 1] < 0, false);
  }
  // d <- (d + p if `add`), with the sign changed if `negate`; carries settled.
  __host__ __device__ static void add_modulus(Number& d, bool add, bool negate) {
    std::int32_t carry = 0;
#pragma unroll
    for (int i = 0; i < kLimbs; ++i) {
      std::int32_t t = d.v[i] + (add ? modulus(i) : 0);
      t = (negate ? -t : t) + carry;
      carry = t >> 30;
      d.v[i] = i + 1 < kLimbs ? t & kMask : t;
    }
  }
};

template <class P>
__device__ __noinline__ DeviceFp<P> inverse(const DeviceFp<P>& a) {
  DeviceFp<P> r;
  Divsteps<P>::invert(a.w, r.w);
  return r;
}
template <class F>
__device__ __noinline__ DeviceFp2<F> inverse(const DeviceFp2<F>& a) {
  const F n = inverse(a.c0.square() + a.c1.square());
  return {a.c0 * n, -(a.c1 * n)};
}

// The inverse of what all lanes of a warp have; every lane gets it.
template <class P>
__device__ __noinline__ DeviceFp<P> inverse_by_warp(const DeviceFp<P>& a) {
  DeviceFp<P> r;
  Divsteps<P>::invert_by_warp(a.w, r.w);
  return r;
}
template <class F>
__device__ __noinline__ DeviceFp2<F> inverse_by_warp(const DeviceFp2<F>& a) {
  const F n = inverse_by_warp(a.c0.square() + a.c1.square());
  return {a.c0 * n, -(a.c1 * n)};
}

}  // namespace cuzk::device
