#!/usr/bin/env python3
"""Inputs made by `cuzk-bench gen-vanilla`, and the README's commands that prove and verify them.

bench_cli_test.py CUZK TESTDATA [--prove]: with --prove only the README's commands, under fresh
development keys.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import cli_test
from cli_test import TESTDATA, run

CUZK = pathlib.Path(sys.argv[1]).resolve()
PROVE = "--prove" in sys.argv[3:]
README = TESTDATA.parent / "README.md"
KINDS = ("porep", "winning-post", "window-post", "update")


class BenchCli(unittest.TestCase):
    setUp = cli_test.Cli.setUp
    expect = cli_test.Cli.expect
    file = cli_test.Cli.file

    def gen(self, kind, out, *flags):
        return subprocess.run([CUZK.parent / "cuzk-bench", "gen-vanilla", kind, "-o", self.dir / out,
                               *map(str, flags)], capture_output=True, text=True)

    def statement(self, kind, out, *flags):
        self.expect(0, self.gen(kind, out, *flags), f"cuzk prove {kind}", f"cuzk verify {kind}")
        return json.loads((self.dir / out / "statement.json").read_text())

    def checked(self, kind, out, *flags):
        """The printed proof command with every row checked instead of a proof made."""
        script = self.expect(0, self.gen(kind, out, *flags)).stdout
        lines = [line for line in script.splitlines() if line.startswith("cuzk prove")]
        self.assertTrue(lines)
        for line in lines:
            done = subprocess.run(["sh", "-ec", f"{line} --check-only --no-cache"], text=True,
                                  env={**os.environ, "PATH": f"{CUZK.parent}:{os.environ['PATH']}"},
                                  capture_output=True)
            self.expect(0, done, "satisfied")

    def test_sectors_of_every_version_satisfy_their_circuit(self):
        for version in ("V1", "V1_1_Feat_SyntheticPoRep", "V1_2_Feat_NonInteractivePoRep"):
            self.checked("porep", version, "--version", version, "--miner", "f01234", "--sector", 99)
        self.checked("porep", "named", "--registered-proof", "StackedDrg16KiBV1_1")
        self.checked("window-post", "window", "--version", "V1", "--sectors", 3)
        self.checked("window-post", "window32", "--sector-size", "32KiB", "--sectors", 2)
        self.checked("winning-post", "winning", "--sector-size", "16KiB")
        self.checked("update", "it's an update")

    def test_several_sectors(self):
        statement = self.statement("porep", "two", "--sectors", 2, "--sector", 40)
        self.assertEqual([s["sector"] for s in statement["sectors"]], [40, 41])
        for s in statement["sectors"]:
            c1 = json.loads((self.dir / "two" / f"c1-{s['sector']}.json").read_text())
            self.assertEqual(bytes(c1["comm_r"]).hex(), s["comm_r"])
        self.assertNotEqual(*(s["comm_d"] for s in statement["sectors"]))

    def test_the_same_seed_makes_the_same_sectors(self):
        for kind in KINDS:
            a, b = self.statement(kind, kind + "a"), self.statement(kind, kind + "b", "--seed", 1)
            c = self.statement(kind, kind + "c", "--seed", 2)
            self.assertEqual(a, b)
            self.assertNotEqual(a["sectors"][0]["comm_r"], c["sectors"][0]["comm_r"])

    def test_a_given_piece_is_sealed(self):
        piece = self.file("piece", bytes(2032))
        zero = "fc7e928296e516faade986b28f92d44a4f24b935485223376a799027bc18f833"
        self.assertEqual(self.statement("porep", "zero", "--piece", piece)["sectors"][0]["comm_d"], zero)
        short = self.file("short", bytes(5))
        self.assertEqual(self.statement("update", "zero2", "--piece", short)["comm_d_new"], zero)
        other = self.file("other", b"\1" + bytes(9))
        self.assertNotEqual(self.statement("update", "one", "--piece", other)["comm_d_new"], zero)
        self.expect(2, self.gen("porep", "x", "--piece", self.file("long", bytes(2033))), "2032", "2033")
        self.expect(3, self.gen("porep", "x", "--piece", self.dir / "absent"), "absent")

    def test_mistakes(self):
        self.expect(2, self.gen("seal", "x"), "window-post")
        self.expect(2, self.gen("porep", "x", "--sector-size", "3KiB"), "3KiB", "2KiB")
        self.expect(2, self.gen("porep", "x", "--registered-proof", "StackedDrg2KiBV9"), "StackedDrg2KiBV9")
        self.expect(2, self.gen("winning-post", "x", "--registered-proof", "StackedDrgWindow2KiBV1"),
                    "StackedDrgWindow2KiBV1")
        self.expect(2, self.gen("update", "x", "--sectors", 2), "one sector")
        self.expect(2, self.gen("porep", "x", "--sectors", 0), "--sectors")
        self.expect(2, self.gen("porep", "x", "--miner", "f1abc"), "actor id")
        self.expect(5, self.gen("porep", "x", "--sector-size", "8MiB", "--memory", "4MiB"), "piece")
        self.file("file", b"")
        self.expect(3, self.gen("porep", "file"), "file")

    def test_kernels_are_timed_on_the_cpu(self):
        bench = [CUZK.parent / "cuzk-bench", "kernels", "--backend", "cpu", "--repeats", "1"]
        sizes = ["--kernel", "msm,ntt", "--group", "bls12_381_g1,bn254_g1", "--log2", "4,9"]
        done = self.expect(0, subprocess.run([*bench, *sizes, "--json"], capture_output=True, text=True))
        rows = json.loads(done.stdout)["kernels"]
        self.assertEqual(len(rows), 2 * 2 * 3 + 2 * 2)
        self.assertEqual({row["kind"] for row in rows}, {"dense", "ones", "tails"})
        for row in rows:
            self.assertGreaterEqual(row["cpu_ms"], 0)
            self.assertNotIn("cuda_ms", row)
        text = subprocess.run([*bench, *sizes], capture_output=True, text=True)
        self.expect(0, text, "BLS12-381 G1", "BN254 Fr", "of floor")
        wrong = subprocess.run([*bench, "--kernel", "fft"], capture_output=True, text=True)
        self.expect(2, wrong, "fft")

    @unittest.skipUnless(PROVE, "whole proofs are another test")
    def test_the_readmes_commands_prove_and_verify(self):
        section = README.read_text().split("## Make your own inputs")[1]
        commands = section.split("```")[1]
        done = subprocess.run(["sh", "-ec", commands], cwd=self.dir, capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{CUZK.parent}:{os.environ['PATH']}",
                                   "FIL_PROOFS_PARAMETER_CACHE": str(self.dir / "params"),
                                   "XDG_CACHE_HOME": str(self.dir / "cache")})
        self.expect(0, done)
        for kind in KINDS:
            self.assertEqual((self.dir / "inputs" / kind / "proof.bin").stat().st_size, 192)
        self.assertEqual(done.stdout.splitlines().count("valid"), len(KINDS), done.stdout)


if __name__ == "__main__":
    only = ["BenchCli.test_the_readmes_commands_prove_and_verify"] if PROVE else []
    unittest.main(argv=[sys.argv[0], *only], verbosity=1)
