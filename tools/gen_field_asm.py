#!/usr/bin/env python3
"""Writes src/field/fp_adx.S: Montgomery arithmetic for x86-64 with mulx, adcx and adox.

    tools/gen_field_asm.py > src/field/fp_adx.S

Every routine works for any odd modulus of N 64-bit limbs (N = 4, 6) whose top bit is clear; the
modulus and -p^-1 mod 2^64 come in memory (`mont`). The C++ declarations, with the bounds on the
operands, are in src/field/fp_adx.h.

The idea of each routine:
  mul       rows of a * b[i] and rows of m * p alternate (Koc, Acar, Kaliski 1996, CIOS), the former
            one ahead, so that the next m waits for a single sum. In a row the low halves ride on
            the CF chain and the high halves on the OF chain: the carries never wait for each other.
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


def mul_rows(o, n, t, a, b, mont, m, lo, hi):
    """The interleaved rows of a * b; t has n + 2 registers. Returns the n registers of the result,
    which is below 2p."""
    o("mov", "rdx", mem(b, 0))
    first_row(o, n, t, a, lo)
    for i in range(n):
        last = i == n - 1
        o("mov", m, t[0])
        o("imul", m, mem(mont, n))
        if not last:
            o("mov", "rdx", mem(b, i + 1))
            o("xor", t[n + 1], t[n + 1])
            for j in range(n):
                o("mulx", hi, lo, mem(a, j))
                o("adcx", t[j + 1], lo)
                o("adox", t[j + 2], hi)
            o("adc", t[n + 1], 0)
        o("mov", "rdx", m)
        o("xor", lo, lo)
        for j in range(n):
            o("mulx", hi, lo, mem(mont, j))
            o("adcx", t[j], lo)
            o("adox", t[j + 1], hi)
        if last:
            o("adc", t[n], 0)
        else:  # t[0] is zero now
            o("adcx", t[n], t[0])
            o("adox", t[n + 1], t[0])
            o("adcx", t[n + 1], t[0])
        t = t[1:] + t[:1]
    return t[:n]


def mul(o, n):
    name = f"cuzk_mont_mul_{n}_adx"
    o.raw(f"# void {name}(r = rdi, a = rsi, b = rdx, mont = rcx)")
    free = [r for r in ALL if r not in ("rdx", "rsi", "rcx", "rdi")]
    if n == 4:
        free = [r for r in free if r not in CALLEE_SAVED] + CALLEE_SAVED
    t, rest = free[: n + 2], free[n + 2 :]
    lo, hi, b = rest[:3]
    keep_r = len(rest) < 4  # r waits on the stack and lends its register to m
    m = "rdi" if keep_r else rest[3]
    saved = [r for r in CALLEE_SAVED if r in t + [lo, hi, b, m]] + (["rdi"] if keep_r else [])
    begin(o, name, saved)
    o("mov", b, "rdx")
    t = mul_rows(o, n, t, "rsi", b, "rcx", m, lo, hi)
    if keep_r:
        o("mov", "rdi", "qword ptr [rsp]")
    spare = [r for r in ALL if r not in t + ["rdi", "rcx"]][:n]
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


def wide_product(o, n):
    """A local routine: [rdi] = [rsi] * [rbp], 2n words. Keeps rdi, rsi, rbp and rcx alone."""
    name = f"cuzk_wide_mul_{n}"
    o.raw("")
    o.raw("        .p2align 5")
    o.raw(f"        .type  {name}, @function")
    o.raw(f"{name}:")
    o.raw("        .cfi_startproc")
    free = [r for r in ALL if r not in ("rdx", "rsi", "rdi", "rbp", "rcx")]
    t, lo, hi = free[: n + 1], free[n + 1], free[n + 2]
    o("mov", "rdx", mem("rbp", 0))
    first_row(o, n, t, "rsi", lo)
    for i in range(1, n):
        o("mov", mem("rdi", i - 1), t[0])
        t = t[1:] + t[:1]
        o("mov", "rdx", mem("rbp", i))
        o("xor", t[n], t[n])
        accumulate_row(o, n, t, "rsi", lo, hi)
    for j in range(n + 1):
        o("mov", mem("rdi", n - 1 + j), t[j])
    o("ret")
    o.raw("        .cfi_endproc")
    o.raw(f"        .size  {name}, .-{name}")
    return name


REDC_MONT, REDC_HIGH, REDC_DST = "rcx", "rsi", "rdi"


def redc_registers(n):
    free = [r for r in ALL if r not in ("rdx", REDC_MONT, REDC_HIGH, REDC_DST)]
    return free[:n], free[n], free[n + 1], free[n + 2]


def wide_reduction(o, n):
    """A local routine: [rdi] = (low registers + 2^(64 n) [rsi]) / R mod p, for values below p R."""
    name = f"cuzk_wide_redc_{n}"
    o.raw("")
    o.raw("        .p2align 5")
    o.raw(f"        .type  {name}, @function")
    o.raw(f"{name}:")
    o.raw("        .cfi_startproc")
    low, top, lo, hi = redc_registers(n)
    o("xor", top, top)
    t = reduce_low(o, n, low + [top], REDC_MONT, lo, hi)
    for j in range(n):
        o("add" if j == 0 else "adc", t[j], mem(REDC_HIGH, j))
    spare = [r for r in ALL if r not in t[:n] + [REDC_MONT, REDC_DST]][:n]
    subtract_once_and_store(o, n, t, spare, REDC_MONT, REDC_DST)
    o("ret")
    o.raw("        .cfi_endproc")
    o.raw(f"        .size  {name}, .-{name}")
    return name


def fp2_mul(o, n):
    product, reduction = wide_product(o, n), wide_reduction(o, n)
    name = f"cuzk_fp2_mul_{n}_adx"
    o.raw("")
    o.raw(f"# void {name}(r = rdi, a = rsi, b = rdx, mont = rcx)")
    # The frame, in words: w0 = a0 b0, w1 = a1 b1, w2 = (a0 + a1)(b0 + b1), the two sums, r.
    w0, w1, w2, sum_a, sum_b, save = 0, 2 * n, 4 * n, 6 * n, 7 * n, 8 * n
    frame = 8 * (8 * n + 3)
    saved = CALLEE_SAVED
    begin(o, name, saved, frame)
    o("mov", mem("rsp", save), "rdi")
    o("mov", "rbp", "rdx")
    for src, dst in (("rsi", sum_a), ("rbp", sum_b)):
        regs = [r for r in ALL if r not in ("rsi", "rbp", "rcx", "rdi", "rdx")][:n]
        for j in range(n):
            o("mov", regs[j], mem(src, j))
        for j in range(n):
            o("add" if j == 0 else "adc", regs[j], mem(src, n + j))
        for j in range(n):
            o("mov", mem("rsp", dst + j), regs[j])
    o("lea", "rdi", f"[rsp+{8 * w0}]")
    o("call", product)
    o("add", "rsi", 8 * n)
    o("add", "rbp", 8 * n)
    o("lea", "rdi", f"[rsp+{8 * w1}]")
    o("call", product)
    o("lea", "rsi", f"[rsp+{8 * sum_a}]")
    o("lea", "rbp", f"[rsp+{8 * sum_b}]")
    o("lea", "rdi", f"[rsp+{8 * w2}]")
    o("call", product)
    low, *_ = redc_registers(n)
    others = [r for r in ALL if r not in low + [REDC_MONT, REDC_HIGH, REDC_DST]]
    others = (others + [REDC_HIGH, REDC_DST])[:n]
    words = low + others
    o.note("c1 = w2 - w0 - w1, never negative")
    for j in range(2 * n):
        o("mov", words[j], mem("rsp", w2 + j))
    for w in (w0, w1):
        for j in range(2 * n):
            o("sub" if j == 0 else "sbb", words[j], mem("rsp", w + j))
    for j in range(n):
        o("mov", mem("rsp", w2 + n + j), others[j])
    o("lea", REDC_HIGH, f"[rsp+{8 * (w2 + n)}]")
    o("mov", REDC_DST, mem("rsp", save))
    o("add", REDC_DST, 8 * n)
    o("call", reduction)
    o.note("c0 = w0 - w1, plus p R if negative")
    for j in range(2 * n):
        o("mov", words[j], mem("rsp", w0 + j))
    for j in range(2 * n):
        o("sub" if j == 0 else "sbb", words[j], mem("rsp", w1 + j))
    for j in range(n):
        o("mov", mem("rsp", w0 + j), low[j])
    o("sbb", low[0], low[0])
    for j in range(1, n):
        o("mov", low[j], low[0])
    for j in range(n):
        o("and", low[j], mem(REDC_MONT, j))
    for j in range(n):
        o("add" if j == 0 else "adc", others[j], low[j])
    for j in range(n):
        o("mov", mem("rsp", w0 + n + j), others[j])
        o("mov", low[j], mem("rsp", w0 + j))
    o("lea", REDC_HIGH, f"[rsp+{8 * (w0 + n)}]")
    o("mov", REDC_DST, mem("rsp", save))
    o("call", reduction)
    end(o, name, saved, frame)


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
        fp2_mul(o, n)
    o.raw("        .att_syntax prefix")
    o.raw("#endif")
    o.raw("#if defined(__linux__) && defined(__ELF__)")
    o.raw('        .section .note.GNU-stack,"",%progbits')
    o.raw("#endif")
    sys.stdout.write("\n".join(o.lines) + "\n")


if __name__ == "__main__":
    main()
