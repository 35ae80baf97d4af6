#!/usr/bin/env python3
"""`cuzk prove update` and `cuzk verify update` as a user would run them, mistakes included.

update_cli_test.py CUZK TESTDATA [--prove]: with --prove only a whole proof, under a fresh
development key.
"""

import base64
import json
import os
import shutil
import sys
import unittest

sys.dont_write_bytecode = True  # no caches beside the sources
from cli_test import CUZK, PROVE, TESTDATA, Cli as CliHelpers, run

UPDATE = TESTDATA / "filecoin/update"
GOLDEN = TESTDATA / "golden/update_2kib"
INPUTS = json.loads((UPDATE / "update_2kib.inputs.json").read_text())
INPUTS_16 = json.loads((UPDATE / "update_16kib.inputs.json").read_text())
VANILLA = UPDATE / "update_2kib.p0.bincode"
PARTS_16 = [UPDATE / f"update_16kib.p{k}.bincode" for k in range(2)]
MAINNET = json.loads((UPDATE / "mainnet.json").read_text())
STEM = "v28-" + INPUTS["cache_id"]


def commitments(inputs, **changed):
    values = {"comm_r_old": inputs["comm_r_old"], "comm_r_new": inputs["comm_r_new"],
              "comm_d_new": inputs["comm_d_new"], **changed}
    return [x for name, value in values.items() for x in ("--" + name.replace("_", "-"), value)]


def cid(codec, commitment):
    """The CID of 32 bytes, written here once more so that the program has a judge."""
    prefix = {"sealed": "0182e20381e80220", "unsealed": "0181e203922020"}[codec]
    data = bytes.fromhex(prefix) + bytes.fromhex(commitment)
    return "b" + base64.b32encode(data).decode().lower().rstrip("=")


