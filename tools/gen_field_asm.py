#!/usr/bin/env python3
"""Writes src/field/fp_adx.S: Montgomery arithmetic for x86-64 with mulx, adcx and adox.

    tools/gen_field_asm.py > src/field/fp_adx.S

Every routine works for any odd modulus of N 64-bit limbs (N = 4, 6) whose top bit is clear; the
modulus and -p^-1 mod 2^64 come in memory (`mont`). The C++ declarations, with the bounds on the
operands, are in src/field/fp_adx.h.

The idea of each routine:
  mul       one row of a * b[i] and one row of m * p alternate (Koc, Acar, Kaliski 1996, CIOS). In a
            row the low halves ride on the CF chain and the high halves on the OF chain, so that the two
            carries never wait for each other. The word that a reduction row makes zero becomes the
            top word of the next round: no register is cleared.
  square    products above the diagonal once, doubled on the CF chain while the diagonal is added on
            the OF chain; then the rows m * p.
  wide, redc, fp2_mul
            (a0 + a1 u)(b0 + b1 u) with three double-width products and two reductions instead of
            three of each (lazy reduction, Aranha et al. 2011).
"""

import sys

# Everything but rsp. rdx is mulx's implicit factor.
ALL = "rax rbx rcx rdx rsi rdi rbp r8 r9 r10 r11 r12 r13 r14 r15".split()
CALLEE_SAVED = ["rbx", "rbp", "r12", "r13", "r14", "r15"]


class Asm:
    def __init__(self):
        self.lines = []

    def raw(self, text):
        self.lines.append(text)

    def __call__(self, op, *args):
        self.lines.append(f"        {op:<6} {', '.join(str(a) for a in args)}".rstrip())

    def note(self, text):
        self.lines.append(f"        # {text}")


def mem(base, i):
    return f"qword ptr [{base}+{8 * i}]"


def begin(o, name, saved, stack=0):
    o.raw("")
    o.raw(f"        .globl {name}")
    o.raw(f"        .hidden {name}")
    o.raw(f"        .type  {name}, @function")
    o.raw("        .p2align 5")
    o.raw(f"{name}:")
    o.raw("        .cfi_startproc")
    o("endbr64")
    for reg in saved:
        o("push", reg)
        o.raw("        .cfi_adjust_cfa_offset 8")
        o.raw(f"        .cfi_rel_offset {reg}, 0")
    if stack:
        o("sub", "rsp", stack)
        o.raw(f"        .cfi_adjust_cfa_offset {stack}")


def end(o, name, saved, stack=0):
    if stack:
        o("add", "rsp", stack)
        o.raw(f"        .cfi_adjust_cfa_offset -{stack}")
    for reg in reversed(saved):
        o("pop", reg)
        o.raw("        .cfi_adjust_cfa_offset -8")
        o.raw(f"        .cfi_restore {reg}")
    o("ret")
    o.raw("        .cfi_endproc")
    o.raw(f"        .size  {name}, .-{name}")


def first_row(o, n, t, src, lo):
    """t[0..n] = src * rdx."""
    o("mulx", t[1], t[0], mem(src, 0))
    for j in range(1, n):
        o("mulx", t[j + 1], lo, mem(src, j))
        o("add" if j == 1 else "adc", t[j], lo)
    o("adc", t[n], 0)


def accumulate_row(o, n, t, src, lo, hi):
    """t[0..n] += src * rdx, with CF = OF = 0 before; t[n] takes the last carry."""
    for j in range(n):
        o("mulx", hi, lo, mem(src, j))
        o("adcx", t[j], lo)
        o("adox", t[j + 1], hi)
    o("adc", t[n], 0)


def reduce_row(o, n, t, mont, lo, hi):
    """t = (t + m p) / 2^64 with m chosen so that this is exact; returns the renamed t.

    The old t[0] is zero afterwards and serves as the new t[n]."""
    o("mov", "rdx", t[0])
    o("imul", "rdx", mem(mont, n))
    o("xor", lo, lo)
    accumulate_row(o, n, t, mont, lo, hi)
    return t[1:] + t[:1]


def subtract_once_and_store(o, n, t, spare, mont, dst):
    """dst = t < p ? t : t - p."""
    for j in range(n):
        o("mov", spare[j], t[j])
    for j in range(n):
        o("sub" if j == 0 else "sbb", spare[j], mem(mont, j))
    for j in range(n):
        o("cmovc", spare[j], t[j])
        o("mov", mem(dst, j), spare[j])


def mul(o, n):
    name = f"cuzk_mont_mul_{n}_adx"
    o.raw(f"# void {name}(r = rdi, a = rsi, b = rdx, mont = rcx)")
    t = ["r8", "r9", "r10", "r11", "rbx", "rbp", "r12"][: n + 1]
    lo, hi, b = "rax", "r13", "r14"
    if n == 4:
        t = ["r8", "r9", "r10", "r11", "rbx"]
        lo, hi, b = "rax", "rbp", "r12"
    saved = [r for r in CALLEE_SAVED if r in t + [lo, hi, b] or (n == 6 and r == "r15")]
    begin(o, name, saved)
    o("mov", b, "rdx")
    o("mov", "rdx", mem(b, 0))
    first_row(o, n, t, "rsi", lo)
    for i in range(n):
        if i:
            o("mov", "rdx", mem(b, i))
            o("xor", lo, lo)
            accumulate_row(o, n, t, "rsi", lo, hi)
        else:
            pass
        t = reduce_row(o, n, t, "rcx", lo, hi)
    spare = [r for r in ALL if r not in t[:n] + ["rdi", "rcx"]][:n]
    subtract_once_and_store(o, n, t, spare, "rcx", "rdi")
    end(o, name, saved)


