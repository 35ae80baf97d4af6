#pragma once
// The prime fields and their quadratic extension on the device.
//
// Form:    DeviceFp<P> has the bytes of Fp<P> (field/fp.h): Montgomery form, R = 2^(32 * kWords),
//          fully reduced. Only the view differs: 32-bit words instead of 64-bit limbs.
// Method:  products are accumulated in two rows, one for the even and one for the odd words of an
//          operand, so that every mad.lo.cc / madc.hi.cc pair is one IMAD.WIDE with carry; one word
//          of the other operand and one word of the reduction at a time. Every chain of carries is
//          a run of volatile asm statements: nothing between them may touch the carry flag.
// Threads: values.

#include <cstdint>

#include "field/bls12_381.h"
#include "field/bn254.h"

namespace cuzk::device {

using u32 = std::uint32_t;

// Single steps of a chain of carries. _cc writes the carry flag; addc, subc and madc read it.
__device__ __forceinline__ u32 add_cc(u32 a, u32 b) {
  u32 r;
  asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ __forceinline__ u32 addc_cc(u32 a, u32 b) {
  u32 r;
  asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ __forceinline__ u32 addc(u32 a, u32 b) {
  u32 r;
  asm volatile("addc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ __forceinline__ u32 sub_cc(u32 a, u32 b) {
  u32 r;
  asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ __forceinline__ u32 subc_cc(u32 a, u32 b) {
  u32 r;
  asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ __forceinline__ u32 subc(u32 a, u32 b) {
  u32 r;
  asm volatile("subc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
  return r;
}
__device__ __forceinline__ u32 mad_lo_cc(u32 a, u32 b, u32 c) {
  u32 r;
  asm volatile("mad.lo.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ __forceinline__ u32 madc_lo_cc(u32 a, u32 b, u32 c) {
  u32 r;
  asm volatile("madc.lo.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ __forceinline__ u32 madc_lo(u32 a, u32 b, u32 c) {
  u32 r;
  asm volatile("madc.lo.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ __forceinline__ u32 madc_hi_cc(u32 a, u32 b, u32 c) {
  u32 r;
  asm volatile("madc.hi.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ __forceinline__ u32 madc_hi(u32 a, u32 b, u32 c) {
  u32 r;
  asm volatile("madc.hi.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}

// Zero, but ptxas must not know it: a quotient word that it recognises as a negation is folded into
// the products that follow, which then are no longer wide ones (96 IMAD.X + 96 IMAD.HI in the place
// of 96 IMAD.WIDE for two products, CUDA 13.0, sm_90).
static __constant__ u32 opaque_zero = 0;

template <class P>
struct ModulusWords {
  static constexpr int kWords = 2 * static_cast<int>(P::kModulus.size());
  // With `i` known after unrolling the result is a literal of the instruction.
  __device__ __forceinline__ static constexpr u32 p(int i) {
    constexpr auto kCopy = P::kModulus;
    return static_cast<u32>(kCopy[static_cast<std::size_t>(i / 2)] >> (32 * (i % 2)));
  }
  __device__ __forceinline__ static constexpr u32 twice_p(int i) {
    return p(i) << 1 | (i > 0 ? p(i - 1) >> 31 : 0);
  }
  // 2^(32 kWords) - p; p is odd.
  __device__ __forceinline__ static constexpr u32 minus_p(int i) {
    return i == 0 ? 0u - p(0) : ~p(i);
  }
  static constexpr u32 kInv = static_cast<u32>(montgomery_inverse(P::kModulus));
  // p = 1 - 2^32 + ... : the quotient word is -t0, and the two lowest words of its product with p
  // need no multiplication.
  static constexpr bool kLowWordsSpecial = P::kModulus[0] == 0xffffffff00000001;
};

template <class P>
struct alignas(16) DeviceFp {
  using Params = P;
  using Modulus = ModulusWords<P>;
  static constexpr int kWords = Modulus::kWords;
  u32 w[kWords];

  __device__ __forceinline__ static DeviceFp zero() {
    DeviceFp r;
#pragma unroll
    for (int i = 0; i < kWords; ++i) r.w[i] = 0;
    return r;
  }
  __device__ __forceinline__ static DeviceFp one() {
    constexpr auto kR = power_of_two_mod(32 * kWords, P::kModulus);
    DeviceFp r;
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      r.w[i] = static_cast<u32>(kR[static_cast<std::size_t>(i / 2)] >> (32 * (i % 2)));
    }
    return r;
  }
  __device__ __forceinline__ bool is_zero() const {
    u32 any = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) any |= w[i];
    return any == 0;
  }
  __device__ __forceinline__ friend bool operator==(const DeviceFp& a, const DeviceFp& b) {
    u32 any = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) any |= a.w[i] ^ b.w[i];
    return any == 0;
  }

  // a - p where a >= p, for a < 2p.
  __device__ __forceinline__ static DeviceFp reduce_once(const DeviceFp& a) {
    DeviceFp t;
    t.w[0] = sub_cc(a.w[0], Modulus::p(0));
#pragma unroll
    for (int i = 1; i < kWords; ++i) t.w[i] = subc_cc(a.w[i], Modulus::p(i));
    const u32 borrow = subc(0, 0);
    DeviceFp r;
#pragma unroll
    for (int i = 0; i < kWords; ++i) r.w[i] = borrow ? a.w[i] : t.w[i];
    return r;
  }

  __device__ __forceinline__ friend DeviceFp operator+(const DeviceFp& a, const DeviceFp& b) {
    DeviceFp t;
    t.w[0] = add_cc(a.w[0], b.w[0]);
#pragma unroll
    for (int i = 1; i < kWords - 1; ++i) t.w[i] = addc_cc(a.w[i], b.w[i]);
    t.w[kWords - 1] = addc(a.w[kWords - 1], b.w[kWords - 1]);
    return reduce_once(t);
  }
  __device__ __forceinline__ friend DeviceFp operator-(const DeviceFp& a, const DeviceFp& b) {
    DeviceFp t;
    t.w[0] = sub_cc(a.w[0], b.w[0]);
#pragma unroll
    for (int i = 1; i < kWords; ++i) t.w[i] = subc_cc(a.w[i], b.w[i]);
    const u32 mask = subc(0, 0);
    DeviceFp r;
    r.w[0] = add_cc(t.w[0], Modulus::p(0) & mask);
#pragma unroll
    for (int i = 1; i < kWords - 1; ++i) r.w[i] = addc_cc(t.w[i], Modulus::p(i) & mask);
    r.w[kWords - 1] = addc(t.w[kWords - 1], Modulus::p(kWords - 1) & mask);
    return r;
  }
  __device__ __forceinline__ DeviceFp operator-() const { return zero() - *this; }
  __device__ __forceinline__ DeviceFp dbl() const { return *this + *this; }
  // Measured on an H200: with 12 words the shorter code is 11 % faster alone, but inside a point
  // addition its 24 words of product cost more than it saves (2^24 terms: 107 ms, not 101); with
  // the special low words its longer chain of additions costs more too.
  __device__ __forceinline__ DeviceFp square() const {
    if constexpr (kWords == 8 && !Modulus::kLowWordsSpecial) return square_by_words();
    return *this * *this;
  }

  // Every product of two different words once, doubled, then the squares of the words, then the
  // reduction: N (N + 1) / 2 wide products in the place of N^2.
  __device__ __forceinline__ DeviceFp square_by_words() const {
    u32 t[2 * kWords];
    wide_square(t, w);
    u32 even[kWords];
    u32 odd[kWords];
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      even[i] = t[i];
      odd[i] = 0;
    }
    reduce_word(even, odd);
    shift_and_reduce(odd, even);
#pragma unroll
    for (int i = 2; i < kWords; i += 2) {
      shift_and_reduce(even, odd);
      shift_and_reduce(odd, even);
    }
    DeviceFp r;
    r.w[0] = add_cc(even[0], odd[1]);
#pragma unroll
    for (int i = 1; i < kWords - 1; ++i) r.w[i] = addc_cc(even[i], odd[i + 1]);
    r.w[kWords - 1] = addc(even[kWords - 1], 0);
    r.w[0] = add_cc(r.w[0], t[kWords]);
#pragma unroll
    for (int i = 1; i < kWords - 1; ++i) r.w[i] = addc_cc(r.w[i], t[kWords + i]);
    r.w[kWords - 1] = addc(r.w[kWords - 1], t[2 * kWords - 1]);
    return reduce_once(r);
  }

  // The same operations on values below 2 p that need not be reduced, for long walks; 2 p fits in
  // the words of every modulus here.
  __device__ __forceinline__ static DeviceFp lazy_sum(const DeviceFp& a, const DeviceFp& b) {
    DeviceFp s;
    s.w[0] = add_cc(a.w[0], b.w[0]);
#pragma unroll
    for (int i = 1; i < kWords; ++i) s.w[i] = addc_cc(a.w[i], b.w[i]);
    const u32 carry = addc(0, 0);
    DeviceFp t;
    t.w[0] = sub_cc(s.w[0], Modulus::twice_p(0));
#pragma unroll
    for (int i = 1; i < kWords; ++i) t.w[i] = subc_cc(s.w[i], Modulus::twice_p(i));
    const u32 borrow = subc(carry, 0);
    DeviceFp r;
#pragma unroll
    for (int i = 0; i < kWords; ++i) r.w[i] = borrow ? s.w[i] : t.w[i];
    return r;
  }
  __device__ __forceinline__ static DeviceFp lazy_difference(const DeviceFp& a, const DeviceFp& b) {
    DeviceFp t;
    t.w[0] = sub_cc(a.w[0], b.w[0]);
#pragma unroll
    for (int i = 1; i < kWords; ++i) t.w[i] = subc_cc(a.w[i], b.w[i]);
    const u32 mask = subc(0, 0);
    DeviceFp r;
    r.w[0] = add_cc(t.w[0], Modulus::twice_p(0) & mask);
#pragma unroll
    for (int i = 1; i < kWords - 1; ++i) r.w[i] = addc_cc(t.w[i], Modulus::twice_p(i) & mask);
    r.w[kWords - 1] = addc(t.w[kWords - 1], Modulus::twice_p(kWords - 1) & mask);
    return r;
  }

  __device__ __forceinline__ friend DeviceFp operator*(const DeviceFp& a, const DeviceFp& b) {
    return reduce_once(lazy_product(a, b));
  }
  // a b / R, below 2 p, for a below p and any b; their order matters.
  __device__ __forceinline__ static DeviceFp lazy_product(const DeviceFp& a, const DeviceFp& b) {
    u32 even[kWords];
    u32 odd[kWords];
    step<true>(even, odd, a.w, b.w[0]);
    step<false>(odd, even, a.w, b.w[1]);
#pragma unroll
    for (int i = 2; i < kWords; i += 2) {
      step<false>(even, odd, a.w, b.w[i]);
      step<false>(odd, even, a.w, b.w[i + 1]);
    }
    // The last step left the lowest word in odd[0] == 0 and its row to be shifted down.
    DeviceFp r;
    r.w[0] = add_cc(even[0], odd[1]);
#pragma unroll
    for (int i = 1; i < kWords - 1; ++i) r.w[i] = addc_cc(even[i], odd[i + 1]);
    r.w[kWords - 1] = addc(even[kWords - 1], 0);
    return r;
  }

  // a b + c d with one reduction, for operands up to p. The sum of rows stays below 3 p * 2^32,
  // which the words above p's must hold: not for a modulus of all 32 * kWords bits.
  __device__ __forceinline__ static DeviceFp sum_of_products(const DeviceFp& a, const DeviceFp& b,
                                                             const DeviceFp& c, const DeviceFp& d) {
    static_assert(Modulus::p(kWords - 1) < 0x40000000u);
    u32 even[kWords];
    u32 odd[kWords];
    step<true>(even, odd, a.w, b.w[0], c.w, d.w[0]);
    step<false>(odd, even, a.w, b.w[1], c.w, d.w[1]);
#pragma unroll
    for (int i = 2; i < kWords; i += 2) {
      step<false>(even, odd, a.w, b.w[i], c.w, d.w[i]);
      step<false>(odd, even, a.w, b.w[i + 1], c.w, d.w[i + 1]);
    }
    DeviceFp r;
    r.w[0] = add_cc(even[0], odd[1]);
#pragma unroll
    for (int i = 1; i < kWords - 1; ++i) r.w[i] = addc_cc(even[i], odd[i + 1]);
    r.w[kWords - 1] = addc(even[kWords - 1], 0);
    return reduce_once(r);
  }
  // p - a, for a up to p; not reduced for 0.
  __device__ __forceinline__ static DeviceFp up_to_p_minus(const DeviceFp& a) {
    DeviceFp r;
    r.w[0] = sub_cc(Modulus::p(0), a.w[0]);
#pragma unroll
    for (int i = 1; i < kWords - 1; ++i) r.w[i] = subc_cc(Modulus::p(i), a.w[i]);
    r.w[kWords - 1] = subc(Modulus::p(kWords - 1), a.w[kWords - 1]);
    return r;
  }

  // The quotient floor(c 2^(32 kWords) / p) of this as a factor of scaled_by(): `montgomery` is the
  // same factor in Montgomery form, c R mod p, so that c R - (c R mod p) is a multiple of p.
  __device__ __forceinline__ static DeviceFp quotient_of(const DeviceFp& montgomery) {
    constexpr auto kInverse = negated_inverse();
    u32 even[kWords + 2], odd[kWords + 1];
    clear(even, odd);
#pragma unroll
    for (int j = 0; j < kWords; ++j) add_low_row(even, odd, montgomery.w, kInverse.word[j], j);
    return join_low(even, odd);
  }

  // c x, below 2 p, for a factor c below p (not in Montgomery form) with its quotient, and any x of
  // kWords words, in whichever form the product is to have. No more than the words that matter are
  // multiplied: those of x q above the middle, less what their carries lose, and those of c x and
  // of the multiple of p below it; for 8 words 186 or 214 slots, where lazy_product takes 224 or
  // 264. The columns that are left out make the quotient too small by less than 8 / 2^32, so that
  // c x - floor(.) p < (1 + 8 / 2^32 + x / 2^(32 kWords)) p.
  __device__ __forceinline__ static DeviceFp scaled_by(const DeviceFp& c, const DeviceFp& quotient,
                                                       const DeviceFp& x) {
    const DeviceFp times = high_product(x, quotient);
    u32 even[kWords + 2], odd[kWords + 1];
    clear(even, odd);
#pragma unroll
    for (int j = 0; j < kWords; ++j) add_low_row(even, odd, x.w, c.w[j], j);
#pragma unroll
    for (int j = Modulus::kLowWordsSpecial ? 2 : 0; j < kWords; ++j) {
      add_low_row(even, odd, times.w, Modulus::minus_p(j), j);
    }
    DeviceFp r = join_low(even, odd);
    if constexpr (Modulus::kLowWordsSpecial) {
      // The two lowest words of -p are 2^32 - 1.
      r.w[0] = sub_cc(r.w[0], times.w[0]);
#pragma unroll
      for (int i = 1; i < kWords - 1; ++i) r.w[i] = subc_cc(r.w[i], times.w[i]);
      r.w[kWords - 1] = subc(r.w[kWords - 1], times.w[kWords - 1]);
      r.w[1] = add_cc(r.w[1], times.w[0]);
#pragma unroll
      for (int i = 2; i < kWords - 1; ++i) r.w[i] = addc_cc(r.w[i], times.w[i - 1]);
      r.w[kWords - 1] = addc(r.w[kWords - 1], times.w[kWords - 2]);
    }
    return r;
  }

 private:
  struct Words {
    u32 word[kWords];
  };
  // -1 / p modulo 2^(32 kWords), by Newton's iteration.
  __device__ __forceinline__ static constexpr Words negated_inverse() {
    Words x{};
    x.word[0] = 0u - Modulus::kInv;  // 1 / p
    for (int correct = 1; correct < kWords; correct *= 2) {
      Words t{};  // 2 - p x
      for (int i = 0; i < kWords; ++i) {
        std::uint64_t carry = 0;
        for (int j = 0; i + j < kWords; ++j) {
          carry += static_cast<std::uint64_t>(Modulus::p(i)) * x.word[j] + t.word[i + j];
          t.word[i + j] = static_cast<u32>(carry);
          carry >>= 32;
        }
      }
      std::uint64_t more = 3;
      for (int i = 0; i < kWords; ++i) {
        more += static_cast<u32>(~t.word[i]);
        t.word[i] = static_cast<u32>(more);
        more >>= 32;
      }
      Words y{};
      for (int i = 0; i < kWords; ++i) {
        std::uint64_t carry = 0;
        for (int j = 0; i + j < kWords; ++j) {
          carry += static_cast<std::uint64_t>(t.word[i]) * x.word[j] + y.word[i + j];
          y.word[i + j] = static_cast<u32>(carry);
          carry >>= 32;
        }
      }
      x = y;
    }
    std::uint64_t more = 1;
    for (int i = 0; i < kWords; ++i) {
      more += static_cast<u32>(~x.word[i]);
      x.word[i] = static_cast<u32>(more);
      more >>= 32;
    }
    return x;
  }

  // Word k of `odd` has position k + 1 in low products, and position kWords - 1 + k in high ones,
  // where word k of `even` has position kWords - 2 + k.
  __device__ __forceinline__ static void clear(u32* even, u32* odd) {
#pragma unroll
    for (int i = 0; i < kWords + 2; ++i) even[i] = 0;
#pragma unroll
    for (int i = 0; i < kWords + 1; ++i) odd[i] = 0;
  }
  // a b 2^(32 j) modulo 2^(32 kWords).
  __device__ __forceinline__ static void add_low_row(u32* even, u32* odd, const u32* a, u32 b,
                                                     int j) {
    const int first_even = j % 2;  // word of `a` that begins the even positions
#pragma unroll
    for (int i = first_even; i + j < kWords; i += 2) {
      const int at = i + j;
      even[at] = i == first_even ? mad_lo_cc(a[i], b, even[at]) : madc_lo_cc(a[i], b, even[at]);
      even[at + 1] =
          at + 2 < kWords ? madc_hi_cc(a[i], b, even[at + 1]) : madc_hi(a[i], b, even[at + 1]);
    }
#pragma unroll
    for (int i = 1 - first_even; i + j < kWords; i += 2) {
      const int at = i + j - 1;
      const bool first = i == 1 - first_even;
      if (at + 2 < kWords) {
        odd[at] = first ? mad_lo_cc(a[i], b, odd[at]) : madc_lo_cc(a[i], b, odd[at]);
        odd[at + 1] = madc_hi_cc(a[i], b, odd[at + 1]);
      } else {
        odd[at] = first ? a[i] * b + odd[at] : madc_lo(a[i], b, odd[at]);
      }
    }
  }
  __device__ __forceinline__ static DeviceFp join_low(const u32* even, const u32* odd) {
    DeviceFp r;
    r.w[0] = even[0];
    r.w[1] = add_cc(even[1], odd[0]);
#pragma unroll
    for (int i = 2; i < kWords - 1; ++i) r.w[i] = addc_cc(even[i], odd[i - 1]);
    r.w[kWords - 1] = addc(even[kWords - 1], odd[kWords - 2]);
    return r;
  }
  // The upper kWords words of a b, or one less: of the lower columns only the two uppermost count.
  __device__ __forceinline__ static DeviceFp high_product(const DeviceFp& a, const DeviceFp& b) {
    u32 even[kWords + 2], odd[kWords + 1];
    clear(even, odd);
#pragma unroll
    for (int j = 0; j < kWords; ++j) {
      // A row that ends on the highest word of `a` meets a place that has held carries only.
      const bool even_is_last = j % 2 == 1;
      const int low_even = kWords - 2 - j >= 0 ? kWords - 2 - j : 1;
      const int low_odd = kWords - 1 - j;
#pragma unroll
      for (int i = low_even; i < kWords; i += 2) {
        const int at = i + j - (kWords - 2);
        even[at] = i == low_even ? mad_lo_cc(a.w[i], b.w[j], even[at])
                                 : madc_lo_cc(a.w[i], b.w[j], even[at]);
        even[at + 1] = even_is_last && i + 2 >= kWords ? madc_hi(a.w[i], b.w[j], even[at + 1])
                                                       : madc_hi_cc(a.w[i], b.w[j], even[at + 1]);
      }
      if (!even_is_last && j > 0) even[j + 2] = addc(0, 0);
#pragma unroll
      for (int i = low_odd; i < kWords; i += 2) {
        const int at = i + j - (kWords - 1);
        odd[at] =
            i == low_odd ? mad_lo_cc(a.w[i], b.w[j], odd[at]) : madc_lo_cc(a.w[i], b.w[j], odd[at]);
        odd[at + 1] = !even_is_last && i + 2 >= kWords ? madc_hi(a.w[i], b.w[j], odd[at + 1])
                                                       : madc_hi_cc(a.w[i], b.w[j], odd[at + 1]);
      }
      if (even_is_last) odd[j + 1] = addc(0, 0);
    }
    DeviceFp r;
    add_cc(even[1], odd[0]);
#pragma unroll
    for (int i = 0; i < kWords - 1; ++i) r.w[i] = addc_cc(even[i + 2], odd[i + 1]);
    r.w[kWords - 1] = addc(even[kWords + 1], odd[kWords]);
    return r;
  }

  template <bool kFirst>
  __device__ __forceinline__ static void step(u32* even, u32* odd, const u32* a, u32 b,
                                              const u32* c, u32 d) {
    multiply_row<kFirst>(even, odd, a, b);
    odd[0] = mad_lo_cc(c[1], d, odd[0]);
    odd[1] = madc_hi_cc(c[1], d, odd[1]);
#pragma unroll
    for (int i = 2; i < kWords - 2; i += 2) {
      odd[i] = madc_lo_cc(c[i + 1], d, odd[i]);
      odd[i + 1] = madc_hi_cc(c[i + 1], d, odd[i + 1]);
    }
    odd[kWords - 2] = madc_lo_cc(c[kWords - 1], d, odd[kWords - 2]);
    odd[kWords - 1] = madc_hi(c[kWords - 1], d, odd[kWords - 1]);
    even[0] = mad_lo_cc(c[0], d, even[0]);
    even[1] = madc_hi_cc(c[0], d, even[1]);
#pragma unroll
    for (int i = 2; i < kWords; i += 2) {
      even[i] = madc_lo_cc(c[i], d, even[i]);
      even[i + 1] = madc_hi_cc(c[i], d, even[i + 1]);
    }
    odd[kWords - 1] = addc(odd[kWords - 1], 0);
    reduce_word(even, odd);
  }
  // (even + odd * 2^32 + a * b + m * p) with m such that even[0] becomes 0. Unless it is the first
  // step, `odd` still has the weight of the step before: it is moved down by two words on the way,
  // and its word 1 goes to even[0].
  template <bool kFirst>
  __device__ __forceinline__ static void step(u32* even, u32* odd, const u32* a, u32 b) {
    multiply_row<kFirst>(even, odd, a, b);
    reduce_word(even, odd);
  }
  template <bool kFirst>
  __device__ __forceinline__ static void multiply_row(u32* even, u32* odd, const u32* a, u32 b) {
    if constexpr (kFirst) {
#pragma unroll
      for (int i = 0; i < kWords; i += 2) {
        mul_wide(odd[i], odd[i + 1], a[i + 1], b);
        mul_wide(even[i], even[i + 1], a[i], b);
      }
    } else {
      even[0] = add_cc(even[0], odd[1]);
#pragma unroll
      for (int i = 0; i < kWords - 2; i += 2) {
        odd[i] = madc_lo_cc(a[i + 1], b, odd[i + 2]);
        odd[i + 1] = madc_hi_cc(a[i + 1], b, odd[i + 3]);
      }
      odd[kWords - 2] = madc_lo_cc(a[kWords - 1], b, 0);
      odd[kWords - 1] = madc_hi(a[kWords - 1], b, 0);
      even[0] = mad_lo_cc(a[0], b, even[0]);
      even[1] = madc_hi_cc(a[0], b, even[1]);
#pragma unroll
      for (int i = 2; i < kWords; i += 2) {
        even[i] = madc_lo_cc(a[i], b, even[i]);
        even[i + 1] = madc_hi_cc(a[i], b, even[i + 1]);
      }
      odd[kWords - 1] = addc(odd[kWords - 1], 0);
    }
  }

  // A step of a reduction alone: the value moved down by one word, then made divisible by 2^32.
  __device__ __forceinline__ static void shift_and_reduce(u32* even, u32* odd) {
    even[0] = add_cc(even[0], odd[1]);
#pragma unroll
    for (int i = 0; i < kWords - 2; ++i) odd[i] = addc_cc(odd[i + 2], 0);
    odd[kWords - 2] = addc(0, 0);
    odd[kWords - 1] = 0;
    reduce_word(even, odd);
  }

  // t = a^2. Products at even and at odd word positions are summed apart; word k of `odd` has
  // position k + 1.
  __device__ __forceinline__ static void wide_square(u32* t, const u32* a) {
    u32 even[2 * kWords];
    u32 odd[2 * kWords];
#pragma unroll
    for (int i = 0; i < 2 * kWords; ++i) even[i] = odd[i] = 0;
#pragma unroll
    for (int i = 0; i < kWords - 1; ++i) {
      add_row(odd + 2 * i, a + i + 1, kWords - i - 1, a[i]);
      if (i + 2 < kWords) add_row(even + 2 * i + 2, a + i + 2, kWords - i - 2, a[i]);
    }
    t[1] = add_cc(even[1], odd[0]);
#pragma unroll
    for (int i = 2; i < 2 * kWords - 1; ++i) t[i] = addc_cc(even[i], odd[i - 1]);
    t[2 * kWords - 1] = addc(even[2 * kWords - 1], odd[2 * kWords - 2]);
    t[1] = add_cc(t[1], t[1]);
#pragma unroll
    for (int i = 2; i < 2 * kWords - 1; ++i) t[i] = addc_cc(t[i], t[i]);
    t[2 * kWords - 1] = addc(t[2 * kWords - 1], t[2 * kWords - 1]);
    t[0] = mad_lo_cc(a[0], a[0], 0);
    t[1] = madc_hi_cc(a[0], a[0], t[1]);
#pragma unroll
    for (int i = 1; i < kWords; ++i) {
      t[2 * i] = madc_lo_cc(a[i], a[i], t[2 * i]);
      t[2 * i + 1] = madc_hi_cc(a[i], a[i], t[2 * i + 1]);
    }
  }

  // sum += (a[0] + a[2] * 2^64 + ...) * b over the words below `count`; its carry is added to the
  // word above, which holds at most carries so far.
  __device__ __forceinline__ static void add_row(u32* sum, const u32* a, int count, u32 b) {
    sum[0] = mad_lo_cc(a[0], b, sum[0]);
    sum[1] = madc_hi_cc(a[0], b, sum[1]);
#pragma unroll
    for (int j = 2; j < count; j += 2) {
      sum[j] = madc_lo_cc(a[j], b, sum[j]);
      sum[j + 1] = madc_hi_cc(a[j], b, sum[j + 1]);
    }
    const int above = (count + 1) / 2 * 2;
    sum[above] = addc(sum[above], 0);
  }

  __device__ __forceinline__ static void mul_wide(u32& lo, u32& hi, u32 a, u32 b) {
    const std::uint64_t t = static_cast<std::uint64_t>(a) * b;
    lo = static_cast<u32>(t);
    hi = static_cast<u32>(t >> 32);
  }

  __device__ __forceinline__ static void reduce_word(u32* even, u32* odd) {
    if constexpr (Modulus::kLowWordsSpecial) {
      // m = -t, m * (2^32 - 1) = t + (m - [t != 0]) * 2^32, and t + m = [t != 0] * 2^32.
      const u32 t = even[0];
      const u32 m = sub_cc(opaque_zero, t);
      const u32 high = subc(m, 0);
      odd[0] = add_cc(odd[0], t);
      odd[1] = addc_cc(odd[1], high);
#pragma unroll
      for (int i = 2; i < kWords - 2; i += 2) {
        odd[i] = madc_lo_cc(m, Modulus::p(i + 1), odd[i]);
        odd[i + 1] = madc_hi_cc(m, Modulus::p(i + 1), odd[i + 1]);
      }
      odd[kWords - 2] = madc_lo_cc(m, Modulus::p(kWords - 1), odd[kWords - 2]);
      odd[kWords - 1] = madc_hi(m, Modulus::p(kWords - 1), odd[kWords - 1]);
      add_cc(t, m);
      even[1] = addc_cc(even[1], 0);
#pragma unroll
      for (int i = 2; i < kWords; i += 2) {
        even[i] = madc_lo_cc(m, Modulus::p(i), even[i]);
        even[i + 1] = madc_hi_cc(m, Modulus::p(i), even[i + 1]);
      }
      odd[kWords - 1] = addc(odd[kWords - 1], 0);
    } else {
      const u32 m = even[0] * Modulus::kInv;
      odd[0] = mad_lo_cc(m, Modulus::p(1), odd[0]);
      odd[1] = madc_hi_cc(m, Modulus::p(1), odd[1]);
#pragma unroll
      for (int i = 2; i < kWords - 2; i += 2) {
        odd[i] = madc_lo_cc(m, Modulus::p(i + 1), odd[i]);
        odd[i + 1] = madc_hi_cc(m, Modulus::p(i + 1), odd[i + 1]);
      }
      odd[kWords - 2] = madc_lo_cc(m, Modulus::p(kWords - 1), odd[kWords - 2]);
      odd[kWords - 1] = madc_hi(m, Modulus::p(kWords - 1), odd[kWords - 1]);
      even[0] = mad_lo_cc(m, Modulus::p(0), even[0]);
      even[1] = madc_hi_cc(m, Modulus::p(0), even[1]);
#pragma unroll
      for (int i = 2; i < kWords; i += 2) {
        even[i] = madc_lo_cc(m, Modulus::p(i), even[i]);
        even[i + 1] = madc_hi_cc(m, Modulus::p(i), even[i + 1]);
      }
      odd[kWords - 1] = addc(odd[kWords - 1], 0);
    }
  }
};

// Fp[u] / (u^2 + 1), the bytes of Fp2 (field/fp2.h).
template <class F>
struct DeviceFp2 {
  F c0;
  F c1;

  __device__ __forceinline__ static DeviceFp2 zero() { return {F::zero(), F::zero()}; }
  __device__ __forceinline__ static DeviceFp2 one() { return {F::one(), F::zero()}; }
  __device__ __forceinline__ bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
  __device__ __forceinline__ friend bool operator==(const DeviceFp2& a, const DeviceFp2& b) {
    return a.c0 == b.c0 && a.c1 == b.c1;
  }
  __device__ __forceinline__ friend DeviceFp2 operator+(const DeviceFp2& a, const DeviceFp2& b) {
    return {a.c0 + b.c0, a.c1 + b.c1};
  }
  __device__ __forceinline__ friend DeviceFp2 operator-(const DeviceFp2& a, const DeviceFp2& b) {
    return {a.c0 - b.c0, a.c1 - b.c1};
  }
  __device__ __forceinline__ DeviceFp2 operator-() const { return {-c0, -c1}; }
  __device__ __forceinline__ DeviceFp2 dbl() const { return {c0.dbl(), c1.dbl()}; }
  // Called, not inlined: a point addition has a dozen of them, and its code would not fit the
  // instruction cache. By value: operands travel in registers.
  __device__ __forceinline__ friend DeviceFp2 operator*(const DeviceFp2& a, const DeviceFp2& b) {
    return times(a, b);
  }
  __device__ __forceinline__ DeviceFp2 square() const { return squared(*this); }

 private:
  // Four products and two reductions; three and three take as many multiplications and more
  // additions.
  __device__ __noinline__ static DeviceFp2 times(DeviceFp2 a, DeviceFp2 b) {
    return {F::sum_of_products(a.c0, b.c0, a.c1, F::up_to_p_minus(b.c1)),
            F::sum_of_products(a.c0, b.c1, a.c1, b.c0)};
  }
  __device__ __noinline__ static DeviceFp2 squared(DeviceFp2 a) {
    const F t = a.c0 * a.c1;
    return {(a.c0 + a.c1) * (a.c0 - a.c1), t.dbl()};
  }
};

// The device's view of a host field.
template <class F>
struct DeviceFieldOf;
template <class P>
struct DeviceFieldOf<Fp<P>> {
  using Type = DeviceFp<P>;
};
template <class F>
struct DeviceFieldOf<Fp2<F>> {
  using Type = DeviceFp2<typename DeviceFieldOf<F>::Type>;
};
template <class F>
using DeviceField = typename DeviceFieldOf<F>::Type;

}  // namespace cuzk::device
