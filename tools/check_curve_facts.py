#!/usr/bin/env python3
"""Checks the integers behind the subgroup tests of src/curve/endomorphism.h; prints them.

Exits with 1 and a sentence when a statement made there does not hold.
"""

import sys
from math import gcd


def require(condition, sentence):
    print(("ok    " if condition else "WRONG ") + sentence)
    if not condition:
        sys.exit(1)


def bls12_381():
    z = -0xD201000000010000
    r = z**4 - z**2 + 1
    q = (z - 1) ** 2 * r // 3 + z
    t = z + 1
    g1 = q + 1 - t
    h2 = (z**8 - 4 * z**7 + 5 * z**6 - 4 * z**4 + 6 * z**3 - 4 * z**2 - 4 * z + 13) // 9
    require(g1 % r == 0, "BLS12-381: r divides #E(Fq) = q + 1 - t")
    # phi^2 + phi + 1 = 0, so phi(P) = -z^2 P gives (z^4 - z^2 + 1) P = r P = 0.
    require((z**2) ** 2 - z**2 + 1 == r, "BLS12-381 G1: phi(P) = [-z^2] P implies [r] P = 0")
    # psi^2 - t psi + q = 0, so psi(P) = z P gives (z^2 - t z + q) P = 0.
    n = z**2 - t * z + q
    require(n == (z - 1) ** 2 // 3 * r, "BLS12-381 G2: psi(P) = [z] P implies [(z-1)^2 r / 3] P = 0")
    require(gcd(n, h2 * r) == r, "BLS12-381 G2: (z-1)^2 r / 3 and #E'(Fq2) share r alone")
    # g^(q^4 - q^2 + 1) = 1 and g^q = g^z.
    require(gcd(q**4 - q**2 + 1, q - z) == r, "BLS12-381 GT: q^4 - q^2 + 1 and q - z share r alone")
    # #E'(Fq2) is one of the six twists' orders: 4 q^2 = t2^2 + 3 f2^2 with t2 = t^2 - 2 q.
    t2 = t**2 - 2 * q
    f2_squared = (4 * q**2 - t2**2) // 3
    f2 = isqrt_exact(f2_squared)
    orders = {q**2 + 1 - s for s in
              (t2, -t2, (t2 + 3 * f2) // 2, (t2 - 3 * f2) // 2, (-t2 + 3 * f2) // 2, (-t2 - 3 * f2) // 2)}
    require(h2 * r in orders, "BLS12-381 G2: h2 r is the order of a sextic twist over Fq2")


def bn254():
    x = 4965661367192848881
    q = 36 * x**4 + 36 * x**3 + 24 * x**2 + 6 * x + 1
    r = 36 * x**4 + 36 * x**3 + 18 * x**2 + 6 * x + 1
    t = 6 * x**2 + 1
    require(q + 1 - t == r, "BN254 G1: #E(Fq) = r, the cofactor is 1")
    require((t - 1) ** 2 - t * (t - 1) + q == r, "BN254 G2: psi(P) = [6 x^2] P implies [r] P = 0")
    require(gcd(2 * q - r, r) == 1, "BN254 G2: r divides #E'(Fq2) = r (2 q - r) once")


def isqrt_exact(n):
    from math import isqrt
    s = isqrt(n)
    require(s * s == n, "4 q^2 - t2^2 is three times a square")
    return s


bls12_381()
bn254()
