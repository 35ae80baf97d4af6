#!/usr/bin/env python3
"""Runs the program `cuzk` as a user would, mistakes included: exit codes, messages, JSON.

cli_test.py CUZK TESTDATA [--prove]: with --prove only a whole proof, under a fresh development key.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CUZK, TESTDATA = sys.argv[1], pathlib.Path(sys.argv[2])
PROVE = "--prove" in sys.argv[3:]
C1 = TESTDATA / "filecoin/c1/porep_2kib_v1_1.c1.json"
INPUTS = json.loads((TESTDATA / "filecoin/c1/porep_2kib_v1_1.inputs.json").read_text())
SECTOR = str(INPUTS["sector_id"])
GOLDEN = TESTDATA / "golden/porep_2kib_v1_1"
VK = GOLDEN / "porep.vk"
OFFICIAL_VK = "v28-" + INPUTS["cache_id"] + ".vk"


def run(*args, env=None):
    return subprocess.run([CUZK, *map(str, args)], capture_output=True, text=True,
                          env={**os.environ, **(env or {})}, timeout=900)


class Cli(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cuzk-cli-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def expect(self, code, result, *words):
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        for word in words:
            self.assertIn(word, result.stdout + result.stderr)
        return result

    def file(self, name, data):
        path = self.dir / name
        path.write_bytes(data)
        return path

    def prove(self, c1, *extra):
        return run("prove", "porep", "--c1", c1, "--params", self.dir / "params", "--no-cache",
                   "-o", self.dir / "proof", *extra)

    def test_help_and_usage(self):
        self.expect(0, run("--help"), "Examples:", "Exit codes")
        self.expect(0, run("prove", "porep", "--help"), "--c1")
        self.expect(2, run())
        self.expect(2, run("prove", "porep"), "--c1")
        self.expect(2, run("prove", "porep", "--c1", C1, "-o", "x", "--treads", "2"), "treads")
        self.expect(0, run("--version"), "cuzk ")

    def test_bad_c1_files(self):
        for name, data, words in [
            ("empty", b"", ()), ("text", b"hello", ()), ("cut", C1.read_bytes()[:50000], ()),
            ("html", b"<html>not found</html>", ()),
        ]:
            result = self.expect(3, self.prove(self.file(name, data)), str(self.dir / name), *words)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.expect(3, self.prove(self.dir / "absent"), "absent")
        self.expect(2, self.prove(self.dir), "directory")
        self.assertFalse((self.dir / "proof").exists())

    def test_statement_that_does_not_fit(self):
        self.expect(4, self.prove(C1, "--miner", "1001", "--sector", SECTOR), "replica_id")
        self.expect(4, self.prove(C1, "--miner", "1000", "--sector", str(INPUTS["sector_id"] + 1)), "replica_id")
        self.expect(2, self.prove(C1, "--miner", "1000"), "belong together")
        self.expect(2, self.prove(C1, "--miner", "f1abc", "--sector", SECTOR), "actor id")
        c1 = json.loads(C1.read_text())
        c1["seed"][0] ^= 1
        self.expect(4, self.prove(self.file("seed", json.dumps(c1).encode())), "challenge")

    def test_missing_and_insecure_keys(self):
        self.expect(3, self.prove(C1), "no parameters for PoRep 2KiB", "insecure-dev")
        self.expect(7, run("params", "setup", "--sector-size", "2KiB", "--params", self.dir),
                    "can forge proofs")
        self.expect(2, run("params", "setup", "--sector-size", "3KiB", "--insecure-dev"), "3KiB")

    def test_locally_made_key_under_an_official_name_is_refused(self):
        (self.dir / "params").mkdir()
        shutil.copy(VK, self.dir / "params" / OFFICIAL_VK)
        verify = ("verify", "porep", "--c1", C1, "--params", self.dir / "params",
                  GOLDEN / "porep.proof.bin")
        self.expect(7, run(*verify), "digest")
        self.expect(0, run(*verify, "--insecure-dev"), "valid")

    def test_verify_porep_from_flags(self):
        inputs = INPUTS
        (self.dir / "params").mkdir()
        shutil.copy(VK, self.dir / "params" / OFFICIAL_VK)
        statement = {"--seal-proof": "StackedDrg2KiBV1_1", "--miner": "1000",
                     "--sector": str(inputs["sector_id"]), "--ticket": inputs["ticket"],
                     "--seed": inputs["seed"], "--comm-d": inputs["comm_d"], "--comm-r": inputs["comm_r"]}

        def verify(changed, *extra):
            flags = [x for pair in {**statement, **changed}.items() for x in pair]
            return run("verify", "porep", *flags, "--params", self.dir / "params", "--insecure-dev",
                       *(extra or (GOLDEN / "porep.proof.bin",)))

        self.expect(0, verify({}), "valid")
        self.expect(0, verify({}, GOLDEN / "porep_api.proof.bin"), "valid")
        self.expect(1, verify({"--sector": str(inputs["sector_id"] + 1)}), "INVALID")
        self.expect(1, verify({"--seed": "00" * 32}), "INVALID")
        self.expect(2, verify({"--seed": "00"}), "--seed")
        self.expect(2, verify({"--seal-proof": "StackedDrg3KiBV1"}), "StackedDrg3KiBV1")
        proof = (GOLDEN / "porep.proof.bin").read_bytes()
        for name, data in [("short", proof[:191]), ("long", proof + b"\0"), ("none", b""),
                           ("twice", proof * 2)]:
            self.expect(3, verify({}, self.file(name, data)), "192")
        result = self.expect(0, verify({}, GOLDEN / "porep.proof.bin", "--json"))
        self.assertTrue(json.loads(result.stdout)["valid"])

    def test_verify_groth16(self):
        proof = json.loads((GOLDEN / "porep.proof.json").read_text())["partitions"][0]
        numbers = [int.from_bytes(bytes.fromhex(h), "little") for h in proof["public_inputs_le_hex"]]

        def verify(values, proof_file=GOLDEN / "porep.proof.bin"):
            public = self.file("public.json", json.dumps(values).encode())
            return run("verify", "groth16", "--vk", VK, "--public", public, proof_file)

        texts = [str(n) for n in numbers]
        modulus = 0x73EDA753299D7D483339D80809A1D80553BDA402FFFE5BFEFFFFFFFF00000001
        self.expect(0, verify(texts), "valid")
        self.expect(0, verify([hex(n) for n in numbers]), "valid")
        self.expect(1, verify([str(numbers[0] + 1)] + texts[1:]), "INVALID")
        self.expect(4, verify(texts[1:]))
        for bad in (str(numbers[0] + modulus), "-1", "0" + texts[0], "1e3", "", "0xZZ", 7):
            self.expect(3, verify([bad] + texts[1:]), "public input 0")
        self.expect(3, verify({"a": 1}), "array")
        self.expect(3, verify(texts, VK), "proof")

    def test_circuit_info_and_check(self):
        info = json.loads(self.expect(0, run("circuit", "info", "--sector-size", "2KiB", "--no-cache",
                                             "--json", "--digest")).stdout)
        golden = json.loads((TESTDATA / "golden/porep/porep_2kib_v1_1.p0.circuit.json").read_text())
        self.assertEqual(info["rows"], golden["num_constraints"])
        self.assertEqual(info["aux"], golden["num_aux"])
        self.assertEqual(info["r1cs_blake2b256"], golden["r1cs_blake2b256"])
        cache = self.dir / "cache"
        for from_cache in (False, True):
            info = json.loads(run("circuit", "info", "--sector-size", "2KiB", "--cache-dir", cache,
                                  "--json").stdout)
            self.assertEqual(info["from_cache"], from_cache)
        cached = next(cache.iterdir())
        data = bytearray(cached.read_bytes())
        data[len(data) // 2] ^= 1
        cached.write_bytes(data)
        check = self.expect(0, run("circuit", "check", "--c1", C1, "--cache-dir", cache), "satisfied")
        self.assertIn("partitions", check.stdout)

    def test_params_commands(self):
        self.expect(0, run("params", "list", "--params", self.dir), "32GiB", "absent")
        self.assertEqual(len(json.loads(run("params", "list", "--params", self.dir, "--json").stdout)), 22)
        self.expect(0, run("params", "info", VK), "ic", "40")
        self.expect(0, run("params", "info", TESTDATA / "golden/mimc/mimc16.params"), "63")
        self.expect(0, run("params", "check", "--full", TESTDATA / "golden/mimc/mimc16.params"), "ok")
        self.expect(0, run("params", "check", VK), "ok")
        shutil.copy(VK, self.dir / OFFICIAL_VK)
        self.expect(4, run("params", "check", self.dir / OFFICIAL_VK), "digest")
        data = (TESTDATA / "golden/mimc/mimc16.params").read_bytes()
        self.expect(3, run("params", "check", self.file("cut.params", data[:-1])), "cut.params")
        self.expect(3, run("params", "info", self.file("empty.params", b"")), "empty.params")

    def test_resources(self):
        self.expect(5, run("params", "setup", "--sector-size", "2KiB", "--insecure-dev", "--params",
                           self.dir, "--memory", "100MiB", "--no-cache"), "needs")
        self.expect(2, self.prove(C1, "--memory", "lots"), "lots")

    def test_doctor(self):
        report = json.loads(self.expect(0, run("doctor", "--json", "--params", self.dir)).stdout)
        self.assertGreaterEqual(report["cpu"]["threads"], 1)
        self.assertIn("devices", report["gpu"])
        self.assertIn("portable", run("doctor", env={"CUZK_CPU": "portable"}).stdout)
        self.expect(2, run("doctor", env={"CUZK_CPU": "quantum"}), "quantum")

    @unittest.skipUnless(PROVE, "a whole proof is another test")
    def test_prove_a_real_sector(self):
        trace = self.dir / "trace.json"
        result = self.expect(0, self.prove(C1, "--miner", "1000", "--sector", SECTOR, "--insecure-dev",
                                           "--json", "--trace", trace), "CUZK_TIMING:", "INSECURE")
        reply = json.loads(result.stdout)
        self.assertTrue(reply["verified"] and reply["insecure_dev"] and reply["replica_id_recomputed"])
        self.assertEqual((self.dir / "proof").read_bytes().hex(), reply["proof"])
        self.assertIn("h_msm", {e["name"] for e in json.loads(trace.read_text())["traceEvents"]})
        params = ("--params", self.dir / "params")
        statement = ("verify", "porep", "--c1", C1, *params)
        self.expect(7, run(*statement, "--vk", next((self.dir / "params").glob("*.vk")), self.dir / "proof"))
        self.expect(3, run(*statement, self.dir / "proof"), "insecure-dev")
        self.expect(0, run(*statement, "--insecure-dev", self.dir / "proof"), "valid")
        # The key is there now; another miner's claim to the same sector is still refused.
        self.expect(4, self.prove(C1, "--miner", "1", "--sector", SECTOR, "--insecure-dev"))


if __name__ == "__main__":
    only = ["Cli.test_prove_a_real_sector"] if PROVE else []
    unittest.main(argv=[sys.argv[0], *only], verbosity=1)
