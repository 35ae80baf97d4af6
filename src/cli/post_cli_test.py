#!/usr/bin/env python3
"""Proofs of spacetime with the program `cuzk`, as a storage provider would make and check them.

post_cli_test.py CUZK TESTDATA
"""

import base64
import hashlib
import json
import sys
import unittest

import cli_test
from cli_test import TESTDATA, run

GOLDEN = TESTDATA / "golden/post"
CURIO = TESTDATA / "filecoin/post"


class Sectors:
    """A folder of golden/post: vanilla proofs, and the statement they are for."""

    def __init__(self, name):
        self.folder = GOLDEN / name
        self.inputs = json.loads((self.folder / "inputs.json").read_text())
        self.randomness = self.inputs["randomness"]
        self.sectors = [{"sector": s["sector_id"], "comm_r": s["comm_r"]}
                        for s in self.inputs["sectors"]]
        self.files = [self.folder / f"vanilla_sector{s['sector']}.bincode" for s in self.sectors]

    def as_json_list(self):
        return json.dumps([base64.b64encode(f.read_bytes()).decode() for f in self.files]).encode()


WINDOW = Sectors("window_post_2kib_v1_2_2sectors")
THREE = Sectors("window_post_16kib_3sectors")
WINNING = Sectors("winning_post_2kib")
NEWEST_WINDOW = ("--registered-proof", "StackedDrgWindow2KiBV1_1")