class UpdateCli(CliHelpers):
    def prove_update(self, *args, inputs=INPUTS, changed=(), size="2KiB", output=True):
        out = ("-o", self.dir / "proof") if output else ()
        which = ("--sector-size", size) if size else ()
        return run("prove", "update", *which, *commitments(inputs, **dict(changed)), "--params",
                   self.dir / "params", "--no-cache", *out, *args)

    def golden_key(self):
        (self.dir / "params").mkdir(exist_ok=True)
        shutil.copy(GOLDEN / "update.vk", self.dir / "params" / (STEM + ".vk"))

    def test_help_and_usage(self):
        self.expect(0, run("prove", "update", "--help"), "--vanilla", "--comm-r-old", "--h", "CID")
        self.expect(0, run("verify", "update", "--help"), "--comm-d-new")
        self.expect(2, run("prove", "update", "-o", "x"), "--vanilla")
        self.expect(2, self.prove_update("--vanilla", VANILLA, size=None), "--registered-proof")
        self.expect(2, self.prove_update("--vanilla", VANILLA, "--registered-proof", "0"), "either")
        self.expect(2, self.prove_update("--vanilla", VANILLA, output=False), "--output")
        self.expect(2, self.prove_update("--vanilla", VANILLA, size="1GiB"), "1GiB", "32GiB")
        for proof in ("5", "StackedDrg1GiBV1", "StackedDrg2KiBV1_1"):
            self.expect(2, self.prove_update("--vanilla", VANILLA, "--registered-proof", proof, size=None),
                        proof)
        self.expect(2, self.prove_update("--vanilla", VANILLA, "--registered-proof",
                                         "empty-sector-update-poseidon", size=None), "not supported")
        self.expect(2, self.prove_update("--vanilla", VANILLA, "--h", "10"), "--h", "only 1")

    def test_check_only_needs_no_key(self):
        result = self.expect(0, self.prove_update("--vanilla", VANILLA, "--check-only", "--json"))
        report = json.loads(result.stdout)
        self.assertTrue(report["satisfied"])
        self.assertEqual((report["partitions"], report["rows_per_partition"]), (1, 1705039))
        self.assertEqual(report["comm_r_old"], cid("sealed", INPUTS["comm_r_old"]))
        self.assertEqual(report["comm_d_new"], cid("unsealed", INPUTS["comm_d_new"]))
        # CIDs and hexadecimal, a name and a number: the same statement.
        changed = {name: cid("unsealed" if "_d_" in name else "sealed", INPUTS[name])
                   for name in ("comm_r_old", "comm_r_new", "comm_d_new")}
        for proof in ("0", "StackedDrg2KiBV1"):
            self.expect(0, self.prove_update("--vanilla", VANILLA, "--check-only", "--h", "1",
                                             "--registered-proof", proof, size=None, changed=changed),
                        "satisfied")

    def test_several_partitions_in_every_form(self):
        files = [x for part in PARTS_16 for x in ("--vanilla", part)]
        array = self.file("snap.json", json.dumps(
            [base64.b64encode(p.read_bytes()).decode() for p in PARTS_16]).encode())
        joined = self.file("joined", b"".join(p.read_bytes() for p in PARTS_16))

        def prove(*vanilla):
            return self.prove_update(*vanilla, "--check-only", inputs=INPUTS_16, size="16KiB")

        self.expect(0, prove(*files), "satisfied")
        self.expect(0, prove("--vanilla", array))
        self.expect(0, prove("--vanilla", joined))
        # One missing, one too many, in the wrong order, of another size.
        self.expect(4, prove(*files[:2]), "expected 2, found 1", "p0.bincode")
        self.expect(4, prove("--vanilla", array, *files[:2]), "expected 2, found 3")
        self.expect(4, prove(*files[2:], *files[:2]), "partition 0: challenge_proofs[0]", "leaf index")
        self.expect(4, prove(*files[:2], *files[:2]), "partition 1: challenge_proofs[0]", "leaf index")
        self.expect(4, prove(*files[:2], "--vanilla", VANILLA), "partition 1: apex_leafs")

    def test_bad_vanilla_files(self):
        good = VANILLA.read_bytes()
        item = base64.b64encode(good).decode()
        for name, data, words in [
            ("empty", b"", "comm_c"), ("text", b"hello", "comm_c"), ("cut", good[:9000], "cut"),
            ("longer", good + b"\0", "after the proofs of 1"), ("html", b"<html>not found</html>", ""),
            ("array", b"[]", "no proofs"), ("base64", b'["!!"]', "base64"),
            ("item", json.dumps([item, item[:1000]]).encode(), "item 1"),
            ("counts", good[:32] + b"\xff" * 8 + good[40:], "apex_leafs"),
        ]:
            result = self.expect(3, self.prove_update("--vanilla", self.file(name, data)),
                                 str(self.dir / name), words)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.expect(3, self.prove_update("--vanilla", self.dir / "absent"), "absent")
        self.expect(2, self.prove_update("--vanilla", self.dir), "directory")
        self.assertFalse((self.dir / "proof").exists())

    def test_vanilla_proofs_that_do_not_hold(self):
        good = bytearray(VANILLA.read_bytes())
        first = 32 + 8 + 8 * 32 + 8  # of the first challenge
        for at, words in [(0, "comm_r_old: the hash of comm_c"),
                          (first + 4 + 32, "challenge_proofs[0] (challenge 24): proof_r_old"),
                          (len(good) - 30, "challenge_proofs[9] (challenge 42): proof_r_new")]:
            bad = bytearray(good)
            bad[at] ^= 1
            self.expect(4, self.prove_update("--vanilla", self.file("bad", bytes(bad))), "partition 0",
                        words)

    def test_statement_that_does_not_fit(self):
        zero = "00" * 32
        for name, words in [("comm_r_old", "comm_r_old"), ("comm_d_new", "proof_d_new: root"),
                            ("comm_r_new", "comm_r_new")]:
            self.expect(4, self.prove_update("--vanilla", VANILLA, changed={name: zero}),
                        "partition 0", words)
        # Swapped, as happens.
        self.expect(4, self.prove_update("--vanilla", VANILLA, changed={
            "comm_r_old": INPUTS["comm_r_new"], "comm_r_new": INPUTS["comm_r_old"]}), "comm_r_old")
        self.expect(3, self.prove_update("--vanilla", VANILLA, changed={"comm_r_new": "ff" * 32}),
                    "comm_r_new", "modulus")

    def test_commitments_are_cids_or_hexadecimal(self):
        sealed = cid("sealed", INPUTS["comm_r_old"])
        for bad, words in [("00", "64 hexadecimal"), (sealed[:-1], "left over"), (sealed + "a", "left over"),
                           (cid("unsealed", INPUTS["comm_r_old"]), "unsealed"), ("0x" + "00" * 32, "CID"),
                           ("bafy2bzacebeeahgtjucejr55x33vsenkq63ghby3rbxasgr3h7lompjudstqa", "not the CID"),
                           ("", "CID")]:
            self.expect(2, self.prove_update("--vanilla", VANILLA, changed={"comm_r_old": bad}),
                        "--comm-r-old", words)
        self.expect(2, self.prove_update("--vanilla", VANILLA, changed={"comm_d_new": sealed}),
                    "--comm-d-new", "sealed")

    def test_missing_keys_are_named(self):
        self.expect(3, self.prove_update("--vanilla", VANILLA), STEM + ".params", "insecure-dev")
        # The right file of each size, known before anything is computed.
        for m in (MAINNET[0], MAINNET[3]):
            proof = self.file("proof", bytes.fromhex(m["proof"]))
            stem = {3: "8-8-0-3b7f44a9362e3985369454947bc94022e118211e49fd672d52bec1cbfd599d18",
                    4: "8-8-2-102e1444a7e9a97ebf1e3d6855dcc77e66c011ea66f936d9b2c508f87f2f83a7"}
            self.expect(3, run("verify", "update", "--registered-proof", m["update_proof_type"],
                               *commitments(m), "--params", self.dir, proof),
                        "v28-empty-sector-update-merkletree-poseidon_hasher-"
                        + stem[m["update_proof_type"]])

    def test_verify(self):
        self.golden_key()
        proof = GOLDEN / "update.proof.bin"

        def verify(*args, changed=(), proof=proof):
            return run("verify", "update", "--sector-size", "2KiB", "--params", self.dir / "params",
                       *commitments(INPUTS, **dict(changed)), *args, proof)

        self.expect(7, verify(), "digest")
        self.expect(0, verify("--insecure-dev"), "valid")
        self.expect(0, verify("--insecure-dev", proof=GOLDEN / "update_api.proof.bin"), "valid")
        verdict = json.loads(self.expect(0, verify("--insecure-dev", "--json")).stdout)
        self.assertEqual((verdict["valid"], verdict["registered_proof"]), (True, "StackedDrg2KiBV1"))
        for name in ("comm_r_old", "comm_r_new", "comm_d_new"):
            other = "01" + INPUTS[name][2:]
            self.expect(1, verify("--insecure-dev", changed={name: other}), "INVALID")
        self.expect(2, verify("--insecure-dev", "--h", "7"), "--h")
        data = proof.read_bytes()
        for name, bad in [("short", data[:191]), ("long", data + b"\0"), ("none", b""), ("twice", data * 2)]:
            self.expect(3, verify("--insecure-dev", proof=self.file(name, bad)), "192")
        for at in (0, 5, 60, 150):
            bad = bytearray(data)
            bad[at] ^= 4
            result = verify("--insecure-dev", proof=self.file("flipped", bytes(bad)))
            self.assertIn(result.returncode, (1, 3), result.stdout + result.stderr)
        # Sixteen partitions of another size are not one of this.
        self.expect(3, verify("--insecure-dev", proof=self.file("mainnet", bytes.fromhex(MAINNET[0]["proof"]))),
                    "192")

    def test_poseidon_keys_are_refused_by_name(self):
        name = STEM.replace("empty-sector-update-", "empty-sector-update-poseidon-") + ".vk"
        shutil.copy(GOLDEN / "update.vk", self.dir / name)
        self.expect(2, run("verify", "update", "--sector-size", "2KiB", *commitments(INPUTS), "--vk",
                           self.dir / name, "--insecure-dev", GOLDEN / "update.proof.bin"),
                    "empty-sector-update-poseidon", "not supported", STEM)

    def test_circuit_of_an_update(self):
        golden = json.loads((TESTDATA / "golden/update/update_2kib.p0.circuit.json").read_text())
        info = json.loads(self.expect(0, run("circuit", "info", "--kind", "update", "--sector-size", "2KiB",
                                             "--no-cache", "--json", "--digest")).stdout)
        self.assertEqual(info["rows"], golden["num_constraints"])
        self.assertEqual(info["r1cs_blake2b256"], golden["r1cs_blake2b256"])
        info = json.loads(self.expect(0, run("circuit", "info", "--kind", "update", "--sector-size", "32GiB",
                                             "--no-cache", "--json")).stdout)
        self.assertEqual(info["rows"], 81049499)
        self.expect(2, run("circuit", "info", "--kind", "update", "--sector-size", "1GiB"), "1GiB")

    @unittest.skipUnless(PROVE, "a whole proof is another test")
    def test_prove_a_golden_sector(self):
        reply = json.loads(self.expect(0, self.prove_update("--vanilla", VANILLA, "--insecure-dev", "--json"),
                                       "CUZK_TIMING:", "INSECURE").stdout)
        self.assertTrue(reply["verified"] and reply["insecure_dev"])
        self.assertEqual((self.dir / "proof").read_bytes().hex(), reply["proof"])
        verify = ("verify", "update", "--registered-proof", "StackedDrg2KiBV1", "--params",
                  self.dir / "params", self.dir / "proof")
        self.expect(3, run(*verify, *commitments(INPUTS)), "insecure-dev")
        self.expect(0, run(*verify, *commitments(INPUTS), "--insecure-dev"), "valid")
        other = commitments(INPUTS, comm_d_new="00" * 32)
        self.expect(1, run(*verify, *other, "--insecure-dev"), "INVALID")


if __name__ == "__main__":
    assert os.path.exists(CUZK)
    suite = unittest.TestSuite()
    for name in unittest.TestLoader().getTestCaseNames(UpdateCli):
        whole_proof = name == "test_prove_a_golden_sector"
        if name in vars(UpdateCli) and whole_proof == PROVE:
            suite.addTest(UpdateCli(name))
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    raise SystemExit(not result.wasSuccessful())
