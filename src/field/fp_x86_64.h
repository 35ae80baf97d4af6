#pragma once
// Sums and differences modulo p on x86-64, inlined: carry chains in registers, one conditional move
// a limb, no branch. g++ 12 makes shuffles through memory of the portable form.
//
// Shape:   4 or 6 limbs; operands and results reduced; p's top bit is clear; r may alias a and b.
// Needs:   x86-64 alone (no BMI2, no ADX).

#include "field/bigint.h"

#if defined(__x86_64__) && !defined(CUZK_PORTABLE_ONLY)

namespace cuzk::kernels::x86_64 {

// s = a + b; the carry out is dropped (there is none when both are below 2^(64 N - 1)).
[[gnu::always_inline]] inline void add_limbs(Limbs<4>& r, const Limbs<4>& a, const Limbs<4>& b) {
  std::uint64_t s0 = a[0], s1 = a[1], s2 = a[2], s3 = a[3];
  asm("addq (%[b]), %[s0]\n\tadcq 8(%[b]), %[s1]\n\tadcq 16(%[b]), %[s2]\n\tadcq 24(%[b]), %[s3]"
      : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3)
      : [b] "r"(b.data()), "m"(b)
      : "cc");
  r = {s0, s1, s2, s3};
}
[[gnu::always_inline]] inline void add_limbs(Limbs<6>& r, const Limbs<6>& a, const Limbs<6>& b) {
  std::uint64_t s0 = a[0], s1 = a[1], s2 = a[2], s3 = a[3], s4 = a[4], s5 = a[5];
  asm("addq (%[b]), %[s0]\n\tadcq 8(%[b]), %[s1]\n\tadcq 16(%[b]), %[s2]\n\t"
      "adcq 24(%[b]), %[s3]\n\tadcq 32(%[b]), %[s4]\n\tadcq 40(%[b]), %[s5]"
      :
      [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3), [s4] "+&r"(s4), [s5] "+&r"(s5)
      : [b] "r"(b.data()), "m"(b)
      : "cc");
  r = {s0, s1, s2, s3, s4, s5};
}

// r = s - p if s >= p, else s.
[[gnu::always_inline]] inline void reduce_once(Limbs<4>& r, const Limbs<4>& s, const Limbs<4>& p) {
  std::uint64_t t0 = s[0], t1 = s[1], t2 = s[2], t3 = s[3];
  asm("subq (%[p]), %[t0]\n\tsbbq 8(%[p]), %[t1]\n\tsbbq 16(%[p]), %[t2]\n\tsbbq 24(%[p]), "
      "%[t3]\n\t"
      "cmovcq %[s0], %[t0]\n\tcmovcq %[s1], %[t1]\n\tcmovcq %[s2], %[t2]\n\tcmovcq %[s3], %[t3]"
      : [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3)
      : [p] "r"(p.data()), "m"(p), [s0] "r"(s[0]), [s1] "r"(s[1]), [s2] "r"(s[2]), [s3] "r"(s[3])
      : "cc");
  r = {t0, t1, t2, t3};
}
[[gnu::always_inline]] inline void reduce_once(Limbs<6>& r, const Limbs<6>& s, const Limbs<6>& p) {
  std::uint64_t t0 = s[0], t1 = s[1], t2 = s[2], t3 = s[3], t4 = s[4], t5 = s[5];
  asm("subq (%[p]), %[t0]\n\tsbbq 8(%[p]), %[t1]\n\tsbbq 16(%[p]), %[t2]\n\t"
      "sbbq 24(%[p]), %[t3]\n\tsbbq 32(%[p]), %[t4]\n\tsbbq 40(%[p]), %[t5]\n\t"
      "cmovcq %[s0], %[t0]\n\tcmovcq %[s1], %[t1]\n\tcmovcq %[s2], %[t2]\n\t"
      "cmovcq %[s3], %[t3]\n\tcmovcq %[s4], %[t4]\n\tcmovcq %[s5], %[t5]"
      :
      [t0] "+&r"(t0), [t1] "+&r"(t1), [t2] "+&r"(t2), [t3] "+&r"(t3), [t4] "+&r"(t4), [t5] "+&r"(t5)
      : [p] "r"(p.data()), "m"(p), [s0] "rm"(s[0]), [s1] "rm"(s[1]), [s2] "rm"(s[2]),
        [s3] "rm"(s[3]), [s4] "rm"(s[4]), [s5] "rm"(s[5])
      : "cc");
  r = {t0, t1, t2, t3, t4, t5};
}

// r = a - b, plus p if that is negative.
[[gnu::always_inline]] inline void sub(Limbs<4>& r, const Limbs<4>& a, const Limbs<4>& b,
                                       const Limbs<4>& p) {
  std::uint64_t s0 = a[0], s1 = a[1], s2 = a[2], s3 = a[3], mask;
  asm("subq (%[b]), %[s0]\n\tsbbq 8(%[b]), %[s1]\n\tsbbq 16(%[b]), %[s2]\n\tsbbq 24(%[b]), "
      "%[s3]\n\t"
      "sbbq %[m], %[m]"
      : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3), [m] "=&r"(mask)
      : [b] "r"(b.data()), "m"(b)
      : "cc");
  asm("addq %[p0], %[s0]\n\tadcq %[p1], %[s1]\n\tadcq %[p2], %[s2]\n\tadcq %[p3], %[s3]"
      : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3)
      : [p0] "r"(p[0] & mask), [p1] "r"(p[1] & mask), [p2] "r"(p[2] & mask), [p3] "r"(p[3] & mask)
      : "cc");
  r = {s0, s1, s2, s3};
}
[[gnu::always_inline]] inline void sub(Limbs<6>& r, const Limbs<6>& a, const Limbs<6>& b,
                                       const Limbs<6>& p) {
  std::uint64_t s0 = a[0], s1 = a[1], s2 = a[2], s3 = a[3], s4 = a[4], s5 = a[5], mask;
  asm("subq (%[b]), %[s0]\n\tsbbq 8(%[b]), %[s1]\n\tsbbq 16(%[b]), %[s2]\n\t"
      "sbbq 24(%[b]), %[s3]\n\tsbbq 32(%[b]), %[s4]\n\tsbbq 40(%[b]), %[s5]\n\tsbbq %[m], %[m]"
      : [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3), [s4] "+&r"(s4),
        [s5] "+&r"(s5), [m] "=&r"(mask)
      : [b] "r"(b.data()), "m"(b)
      : "cc");
  asm("addq %[p0], %[s0]\n\tadcq %[p1], %[s1]\n\tadcq %[p2], %[s2]\n\t"
      "adcq %[p3], %[s3]\n\tadcq %[p4], %[s4]\n\tadcq %[p5], %[s5]"
      :
      [s0] "+&r"(s0), [s1] "+&r"(s1), [s2] "+&r"(s2), [s3] "+&r"(s3), [s4] "+&r"(s4), [s5] "+&r"(s5)
      : [p0] "r"(p[0] & mask), [p1] "r"(p[1] & mask), [p2] "r"(p[2] & mask), [p3] "r"(p[3] & mask),
        [p4] "r"(p[4] & mask), [p5] "r"(p[5] & mask)
      : "cc");
  r = {s0, s1, s2, s3, s4, s5};
}

}  // namespace cuzk::kernels::x86_64

#endif