class PostCli(unittest.TestCase):
    setUp = cli_test.Cli.setUp
    expect = cli_test.Cli.expect
    file = cli_test.Cli.file

    def sectors_file(self, sectors):
        return self.file("sectors.json", json.dumps(sectors).encode())

    def prove(self, kind, data, *flags, randomness=None, sectors=True, vanilla=None):
        files = [x for f in (vanilla or data.files) for x in ("--vanilla", f)]
        named = ("--sectors", self.sectors_file(data.sectors)) if sectors is True else ()
        return run("prove", kind, *files, *named, "--randomness", randomness or data.randomness,
                   "--params", self.dir / "params", "--no-cache", "-o", self.dir / "proof", *flags)

    def verify(self, kind, data, *flags, randomness=None, sectors=None, proof=None):
        return run("verify", kind, "--sectors", self.sectors_file(sectors or data.sectors),
                   "--randomness", randomness or data.randomness, "--params", self.dir / "params",
                   proof or self.dir / "proof", "--insecure-dev", *flags)

    def test_window_post_of_two_sectors(self):
        window = ("window-post", WINDOW)
        result = self.expect(0, self.prove(*window, *NEWEST_WINDOW, "--insecure-dev", "--json"),
                             "CUZK_TIMING:", "INSECURE")
        reply = json.loads(result.stdout)
        self.assertEqual(reply["partitions"], 1)
        self.assertEqual(reply["sectors"], 2)
        self.assertFalse(reply["sectors_from_vanilla"])
        self.assertEqual((self.dir / "proof").read_bytes().hex(), reply["proof"])
        self.expect(0, self.verify(*window, "--registered-proof", "10"), "valid")
        # Order does not count, and a sector may stand twice.
        turned = WINDOW.sectors[::-1] + WINDOW.sectors[:1]
        self.expect(0, self.verify(*window, *NEWEST_WINDOW, sectors=turned), "valid")
        spelled = base64.b64encode(bytes.fromhex(WINDOW.randomness)).decode()
        self.expect(0, self.verify(*window, *NEWEST_WINDOW, randomness=spelled), "valid")
        self.expect(1, self.verify(*window, *NEWEST_WINDOW, randomness="11" * 32), "INVALID")
        self.expect(1, self.verify(*window, "--registered-proof", "5"), "INVALID")
        changed = [WINDOW.sectors[0], {"sector": 3, "comm_r": WINDOW.sectors[1]["comm_r"]}]
        self.expect(1, self.verify(*window, *NEWEST_WINDOW, sectors=changed), "INVALID")
        self.expect(3, run("verify", "window-post", *NEWEST_WINDOW, "--randomness", "00" * 32,
                           "--sectors", self.sectors_file(WINDOW.sectors), "--params",
                           self.dir / "params", self.dir / "proof"), "insecure-dev")

    def test_partitions_are_proved_together_or_alone(self):
        size = ("--sector-size", "16KiB", "--insecure-dev")
        listed = self.file("vanilla.json", THREE.as_json_list())
        result = self.prove("window-post", THREE, *size, "--json", vanilla=[listed])
        self.assertEqual(json.loads(self.expect(0, result).stdout)["partitions"], 2)
        both = (self.dir / "proof").read_bytes()
        self.assertEqual(len(both), 384)
        self.expect(0, self.verify("window-post", THREE, "--sector-size", "16KiB"), "valid")
        second = self.file("second", both[192:])
        alone = ("--sector-size", "16KiB", "--partition", "1")
        self.expect(0, self.verify("window-post", THREE, *alone, proof=second), "valid")
        swapped = self.file("swapped", both[192:] + both[:192])
        self.expect(1, self.verify("window-post", THREE, "--sector-size", "16KiB", proof=swapped))
        self.expect(3, self.verify("window-post", THREE, "--sector-size", "16KiB", proof=second),
                    "192")
        result = self.prove("window-post", THREE, *size, "--partition", "1", "--json",
                            vanilla=[listed])
        self.assertEqual(json.loads(self.expect(0, result).stdout)["partition_numbers"], [1])
        self.expect(0, self.verify("window-post", THREE, *alone), "valid")
        self.expect(2, self.prove("window-post", THREE, *size, "--partition", "2"),
                    "no partition 2")

    def test_winning_post(self):
        size = ("--sector-size", "2KiB")
        result = self.prove("winning-post", WINNING, *size, "--insecure-dev", sectors=False)
        self.expect(0, result, "taken from the vanilla proofs")
        self.expect(0, self.verify("winning-post", WINNING, *size), "valid")
        # Of all eligible sectors the randomness chooses the second, which is ours.
        draw = hashlib.sha256(bytes.fromhex(WINNING.inputs["prover_id"] + WINNING.randomness) +
                              bytes(8)).digest()
        count = next(n for n in range(2, 1000) if int.from_bytes(draw[:8], "little") % n == 1)
        other = "00" * 32
        eligible = [{"sector": n, "comm_r": other} for n in range(count) if n != 1]
        eligible += WINNING.sectors
        verify = lambda *flags: self.verify("winning-post", WINNING, *size, *flags,
                                            sectors=eligible)
        self.expect(2, verify(), "--miner is needed")
        self.expect(0, verify("--miner", "1000"), "valid")
        self.expect(2, verify("--miner", "f1abc"), "actor id")
        wrong = [n for n in range(1001, 1010)
                 if verify("--miner", str(n)).returncode == 1]
        self.assertTrue(wrong)

    def test_rows_are_checked_without_a_key(self):
        result = self.prove("window-post", THREE, "--sector-size", "16KiB", "--check-only", "--json")
        report = json.loads(self.expect(0, result).stdout)
        self.assertTrue(report["satisfied"])
        self.assertEqual(report["partitions"], 2)
        self.assertFalse((self.dir / "proof").exists())

    def test_faulty_vanilla_proofs_are_named_by_sector(self):
        check = ("--sector-size", "16KiB", "--check-only")
        prove = lambda *flags, **more: self.prove("window-post", THREE, *check, *flags, **more)
        stale = "00" + THREE.randomness[2:]
        self.expect(4, prove(randomness=stale), "sector 1: inclusion_proofs[0] opens leaf",
                    "another randomness or sector", "2 more of 3 sectors fail: 2, 3")
        # An older proof of the same sizes, for another way of drawing challenges.
        self.expect(4, prove("--version", "V1"), "sector 2: ", "the challenge is")
        data = bytearray(THREE.files[1].read_bytes())
        data[-70] ^= 1  # in the last path
        bad = self.file("bad", bytes(data))
        result = self.expect(4, prove(vanilla=[THREE.files[0], bad, THREE.files[2]]), "sector 2: ")
        self.assertNotIn("more of", result.stderr)
        self.expect(4, prove(vanilla=THREE.files[:2]), "sector 3 has no vanilla proof")
        self.expect(4, self.prove("window-post", WINDOW, *NEWEST_WINDOW, "--check-only",
                                  vanilla=WINDOW.files + [WINNING.files[0]]),
                    "sector 1 has two vanilla proofs that differ")
        renamed = THREE.sectors[:2] + [{"sector": 4, "comm_r": THREE.sectors[2]["comm_r"]}]
        self.expect(4, self.prove("window-post", THREE, *check, "--sectors",
                                  self.sectors_file(renamed), sectors=False), "sector")
        self.expect(4, self.prove("window-post", THREE, "--sector-size", "2KiB", "--check-only"),
                    "sector 1: ")

    def test_malformed_files(self):
        window = ("window-post", WINDOW, *NEWEST_WINDOW, "--check-only")
        good = WINDOW.files[0].read_bytes()
        for name, data, word in [("empty", b"", "sector_id"), ("cut", good[:3000], "declares"),
                                 ("spare", good + b"\0", "after the proofs of 1 sectors"),
                                 ("html", b"<html>not found</html>", "html"),
                                 ("list", b"[               ]", "no proofs"),
                                 ("json", b'["AAAA", "AAAA"]', "item 0")]:
            result = self.expect(3, self.prove(*window, vanilla=[self.file(name, data)]), word,
                                 str(self.dir / name))
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.expect(3, self.prove(*window, vanilla=[self.dir / "absent"]), "absent")
        for sectors, word in [([], "no sectors"), ([{"sector": 1}], "comm_r"),
                              ([{"sector": 1, "comm_r": "00"}], "sector 1"), (7, "array")]:
            self.expect(3, run("verify", "window-post", *NEWEST_WINDOW, "--randomness", "00" * 32,
                               "--sectors", self.sectors_file(sectors), self.dir / "proof"), word)
        twice = WINDOW.sectors + [{"sector": 1, "comm_r": "00" * 32}]
        self.expect(2, self.verify("window-post", WINDOW, *NEWEST_WINDOW, sectors=twice),
                    "sector 1 stands twice")

    def test_usage(self):
        self.expect(0, run("prove", "window-post", "--help"), "--vanilla", "--partition")
        self.expect(0, run("verify", "winning-post", "--help"), "--sectors")
        window = ("window-post", WINDOW)
        self.expect(2, self.prove(*window, "--check-only"), "--registered-proof")
        self.expect(2, self.prove(*window, "--registered-proof", "StackedDrgWinning2KiBV1"),
                    "is no WindowPoSt")
        self.expect(2, self.prove(*window, "--registered-proof", "15"), "0 to 14")
        self.expect(2, self.prove(*window, *NEWEST_WINDOW, "--version", "V1"), "--version")
        self.expect(2, self.prove(*window, *NEWEST_WINDOW, randomness="00"), "--randomness")
        self.expect(2, self.prove(*window, "--sector-size", "3KiB"), "3KiB")
        self.expect(2, run("prove", "window-post", "--vanilla", WINDOW.files[0], *NEWEST_WINDOW,
                           "--randomness", WINDOW.randomness), "--output")
        self.expect(2, self.prove("winning-post", WINDOW, "--sector-size", "2KiB", "--check-only",
                                  sectors=False), "about one")
        # 32 GiB without its key: named at once, before minutes of work.
        self.expect(3, run("verify", "window-post", "--sectors", CURIO / "curio-postpub.json",
                           "--params", self.dir, self.dir / "proof"), "WindowPoSt 32GiB", ".params")

    def test_golden_proof_verifies_with_its_key(self):
        for data, kind, proof in [(WINNING, "winning-post", "0"), (WINDOW, "window-post", "10")]:
            flags = ("--registered-proof", proof, "--vk", data.folder / "post.vk")
            golden = data.folder / "post_api.proof.bin"
            self.expect(0, self.verify(kind, data, *flags, proof=golden), "valid")
            self.expect(1, self.verify(kind, data, *flags, proof=golden, randomness="22" * 32),
                        "INVALID")

    def test_circuits_are_listed(self):
        for kind, size, name in [("winning-post", "32GiB", "winning_post_32gib"),
                                 ("window-post", "512MiB", "window_post_512mib")]:
            info = json.loads(self.expect(0, run("circuit", "info", "--kind", kind, "--sector-size",
                                                 size, "--no-cache", "--json", "--digest")).stdout)
            golden = json.loads((TESTDATA / f"golden/post_blank/{name}.circuit.json").read_text())
            self.assertEqual(info["r1cs_blake2b256"], golden["r1cs_blake2b256"])
            self.assertEqual(info["parameter_stem"], "v28-" + golden["cache_id"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=1)