def square_wide(o, n, w, a, lo, hi, spill):
    """w[0..2n-1] = a^2. Word i is given to spill(i, reg) as soon as it is final; a spilled word's
    register is free again. w has one register for each word but the last, which takes w[n]'s."""
    # Above the diagonal: rows i, columns i + 1 .. n - 1, into words i + j.
    o("mov", "rdx", mem(a, 0))
    o("mulx", w[2], w[1], mem(a, 1))
    for j in range(2, n):
        o("mulx", w[j + 1], lo, mem(a, j))
        o("add" if j == 2 else "adc", w[j], lo)
    o("adc", w[n], 0)
    for i in range(1, n - 1):
        top = w[i + n]
        o("mov", "rdx", mem(a, i))
        o("xor", top, top)
        for j in range(i + 1, n):
            o("mulx", hi, lo, mem(a, j))
            o("adcx", w[i + j], lo)
            o("adox", w[i + j + 1], hi)
        o("adc", top, 0)
    # Doubling (CF) and the diagonal (OF).
    o("mov", "rdx", mem(a, 0))
    o("mulx", hi, w[0], "rdx")
    o("xor", lo, lo)
    o("adcx", w[1], w[1])
    o("adox", w[1], hi)
    spill(0, w[0])
    spill(1, w[1])
    for i in range(1, n):
        o("mov", "rdx", mem(a, i))
        o("mulx", hi, lo, "rdx")
        o("adcx", w[2 * i], w[2 * i])
        o("adox", w[2 * i], lo)
        spill(2 * i, w[2 * i])
        if i < n - 1:
            o("adcx", w[2 * i + 1], w[2 * i + 1])
            o("adox", w[2 * i + 1], hi)
            spill(2 * i + 1, w[2 * i + 1])
        else:  # the last word: only carries and hi; mov leaves the flags alone
            o("mov", lo, 0)
            o("adcx", hi, lo)
            o("adox", hi, lo)
            spill(2 * i + 1, hi)


def reduce_low(o, n, t, mont, lo, hi):
    """t[0..n] with t[n] = 0: n reduction rows; the value is then t[0..n-1]."""
    for _ in range(n):
        t = reduce_row(o, n, t, mont, lo, hi)
    return t


def square(o, n):
    name = f"cuzk_mont_square_{n}_adx"
    o.raw(f"# void {name}(r = rdi, a = rsi, mont = rdx)")
    saved = CALLEE_SAVED
    begin(o, name, saved, 8 * n + 16)
    o("mov", "qword ptr [rsp]", "rdi")
    o("mov", "qword ptr [rsp+8]", "rdx")
    regs = [r for r in ALL if r not in ("rdx", "rsi", "rax", "rcx")]
    w = (regs + ["rcx"])[: 2 * n - 1] if n == 6 else regs[: 2 * n - 1]
    lo, hi = "rax", next(r for r in ALL if r not in w + ["rdx", "rsi", "rax"])

    def spill(i, reg):
        if i >= n:
            o("mov", mem("rsp+16", i - n), reg)

    square_wide(o, n, w, "rsi", lo, hi, spill)
    low = w[:n]
    free = [r for r in ALL if r not in low + ["rdx"]]
    mont, top, lo, hi = free[0], free[1], free[2], free[3]
    o("mov", mont, "qword ptr [rsp+8]")
    o("xor", top, top)
    t = reduce_low(o, n, low + [top], mont, lo, hi)
    for j in range(n):
        o("add" if j == 0 else "adc", t[j], mem("rsp+16", j))
    free = [r for r in ALL if r not in t[:n] + [mont]]
    o("mov", free[0], "qword ptr [rsp]")
    subtract_once_and_store(o, n, t, free[1 : n + 1], mont, free[0])
    end(o, name, saved, 8 * n + 16)


def main():
    o = Asm()
    o.raw("# Generated by tools/gen_field_asm.py; do not edit.")
    o.raw("#")
    o.raw("# Montgomery arithmetic for x86-64 with BMI2 and ADX; contracts in field/fp_adx.h.")
    o.raw("#if defined(__x86_64__) && !defined(CUZK_PORTABLE_ONLY)")
    o.raw("        .intel_syntax noprefix")
    o.raw("        .text")
    for n in (4, 6):
        mul(o, n)
        square(o, n)
    o.raw("        .att_syntax prefix")
    o.raw("#endif")
    o.raw("#if defined(__linux__) && defined(__ELF__)")
    o.raw('        .section .note.GNU-stack,"",%progbits')
    o.raw("#endif")
    sys.stdout.write("\n".join(o.lines) + "\n")


if __name__ == "__main__":
    main()
