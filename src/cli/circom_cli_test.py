#!/usr/bin/env python3
"""Runs circom's commands and rapidsnark's two programs as a user would: exit codes, messages, files.

circom_cli_test.py CUZK PROVER VERIFIER TESTDATA
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CUZK, PROVER, VERIFIER = sys.argv[1:4]
DATA = pathlib.Path(sys.argv[4]) / "circom"
EDGE = DATA / "bn128/edge"
NOPUB = DATA / "bls12381/nopub"
FORGEABLE = DATA / "public/bn254-poseidon"


def call(*args, stdin=None, env=None):
    return subprocess.run([str(a) for a in args], input=stdin, capture_output=True, env=env, timeout=300)


class CircomCli(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cuzk-circom-cli-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.proof, self.public = self.dir / "proof.json", self.dir / "public.json"

    def expect(self, code, result, *words):
        text = (result.stdout + result.stderr).decode(errors="replace")
        self.assertEqual(result.returncode, code, text)
        for word in words:
            self.assertIn(word, text)
        return result

    def prove(self, zkey, wtns, *extra, stdin=None):
        return call(CUZK, "prove", "circom", "--zkey", zkey, "--wtns", wtns, "--proof", self.proof,
                    "--public", self.public, *extra, stdin=stdin)

    def verify(self, vk, *extra):
        return call(CUZK, "verify", "circom", "--vk", vk, "--proof", self.proof, "--public", self.public,
                    *extra)

    def test_prove_and_verify(self):
        for folder in (EDGE, NOPUB):
            self.expect(0, self.prove(folder / "circuit_final.zkey", folder / "witness.wtns"), "CUZK_TIMING")
            self.assertEqual(self.public.read_bytes(), (folder / "public.json").read_bytes())
            self.expect(0, self.verify(folder / "verification_key.json"), "valid")
        signals = json.loads((EDGE / "public.json").read_text())
        self.expect(0, self.prove(EDGE / "circuit_final.zkey", EDGE / "witness.wtns", "--json"), "peak_resident")
        self.public.write_text(json.dumps(["1"] + signals[1:]))
        self.expect(1, self.verify(EDGE / "verification_key.json"), "INVALID")
        self.public.write_text(json.dumps(signals + ["1"]))
        self.expect(4, self.verify(EDGE / "verification_key.json"), "public inputs")
        self.public.write_text("[7]")
        self.expect(3, self.verify(EDGE / "verification_key.json"), "expected a string")

    def test_standard_streams(self):
        wtns = (EDGE / "witness.wtns").read_bytes()
        zkey = EDGE / "circuit_final.zkey"
        self.expect(0, self.prove(zkey, "-", stdin=wtns))
        result = call(CUZK, "prove", "circom", "--zkey", zkey, "--wtns", EDGE / "witness.wtns", "--proof",
                      "-", "--public", self.public, "--quiet")
        self.proof.write_bytes(result.stdout)
        self.expect(0, self.verify(EDGE / "verification_key.json"))
        self.expect(2, self.prove("-", "-", stdin=b""), "standard input")

    def test_wrong_inputs_and_nothing_written(self):
        zkey, wtns = EDGE / "circuit_final.zkey", EDGE / "witness.wtns"
        data = bytearray(wtns.read_bytes())
        data[-32] ^= 1
        wrong = self.dir / "wrong.wtns"
        wrong.write_bytes(data)
        self.expect(4, self.prove(zkey, wrong), "does not satisfy")
        self.expect(4, self.prove(zkey, wrong, "--r1cs", EDGE / "circuit.r1cs", "--sym", EDGE / "circuit.sym"),
                    "constraint", "main.")
        self.expect(4, self.prove(zkey, NOPUB / "witness.wtns"), "the curve of the witness (bls12-381)")
        self.expect(3, self.prove(zkey, EDGE / "circuit.sym"), "not a .wtns file")
        self.expect(3, self.prove(self.dir / "absent.zkey", wtns), "absent.zkey")
        self.expect(2, self.prove(self.dir, wtns), "directory")
        self.expect(5, self.prove(zkey, wtns, "--memory", "100"))
        self.assertFalse(self.proof.exists() or self.public.exists())

    def test_forgeable_keys(self):
        zkey, wtns = FORGEABLE / "circuit.zkey", FORGEABLE / "witness.wtns"
        self.expect(7, self.prove(zkey, wtns), "gamma_g2 equals delta_g2")
        self.assertFalse(self.proof.exists())
        self.expect(7, call(CUZK, "zkey", "check", zkey), "gamma_g2 equals delta_g2")
        self.expect(0, self.prove(zkey, wtns, "--allow-insecure-key"), "not checked for safety")
        self.expect(7, self.verify(FORGEABLE / "verification_key.json"), "gamma_g2")
        self.expect(0, self.verify(FORGEABLE / "verification_key.json", "--allow-insecure-key"))
        self.expect(7, call(CUZK, "zkey", "dev-setup", EDGE / "circuit.r1cs", "-o", self.dir / "k"), "insecure-dev")
        self.expect(0, call(CUZK, "zkey", "dev-setup", EDGE / "circuit.r1cs", "-o", self.dir / "k",
                            "--insecure-dev"))
        self.expect(7, call(CUZK, "zkey", "check", self.dir / "k"), "no phase-2 contribution")

    def test_info_and_check(self):
        info = call(CUZK, "zkey", "info", "--json", EDGE / "circuit_final.zkey")
        self.expect(0, info)
        report = json.loads(info.stdout)
        self.assertEqual((report["protocol"], report["curve"], report["wires"], report["domain_size"],
                          report["contributions"]), ("Groth16", "bn254", 19, 16, 1))
        self.expect(0, call(CUZK, "zkey", "check", "--full", EDGE / "circuit_final.zkey"), "ok")
        self.expect(0, call(CUZK, "r1cs", "info", EDGE / "circuit.r1cs"), "constraints")
        self.expect(0, call(CUZK, "r1cs", "check", EDGE / "circuit.r1cs"), "ok")
        self.expect(0, call(CUZK, "wtns", "info", EDGE / "witness.wtns"), "values")
        self.expect(0, call(CUZK, "wtns", "check", EDGE / "witness.wtns", "--r1cs", EDGE / "circuit.r1cs"), "ok")
        vk = call(CUZK, "zkey", "export-vk", EDGE / "circuit_final.zkey", "-o", "-")
        self.assertEqual(vk.stdout, (EDGE / "verification_key.json").read_bytes())
        plonk = bytearray((EDGE / "circuit_final.zkey").read_bytes())
        plonk[24] = 2  # the protocol, in the first section
        path = self.dir / "plonk.zkey"
        path.write_bytes(plonk)
        self.expect(0, call(CUZK, "zkey", "info", path), "PLONK")
        self.expect(3, call(CUZK, "zkey", "check", path), "PLONK key")
        self.expect(3, self.prove(path, EDGE / "witness.wtns"), "PLONK key")

    def test_rapidsnarks_programs(self):
        zkey, wtns, vk = EDGE / "circuit_final.zkey", EDGE / "witness.wtns", EDGE / "verification_key.json"
        self.expect(1, call(PROVER), "Usage: prover <circuit.zkey>")
        self.expect(1, call(VERIFIER, vk), "Usage: verifier <verification_key.json>")
        self.expect(0, call(PROVER, zkey, wtns, self.proof, self.public))
        proof = self.proof.read_text()
        self.assertNotIn("\n", proof)
        self.assertEqual(sorted(json.loads(proof)), ["pi_a", "pi_b", "pi_c", "protocol"])
        self.assertEqual(json.loads(self.public.read_text()), json.loads((EDGE / "public.json").read_text()))
        self.expect(0, call(VERIFIER, vk, self.public, self.proof), "Result: Valid proof")
        self.public.write_text('["5"]')
        self.expect(1, call(VERIFIER, vk, self.public, self.proof), "Result: Invalid proof")
        self.expect(1, call(VERIFIER, vk, self.public, vk), "Error: ")
        self.expect(1, call(PROVER, zkey, vk, self.proof, self.public), "Error: ")
        self.expect(1, call(PROVER, FORGEABLE / "circuit.zkey", FORGEABLE / "witness.wtns", self.proof,
                            self.public), "gamma_g2 equals delta_g2")
        self.expect(0, call(PROVER, FORGEABLE / "circuit.zkey", FORGEABLE / "witness.wtns", self.proof,
                            self.public, env={"CUZK_ALLOW_INSECURE_KEY": "1"}))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
